/**
 * Approves a CLI sign-in: the person enters the code that the terminal shows (a link has it after the `#`), sees who is
 * asking, and allows or refuses it. Details that the requester reports about itself are marked as unverified.
 */
import { useQuery } from '@tanstack/react-query';
import { CircleCheck, CircleX } from 'lucide-react';
import { useState } from 'react';
import { post, sentence } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { DeviceRequest } from '../../api/types.ts';
import { takeDeviceCode } from '../../session/hash-token.ts';
import { useSession } from '../../session/session.tsx';
import { SignInFrame } from '../../shared/sign-in-frame.tsx';
import { Button } from '../../ui/button.tsx';
import { useDecision } from '../../ui/decision.ts';
import { IgnoredClick } from '../../ui/decision-hint.tsx';
import { Exact } from '../../ui/exact.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Loading } from '../../ui/page.tsx';
import { Problem } from '../../ui/problem.tsx';
import { ChoiceField, TextField } from '../../ui/text-field.tsx';

/** In seconds. */
const lives: readonly (readonly [string, string])[] = [
  ['3600', '1 hour'],
  ['43200', '12 hours'],
  ['604800', '7 days'],
  ['2592000', '30 days'],
];
const title = 'Sign in on the command line';

export default function Device() {
  const [code, setCode] = useState(takeDeviceCode);
  const [decided, setDecided] = useState<'allowed' | 'refused' | null>(null);
  const found = useQuery({
    queryKey: ['device-request', code],
    queryFn: () => post<DeviceRequest>('/auth/device/request', { user_code: code }),
    enabled: code !== '' && decided === null,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (decided !== null) return <Decided how={decided} />;
  if (code !== '' && found.isPending) return <Loading />;
  if (!found.data) return <EnterCode problem={found.error && sentence(found.error)} onCode={setCode} />;
  return <Decide code={code} request={found.data} onDecided={setDecided} />;
}

function EnterCode({ problem, onCode }: { problem: string | null; onCode: (code: string) => void }) {
  const form = useForm({ code: '' });
  return (
    <SignInFrame title={title} intro="Enter the code that your terminal shows.">
      <form
        className="flex flex-col gap-4"
        onSubmit={form.submit(async values => onCode(values.code.trim()))}
      >
        <TextField
          form={form}
          name="code"
          label="Code"
          placeholder="XXXX-XXXX"
          required
          autoFocus
          maxLength={32}
          spellCheck={false}
          autoCapitalize="characters"
          className="text-center font-mono text-lg tracking-widest uppercase"
        />
        <Problem text={problem ?? ''} />
        <Button type="submit" look="primary" busy={form.busy}>
          Continue
        </Button>
      </form>
    </SignInFrame>
  );
}

function Decide({
  code,
  request,
  onDecided,
}: {
  code: string;
  request: DeviceRequest;
  onDecided: (how: 'allowed' | 'refused') => void;
}) {
  const { member } = useSession().signedIn;
  const form = useForm({ role: leastOf(request.roles), expires_in: '43200' });
  const { area, isReady, isIgnored, guarded } = useDecision({ afterGesture: true });
  const allow = form.submit(async ({ role, expires_in }) => {
    await post('/auth/device/approve', { user_code: code, role, expires_in: Number(expires_in) });
    onDecided('allowed');
  });
  const refuse = form.submit(async () => {
    await post('/auth/device/deny', { user_code: code });
    onDecided('refused');
  });
  return (
    <SignInFrame
      title={title}
      intro="A command line asks to act on your behalf. Allow it only if you started it and it shows this code."
    >
      <div className="flex flex-col gap-4">
        <p className="text-center font-mono text-2xl font-semibold tracking-widest">{spelled(code)}</p>
        <Asking request={request} />
        <ChoiceField
          form={form}
          name="role"
          label="Role"
          choices={request.roles.map(role => [role, role === member.role ? `${role} (yours)` : role])}
        />
        <ChoiceField form={form} name="expires_in" label="Signed in for" choices={lives} />
        <Problem text={form.problem} />
        <p className="text-xs text-muted">You’ll be asked to confirm your identity before it is signed in.</p>
        <div ref={area} className="grid grid-cols-2 gap-3">
          <Button onClick={refuse} disabled={form.busy}>
            Refuse
          </Button>
          <Button onClick={guarded(allow)} look="primary" busy={form.busy} aria-disabled={!isReady}>
            Allow
          </Button>
        </div>
        {isIgnored && <IgnoredClick />}
      </div>
    </SignInFrame>
  );
}

/** Preselects the role with the fewest permissions, so that careless approval doesn't grant more. */
function leastOf(roles: readonly string[]): string {
  return roles.includes('viewer') ? 'viewer' : (roles.at(-1) ?? '');
}

function Asking({ request: { host, client, ip_address } }: { request: DeviceRequest }) {
  const { member, organization } = useSession().signedIn;
  const said = [
    ['Acts as', member.email],
    ['Organization', organization.name],
    ['Machine', host],
    ['Program', client],
    ['Address', ip_address],
  ] as const;
  return (
    <div className="rounded-lg border p-4">
      <Facts
        facts={said.map(([name, value]) => [
          name,
          value === '' ? 'not given' : <Exact key={name} text={value} />,
        ])}
      />
      <p className="mt-3 text-xs text-muted">
        Machine and program are reported by the requester and are not verified.
      </p>
    </div>
  );
}

function Decided({ how }: { how: 'allowed' | 'refused' }) {
  const isAllowed = how === 'allowed';
  const Icon = isAllowed ? CircleCheck : CircleX;
  return (
    <SignInFrame title={isAllowed ? 'Signed in' : 'Refused'}>
      <div role="status" className="flex flex-col items-center gap-3 text-center">
        <Icon className={`size-8 ${isAllowed ? 'text-good' : 'text-bad'}`} aria-hidden />
        <p>
          {isAllowed
            ? 'The command line is signed in. You can close this page. To sign it out, go to Settings → Security.'
            : 'The command line was not signed in. You can close this page.'}
        </p>
      </div>
    </SignInFrame>
  );
}

/** Formats the code as the terminal shows it, however it was typed. */
function spelled(code: string): string {
  const letters = code.toUpperCase().replace(/[^A-Z]/g, '');
  return `${letters.slice(0, 4)}-${letters.slice(4)}`;
}
