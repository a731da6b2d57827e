/** Signing in again over the page on which the session ended. */
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { useSession } from './session.tsx';
import { SignInForm } from './sign-in-form.tsx';

interface RenewDialogProps {
  readonly open: boolean;
  readonly onCancel: () => void;
  readonly onDone: () => Promise<void>;
}

export default function RenewDialog({ open, onCancel, onDone }: RenewDialogProps) {
  const { state, signedIn } = useSession();
  return (
    <Dialog
      open={open}
      onClose={onCancel}
      title="Your session has ended"
      description="Sign in again to continue. Your input is still here."
    >
      <SignInForm state={state} email={signedIn.member.email} onDone={onDone} />
      <Button look="quiet" className="mt-3 w-full" onClick={() => window.location.assign('/sign-in')}>
        Leave and discard your input
      </Button>
    </Dialog>
  );
}
