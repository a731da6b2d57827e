/**
 * The OAuth consent page, to which an MCP client sends a person’s browser. The person sees who is asking and where they
 * will be sent, chooses a vault, the scopes and the duration, and allows or refuses access. The service validates the
 * request every time.
 */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { post, sentence } from '../../api/client.ts';
import { type Form, useForm } from '../../api/form.ts';
import { type AuthorizationShown, type OAuthScope, oauthScopes } from '../../api/types.ts';
import { takeAuthorizationRequest } from '../../session/authorization-request.ts';
import { useSession } from '../../session/session.tsx';
import { SignInFrame } from '../../shared/sign-in-frame.tsx';
import { Button } from '../../ui/button.tsx';
import { useDecision } from '../../ui/decision.ts';
import { IgnoredClick } from '../../ui/decision-hint.tsx';
import { Exact } from '../../ui/exact.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Loading } from '../../ui/page.tsx';
import { Problem } from '../../ui/problem.tsx';
import { CheckField, ChoiceField } from '../../ui/text-field.tsx';
import { VaultField } from '../../ui/vaults-field.tsx';

/** In seconds. */
const lives: readonly (readonly [string, string])[] = [
  ['3600', '1 hour'],
  ['43200', '12 hours'],
  ['604800', '7 days'],
  ['2592000', '30 days'],
];
const scopeLabels: Readonly<Record<OAuthScope, string>> = {
  'secrets:names': 'See names of secrets, keys and certificates',
  'secrets:use': 'Use secrets and keys through use rules, without seeing them',
  'secrets:read': 'Read secrets, with their values',
  'keys:read': 'Read keys, including private keys',
  'certificates:read': 'Read certificates',
};

type Values = { vault_id: string; expires_in: string } & Record<OAuthScope, boolean>;

interface Redirection {
  readonly redirect_to: string;
}

export default function Authorize() {
  const [request] = useState(takeAuthorizationRequest);
  const found = useQuery({
    queryKey: ['authorization-request', request],
    queryFn: async () => {
      const shown = await post<AuthorizationShown>('/auth/oauth/request', { request });
      if (shown.redirect_to !== null && isTrusted(shown)) window.location.replace(shown.redirect_to);
      return shown;
    },
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (found.error) return <Unknown problem={sentence(found.error)} />;
  if (!found.data) return <Loading />;
  const { redirect_to, redirect_host } = found.data;
  if (redirect_to !== null)
    return isTrusted(found.data) ? <Loading /> : <Return to={redirect_to} host={redirect_host} />;
  return <Decide request={request} shown={found.data} />;
}

/** The client or its redirect address is unknown, so there is no redirect. */
function Unknown({ problem }: { problem: string }) {
  return (
    <SignInFrame title="This can’t be allowed">
      <Problem text={problem} />
      <p className="mt-4 text-muted">
        This service doesn’t know the program that sent you here, or the program gave a redirect address that
        is not its own. Ask the operator of this service whether they allow it.
      </p>
    </SignInFrame>
  );
}

/** Anyone could have made the link to this page, so there is no automatic redirect to an untrusted client. */
function Return({ to, host }: { to: string; host: string }) {
  return (
    <SignInFrame title="This can’t be allowed">
      <p className="text-muted">The program’s request is not valid. You can return to it:</p>
      <a className="mt-4 block underline" href={to} rel="noreferrer">
        <Exact text={host} />
      </a>
    </SignInFrame>
  );
}

function isTrusted({ client, redirect_host }: AuthorizationShown): boolean {
  return client.known || isHere(redirect_host);
}

function isHere(host: string): boolean {
  return /^(localhost|127\.0\.0\.1|\[::1\])(:|$)/.test(host);
}

function Decide({ request, shown }: { request: string; shown: AuthorizationShown }) {
  const { area, isReady, isIgnored, guarded } = useDecision({ afterGesture: true });
  const asked = Object.fromEntries(oauthScopes.map(scope => [scope, shown.scopes.includes(scope)]));
  const form = useForm({ vault_id: '', expires_in: '43200', ...asked } as Values);
  const allow = form.submit(async ({ vault_id, expires_in, ...chosen }) => {
    const scopes = oauthScopes.filter(scope => chosen[scope]);
    const body = { request, vault_id, scopes, expires_in: Number(expires_in) };
    const { redirect_to } = await post<Redirection>('/auth/oauth/approve', body);
    window.location.replace(redirect_to);
  });
  const refuse = form.submit(async () => {
    const { redirect_to } = await post<Redirection>('/auth/oauth/deny', { request });
    window.location.replace(redirect_to);
  });
  const isNothing = oauthScopes.every(scope => !form.values[scope]);
  return (
    <SignInFrame
      title="Allow access to a vault?"
      intro="A client asks for access on your behalf. Allow it only if you started it."
    >
      <div className="flex flex-col gap-4">
        <Asking shown={shown} />
        <VaultField form={form} />
        <ScopeFields form={form} />
        <ChoiceField form={form} name="expires_in" label="Duration" choices={lives} />
        <p className="text-xs text-muted">
          The client gets an access key that expires after an hour, and can renew it for this duration. You
          can revoke it in Settings → Security.
        </p>
        <Problem text={form.problem} />
        <div ref={area} className="grid grid-cols-2 gap-3">
          <Button onClick={refuse} disabled={form.busy}>
            Refuse
          </Button>
          <Button
            onClick={guarded(allow)}
            look="primary"
            busy={form.busy}
            disabled={isNothing || form.values.vault_id === ''}
            aria-disabled={!isReady}
          >
            Allow
          </Button>
        </div>
        {isIgnored && <IgnoredClick />}
      </div>
    </SignInFrame>
  );
}

function Asking({ shown: { client, redirect_host } }: { shown: AuthorizationShown }) {
  const { member, organization } = useSession().signedIn;
  return (
    <div className="rounded-lg border p-4">
      <Facts
        facts={[
          ['Client', <Exact key="client" text={client.name} />],
          ['Sends you to', <Exact key="host" text={redirect_host} />],
          ['Organization', <Exact key="organization" text={organization.name} />],
          ['Acts for', <Exact key="member" text={member.email} />],
        ]}
      />
      {client.imitates && (
        <p role="alert" className="mt-3 text-xs text-warn">
          This is not the client that the service knows by this name. It may be another version of it, or a
          program that impersonates it.
        </p>
      )}
      <p className="mt-3 text-xs text-muted">
        {client.known
          ? 'This client is known to the service.'
          : 'The client’s name is self-reported and not verified.'}
        {isHere(redirect_host) && ' Any program on your machine could have made this request.'}
      </p>
    </div>
  );
}

function ScopeFields({ form }: { form: Form<Values> }) {
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1.5 font-medium">It may</legend>
      {oauthScopes.map(scope => (
        <CheckField key={scope} form={form} name={scope} label={scopeLabels[scope]} />
      ))}
    </fieldset>
  );
}
