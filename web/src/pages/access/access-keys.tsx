/** Vault access keys with their narrowings: of one vault, or of all. */
import { KeyRound, Plus } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { query, remove } from '../../api/client.ts';
import type { AccessKey } from '../../api/types.ts';
import { useList, useRefresh } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { useAddress } from '../../ui/address.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Expiry } from '../../ui/expiry.tsx';
import { Empty } from '../../ui/page.tsx';
import { SearchBox } from '../../ui/search-box.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';
import { note } from '../../ui/toast.tsx';
import { AccessKeyForm } from './access-key-form.tsx';
import { Narrowings } from './narrowings.tsx';
import { VaultName } from './vault-name.tsx';

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
      cell: ({ id, name }) =>
        mayLog ? (
          <Link
            href={`/logs/requests${query({ access_key_id: id })}`}
            className="font-medium break-words hover:underline"
            title="What it has read"
          >
            {name}
          </Link>
        ) : (
          <span className="font-medium break-words">{name}</span>
        ),
    },
    ...(hasVault ? [] : [vault]),
    { id: 'narrowed', header: 'Narrowed to', from: 'md', cell: key => <Narrowings of={key} /> },
    {
      id: 'expires',
      header: 'Expires',
      from: 'lg',
      cell: ({ expiration_date }) => <Expiry at={expiration_date} />,
    },
    { id: 'used', header: 'Last used', from: 'sm', cell: ({ last_used_at }) => <Ago at={last_used_at} /> },
    ...(mayWrite
      ? [
          {
            id: 'actions',
            header: 'Actions',
            quiet: true,
            end: true,
            cell: (key: AccessKey) => <Actions item={key} />,
          },
        ]
      : []),
  ];
}

export function AccessKeys({ vaultId }: { vaultId?: string }) {
  const address = useAddress();
  const may = useMay();
  const [creating, setCreating] = useState(false);
  const q = address.get('q');
  const list = useList<AccessKey>('access-keys', { vault_id: vaultId, q, page: address.page });
  const create = may('access-keys:write') && (
    <Button look="primary" onClick={() => setCreating(true)}>
      <Plus className="size-4" aria-hidden /> New access key
    </Button>
  );
  return (
    <>
      <div className="flex flex-wrap items-center justify-between gap-2">
        <SearchBox label="Search access keys" value={q} onSearch={text => address.set({ q: text })} />
        {create}
      </div>
      <div className="surface overflow-hidden">
        <DataTable
          label="Access keys"
          columns={columnsFor(vaultId !== undefined, may('access-keys:write'), may('logs:read'))}
          list={list}
          page={address.page}
          onPage={address.setPage}
          empty={
            <Empty
              icon={KeyRound}
              title={q === '' ? 'No access key yet' : 'No access key has this in its name'}
              action={q === '' && create}
            >
              {q === ''
                ? 'A program reads a vault with one. Give each program its own, and narrow it to what it needs.'
                : ''}
            </Empty>
          }
        />
      </div>
      {creating && <AccessKeyForm vaultId={vaultId} onClose={() => setCreating(false)} />}
    </>
  );
}

function Actions({ item }: { item: AccessKey }) {
  const [editing, setEditing] = useState(false);
  const refresh = useRefresh();
  async function revoke() {
    await remove(`/v1/access-keys/${item.id}`);
    await refresh('access-keys');
    note(`“${item.name}” is revoked`);
  }
  return (
    <span className="flex justify-end gap-1">
      <Button look="quiet" size="small" onClick={() => setEditing(true)} aria-label={`Change ${item.name}`}>
        Change
      </Button>
      <ConfirmButton
        look="quiet"
        size="small"
        label="Revoke"
        name={`Revoke ${item.name}`}
        title={`Revoke “${item.name}”?`}
        text="Whoever reads with it is refused from this moment on. It can’t be taken back."
        action="Revoke"
        onConfirm={revoke}
      />
      {editing && <AccessKeyForm item={item} vaultId={item.vault_id} onClose={() => setEditing(false)} />}
    </span>
  );
}
