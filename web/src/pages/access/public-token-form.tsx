/** Making a public token for a key; shown once. */
import { useState } from 'react';
import { post } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { PublicToken } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog, DialogButtons } from '../../ui/dialog.tsx';
import { DateField, momentOf, TextField } from '../../ui/text-field.tsx';
import { TokenOnce } from '../../ui/token-once.tsx';

interface PublicTokenFormProps {
  readonly keyId: string;
  readonly keyName: string;
  readonly onClose: () => void;
}

export function PublicTokenForm({ keyId, keyName, onClose }: PublicTokenFormProps) {
  const form = useForm({ name: '', expiration_date: '' });
  const [made, setMade] = useState<PublicToken | null>(null);
  const refresh = useRefresh();
  async function save({ name, expiration_date }: typeof form.values) {
    const body = {
      key_id: keyId,
      expiration_date: momentOf(expiration_date),
      ...(name === '' ? {} : { name }),
    };
    setMade(await post<PublicToken>('/v1/public-tokens', body));
    await refresh('public-tokens');
  }
  return (
    <Dialog open onClose={onClose} title={`Share the public half of ${keyName}`}>
      {made ? (
        <div className="flex flex-col gap-4">
          <TokenOnce token={made.token ?? ''} what="public token" />
          <DialogButtons>
            <Button look="primary" onClick={onClose}>
              I have copied it
            </Button>
          </DialogButtons>
        </div>
      ) : (
        <form className="flex flex-col gap-4" onSubmit={form.submit(save)}>
          <TextField form={form} name="name" label="Name" optional placeholder="partner" />
          <DateField form={form} name="expiration_date" label="Expires" optional />
          <DialogButtons problem={form.problem}>
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" look="primary" busy={form.busy}>
              Make token
            </Button>
          </DialogButtons>
        </form>
      )}
    </Dialog>
  );
}
