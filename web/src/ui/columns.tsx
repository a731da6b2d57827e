/** Columns shared by several tables. */
import type { RowData } from '@tanstack/react-table';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { useAddress } from './address.ts';
import { TagText, tagClass } from './badge.tsx';
import { Expiry, StateBadge, stateOf } from './expiry.tsx';
import { Name } from './name.tsx';
import type { Column } from './table.tsx';
import { Ago } from './time.tsx';

interface Resource {
  readonly id: string;
  readonly vault_id: string;
  readonly name: string;
}

/** The resource's name as a link. On narrow screens, `below` is shown under it. */
export function nameColumn<T extends Resource>(collection: string, below?: (row: T) => ReactNode): Column<T> {
  return {
    id: 'name',
    header: 'Name',
    sort: 'name',
    wraps: true,
    cell: row => (
      <>
        <Link
          href={`/vaults/${row.vault_id}/${collection}/${row.id}`}
          className="font-mono text-xs font-medium underline-offset-3 hover:underline"
        >
          <Name text={row.name} />
        </Link>
        {below && <span className="block text-xs text-muted sm:hidden">{below(row)}</span>}
      </>
    ),
  };
}

export const stateColumn: Column<Parameters<typeof StateBadge>[0]['of']> = {
  id: 'state',
  header: 'State',
  sort: 'state',
  from: 'sm',
  cell: resource =>
    stateOf(resource) === 'active' ? <span className="sr-only">active</span> : <StateBadge of={resource} />,
};

export const tagsColumn: Column<{ readonly tags: Readonly<Record<string, string>> }> = {
  id: 'tags',
  header: 'Tags',
  from: 'xl',
  wraps: true,
  cell: ({ tags }) => <TagFilters tags={tags} />,
};

/** Tags that filter the list when clicked. */
function TagFilters({ tags }: { tags: Readonly<Record<string, string>> }) {
  const address = useAddress();
  return (
    <span className="flex flex-wrap gap-1">
      {Object.entries(tags).map(([name, value]) => (
        <button
          key={name}
          type="button"
          title="Show only resources with this tag"
          onClick={() => address.set({ tag: `${name}=${value}` })}
          className={`${tagClass} hover:border-line-strong hover:text-ink`}
        >
          <TagText name={name} value={value} />
        </button>
      ))}
    </span>
  );
}

export function expiresColumn(from: 'sm' | 'md' | 'lg'): Column<{ readonly expiration_date: string | null }> {
  return {
    id: 'expires',
    header: 'Expires',
    sort: 'expires',
    from,
    cell: ({ expiration_date: at }) =>
      at === null ? <span className="sr-only">never</span> : <Expiry at={at} />,
  };
}

export const updatedColumn: Column<{ readonly updated_at: string }> = {
  id: 'updated',
  header: 'Updated',
  sort: 'updated',
  from: 'md',
  cell: ({ updated_at }) => <Ago at={updated_at} />,
};

export const lastUsedColumn: Column<{ readonly last_used_at: string | null }> = {
  id: 'used',
  header: 'Last used',
  from: 'sm',
  cell: ({ last_used_at }) => <Ago at={last_used_at} />,
};

export function actionsColumn<T extends RowData>(cell: (row: T) => ReactNode): Column<T> {
  return { id: 'actions', header: 'Actions', quiet: true, end: true, cell };
}
