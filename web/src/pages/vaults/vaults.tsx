/** The organization's vaults, searchable by name, and those that were deleted in the last 30 days. */
import { Plus, Trash2, Vault as VaultIcon } from 'lucide-react';
import { Link, useLocation } from 'wouter';
import type { GenericResource, Vault } from '../../api/types.ts';
import { useMay } from '../../session/session.tsx';
import { CollectionTable } from '../../shared/collection.tsx';
import { useAddress } from '../../ui/address.ts';
import { TagList } from '../../ui/badge.tsx';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Name } from '../../ui/name.tsx';
import { Page } from '../../ui/page.tsx';
import { SearchBox } from '../../ui/search-box.tsx';
import type { Column } from '../../ui/table.tsx';
import { TabLinks } from '../../ui/tabs.tsx';
import { Ago } from '../../ui/time.tsx';
import { trashColumns } from './trash.tsx';
import { useVaultCounts } from './vault-counts.tsx';
import { VaultForm } from './vault-form.tsx';

const columns: readonly Column<Vault>[] = [
  {
    id: 'name',
    header: 'Name',
    wraps: true,
    cell: ({ id, name, description }) => (
      <Link href={`/vaults/${id}/secrets`} className="group flex items-center gap-3">
        <span className="grid size-7 shrink-0 place-items-center rounded-lg border bg-canvas text-muted">
          <VaultIcon className="size-4" aria-hidden />
        </span>
        <span className="min-w-0">
          <span className="block font-medium group-hover:underline">
            <Name text={name} />
          </span>
          {description !== '' && <span className="block max-w-md text-xs text-muted">{description}</span>}
        </span>
      </Link>
    ),
  },
  {
    id: 'contents',
    header: 'Contains',
    cell: ({ id }, rows) => <Contents id={id} among={rows} />,
  },
  { id: 'tags', header: 'Tags', from: 'lg', wraps: true, cell: ({ tags }) => <TagList tags={tags} /> },
  { id: 'updated', header: 'Updated', from: 'sm', cell: ({ updated_at }) => <Ago at={updated_at} /> },
];

const kinds = [
  ['secrets', 'secret'],
  ['keys', 'key'],
  ['certificates', 'certificate'],
] as const;

/** Makes one request for all rows of the page. */
function Contents({ id, among }: { id: string; among: readonly Vault[] }) {
  const counts = useVaultCounts(among.map(vault => vault.id)).get(id);
  if (counts === undefined) return null;
  const parts = kinds
    .filter(([name]) => (counts[name] ?? 0) > 0)
    .map(([name, one]) => `${counts[name]!.toLocaleString('en')} ${counts[name] === 1 ? one : name}`);
  return <span className="text-xs text-muted">{parts.join(', ') || 'empty'}</span>;
}

const tabs = [
  { href: '/vaults', label: 'Vaults' },
  { href: '/vaults/trash', label: 'Trash' },
];

export default function Vaults() {
  const address = useAddress();
  const may = useMay();
  const [location] = useLocation();
  const create = may('vaults:write', 'organization') && (
    <Button look="primary" data-create aria-keyshortcuts="n" onClick={() => address.set({ new: 'vault' })}>
      <Plus className="size-4" aria-hidden /> New vault
    </Button>
  );
  return (
    <Page
      title="Vaults"
      intro="A vault contains secrets, keys and certificates that belong together."
      actions={
        <>
          <ButtonLink href="/compare">Compare</ButtonLink>
          {create}
        </>
      }
    >
      <TabLinks label="Vaults" tabs={tabs} exact />
      {location === '/vaults/trash' ? <DeletedVaults /> : <LivingVaults create={create} />}
      {address.get('new') === 'vault' && may('vaults:write') && (
        <VaultForm onClose={() => address.set({ new: '' })} />
      )}
    </Page>
  );
}

function LivingVaults({ create }: { create: React.ReactNode }) {
  const address = useAddress();
  return (
    <>
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
    </>
  );
}

function DeletedVaults() {
  return (
    <CollectionTable<GenericResource>
      collection="resources"
      label="Deleted vaults"
      columns={trashColumns}
      within={{ type: 'vault', state: 'deleted' }}
      empty={{
        icon: Trash2,
        title: 'No deleted vaults',
        hint: 'Deleted vaults stay here with everything in them for 30 days, and can be restored.',
      }}
    />
  );
}
