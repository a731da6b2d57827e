/** Every vault of the organization, with a search over their names. */
import { Plus, Vault as VaultIcon } from 'lucide-react';
import { Link } from 'wouter';
import type { Vault } from '../../api/types.ts';
import { useList } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { useAddress } from '../../ui/address.ts';
import { TagList } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty, Page } from '../../ui/page.tsx';
import { SearchBox } from '../../ui/search-box.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';
import { VaultForm } from './vault-form.tsx';

const columns: readonly Column<Vault>[] = [
  {
    id: 'name',
    header: 'Name',
    cell: ({ id, name, description }) => (
      <Link href={`/vaults/${id}/secrets`} className="group flex items-center gap-3">
        <span className="grid size-8 shrink-0 place-items-center rounded-lg bg-accent-soft text-accent-strong">
          <VaultIcon className="size-4" aria-hidden />
        </span>
        <span className="min-w-0">
          <span className="block font-medium break-words group-hover:underline">{name}</span>
          {description !== '' && (
            <span className="block max-w-md truncate text-[13px] leading-5 text-muted">{description}</span>
          )}
        </span>
      </Link>
    ),
  },
  { id: 'tags', header: 'Tags', from: 'md', cell: ({ tags }) => <TagList tags={tags} /> },
  { id: 'changed', header: 'Changed', from: 'sm', cell: ({ updated_at }) => <Ago at={updated_at} /> },
];

export default function Vaults() {
  const address = useAddress();
  const may = useMay();
  const q = address.get('q');
  const list = useList<Vault>('vaults', { q, page: address.page });
  const create = may('vaults:write') && (
    <Button look="primary" onClick={() => address.set({ new: 'vault' })}>
      <Plus className="size-4" aria-hidden /> New vault
    </Button>
  );
  return (
    <Page
      title="Vaults"
      intro="Each holds the secrets, keys and certificates that belong together."
      actions={create}
    >
      <SearchBox label="Search vaults" value={q} onSearch={text => address.set({ q: text })} />
      <div className="surface overflow-hidden">
        <DataTable
          label="Vaults"
          columns={columns}
          list={list}
          page={address.page}
          onPage={address.setPage}
          empty={
            q === '' ? (
              <Empty icon={VaultIcon} title="No vault yet" action={create}>
                Make one for an application or one of its environments, then put its secrets in.
              </Empty>
            ) : (
              <Empty icon={VaultIcon} title="No vault has this in its name" />
            )
          }
        />
      </div>
      {address.get('new') === 'vault' && may('vaults:write') && (
        <VaultForm onClose={() => address.set({ new: '' })} />
      )}
    </Page>
  );
}
