/** Creates or edits a secret. When editing, an empty value leaves the current one unchanged. */
import { post, put } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { Secret } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { TagsField, tagLines, tagsOf } from '../../ui/tags-field.tsx';
import {
  AreaField,
  CheckField,
  DateField,
  expiryOf,
  localOf,
  momentOf,
  TextField,
} from '../../ui/text-field.tsx';
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
      expiration_date: expiryOf(values.expiration_date, secret?.expiration_date),
      ...(secret && value === '' ? {} : { value }),
    };
    if (secret) await put(`/v1/secrets/${secret.id}`, body);
    else await post('/v1/secrets', { vault_id: vaultId, ...body });
    await refresh('secrets', 'versions');
    note(secret ? 'Secret updated' : `Secret “${values.name}” created`);
    onClose();
  }
  return (
    <FormDialog
      title={secret ? `Edit ${secret.name}` : 'New secret'}
      form={form}
      onSubmit={save}
      onClose={onClose}
      action={secret ? 'Save' : 'Create secret'}
    >
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
            ? `Leave empty to keep version ${secret.version}. A new value becomes version ${secret.version + 1}.`
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
        hint="A disabled secret is kept but can’t be read through the vault."
      />
    </FormDialog>
  );
}
