/** Creates or edits a vault. */
import { useLocation } from 'wouter';
import { post, put } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { Vault } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { TagsField, tagLines, tagsOf } from '../../ui/tags-field.tsx';
import { AreaField, TextField } from '../../ui/text-field.tsx';
import { note } from '../../ui/toast.tsx';

export function VaultForm({ vault, onClose }: { vault?: Vault; onClose: () => void }) {
  const form = useForm({
    name: vault?.name ?? '',
    description: vault?.description ?? '',
    tags: tagLines(vault?.tags ?? {}),
  });
  const refresh = useRefresh();
  const [, go] = useLocation();
  async function save({ name, description, tags }: typeof form.values) {
    const body = { name, description, tags: tagsOf(tags) };
    const saved = vault
      ? await put<Vault>(`/v1/vaults/${vault.id}`, body)
      : await post<Vault>('/v1/vaults', body);
    await refresh('vaults');
    note(vault ? 'Vault updated' : `Vault “${saved.name}” created`);
    if (vault) onClose();
    else go(`/vaults/${saved.id}/secrets`);
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
