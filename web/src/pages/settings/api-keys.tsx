/** API keys of the general API: who made them, what they may do, when they were last used. */
import { KeySquare, Plus } from 'lucide-react';
import { useState } from 'react';
import { remove } from '../../api/client.ts';
import type { ApiKey } from '../../api/types.ts';
import { useList, useRefresh } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { useAddress } from '../../ui/address.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Expiry } from '../../ui/expiry.tsx';
import { Empty } from '../../ui/page.tsx';
import { SearchBox } from '../../ui/search-box.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';
import { note } from '../../ui/toast.tsx';
import { Who } from '../../ui/who.tsx';
import { ApiKeyForm } from './api-key-form.tsx';

const columns: readonly Column<ApiKey>[] = [
  {
    id: 'name',
    header: 'Name',
    cell: ({ name, created_by }) => (
      <span>
        <span className="block font-medium break-words">{name}</span>
        <span className="block text-[13px] leading-5 text-muted">
          made by <Who id={created_by} />
        </span>
      </span>
    ),
  },
  { id: 'role', header: 'Role', cell: ({ role }) => <Badge tone="accent">{role}</Badge> },
  { id: 'narrowed', header: 'Narrowed to', from: 'md', cell: key => <Narrowed of={key} /> },
  {
    id: 'expires',
    header: 'Expires',
    from: 'lg',
    cell: ({ expiration_date }) => <Expiry at={expiration_date} />,
  },
  { id: 'used', header: 'Last used', from: 'sm', cell: ({ last_used_at }) => <Ago at={last_used_at} /> },
  { id: 'actions', header: 'Actions', quiet: true, end: true, cell: key => <Revoke item={key} /> },
];

export default function ApiKeys() {
  const address = useAddress();
  const may = useMay();
  const [creating, setCreating] = useState(false);
  const q = address.get('q');
  const list = useList<ApiKey>('api-keys', { q, page: address.page });
  const create = may('api-keys:write') && (
    <Button look="primary" onClick={() => setCreating(true)}>
      <Plus className="size-4" aria-hidden /> Generate New Key
    </Button>
  );
  return (
    <>
      <div className="flex flex-wrap items-center justify-between gap-2">
        <SearchBox label="Search API keys" value={q} onSearch={text => address.set({ q: text })} />
        {create}
      </div>
      <div className="surface overflow-hidden">
        <DataTable
          label="API Keys"
          columns={columns}
          list={list}
          page={address.page}
          onPage={address.setPage}
          empty={
            <Empty
              icon={KeySquare}
              title={q === '' ? 'No API key yet' : 'No API key has this in its name'}
              action={q === '' && create}
            >
              {q === ''
                ? 'A program manages vaults over the general API with one. For reading a vault, an access key is enough.'
                : ''}
            </Empty>
          }
        />
      </div>
      {creating && <ApiKeyForm onClose={() => setCreating(false)} />}
    </>
  );
}

function Narrowed({ of: { scopes, vault_ids } }: { of: ApiKey }) {
  if (scopes === null && vault_ids === null) return <span className="text-muted">all that the role may</span>;
  return (
    <span className="flex flex-wrap gap-1">
      {scopes !== null &&
        (scopes.length > 3 ? (
          <Badge>{scopes.length} scopes</Badge>
        ) : (
          scopes.map(scope => <Badge key={scope}>{scope}</Badge>)
        ))}
      {vault_ids !== null && (
        <Badge>{vault_ids.length === 1 ? '1 vault' : `${vault_ids.length} vaults`}</Badge>
      )}
    </span>
  );
}

function Revoke({ item }: { item: ApiKey }) {
  const may = useMay();
  const refresh = useRefresh();
  async function revoke() {
    await remove(`/v1/api-keys/${item.id}`);
    await refresh('api-keys');
    note(`“${item.name}” is revoked`);
  }
  if (!may('api-keys:write')) return null;
  return (
    <ConfirmButton
      look="quiet"
      size="small"
      label="Revoke"
      name={`Revoke ${item.name}`}
      title={`Revoke “${item.name}”?`}
      text="Every request with it is refused from this moment on. It can’t be taken back."
      action="Revoke"
      onConfirm={revoke}
    />
  );
}
