/**
 * A list from the service as a table, with loading, empty and error states and paging. The service sorts and filters; the
 * table shows the result.
 */
import type { UseQueryResult } from '@tanstack/react-query';
import { type ColumnDef, type RowData, tableFeatures, useTable } from '@tanstack/react-table';
import { ArrowDown, ArrowUp } from 'lucide-react';
import { type ReactNode, useRef } from 'react';
import type { List } from '../api/types.ts';
import { Button } from './button.tsx';
import { Loading, Wrong } from './page.tsx';
import { Pager } from './pager.tsx';
import type { Selection } from './selection.ts';
import { useChanged } from './use-changed.ts';
import { useTooWide } from './use-too-wide.ts';

const features = tableFeatures({});

export interface Column<T extends RowData> {
  readonly id: string;
  readonly header: string;
  /** The smallest width at which the column is shown; always shown if omitted. */
  readonly from?: 'sm' | 'md' | 'lg' | 'xl';
  /** The service's sort key for this column, if it has one. */
  readonly sort?: string;
  /** Also receives all rows of the page, for data that is requested once for all of them. */
  readonly cell: (row: T, rows: readonly T[]) => ReactNode;
  /** The header is for screen readers only. */
  readonly quiet?: boolean;
  readonly end?: boolean;
  /** May wrap; on tablets and larger screens, other columns stay on one line. */
  readonly wraps?: boolean;
  /** Replaces the header’s text. */
  readonly heading?: ReactNode;
}

const widths = {
  sm: 'hidden sm:table-cell',
  md: 'hidden md:table-cell',
  lg: 'hidden lg:table-cell',
  xl: 'hidden xl:table-cell',
} as const;

interface DataTableProps<T extends RowData> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly list: UseQueryResult<List<T>>;
  readonly empty: ReactNode;
  readonly page: number;
  readonly onPage: (page: number) => void;
  readonly foot?: ReactNode;
  readonly fold?: (rows: readonly T[]) => readonly T[];
  readonly sorting?: Sorting | undefined;
  readonly selection?: Selection<T> | undefined;
  readonly onSize?: (size: number) => void;
}

/** The sort key: `name`, or `-name` for descending. */
export interface Sorting {
  readonly by: string;
  readonly onSort: (by: string) => void;
}

const none: never[] = [];

export function DataTable<T extends { readonly id: string }>(props: DataTableProps<T>) {
  const { label, list, empty, page, onPage, foot, fold = rows => rows } = props;
  if (list.isPending) return <Loading />;
  if (list.error && !list.data) return <Wrong error={list.error} retry={() => void list.refetch()} />;
  const { data = none, pagination } = list.data!;
  if (data.length === 0 && page === 1) return empty;
  if (data.length === 0) return <PastTheEnd onFirst={() => onPage(1)} />;
  return (
    <>
      <Rows
        label={label}
        columns={props.columns}
        rows={fold(data)}
        fading={list.isPlaceholderData}
        sorting={props.sorting}
        selection={props.selection}
      />
      <Pager
        total={pagination.total}
        page={page}
        limit={pagination.limit}
        onPage={onPage}
        onSize={props.onSize}
      >
        {foot}
      </Pager>
    </>
  );
}

/** After deletions, an old address may refer to a page that no longer exists. */
function PastTheEnd({ onFirst }: { onFirst: () => void }) {
  return (
    <div className="flex flex-wrap items-center justify-between gap-3 px-4 py-6">
      <p className="text-muted">This page is now empty.</p>
      <Button size="small" onClick={onFirst}>
        Go to the first page
      </Button>
    </div>
  );
}

interface RowsProps<T extends RowData> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly fading?: boolean;
  readonly sorting?: Sorting | undefined;
  readonly selection?: Selection<T> | undefined;
}

