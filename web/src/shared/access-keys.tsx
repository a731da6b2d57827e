/** The access keys of one vault or of all vaults, with their restrictions. */
import { KeyRound } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { query } from '../api/client.ts';
import type { AccessKey, RequestHistogram } from '../api/types.ts';
import { useOptional } from '../api/use.ts';
import { Sparkline } from '../charts/sparkline.tsx';
import { useMay } from '../session/session.tsx';
import { Button } from '../ui/button.tsx';
import { actionsColumn, expiresColumn, lastUsedColumn } from '../ui/columns.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { AccessKeyForm } from './access-key-form.tsx';
import { Collection } from './collection.tsx';
import { Restrictions } from './restrictions.tsx';
import { RevokeButton } from './revoke-button.tsx';
import { VaultName, VaultText } from './vault-name.tsx';

function columnsFor(hasVault: boolean, mayWrite: boolean, mayLog: boolean): readonly Column<AccessKey>[] {
  const vault: Column<AccessKey> = {
    id: 'vault',
    header: 'Vault',
    from: 'sm',
    cell: ({ vault_id }) => <VaultName id={vault_id} />,
  };
  return [
    {
      id: 'name',
      header: 'Name',
      wraps: true,
      cell: ({ id, name, vault_id, last_used_at }) => (
        <>
          {mayLog ? (
            <Link
              href={`/logs/requests${query({ access_key_id: id })}`}
              className="font-medium break-words hover:underline"
              title="Show its requests"
            >
              {name}
            </Link>
          ) : (
            <span className="font-medium break-words">{name}</span>
          )}
          <span className="mt-0.5 block text-xs text-muted sm:hidden">
            {!hasVault && <VaultText id={vault_id} />} used <Ago at={last_used_at} />
          </span>
        </>
      ),
    },
    ...(hasVault ? [] : [vault]),
    {
      id: 'restrictions',
      header: 'Restrictions',
      from: 'lg',
      wraps: true,
      cell: key => <Restrictions of={key} />,
    },
    expiresColumn('md'),
    lastUsedColumn,
    ...(mayLog ? [requestsColumn] : []),
    ...(mayWrite ? [actionsColumn((key: AccessKey) => <Actions item={key} />)] : []),
  ];
}

const requestsColumn: Column<AccessKey> = {
  id: 'requests',
  header: 'Requests',
  from: 'xl',
  cell: (key, rows) => <Requests of={key} among={rows} />,
};

const day = 86_400_000;
const days = 14;
/** As many as the service counts at a time. */
const mostCounted = 50;

/** Requests in the last two weeks, for all access keys of the page at a time. */
function Requests({ of, among }: { of: AccessKey; among: readonly AccessKey[] }) {
  const place = among.findIndex(({ id }) => id === of.id);
  const start = place - (place % mostCounted);
  const access_key_ids = among
    .slice(start, start + mostCounted)
    .map(({ id }) => id)
    .join(',');
  const to = new Date().setHours(24, 0, 0, 0);
  const period = { from: new Date(to - days * day).toISOString(), to: new Date(to).toISOString() };
  const path = `/v1/request-logs/histogram${query({ ...period, buckets: days, access_key_ids })}`;
  const { data } = useOptional<RequestHistogram>(path, true, 60_000);
  const found = data?.access_keys.find(({ id }) => id === of.id);
  return found ? <Sparkline days={found.requests} what="request" /> : null;
}

export function AccessKeys({ vaultId }: { vaultId?: string }) {
  const may = useMay();
  return (
    <Collection<AccessKey>
      collection="access-keys"
      label="Access keys"
      columns={columnsFor(vaultId !== undefined, may('access-keys:write'), may('logs:read'))}
      within={{ vault_id: vaultId }}
      create={{
        scope: 'access-keys:write',
        label: 'New access key',
        form: close => <AccessKeyForm vaultId={vaultId} onClose={close} />,
      }}
      empty={{
        icon: KeyRound,
        title: 'No access keys yet',
        hint: 'Programs read a vault with an access key. Give each program its own, restricted to what it needs.',
        filtered: 'No access keys match the search',
      }}
    />
  );
}

function Actions({ item }: { item: AccessKey }) {
  const [editing, setEditing] = useState(false);
  return (
    <span className="flex justify-end gap-1">
      <Button look="quiet" size="small" onClick={() => setEditing(true)} aria-label={`Edit ${item.name}`}>
        Edit
      </Button>
      <RevokeButton
        collection="access-keys"
        item={item}
        text="Programs that use it can no longer read the vault. This can’t be undone."
      />
      {editing && <AccessKeyForm item={item} vaultId={item.vault_id} onClose={() => setEditing(false)} />}
    </span>
  );
}
