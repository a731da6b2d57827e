/** Shows the link of an invitation, once. */
import { useSession } from '../session/session.tsx';
import { OnceDialog } from '../ui/form-dialog.tsx';

export function LinkOnce({ email, token, onClose }: { email: string; token: string; onClose: () => void }) {
  const { state } = useSession();
  return (
    <OnceDialog
      title={`Invitation for ${email}`}
      description="Send this link to the member. The first person to open it joins as this member."
      token={`${state.base_url}/invite#${token}`}
      what="link"
      onClose={onClose}
    />
  );
}