export function Rows<T extends { readonly id: string }>(props: RowsProps<T>) {
  const { label, rows, fading = false, sorting, selection } = props;
  const columns = selection ? [selectColumn(selection, rows), ...props.columns] : props.columns;
  const definitions = columns.map(
    (column): ColumnDef<typeof features, T> => ({
      id: column.id,
      header: column.header,
      cell: ({ row }) => column.cell(row.original, rows),
    }),
  );
  const table = useTable({
    features,
    columns: definitions,
    data: rows as T[],
    getRowId: row => row.id,
  });
  const columnOf = (id: string) => columns.find(column => column.id === id)!;
  const changed = useChanged(rows);
  const box = useRef<HTMLDivElement>(null);
  const isTooWide = useTooWide(box);
  const cellClass = ({ from, end, wraps }: Column<T>) =>
    `${from ? widths[from] : ''} ${end ? 'text-right tabular-nums' : ''} ${wraps ? '' : 'md:whitespace-nowrap md:[&_wbr]:hidden'}`;
  return (
    <div
      ref={box}
      // A sticky header doesn’t work in a table that scrolls sideways.
      className={`relative transition-opacity ${isTooWide ? 'overflow-x-auto' : ''} ${fading ? 'opacity-60' : ''}`}
    >
      <table className="w-full border-collapse text-left" aria-label={label}>
        <thead>
          {table.getHeaderGroups().map(group => (
            <tr key={group.id}>
              {group.headers.map(header => {
                const column = columnOf(header.column.id);
                return (
                  <th
                    key={header.id}
                    scope="col"
                    aria-sort={sorting && directionOf(column, sorting)}
                    className={`sticky top-0 z-10 h-8 bg-canvas px-3 text-xs font-medium whitespace-nowrap text-muted shadow-[inset_0_-1px_var(--line)] first:pl-4 last:pr-4 max-lg:top-13 ${cellClass(column)}`}
                  >
                    <Heading column={column} sorting={sorting} />
                  </th>
                );
              })}
            </tr>
          ))}
        </thead>
        <tbody>
          {table.getRowModel().rows.map(row => (
            <tr
              key={row.id}
              className={`border-b transition-colors last:border-0 hover:bg-hover ${selection?.chosen.has(row.id) ? 'bg-accent-soft/60' : ''} ${changed.has(row.id) ? 'flash' : ''}`}
            >
              {row.getAllCells().map(cell => (
                <td
                  key={cell.id}
                  className={`h-(--row) px-3 py-1 align-middle first:pl-4 last:pr-4 ${cellClass(columnOf(cell.column.id))}`}
                >
                  <table.FlexRender cell={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface HeadingProps<T extends RowData> {
  readonly column: Column<T>;
  readonly sorting: Sorting | undefined;
}

function Heading<T extends RowData>({ column, sorting }: HeadingProps<T>) {
  const { sort, header, heading, quiet } = column;
  if (heading) return heading;
  if (sort === undefined || sorting === undefined)
    return <span className={quiet ? 'sr-only' : ''}>{header}</span>;
  const direction = directionOf(column, sorting);
  const Arrow = direction === 'descending' ? ArrowDown : ArrowUp;
  return (
    <button
      type="button"
      className="group -mx-1 inline-flex items-center gap-1 rounded px-1 hover:text-ink max-sm:min-h-10"
      onClick={() => sorting.onSort(sorting.by === sort ? `-${sort}` : sorting.by === `-${sort}` ? '' : sort)}
    >
      {header}
      <Arrow
        className={`size-3 ${direction === undefined ? 'opacity-0 group-hover:opacity-50' : ''}`}
        aria-hidden
      />
    </button>
  );
}

function directionOf<T extends RowData>(
  { sort }: Column<T>,
  { by }: Sorting,
): 'ascending' | 'descending' | undefined {
  if (sort === undefined) return undefined;
  if (by === sort) return 'ascending';
  return by === `-${sort}` ? 'descending' : undefined;
}

function selectColumn<T extends { readonly id: string }>(
  { chosen, toggle }: Selection<T>,
  rows: readonly T[],
): Column<T> {
  const box = (label: string, of: readonly T[]) => (
    // The label is a large enough touch target; the box itself is not.
    <label className="-m-2 grid size-8 cursor-pointer place-items-center max-sm:-mx-3 max-sm:size-10">
      <input
        type="checkbox"
        aria-label={label}
        checked={of.every(({ id }) => chosen.has(id))}
        onChange={() => toggle(of)}
      />
    </label>
  );
  return {
    id: 'select',
    header: 'Select',
    heading: box('Select all on this page', rows),
    cell: row => box(`Select ${'name' in row ? String(row.name) : row.id}`, [row]),
  };
}
