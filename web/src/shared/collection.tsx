/**
 * A collection on a page: search bar, table, empty state, and the form that creates a record. Search and filters are
 * kept in the address.
 */
import type { RowData } from '@tanstack/react-table';
import { type LucideIcon, Plus } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { type Parameters, pageSize, useList } from '../api/use.ts';
import { useMay } from '../session/session.tsx';
import { useAddress } from '../ui/address.ts';
import { Button } from '../ui/button.tsx';
import { Empty } from '../ui/page.tsx';
import { SearchBox } from '../ui/search-box.tsx';
import type { Selection } from '../ui/selection.ts';
import { type Column, DataTable } from '../ui/table.tsx';

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
  /** Fixed filters that the person can't change. */
  readonly within?: Parameters;
  /** The query parameters that filter the list. */
  readonly filters?: readonly string[];
  /** How often to refresh, in milliseconds. */
  readonly every?: number | false;
  /** Merges records of a page into one row. */
  readonly fold?: (rows: readonly T[]) => readonly T[];
  /** The person can sort by column and choose the page size; both are kept in the address. */
  readonly arranged?: boolean;
  readonly selection?: Selection<T> | undefined;
  /** Shown above the table, given the total and the filter. */
  readonly above?: (found: { total: number; filter: Parameters }) => ReactNode;
}

interface CreateProps {
  /** The scope required to create a record. */
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
/** Where a team expects its resources. */
const byName = 'name';

export function CollectionTable<T extends { readonly id: string }>({
  action,
  ...props
}: TableProps<T> & { readonly action?: ReactNode }) {
  const { collection, label, columns, empty, within = {}, filters = [], every = false, fold } = props;
  const address = useAddress();
  const filter = Object.fromEntries(filters.map(name => [name, address.get(name)]));
  const sort = address.get('sort') || byName;
  const arranged = props.arranged ? { sort, limit: sizeIn(address.get('size')) } : {};
  const asked = { ...within, ...filter, ...arranged };
  const list = useList<T>(collection, { ...asked, page: address.page }, { every });
  const isFiltered = Object.values(filter).some(value => value !== '');
  const total = list.data?.pagination.total ?? 0;
  const table = (
    <div className="surface overflow-clip">
      <DataTable
        label={label}
        columns={columns}
        list={list}
        page={address.page}
        onPage={address.setPage}
        fold={fold}
        selection={props.selection}
        {...(props.arranged && {
          sorting: { by: sort, onSort: (by: string) => address.set({ sort: by === byName ? '' : by }) },
          onSize: (size: number) => address.set({ size: size === pageSize ? '' : String(size) }),
        })}
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
  return (
    <>
      {props.above?.({ total, filter: asked })}
      {table}
    </>
  );
}

function sizeIn(text: string): number {
  const size = Number(text);
  return size >= 1 && size <= 100 ? size : pageSize;
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

/** The button that opens the form, if the person may create records, and the open form. `?create=1` opens it too. */
export function useCreate({ scope, label, icon: Icon = Plus, form }: CreateProps): {
  readonly action: ReactNode;
  readonly form: ReactNode;
} {
  const may = useMay();
  const [pressed, setPressed] = useState(false);
  const address = useAddress();
  const open = pressed || (address.get('create') !== '' && may(scope));
  function close() {
    setPressed(false);
    if (address.get('create') !== '') address.set({ create: '' });
  }
  const action = may(scope) && (
    <Button look="primary" data-create aria-keyshortcuts="n" onClick={() => setPressed(true)}>
      <Icon className="size-4" aria-hidden /> {label}
    </Button>
  );
  return { action, form: open && form(close) };
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
      <div className="max-sm:flex max-sm:w-full max-sm:flex-col">{action}</div>
    </div>
  );
}
