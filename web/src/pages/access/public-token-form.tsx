/** Creates a public token for a key. The token is shown once. */
import { useState } from 'react';
import { post } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { CreatedPublicToken } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { FormDialog, OnceDialog } from '../../ui/form-dialog.tsx';
import { DateField, momentOf, TextField } from '../../ui/text-field.tsx';

interface PublicTokenFormProps {
  readonly keyId: string;
  readonly keyName: string;
  readonly onClose: () => void;
}

export function PublicTokenForm({ keyId, keyName, onClose }: PublicTokenFormProps) {
  const form = useForm({ name: '', expiration_date: '' });
  const [made, setMade] = useState<CreatedPublicToken | null>(null);
  const refresh = useRefresh();
  async function save({ name, expiration_date }: typeof form.values) {
    const body = {
      key_id: keyId,
      expiration_date: momentOf(expiration_date),
      ...(name === '' ? {} : { name }),
    };
    setMade(await post<CreatedPublicToken>('/v1/public-tokens', body));
    await refresh('public-tokens');
  }
  const title = `Share the public key of ${keyName}`;
  if (made) return <OnceDialog title={title} token={made.token} what="public token" onClose={onClose} />;
  return (
    <FormDialog title={title} form={form} onSubmit={save} onClose={onClose} action="Create token">
      <TextField form={form} name="name" label="Name" optional placeholder="partner" />
      <DateField form={form} name="expiration_date" label="Expires" optional />
    </FormDialog>
  );
}
