/** Creates a public token for a key. The token is shown once. */
import { useState } from 'react';
import { post } from '../api/client.ts';
import { useForm } from '../api/form.ts';
import type { CreatedPublicToken } from '../api/types.ts';
import { useRefresh } from '../api/use.ts';
import { useSession } from '../session/session.tsx';
import { CodeBlock } from '../ui/copy.tsx';
import { DateField, expiryOf } from '../ui/date-field.tsx';
import { FormDialog, OnceDialog } from '../ui/form-dialog.tsx';
import { TextField } from '../ui/text-field.tsx';
import { publicKeyLine } from './connection.ts';

interface PublicTokenFormProps {
  readonly keyId: string;
  readonly keyName: string;
  readonly onClose: () => void;
}

export function PublicTokenForm({ keyId, keyName, onClose }: PublicTokenFormProps) {
  const form = useForm({ name: '', expiration_date: '' });
  const [made, setMade] = useState<CreatedPublicToken | null>(null);
  const refresh = useRefresh();
  const { state } = useSession();
  async function save({ name, expiration_date }: typeof form.values) {
    const body = {
      key_id: keyId,
      expiration_date: expiryOf(expiration_date),
      ...(name === '' ? {} : { name }),
    };
    setMade(await post<CreatedPublicToken>('/v1/public-tokens', body));
    await refresh('public-tokens');
  }
  const title = `Share the public key of ${keyName}`;
  if (made) {
    return (
      <OnceDialog wide title={title} token={made.token} what="public token" onClose={onClose}>
        <div className="flex flex-col gap-2">
          <h3 className="font-medium">How to use it</h3>
          <CodeBlock text={publicKeyLine(state.base_url, made.token)} label="curl command" />
          <p className="text-xs text-muted">
            The response is the public key in PEM format. The token gives access to nothing else.
          </p>
        </div>
      </OnceDialog>
    );
  }
  return (
    <FormDialog title={title} form={form} onSubmit={save} onClose={onClose} action="Create token">
      <TextField form={form} name="name" label="Name" optional placeholder="partner" />
      <DateField form={form} name="expiration_date" label="Expires" optional />
    </FormDialog>
  );
}
