/** Proof of identity, by any of the ways in which the person signs in. */
import { Fingerprint, LogIn } from 'lucide-react';
import { post } from '../api/client.ts';
import { useForm } from '../api/form.ts';
import { Button, buttonClass } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Problem } from '../ui/problem.tsx';
import { TextField } from '../ui/text-field.tsx';
import { answerWithPasskey, passkeysWork, wasCancelled } from './passkey.ts';
import { useSession } from './session.tsx';

interface ProveDialogProps {
  readonly open: boolean;
  readonly onSettle: (answered: boolean) => void;
}

export default function ProveDialog({ open, onSettle: settle }: ProveDialogProps) {
  return (
    <Dialog
      open={open}
      onClose={() => settle(false)}
      title="Confirm it’s you"
      description="Confirm your identity to continue. The confirmation is valid for five minutes."
    >
      <Ways onDone={() => settle(true)} />
    </Dialog>
  );
}

function Ways({ onDone }: { onDone: () => void }) {
  const { state, signedIn } = useSession();
  const { passkey, oidc } = state.methods;
  return (
    <div className="flex flex-col gap-4">
      {signedIn.has_password && <ByPassword onDone={onDone} />}
      {signedIn.passkeys > 0 && passkey && passkeysWork && <ByPasskey onDone={onDone} />}
      {signedIn.single_sign_on && oidc !== null && <ByIssuer name={oidc.name} onDone={onDone} />}
    </div>
  );
}

function ByPassword({ onDone }: { onDone: () => void }) {
  const form = useForm({ password: '' });
  const prove = form.submit(async ({ password }) => {
    await post('/auth/proof', { password });
    onDone();
  });
  return (
    <form className="flex flex-col gap-4" onSubmit={prove}>
      <TextField
        form={form}
        name="password"
        label="Your password"
        type="password"
        autoComplete="current-password"
        required
      />
      <Problem text={form.problem} />
      <Button type="submit" look="primary" busy={form.busy}>
        Confirm
      </Button>
    </form>
  );
}

function ByPasskey({ onDone }: { onDone: () => void }) {
  const form = useForm({});
  const prove = form.submit(async () => {
    try {
      await answerWithPasskey('/auth/proof/options', '/auth/proof');
    } catch (error) {
      if (wasCancelled(error)) return;
      throw error;
    }
    onDone();
  });
  return (
    <form className="flex flex-col gap-2" onSubmit={prove}>
      <Button type="submit" busy={form.busy}>
        <Fingerprint className="size-4" aria-hidden /> Confirm with a passkey
      </Button>
      <Problem text={form.problem} />
    </form>
  );
}

/** Opens another tab, so that the input on this page is kept. */
function ByIssuer({ name, onDone }: { name: string; onDone: () => void }) {
  return (
    <div className="flex flex-col gap-2">
      <a href="/auth/oidc/start?prove=1" target="_blank" rel="noreferrer" className={buttonClass({})}>
        <LogIn className="size-4" aria-hidden /> Confirm with {name}
      </a>
      <Button look="quiet" onClick={onDone}>
        I have confirmed
      </Button>
    </div>
  );
}
