/** The last two steps of the setup: creates a vault with a secret, and an access key that reads it. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { get, post, put, query } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { CreatedAccessKey, List, Secret, Vault } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { Button } from '../../ui/button.tsx';
import { DialogButtons } from '../../ui/dialog.tsx';
import { Loading } from '../../ui/page.tsx';
import { AreaField, TextField } from '../../ui/text-field.tsx';
import { type First, ReadIt } from './read-it.tsx';
import { Steps } from './steps.tsx';

/** Created during an earlier visit to this page. The access key is not included, because it is shown only once. */
type Stored = Omit<First, 'accessKey'>;

export default function Welcome() {
  const [first, setFirst] = useState<First | null>(null);
  const refresh = useRefresh();
  const stored = useQuery({
    queryKey: ['welcome'],
    queryFn: findStored,
    staleTime: Number.POSITIVE_INFINITY,
  });
  async function addKey(before: Stored) {
    const name = 'First access key';
    const accessKey = await post<CreatedAccessKey>('/v1/access-keys', { vault_id: before.vault.id, name });
    await refresh('vaults', 'secrets', 'access-keys');
    setFirst({ ...before, accessKey });
  }
  if (first !== null) return <ReadIt first={first} />;
  if (stored.isPending) return <Loading />;
  if (stored.data) return <Continue stored={stored.data} onContinue={addKey} />;
  return <FirstSecret onStored={addKey} />;
}

async function findStored(): Promise<Stored | null> {
  const [vault] = (await get<List<Vault>>('/v1/vaults?limit=1')).data;
  if (vault === undefined) return null;
  const [secret] = (await get<List<Secret>>(`/v1/secrets${query({ vault_id: vault.id, limit: 1 })}`)).data;
  return secret === undefined ? null : { vault, secret };
}

function Continue({ stored, onContinue }: { stored: Stored; onContinue: (stored: Stored) => Promise<void> }) {
  const form = useForm({});
  const { vault, secret } = stored;
  return (
    <Steps
      at={3}
      title={`Read ${secret.name}`}
      intro={`The vault “${vault.name}” and its secret are stored. Create an access key to read the vault with. It is shown only once.`}
    >
      <form onSubmit={form.submit(() => onContinue(stored))}>
        <DialogButtons problem={form.problem}>
          <Skip />
          <Button type="submit" look="primary" busy={form.busy}>
            Create access key
          </Button>
        </DialogButtons>
      </form>
    </Steps>
  );
}

function Skip() {
  return (
    <Link href="/" className="mr-auto self-center text-muted underline underline-offset-4 hover:text-ink">
      Skip
    </Link>
  );
}

function FirstSecret({ onStored }: { onStored: (stored: Stored) => Promise<void> }) {
  const form = useForm({ vault: 'production', name: 'DATABASE_URL', value: '' });
  async function make({ vault: vaultName, name, value }: typeof form.values) {
    // Each part is looked up first, so that a retry after a failure continues where the first attempt stopped.
    const vault = await madeOrFound<Vault>('vaults', {}, { name: vaultName });
    const body = { vault_id: vault.id, name, value };
    const found = await madeOrFound<Secret>('secrets', { vault_id: vault.id }, body);
    await onStored({ vault, secret: found });
  }
  return (
    <Steps
      at={2}
      title="Create your first secret"
      intro="A vault contains the secrets of one application, or of one of its environments."
    >
      <form className="flex flex-col gap-4" onSubmit={form.submit(make)}>
        <TextField form={form} name="vault" label="Vault" required maxLength={255} />
        <TextField
          form={form}
          name="name"
          label="Secret name"
          required
          maxLength={255}
          className="font-mono text-xs"
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
          <Skip />
          <Button type="submit" look="primary" busy={form.busy}>
            Create secret
          </Button>
        </DialogButtons>
      </form>
    </Steps>
  );
}

/** If the record already exists, updates its value, so that typed input is never dropped. */
async function madeOrFound<T extends { id: string; name: string }>(
  collection: string,
  filter: Record<string, string>,
  body: { name: string; vault_id?: string; value?: string },
): Promise<T> {
  const { data } = await get<List<T>>(`/v1/${collection}${query({ ...filter, q: body.name, limit: 100 })}`);
  const found = data.find(one => one.name === body.name);
  if (found === undefined) return post<T>(`/v1/${collection}`, body);
  return body.value === undefined ? found : put<T>(`/v1/${collection}/${found.id}`, { value: body.value });
}
