/** Making a secret, or changing one. A value that is left empty in a change stays as it was. */
import { post, put } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { Secret } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog, DialogButtons } from '../../ui/dialog.tsx';
import { TagsField, tagLines, tagsOf } from '../../ui/tags-field.tsx';
import { AreaField, CheckField, DateField, localOf, momentOf, TextField } from '../../ui/text-field.tsx';
import { note } from '../../ui/toast.tsx';

interface SecretFormProps {
  readonly vaultId: string;
  readonly secret?: Secret;
  readonly onClose: () => void;
}

const empty = {
  name: '',
  value: '',
  content_type: 'text/plain',
  tags: '',
  enabled: true,
  activation_date: '',
  expiration_date: '',
};

function valuesOf(secret: Secret): typeof empty {
  return {
    name: secret.name,
    value: '',
    content_type: secret.content_type,
    tags: tagLines(secret.tags),
    enabled: secret.enabled,
    activation_date: localOf(secret.activation_date),
    expiration_date: localOf(secret.expiration_date),
  };
}

export function SecretForm({ vaultId, secret, onClose }: SecretFormProps) {
  const form = useForm(secret ? valuesOf(secret) : empty);
  const refresh = useRefresh();
  async function save(values: typeof empty) {
    const { value, ...others } = values;
    const body = {
      ...others,
      tags: tagsOf(values.tags),
      activation_date: momentOf(values.activation_date),
      expiration_date: momentOf(values.expiration_date),
      ...(secret && value === '' ? {} : { value }),
    };
    if (secret) await put(`/v1/secrets/${secret.id}`, body);
    else await post('/v1/secrets', { vault_id: vaultId, ...body });
    await refresh('secrets', 'versions');
    note(secret ? 'Secret changed' : `Secret “${values.name}” stored`);
    onClose();
  }
  return (
    <Dialog open onClose={onClose} title={secret ? `Change ${secret.name}` : 'New secret'}>
      <form className="flex flex-col gap-4" onSubmit={form.submit(save)}>
        <TextField
          form={form}
          name="name"
          label="Name"
          required
          maxLength={255}
          placeholder="DATABASE_URL"
          className="font-mono text-[13px]"
        />
        <AreaField
          form={form}
          name="value"
          label={secret ? 'New value' : 'Value'}
          optional={secret !== undefined}
          required={secret === undefined}
          rows={3}
          hint={
            secret
              ? `Left empty, version ${secret.version} stays. Anything else makes version ${secret.version + 1}.`
              : 'Up to 64 KiB.'
          }
        />
        <div className="grid gap-4 sm:grid-cols-2">
          <DateField form={form} name="activation_date" label="Active from" optional />
          <DateField form={form} name="expiration_date" label="Expires" optional />
        </div>
        <TextField form={form} name="content_type" label="Content type" required maxLength={255} />
        <TagsField form={form} />
        <CheckField
          form={form}
          name="enabled"
          label="Enabled"
          hint="A disabled secret is kept, but nobody can read it through the vault."
        />
        <DialogButtons problem={form.problem}>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={form.busy}>
            {secret ? 'Save' : 'Store secret'}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}
