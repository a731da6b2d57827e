/** The secrets of a vault. Values are not in the list: each is asked for by itself, and hidden again. */
import { FileLock2, Plus } from 'lucide-react';
import { useState } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import type { Secret } from '../../api/types.ts';
import { useList } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { useAddress } from '../../ui/address.ts';
import { TagList } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { Expiry, StateBadge } from '../../ui/expiry.tsx';
import { Empty } from '../../ui/page.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';
import { ListBar } from './list-bar.tsx';
import { revealSecret } from './reveal.ts';
import { SecretForm } from './secret-form.tsx';
import { SecretPanel } from './secret-panel.tsx';

function columnsFor(mayReveal: boolean): readonly Column<Secret>[] {
  return [
    {
      id: 'name',
      header: 'Name',
      cell: ({ id, vault_id, name }) => (
        <Link
          href={`/vaults/${vault_id}/secrets/${id}`}
          className="font-mono text-[13px] font-medium break-all hover:underline"
        >
          {name}
        </Link>
      ),
    },
    { id: 'state', header: 'State', from: 'sm', cell: secret => <StateBadge of={secret} /> },
    { id: 'tags', header: 'Tags', from: 'lg', cell: ({ tags }) => <TagList tags={tags} /> },
    {
      id: 'expires',
      header: 'Expires',
      from: 'md',
      cell: ({ expiration_date }) => <Expiry at={expiration_date} />,
    },
    {
      id: 'version',
      header: 'Version',
      from: 'lg',
      cell: ({ version }) => <span className="tabular-nums">{version}</span>,
    },
    { id: 'changed', header: 'Changed', from: 'md', cell: ({ updated_at }) => <Ago at={updated_at} /> },
    ...(mayReveal
      ? [
          {
            id: 'copy',
            header: 'Copy',
            quiet: true,
            end: true,
            cell: ({ id, name }: Secret) => (
              <CopyButton
                label={`Copy the value of ${name} without showing it`}
                text={() => revealSecret(id)}
              />
            ),
          },
        ]
      : []),
  ];
}

export default function Secrets() {
  const { vault = '', item } = useParams<{ vault: string; item?: string }>();
  const address = useAddress();
  const may = useMay();
  const [, go] = useLocation();
  const [creating, setCreating] = useState(false);
  const filter = { q: address.get('q'), state: address.get('state'), tag: address.get('tag') };
  const list = useList<Secret>('secrets', { vault_id: vault, page: address.page, ...filter });
  const isFiltered = Object.values(filter).some(value => value !== '');
  const create = may('secrets:write') && (
    <Button look="primary" onClick={() => setCreating(true)}>
      <Plus className="size-4" aria-hidden /> New secret
    </Button>
  );
  return (
    <>
      <ListBar what="secrets" action={create} />
      <div className="surface overflow-hidden">
        <DataTable
          label="Secrets"
          columns={columnsFor(may('secrets:reveal'))}
          list={list}
          page={address.page}
          onPage={address.setPage}
          empty={
            isFiltered ? (
              <Empty icon={FileLock2} title="No secret fits the filter" />
            ) : (
              <Empty icon={FileLock2} title="No secret in this vault yet" action={create}>
                Add one, or import a whole .env file: Import, above, shows what will change before it changes.
              </Empty>
            )
          }
        />
      </div>
      {creating && <SecretForm vaultId={vault} onClose={() => setCreating(false)} />}
      {item && <SecretPanel key={item} id={item} onClose={() => go(`/vaults/${vault}/secrets`)} />}
    </>
  );
}
