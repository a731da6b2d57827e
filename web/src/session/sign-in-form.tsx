/** Sign-in by password (and one-time code), passkey or single sign-on, for the sign-in page and the dialog. */
import { Fingerprint, LogIn } from 'lucide-react';
import { useState } from 'react';
import { ApiError, post, reworded } from '../api/client.ts';
import { useForm } from '../api/form.ts';
import type { AuthState } from '../api/types.ts';
import { Button, buttonClass } from '../ui/button.tsx';
import { Problem } from '../ui/problem.tsx';
import { TextField } from '../ui/text-field.tsx';
import { codeOf } from './code.ts';
import { answerWithPasskey, passkeysWork, wasCancelled } from './passkey.ts';

interface SignInFormProps {
  readonly state: AuthState;
  /** Already known when a session is renewed. */
  readonly email?: string;
  readonly onDone: () => Promise<unknown> | undefined;
}

export function SignInForm({ state, email, onDone }: SignInFormProps) {
  const { methods } = state;
  const form = useForm({ email: email ?? '', password: '', code: '' });
  const [needsCode, setNeedsCode] = useState(false);
  async function signIn({ email: who, password, code }: typeof form.values) {
    try {
      await post('/auth/password', { email: who, password, ...(needsCode ? { code: codeOf(code) } : {}) });
    } catch (error) {
      if (error instanceof ApiError && error.code === 'SECOND_FACTOR_REQUIRED' && !needsCode) {
        setNeedsCode(true);
        return;
      }
      throw reworded(
        error,
        401,
        needsCode ? 'This code is incorrect or has already been used' : 'Incorrect email or password',
      );
    }
    await onDone();
  }
  return (
    <div className="flex flex-col gap-4">
      {methods.password && (
        <form className="flex flex-col gap-4" onSubmit={form.submit(signIn)}>
          <TextField
            form={form}
            name="email"
            label="Email"
            type="email"
            autoComplete="username webauthn"
            required
            readOnly={email !== undefined}
          />
          <TextField
            form={form}
            name="password"
            label="Password"
            type="password"
            autoComplete="current-password"
            required
          />
          {needsCode && (
            <TextField
              form={form}
              name="code"
              label="One-time code"
              hint="From your authenticator app, or one of your recovery codes."
              inputMode="text"
              autoComplete="one-time-code"
              autoFocus
              required
            />
          )}
          <Problem text={form.problem} />
          <Button type="submit" look="primary" busy={form.busy}>
            Sign in
          </Button>
        </form>
      )}
      <OtherWays state={state} onDone={onDone} renewing={email !== undefined} />
    </div>
  );
}

/** Single sign-on. Invited people can join with it, so it is offered before anyone has used it. */
export function ByIssuer({
  state,
  verb,
  renewing = false,
}: Pick<SignInFormProps, 'state'> & { verb: string; renewing?: boolean }) {
  const { oidc } = state.methods;
  if (oidc === null) return null;
  return (
    <a
      href="/auth/oidc/start"
      target={renewing ? '_blank' : undefined}
      rel="noreferrer"
      className={buttonClass({})}
    >
      <LogIn className="size-4" aria-hidden /> {verb} with {oidc.name}
    </a>
  );
}

function OtherWays({
  state,
  onDone,
  renewing,
}: Pick<SignInFormProps, 'state' | 'onDone'> & { renewing: boolean }) {
  const { passkey, oidc } = state.methods;
  const form = useForm({});
  const usePasskey = form.submit(async () => {
    try {
      await answerWithPasskey('/auth/passkey/options', '/auth/passkey');
    } catch (error) {
      if (wasCancelled(error)) return;
      throw reworded(error, 401, 'This passkey is not registered here');
    }
    await onDone();
  });
  if (!(passkey && passkeysWork) && oidc === null) return null;
  return (
    <>
      <div className="flex items-center gap-3 text-xs text-muted before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line">
        or
      </div>
      <form className="flex flex-col gap-2" onSubmit={usePasskey}>
        {passkey && passkeysWork && (
          <Button type="submit" busy={form.busy}>
            <Fingerprint className="size-4" aria-hidden /> Sign in with a passkey
          </Button>
        )}
        <ByIssuer state={state} verb="Sign in" renewing={renewing} />
        <Problem text={form.problem} />
      </form>
    </>
  );
}
