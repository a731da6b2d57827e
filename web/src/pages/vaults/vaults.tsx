/** Every vault of the organization, searchable by name. */
import { Plus, Vault as VaultIcon } from 'lucide-react';
import { Link } from 'wouter';
import type { Vault } from '../../api/types.ts';
import { useMay } from '../../session/session.tsx';
import { useAddress } from '../../ui/address.ts';
import { TagList } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CollectionTable } from '../../ui/collection.tsx';
import { Page } from '../../ui/page.tsx';
import { SearchBox } from '../../ui/search-box.tsx';
import type { Column } from '../../ui/table.tsx';
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
  { id: 'updated', header: 'Updated', from: 'sm', cell: ({ updated_at }) => <Ago at={updated_at} /> },
];

export default function Vaults() {
  const address = useAddress();
  const may = useMay();
  const create = may('vaults:write', 'organization') && (
    <Button look="primary" onClick={() => address.set({ new: 'vault' })}>
      <Plus className="size-4" aria-hidden /> New vault
    </Button>
  );
  return (
    <Page
      title="Vaults"
      intro="A vault holds secrets, keys and certificates that belong together."
      actions={create}
    >
      <SearchBox label="Search vaults" value={address.get('q')} onSearch={text => address.set({ q: text })} />
      <CollectionTable<Vault>
        collection="vaults"
        label="Vaults"
        columns={columns}
        filters={['q']}
        action={create}
        empty={{
          icon: VaultIcon,
          title: 'No vaults yet',
          hint: 'Create one for an application or one of its environments, then add its secrets.',
          filtered: 'No vaults match the search',
        }}
      />
      {address.get('new') === 'vault' && may('vaults:write', 'organization') && (
        <VaultForm onClose={() => address.set({ new: '' })} />
      )}
    </Page>
  );
}
