/** The keys of a vault. The list shows what kind they are; private halves stay where they are. */
import { KeyRound, Plus } from 'lucide-react';
import { useState } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import type { Key } from '../../api/types.ts';
import { useList } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { useAddress } from '../../ui/address.ts';
import { Badge, TagList } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Expiry, StateBadge } from '../../ui/expiry.tsx';
import { Empty } from '../../ui/page.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';
import { KeyForm } from './key-form.tsx';
import { kindOf } from './key-kind.ts';
import { KeyPanel } from './key-panel.tsx';
import { ListBar } from './list-bar.tsx';

const columns: readonly Column<Key>[] = [
  {
    id: 'name',
    header: 'Name',
    cell: ({ id, vault_id, name }) => (
      <Link
        href={`/vaults/${vault_id}/keys/${id}`}
        className="font-mono text-[13px] font-medium break-all hover:underline"
      >
        {name}
      </Link>
    ),
  },
  {
    id: 'kind',
    header: 'Kind',
    cell: key => (
      <span className="flex flex-wrap gap-1.5">
        <span className="whitespace-nowrap">{kindOf(key)}</span> <Badge>{key.type}</Badge>
      </span>
    ),
  },
  { id: 'state', header: 'State', from: 'sm', cell: key => <StateBadge of={key} /> },
  { id: 'tags', header: 'Tags', from: 'lg', cell: ({ tags }) => <TagList tags={tags} /> },
  {
    id: 'expires',
    header: 'Expires',
    from: 'md',
    cell: ({ expiration_date }) => <Expiry at={expiration_date} />,
  },
  { id: 'changed', header: 'Changed', from: 'md', cell: ({ updated_at }) => <Ago at={updated_at} /> },
];

export default function Keys() {
  const { vault = '', item } = useParams<{ vault: string; item?: string }>();
  const address = useAddress();
  const may = useMay();
  const [, go] = useLocation();
  const [creating, setCreating] = useState(false);
  const filter = { q: address.get('q'), state: address.get('state') };
  const list = useList<Key>('keys', { vault_id: vault, page: address.page, ...filter });
  const create = may('keys:write') && (
    <Button look="primary" onClick={() => setCreating(true)}>
      <Plus className="size-4" aria-hidden /> New key
    </Button>
  );
  const isFiltered = filter.q !== '' || filter.state !== '';
  return (
    <>
      <ListBar what="keys" action={create} />
      <div className="surface overflow-hidden">
        <DataTable
          label="Keys"
          columns={columns}
          list={list}
          page={address.page}
          onPage={address.setPage}
          empty={
            <Empty
              icon={KeyRound}
              title={isFiltered ? 'No key fits the filter' : 'No key in this vault yet'}
              action={!isFiltered && create}
            >
              {isFiltered
                ? ''
                : 'Have one made here, so that its private half never travels, or import one as PEM.'}
            </Empty>
          }
        />
      </div>
      {creating && <KeyForm vaultId={vault} onClose={() => setCreating(false)} />}
      {item && <KeyPanel key={item} id={item} onClose={() => go(`/vaults/${vault}/keys`)} />}
    </>
  );
}
