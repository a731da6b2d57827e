/** Edits a member's roles in individual vaults. */
import { updateGranted } from '../../api/changes.ts';
import { useForm } from '../../api/form.ts';
import type { Member } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { noteUpdate } from '../../ui/toast.tsx';
import { GrantsField } from './grants-field.tsx';

export function AccessForm({ member, onClose }: { member: Member; onClose: () => void }) {
  const { id, email, role, grants } = member;
  const form = useForm({ grants });
  const refresh = useRefresh();
  async function save(values: typeof form.values) {
    noteUpdate(`Vaults of ${email}`, await updateGranted(`/v1/members/${id}`, form.initial, values));
    onClose();
    await refresh('members');
  }
  const description =
    role === 'none'
      ? 'They have access to these vaults and to those of their groups.'
      : `In addition to the role “${role}”, which they have in every vault.`;
  return (
    <FormDialog
      title={`Vaults of ${email}`}
      description={description}
      form={form}
      onSubmit={save}
      onClose={onClose}
      action="Save"
    >
      <GrantsField form={form} hint="You can’t grant more access than you have." />
    </FormDialog>
  );
}
