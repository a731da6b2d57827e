/** Inviting someone: an email and a role make a link, to be handed over by whatever way is safe. */
import { useState } from 'react';
import { post } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { Member } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { useSession } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog, DialogButtons } from '../../ui/dialog.tsx';
import { ChoiceField, TextField } from '../../ui/text-field.tsx';
import { TokenOnce } from '../../ui/token-once.tsx';
import { roleChoices } from './api-key-form.tsx';

export function InviteForm({ onClose }: { onClose: () => void }) {
  const form = useForm({ email: '', role: 'viewer' });
  const [token, setToken] = useState('');
  const refresh = useRefresh();
  async function invite(values: typeof form.values) {
    setToken((await post<Member>('/v1/members', values)).token ?? '');
    await refresh('members');
  }
  if (token !== '') return <LinkOnce email={form.values.email} token={token} onClose={onClose} />;
  return (
    <Dialog open onClose={onClose} title="Invite">
      <form className="flex flex-col gap-4" onSubmit={form.submit(invite)}>
        <TextField form={form} name="email" label="Email" type="email" required />
        <ChoiceField form={form} name="role" label="Role" choices={roleChoices} />
        <DialogButtons problem={form.problem}>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={form.busy}>
            Make a link
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

export function LinkOnce({ email, token, onClose }: { email: string; token: string; onClose: () => void }) {
  const { state } = useSession();
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Invitation for ${email}`}
      description="Hand this link over: whoever opens it first becomes this member."
    >
      <div className="flex flex-col gap-4">
        <TokenOnce token={`${state.base_url}/invite#${token}`} what="link" />
        <DialogButtons>
          <Button look="primary" onClick={onClose}>
            I have copied it
          </Button>
        </DialogButtons>
      </div>
    </Dialog>
  );
}
