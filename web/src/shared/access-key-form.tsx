/** Creates an access key, or edits its restrictions. The key is shown once, with examples of how to use it. */
import { useState } from 'react';
import { useForm } from '../api/form.ts';
import type { AccessKey, CreatedAccessKey } from '../api/types.ts';
import { useSession } from '../session/session.tsx';
import { OnceDialog } from '../ui/form-dialog.tsx';
import { ResourceForm } from '../ui/resource-form.tsx';
import { TextField } from '../ui/text-field.tsx';
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
  const bodyOf = (values: Values) => ({ name: values.name, ...restrictionsOf(values, item) });
  if (made) return <Made made={made} onClose={onClose} />;
  return (
    <ResourceForm
      what="access key"
      collection="access-keys"
      resource={item}
      form={form}
      bodyOf={bodyOf}
      creationOf={values => ({ vault_id: values.vault_id, ...bodyOf(values) })}
      onCreated={(created: CreatedAccessKey) => setMade(created)}
      onClose={onClose}
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
    </ResourceForm>
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
