/** The second half of the first run: a vault with a secret in it, and an access key that reads it. */
import { useState } from 'react';
import { Link } from 'wouter';
import { get, post, query } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { CreatedAccessKey, List, Secret, Vault } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { Button } from '../../ui/button.tsx';
import { DialogButtons } from '../../ui/dialog.tsx';
import { AreaField, TextField } from '../../ui/text-field.tsx';
import { ReadIt } from './read-it.tsx';
import { Steps } from './steps.tsx';

export interface First {
  readonly vault: Vault;
  readonly secret: Secret;
  readonly accessKey: CreatedAccessKey;
}

export default function Welcome() {
  const [first, setFirst] = useState<First | null>(null);
  const form = useForm({ vault: 'production', name: 'DATABASE_URL', value: '' });
  const refresh = useRefresh();
  async function make({ vault: vaultName, name, value }: typeof form.values) {
    // Each part is looked up first, so that a retry after a failure continues where the first attempt stopped.
    const vault = await madeOrFound<Vault>('vaults', {}, { name: vaultName });
    const secret = await madeOrFound<Secret>(
      'secrets',
      { vault_id: vault.id },
      { vault_id: vault.id, name, value },
    );
    const accessKey = await post<CreatedAccessKey>('/v1/access-keys', {
      vault_id: vault.id,
      name: 'First access key',
    });
    await refresh('vaults', 'secrets', 'access-keys');
    setFirst({ vault, secret, accessKey });
  }
  if (first !== null) return <ReadIt first={first} />;
  return (
    <Steps
      at={2}
      title="Create your first secret"
      intro="A vault holds the secrets of one application, or of one of its environments."
    >
      <form className="flex flex-col gap-4" onSubmit={form.submit(make)}>
        <TextField form={form} name="vault" label="Vault" required maxLength={255} />
        <TextField
          form={form}
          name="name"
          label="Secret name"
          required
          maxLength={255}
          className="font-mono text-[13px]"
        />
        <AreaField
          form={form}
          name="value"
          label="Value"
          rows={2}
          required
          placeholder="postgres://app:…@db/app"
          hint="Encrypted before it is stored."
        />
        <DialogButtons problem={form.problem}>
          <Link
            href="/"
            className="mr-auto self-center text-muted underline underline-offset-4 hover:text-ink"
          >
            Skip
          </Link>
          <Button type="submit" look="primary" busy={form.busy}>
            Create secret
          </Button>
        </DialogButtons>
      </form>
    </Steps>
  );
}

async function madeOrFound<T extends { name: string }>(
  collection: string,
  filter: Record<string, string>,
  body: { name: string; vault_id?: string; value?: string },
): Promise<T> {
  const found = await get<List<T>>(`/v1/${collection}${query({ ...filter, q: body.name, limit: 100 })}`);
  return found.data.find(one => one.name === body.name) ?? post<T>(`/v1/${collection}`, body);
}
