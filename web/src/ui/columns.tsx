/** Columns shared by several tables, so that the same thing looks the same everywhere. */
import type { RowData } from '@tanstack/react-table';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { TagList } from './badge.tsx';
import { Expiry, StateBadge } from './expiry.tsx';
import type { Column } from './table.tsx';
import { Ago } from './time.tsx';

interface Resource {
  readonly id: string;
  readonly vault_id: string;
  readonly name: string;
}

/** The name of a resource, which opens it. */
export function nameColumn<T extends Resource>(collection: string): Column<T> {
  return {
    id: 'name',
    header: 'Name',
    cell: ({ id, vault_id, name }) => (
      <Link
        href={`/vaults/${vault_id}/${collection}/${id}`}
        className="font-mono text-[13px] font-medium break-all hover:underline"
      >
        {name}
      </Link>
    ),
  };
}

export const stateColumn: Column<Parameters<typeof StateBadge>[0]['of']> = {
  id: 'state',
  header: 'State',
  from: 'sm',
  cell: resource => <StateBadge of={resource} />,
};

export const tagsColumn: Column<{ readonly tags: Readonly<Record<string, string>> }> = {
  id: 'tags',
  header: 'Tags',
  from: 'lg',
  cell: ({ tags }) => <TagList tags={tags} />,
};

export function expiresColumn(from: 'sm' | 'md' | 'lg'): Column<{ readonly expiration_date: string | null }> {
  return { id: 'expires', header: 'Expires', from, cell: row => <Expiry at={row.expiration_date} /> };
}

export const updatedColumn: Column<{ readonly updated_at: string }> = {
  id: 'updated',
  header: 'Updated',
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
