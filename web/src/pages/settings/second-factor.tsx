/** One-time codes as a second factor: set up with an authenticator app, with recovery codes in case it is lost. */
import { ShieldCheck } from 'lucide-react';
import { useState } from 'react';
import { post } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import { codeOf } from '../../session/code.ts';
import { useRefreshState, useSession } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { Dialog, DialogButtons } from '../../ui/dialog.tsx';
import { Section } from '../../ui/page.tsx';
import { Problem } from '../../ui/problem.tsx';
import { QrCode } from '../../ui/qr-code.tsx';
import { TextField } from '../../ui/text-field.tsx';
import { note } from '../../ui/toast.tsx';

interface Begun {
  readonly secret: string;
  readonly uri: string;
}

export function SecondFactor() {
  const { signedIn } = useSession();
  return (
    <Section
      beside
      title="One-time codes"
      intro="A code from an authenticator app, required after the password."
    >
      {signedIn.second_factor ? <TurnOff /> : <TurnOn />}
    </Section>
  );
}

function TurnOn() {
  const [begun, setBegun] = useState<Begun | null>(null);
  const form = useForm({});
  const begin = form.submit(async () => setBegun(await post<Begun>('/auth/totp/begin', {})));
  return (
    <form onSubmit={begin} className="flex flex-col items-start gap-3">
      <Problem text={form.problem} />
      <Button type="submit" busy={form.busy}>
        Turn on one-time codes
      </Button>
      {begun && <Confirm begun={begun} onClose={() => setBegun(null)} />}
    </form>
  );
}

function Confirm({ begun: { secret, uri }, onClose }: { begun: Begun; onClose: () => void }) {
  const form = useForm({ code: '' });
  const [codes, setCodes] = useState<readonly string[]>([]);
  const refreshState = useRefreshState();
  async function confirm({ code }: typeof form.values) {
    const { recovery_codes } = await post<{ recovery_codes: string[] }>('/auth/totp', { code: codeOf(code) });
    setCodes(recovery_codes);
  }
  async function finish() {
    onClose();
    await refreshState();
  }
  if (codes.length > 0) {
    return (
      <Dialog
        open
        onClose={finish}
        title="Save your recovery codes"
        description="If you lose your authenticator app, you can use each of these once instead of a code. They won’t be shown again."
      >
        <div className="flex flex-col gap-4">
          <CodeBlock text={codes.join('\n')} label="recovery codes" />
          <DialogButtons>
            <Button look="primary" onClick={finish}>
              I have saved them
            </Button>
          </DialogButtons>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title="Turn on one-time codes"
      description="Scan this with your authenticator app, or enter the key below in the app. Then enter the code that it shows."
    >
      <form className="flex flex-col gap-4" onSubmit={form.submit(confirm)}>
        <QrCode text={uri} label="QR code with the key" />
        <CodeBlock text={secret.replace(/(.{4})(?=.)/g, '$1 ')} label="key" />
        <a href={uri} className="text-xs text-accent-strong underline underline-offset-4">
          Open in an authenticator app on this device
        </a>
        <TextField
          form={form}
          name="code"
          label="Code"
          inputMode="numeric"
          autoComplete="one-time-code"
          required
        />
        <DialogButtons problem={form.problem}>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={form.busy}>
            Turn on
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

function TurnOff() {
  const { signedIn } = useSession();
  const form = useForm({ password: '', code: '' });
  const refreshState = useRefreshState();
  const byPassword = signedIn.has_password;
  async function turnOff({ password, code }: typeof form.values) {
    await post('/auth/totp/remove', byPassword ? { password } : { code: codeOf(code) });
    form.reset();
    await refreshState();
    note('One-time codes are off');
  }
  return (
    <form className="flex max-w-md flex-col gap-4" onSubmit={form.submit(turnOff)}>
      <p className="flex items-center gap-2 text-good">
        <ShieldCheck className="size-4" aria-hidden /> One-time codes are on.
      </p>
      {byPassword ? (
        <TextField
          form={form}
          name="password"
          label="Password"
          type="password"
          autoComplete="current-password"
          required
        />
      ) : (
        <TextField form={form} name="code" label="Code" autoComplete="one-time-code" required />
      )}
      <DialogButtons problem={form.problem}>
        <Button type="submit" look="danger" busy={form.busy}>
          Turn off one-time codes
        </Button>
      </DialogButtons>
    </form>
  );
}
