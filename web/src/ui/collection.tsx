/**
 * A collection as a page shows it: the bar above, the table, the empty state, and the form that creates a record.
 * Search and filters are kept in the address.
 */
import type { RowData } from '@tanstack/react-table';
import { type LucideIcon, Plus } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { type Parameters, useList } from '../api/use.ts';
import { useMay } from '../session/session.tsx';
import { useAddress } from './address.ts';
import { Button } from './button.tsx';
import { Empty } from './page.tsx';
import { SearchBox } from './search-box.tsx';
import { type Column, DataTable } from './table.tsx';

interface EmptyTexts {
  readonly icon: LucideIcon;
  /** Shown while there are no records: what belongs here. */
  readonly title: string;
  readonly hint?: string;
  /** Shown while no record matches the filter. */
  readonly filtered?: string;
}

interface TableProps<T extends RowData> {
  /** As in the path: `access-keys`. */
  readonly collection: string;
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly empty: EmptyTexts;
  /** What the list is restricted to, whatever the person filters by. */
  readonly within?: Parameters;
  /** The query parameters that filter the list. */
  readonly filters?: readonly string[];
  /** How often it is refreshed, in milliseconds. */
  readonly every?: number | false;
  /** What is shown as one row, of the records of a page. */
  readonly fold?: (rows: readonly T[]) => readonly T[];
}

interface CreateProps {
  /** The scope needed to create a record. */
  readonly scope: string;
  readonly label: string;
  readonly icon?: LucideIcon;
  readonly form: (close: () => void) => ReactNode;
}

interface CollectionProps<T extends RowData> extends TableProps<T> {
  readonly create: CreateProps;
  /** Shown above the table; a search box by default. */
  readonly bar?: (action: ReactNode) => ReactNode;
}

const searched = ['q'];

export function CollectionTable<T extends { readonly id: string }>({
  action,
  ...props
}: TableProps<T> & { readonly action?: ReactNode }) {
  const { collection, label, columns, empty, within = {}, filters = [], every = false, fold } = props;
  const address = useAddress();
  const filter = Object.fromEntries(filters.map(name => [name, address.get(name)]));
  const list = useList<T>(collection, { ...within, ...filter, page: address.page }, { every });
  const isFiltered = Object.values(filter).some(value => value !== '');
  return (
    <div className="surface overflow-hidden">
      <DataTable
        label={label}
        columns={columns}
        list={list}
        page={address.page}
        onPage={address.setPage}
        fold={fold}
        empty={
          isFiltered ? (
            <Empty icon={empty.icon} title={empty.filtered ?? empty.title} />
          ) : (
            <Empty icon={empty.icon} title={empty.title} action={action}>
              {empty.hint}
            </Empty>
          )
        }
      />
    </div>
  );
}

export function Collection<T extends { readonly id: string }>({ create, bar, ...table }: CollectionProps<T>) {
  const { filters = searched, label } = table;
  const { action, form } = useCreate(create);
  return (
    <>
      {bar ? bar(action) : <SearchBar label={label} action={action} />}
      <CollectionTable {...table} filters={filters} action={action} />
      {form}
    </>
  );
}

/** The button that opens the form, if the person may create records, and the form while it is open. */
export function useCreate({ scope, label, icon: Icon = Plus, form }: CreateProps): {
  readonly action: ReactNode;
  readonly form: ReactNode;
} {
  const may = useMay();
  const [open, setOpen] = useState(false);
  const action = may(scope) && (
    <Button look="primary" onClick={() => setOpen(true)}>
      <Icon className="size-4" aria-hidden /> {label}
    </Button>
  );
  return { action, form: open && form(() => setOpen(false)) };
}

function SearchBar({ label, action }: { label: string; action: ReactNode }) {
  const address = useAddress();
  return (
    <div className="flex flex-wrap items-center justify-between gap-2">
      <SearchBox
        label={`Search ${/^[A-Z][a-z]/.test(label) ? label.charAt(0).toLowerCase() + label.slice(1) : label}`}
        value={address.get('q')}
        onSearch={q => address.set({ q })}
      />
      {action}
    </div>
  );
}
