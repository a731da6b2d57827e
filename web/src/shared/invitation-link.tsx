/** Shows the link of an invitation, once, and whether it is also sent by mail. */
import type { InvitedMember } from '../api/types.ts';
import { useSession } from '../session/session.tsx';
import { OnceDialog } from '../ui/form-dialog.tsx';

interface LinkProps {
  readonly invited: Pick<InvitedMember, 'email' | 'token' | 'mailed'>;
  readonly onClose: () => void;
}

export function LinkOnce({ invited: { email, token, mailed }, onClose }: LinkProps) {
  const { state } = useSession();
  const sending = mailed
    ? 'The link is sent to the member by mail. You can also send it yourself.'
    : 'The service sends no mail: send this link to the member yourself.';
  return (
    <OnceDialog
      title={`Invitation for ${email}`}
      description={`${sending} The first person to open it joins as this member.`}
      token={`${state.base_url}/invite#${token}`}
      what="link"
      onClose={onClose}
    />
  );
}
