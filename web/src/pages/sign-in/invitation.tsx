/** An invitation by link: shows the organization and role, and asks for a password or a passkey. */
import { useQuery } from '@tanstack/react-query';
import { Fingerprint } from 'lucide-react';
import { useLocation } from 'wouter';
import { post } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { AuthState } from '../../api/types.ts';
import { takeHashToken } from '../../session/hash-token.ts';
import { makePasskey, passkeysWork, wasCancelled } from '../../session/passkey.ts';
import { useRefreshState } from '../../session/session.tsx';
import { ByIssuer } from '../../session/sign-in-form.tsx';
import { SignInFrame } from '../../shared/sign-in-frame.tsx';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Exact } from '../../ui/exact.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Loading } from '../../ui/page.tsx';
import { Problem } from '../../ui/problem.tsx';
import { TextField } from '../../ui/text-field.tsx';

interface Invited {
  readonly email: string;
  readonly organization: string;
  readonly role: string;
}

export default function Invitation({ state }: { state: AuthState }) {
  const token = takeHashToken();
  const invited = useQuery({
    queryKey: ['invitation'],
    queryFn: () => post<Invited>('/auth/invitation', { token }),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (invited.isPending) return <Loading />;
  if (!invited.data) {
    return (
      <SignInFrame
        title="This invitation is not valid"
        intro="It may have been used, replaced or revoked. Ask for a new one."
      >
        <div className="flex justify-center">
          <ButtonLink href="/sign-in">Go to sign-in</ButtonLink>
        </div>
      </SignInFrame>
    );
  }
  return <Accept state={state} token={token} invited={invited.data} />;
}

interface AcceptProps {
  readonly state: AuthState;
  readonly token: string;
  readonly invited: Invited;
}

function Accept({ state, token, invited: { email, organization, role } }: AcceptProps) {
  const form = useForm({ password: '' });
  const [, go] = useLocation();
  const refresh = useRefreshState();
  async function accept(proof: object) {
    await post('/auth/invitation/accept', { token, ...proof });
    await refresh();
    go('/');
  }
  async function acceptByPasskey() {
    try {
      const credential = await makePasskey('/auth/invitation/options', { token });
      await accept({ passkey: { name: 'First passkey', credential } });
    } catch (error) {
      if (!wasCancelled(error)) form.fail(error);
    }
  }
  return (
    <SignInFrame title="Join an organization" intro="Join only if you expected this invitation.">
      <div className="mb-4 rounded-lg border p-4">
        <Facts
          facts={[
            ['Organization', <Exact key="organization" text={organization} />],
            ['You', <Exact key="email" text={email} />],
            ['Role', role === 'none' ? 'in the vaults that you are given' : role],
          ]}
        />
      </div>
      <form className="flex flex-col gap-4" onSubmit={form.submit(({ password }) => accept({ password }))}>
        <input type="hidden" name="username" autoComplete="username" value={email} readOnly />
        <TextField
          form={form}
          name="password"
          label="Choose a password"
          type="password"
          autoComplete="new-password"
          minLength={12}
          required
          hint="At least 12 characters."
        />
        <Problem text={form.problem} />
        <Button type="submit" look="primary" busy={form.busy}>
          Join
        </Button>
        {passkeysWork && (
          <Button onClick={acceptByPasskey}>
            <Fingerprint className="size-4" aria-hidden /> Join with a passkey instead
          </Button>
        )}
        <ByIssuer state={state} verb="Join" />
      </form>
    </SignInFrame>
  );
}
