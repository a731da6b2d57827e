/** The audit log: every change, reveal and refusal, and whether its chain is whole. */
import { ScrollText } from 'lucide-react';
import { useState } from 'react';
import type { AuditLog as Entry } from '../../api/types.ts';
import { useList } from '../../api/use.ts';
import { useAddress } from '../../ui/address.ts';
import { Badge } from '../../ui/badge.tsx';
import { Empty, Page } from '../../ui/page.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Clock } from '../../ui/time.tsx';
import { AuditEntry } from './audit-entry.tsx';
import { ChainVerification } from './chain-verification.tsx';
import {
  ClearFilters,
  ExportLinks,
  IpAddress,
  LiveButton,
  MomentFilter,
  TextFilter,
  useLive,
} from './log-filters.tsx';

const filters = ['action', 'subject_id', 'from', 'to'] as const;

function columnsFor(onOpen: (entry: Entry) => void): readonly Column<Entry>[] {
  return [
    {
      id: 'when',
      header: 'When',
      cell: entry => (
        <button type="button" className="font-medium hover:underline" onClick={() => onOpen(entry)}>
          <Clock at={entry.created_at} />
        </button>
      ),
    },
    {
      id: 'action',
      header: 'Action',
      cell: ({ action, outcome }) => (
        <span className="flex flex-wrap items-center gap-1.5">
          <span className="break-words">{action}</span>
          {outcome === 'denied' && <Badge tone="bad">denied</Badge>}
        </span>
      ),
    },
    {
      id: 'actor',
      header: 'Who',
      from: 'sm',
      cell: ({ actor }) => <Kinded name={actor.name} kind={actor.kind.replaceAll('_', ' ')} />,
    },
    {
      id: 'subject',
      header: 'What',
      cell: ({ subject }) =>
        subject === null ? (
          <span className="text-muted">–</span>
        ) : (
          <Kinded name={subject.name || subject.id || ''} kind={subject.type} />
        ),
    },
    { id: 'address', header: 'Address', from: 'lg', cell: ({ ip_address }) => <IpAddress of={ip_address} /> },
  ];
}

function Kinded({ name, kind }: { name: string; kind: string }) {
  return (
    <span className="wrap-anywhere">
      {name} <span className="text-[13px] whitespace-nowrap text-muted">{kind}</span>
    </span>
  );
}

export default function AuditLog() {
  const address = useAddress();
  const [opened, setOpened] = useState<Entry | null>(null);
  const { live, every, toggle } = useLive(address.page);
  const filter = Object.fromEntries(filters.map(name => [name, address.get(name)]));
  const list = useList<Entry>('audit-logs', { ...filter, page: address.page }, { every });
  const actions = (
    <>
      <LiveButton live={live} onToggle={toggle} />
      <ExportLinks log="audit-logs" filter={filter} />
    </>
  );
  return (
    <Page
      title="Audit log"
      intro="Who changed, revealed or was refused what. Each entry is chained to the one before."
      actions={actions}
    >
      <ChainVerification />
      <div className="flex flex-wrap items-end gap-3">
        <TextFilter key={address.get('action')} address={address} name="action" label="Action" />
        <TextFilter
          key={`subject ${address.get('subject_id')}`}
          address={address}
          name="subject_id"
          label="Id of what"
        />
        <MomentFilter address={address} name="from" label="From" />
        <MomentFilter address={address} name="to" label="To" />
        <ClearFilters address={address} names={filters} />
      </div>
      <div className="surface overflow-hidden">
        <DataTable
          label="Audit log"
          columns={columnsFor(setOpened)}
          list={list}
          page={address.page}
          onPage={address.setPage}
          empty={<Empty icon={ScrollText} title="No entry fits the filter" />}
        />
      </div>
      {opened && <AuditEntry entry={opened} onClose={() => setOpened(null)} />}
    </Page>
  );
}
