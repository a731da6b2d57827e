/** Making a vault, or changing one. */
import { useLocation } from 'wouter';
import { post, put } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { Vault } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog, DialogButtons } from '../../ui/dialog.tsx';
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
    note(vault ? 'Vault changed' : `Vault “${saved.name}” made`);
    if (vault) onClose();
    else go(`/vaults/${saved.id}/secrets`);
  }
  return (
    <Dialog open onClose={onClose} title={vault ? 'Change the vault' : 'New vault'}>
      <form className="flex flex-col gap-4" onSubmit={form.submit(save)}>
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
        <DialogButtons problem={form.problem}>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={form.busy}>
            {vault ? 'Save' : 'Make vault'}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}
