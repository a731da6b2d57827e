/** Invites a person: creates a link for an email address and a role, which is shown and, with a mail server, sent. */
import { useState } from 'react';
import { post } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { InvitedMember, VaultGrant } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { LinkOnce } from '../../shared/invitation-link.tsx';
import { roleChoices } from '../../shared/roles.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { ChoiceField, TextField } from '../../ui/text-field.tsx';
import { GrantsField } from './grants-field.tsx';

export function InviteForm({ onClose }: { onClose: () => void }) {
  const form = useForm({ email: '', role: 'none', grants: [] as readonly VaultGrant[] });
  const [invited, setInvited] = useState<InvitedMember | null>(null);
  const refresh = useRefresh();
  async function invite(values: typeof form.values) {
    setInvited(await post<InvitedMember>('/v1/members', values));
    await refresh('members');
  }
  if (invited !== null) return <LinkOnce invited={invited} onClose={onClose} />;
  return (
    <FormDialog title="Invite a member" form={form} onSubmit={invite} onClose={onClose} action="Create link">
      <TextField form={form} name="email" label="Email" type="email" required />
      <ChoiceField form={form} name="role" label="Role in the organization" choices={roleChoices} />
      <GrantsField form={form} />
    </FormDialog>
  );
}
