/** Creates an access key, or edits its restrictions. The key is shown once, with examples of how to use it. */
import { useState } from 'react';
import { update } from '../api/changes.ts';
import { post } from '../api/client.ts';
import { useForm } from '../api/form.ts';
import type { AccessKey, CreatedAccessKey } from '../api/types.ts';
import { useRefresh } from '../api/use.ts';
import { useSession } from '../session/session.tsx';
import { FormDialog, OnceDialog } from '../ui/form-dialog.tsx';
import { TextField } from '../ui/text-field.tsx';
import { noteUpdate } from '../ui/toast.tsx';
import { VaultField } from '../ui/vaults-field.tsx';
import {
  RestrictionFields,
  type RestrictionValues,
  restrictionsOf,
  restrictionValuesOf,
} from './restriction-fields.tsx';
import { TryLines } from './try-lines.tsx';

interface Values extends RestrictionValues {
  vault_id: string;
  name: string;
}

interface AccessKeyFormProps {
  readonly item?: AccessKey;
  readonly vaultId?: string;
  readonly onClose: () => void;
}

export function AccessKeyForm({ item, vaultId = '', onClose }: AccessKeyFormProps) {
  const form = useForm<Values>({
    vault_id: vaultId,
    name: item?.name ?? '',
    ...restrictionValuesOf(item),
  });
  const [made, setMade] = useState<CreatedAccessKey | null>(null);
  const refresh = useRefresh();
  async function save(values: Values) {
    const bodyOf = (those: Values) => ({ name: those.name, ...restrictionsOf(those, item) });
    const body = bodyOf(values);
    if (item) {
      noteUpdate('Access key', await update(`/v1/access-keys/${item.id}`, bodyOf(form.initial), body));
      onClose();
    } else setMade(await post<CreatedAccessKey>('/v1/access-keys', { vault_id: values.vault_id, ...body }));
    await refresh('access-keys');
  }
  if (made) return <Made made={made} onClose={onClose} />;
  return (
    <FormDialog
      title={item ? `Edit ${item.name}` : 'New access key'}
      form={form}
      onSubmit={save}
      onClose={onClose}
      action={item ? 'Save' : 'Create access key'}
    >
      {vaultId === '' && <VaultField form={form} />}
      <TextField
        form={form}
        name="name"
        label="Name"
        required
        maxLength={255}
        placeholder="payments-api"
        hint="The program that uses it. Create a separate access key for each program."
      />
      <RestrictionFields form={form} />
    </FormDialog>
  );
}

function Made({ made, onClose }: { made: CreatedAccessKey; onClose: () => void }) {
  const { state } = useSession();
  return (
    <OnceDialog
      wide
      title={`Access key “${made.name}”`}
      token={made.token}
      what="access key"
      onClose={onClose}
    >
      <TryLines connection={{ baseUrl: state.base_url, vaultId: made.vault_id, accessKey: made.token }} />
    </OnceDialog>
  );
}
