/** The first two steps of the setup: creates the owner and the organization, and starts the owner's first session. */
import { Fingerprint, KeyRound } from 'lucide-react';
import { useState } from 'react';
import { Redirect } from 'wouter';
import { post, reworded } from '../../api/client.ts';
import { type Form, useForm } from '../../api/form.ts';
import type { AuthState } from '../../api/types.ts';
import { takeHashToken } from '../../session/hash-token.ts';
import { makePasskey, passkeysWork, wasCancelled } from '../../session/passkey.ts';
import { useRefreshState } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { DialogButtons } from '../../ui/dialog.tsx';
import { Problem } from '../../ui/problem.tsx';
import { TextField } from '../../ui/text-field.tsx';
import { Steps } from './steps.tsx';

interface Values {
  email: string;
  password: string;
  organization: string;
  token: string;
}

export default function SetUp({ state }: { state: AuthState }) {
  const form = useForm<Values>({ email: '', password: '', organization: '', token: takeHashToken() });
  const [byPasskey, setByPasskey] = useState(false);
  const [step, setStep] = useState(0);
  const [finished, setFinished] = useState(false);
  const refresh = useRefreshState();
  if (!state.setup_required) return <Redirect to={finished ? '/welcome' : '/'} replace />;

  async function finish({ token, email, password, organization }: Values) {
    const proof = byPasskey ? await passkeyProof(token, email) : { password };
    if (proof === null) return;
    await post('/auth/setup', { token, email, organization, ...proof }).catch(linkRefused);
    setFinished(true);
    await refresh();
  }
  if (step === 0) {
    return (
      <Owner
        form={form}
        byPasskey={byPasskey}
        passkeys={state.methods.passkey}
        onPasskey={setByPasskey}
        onNext={() => setStep(1)}
      />
    );
  }
  return (
    <Steps
      at={1}
      title="Name the organization"
      intro="It owns every vault. You can rename it later, and invite people."
    >
      <form className="flex flex-col gap-4" onSubmit={form.submit(finish)}>
        <TextField
          form={form}
          name="organization"
          label="Organization"
          placeholder="Acme"
          required
          maxLength={255}
        />
        <Problem
          text={
            form.errorOf('email') || form.errorOf('password')
              ? 'The email or password was refused. Go back and check them.'
              : ''
          }
        />
        <DialogButtons problem={form.problem}>
          <Button onClick={() => setStep(0)}>Back</Button>
          <Button type="submit" look="primary" busy={form.busy}>
            Create
          </Button>
        </DialogButtons>
      </form>
    </Steps>
  );
}

function linkRefused(error: unknown): never {
  throw reworded(error, 401, 'This setup link is not valid. The service prints a valid one when it starts');
}

async function passkeyProof(token: string, email: string): Promise<{ passkey: unknown } | null> {
  try {
    const credential = await makePasskey('/auth/setup/options', { token, email });
    return { passkey: { name: 'First passkey', credential } };
  } catch (error) {
    if (wasCancelled(error)) return null;
    throw error;
  }
}

interface OwnerProps {
  readonly form: Form<Values>;
  readonly byPasskey: boolean;
  readonly passkeys: boolean;
  readonly onPasskey: (wanted: boolean) => void;
  readonly onNext: () => void;
}

function Owner({ form, byPasskey, passkeys, onPasskey, onNext }: OwnerProps) {
  return (
    <Steps
      at={0}
      title="Create the owner"
      intro="The owner can do everything. This page works only once, with the link that the service printed."
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={event => {
          event.preventDefault();
          onNext();
        }}
      >
        {form.values.token === '' && (
          <Problem text="The link is incomplete. Open it exactly as the service printed it, including the part after the #." />
        )}
        <TextField form={form} name="email" label="Email" type="email" autoComplete="username" required />
        {!byPasskey && (
          <TextField
            form={form}
            name="password"
            label="Password"
            type="password"
            autoComplete="new-password"
            minLength={12}
            required
            hint="At least 12 characters. A few random words work well."
          />
        )}
        {byPasskey && (
          <p className="rounded-lg bg-accent-soft px-3 py-2">
            This device will ask you to create a passkey in the next step.
          </p>
        )}
        {passkeys && passkeysWork && (
          <Button look="quiet" onClick={() => onPasskey(!byPasskey)}>
            {byPasskey ? (
              <KeyRound className="size-4" aria-hidden />
            ) : (
              <Fingerprint className="size-4" aria-hidden />
            )}
            {byPasskey ? 'Use a password instead' : 'Use a passkey instead'}
          </Button>
        )}
        <DialogButtons>
          <Button type="submit" look="primary">
            Continue
          </Button>
        </DialogButtons>
      </form>
    </Steps>
  );
}
