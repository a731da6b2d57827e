/** Creates or edits a vault. */
import { useLocation } from 'wouter';
import { update } from '../../api/changes.ts';
import { post } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { Vault } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { TagsField, tagLines, tagsOf } from '../../ui/tags-field.tsx';
import { AreaField, TextField } from '../../ui/text-field.tsx';
import { note, noteUpdate } from '../../ui/toast.tsx';

export function VaultForm({ vault, onClose }: { vault?: Vault; onClose: () => void }) {
  const form = useForm({
    name: vault?.name ?? '',
    description: vault?.description ?? '',
    tags: tagLines(vault?.tags ?? {}),
  });
  const refresh = useRefresh();
  const [, go] = useLocation();
  const bodyOf = (values: typeof form.values) => ({ ...values, tags: tagsOf(values.tags) });
  async function save(values: typeof form.values) {
    if (vault) {
      const before = bodyOf(form.initial);
      noteUpdate('Vault', await update(`/v1/vaults/${vault.id}`, before, bodyOf(values)));
      onClose();
    } else {
      const { id, name } = await post<Vault>('/v1/vaults', bodyOf(values));
      note(`Vault “${name}” created`);
      go(`/vaults/${id}/secrets`);
    }
    await refresh('vaults');
  }
  return (
    <FormDialog
      title={vault ? 'Edit vault' : 'New vault'}
      form={form}
      onSubmit={save}
      onClose={onClose}
      action={vault ? 'Save' : 'Create vault'}
    >
      <TextField
        form={form}
        name="name"
        label="Name"
        required
        maxLength={255}
        placeholder="payments-production"
      />
      <AreaField form={form} name="description" label="Description" optional rows={2} mono={false} />
      <TagsField form={form} />
    </FormDialog>
  );
}
