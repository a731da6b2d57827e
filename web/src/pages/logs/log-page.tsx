/** The page of either log: live updates, filters kept in the address, and a panel that shows one entry in full. */
import { ListFilter } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { CollectionTable } from '../../shared/collection.tsx';
import { useAddress } from '../../ui/address.ts';
import { Button } from '../../ui/button.tsx';
import { Page } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { Clock } from '../../ui/time.tsx';
import { ClearFilters, ExportLinks, LiveButton, MomentFilter, useLive } from './log-filters.tsx';

interface Entry {
  readonly id: string;
  readonly created_at: string;
}

interface LogPageProps<T extends Entry> {
  readonly title: string;
  readonly intro: string;
  readonly collection: 'request-logs' | 'audit-logs';
  readonly columns: readonly Column<T>[];
  /** The log's own filters; both logs can be filtered by time. */
  readonly filters: readonly string[];
  readonly filterBar: ReactNode;
  readonly above?: ReactNode;
  readonly empty: Parameters<typeof CollectionTable>[0]['empty'];
  /** Merges entries of a page into one line. */
  readonly fold?: (entries: readonly T[]) => readonly T[];
  readonly panel: (entry: T, close: () => void) => ReactNode;
}

export function LogPage<T extends Entry>(props: LogPageProps<T>) {
  const { title, intro, collection, columns, filterBar, above, empty, fold, panel } = props;
  const filters = [...props.filters, 'from', 'to'];
  const address = useAddress();
  const [opened, setOpened] = useState<T | null>(null);
  const { live, every, toggle } = useLive(address.page);
  const filter = Object.fromEntries(filters.map(name => [name, address.get(name)]));
  return (
    <Page
      title={title}
      intro={intro}
      actions={
        <>
          <LiveButton live={live} onToggle={toggle} />
          <ExportLinks log={collection} filter={filter} />
        </>
      }
    >
      <Filters count={Object.values(filter).filter(Boolean).length}>
        {filterBar}
        <MomentFilter address={address} name="from" label="From" />
        <MomentFilter address={address} name="to" label="To" />
        <ClearFilters address={address} names={filters} />
      </Filters>
      {above}
      <CollectionTable<T>
        collection={collection}
        label={title}
        columns={[timeColumn<T>(setOpened), ...columns]}
        filters={filters}
        every={every}
        empty={empty}
        fold={fold}
      />
      {opened && panel(opened, () => setOpened(null))}
    </Page>
  );
}

/** On a phone, the filters are behind a button, so that the log is visible first. */
function Filters({ count, children }: { count: number; children: ReactNode }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <div className="sm:hidden">
        <Button aria-expanded={open} onClick={() => setOpen(before => !before)}>
          <ListFilter className="size-4" aria-hidden /> Filters{count > 0 && ` (${count})`}
        </Button>
      </div>
      <div className={`flex-wrap items-end gap-2 sm:flex ${open ? 'flex' : 'hidden'}`}>{children}</div>
    </>
  );
}

function timeColumn<T extends Entry>(onOpen: (entry: T) => void): Column<T> {
  return {
    id: 'time',
    header: 'Time',
    cell: entry => (
      <button
        type="button"
        className="font-medium hover:underline max-sm:min-h-10"
        onClick={() => onOpen(entry)}
      >
        <Clock at={entry.created_at} />
      </button>
    ),
  };
}
