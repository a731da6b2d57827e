/** The audit log: every change, reveal and refusal, and whether its chain is intact. */
import { ScrollText } from 'lucide-react';
import type { AuditLog as Entry } from '../../api/types.ts';
import { useAddress } from '../../ui/address.ts';
import { Badge } from '../../ui/badge.tsx';
import type { Column } from '../../ui/table.tsx';
import { AuditEntry } from './audit-entry.tsx';
import { ChainVerification } from './chain-verification.tsx';
import { IpAddress, TextFilter } from './log-filters.tsx';
import { LogPage } from './log-page.tsx';
import { Times } from './times.tsx';

const columns: readonly Column<Entry>[] = [
  {
    id: 'action',
    header: 'Action',
    cell: ({ action, outcome, count }) => (
      <span className="flex flex-wrap items-center gap-1.5">
        <span className="break-words">{action}</span>
        {outcome === 'denied' && <Badge tone="bad">denied</Badge>}
        <Times count={count} />
      </span>
    ),
  },
  {
    id: 'actor',
    header: 'Actor',
    from: 'sm',
    cell: ({ actor }) => <Kinded name={actor.name} kind={actor.kind.replaceAll('_', ' ')} />,
  },
  {
    id: 'subject',
    header: 'Subject',
    cell: ({ subject }) =>
      subject === null ? (
        <span className="text-muted">–</span>
      ) : (
        <Kinded name={subject.name || subject.id || ''} kind={subject.type} />
      ),
  },
  { id: 'address', header: 'Address', from: 'lg', cell: ({ ip_address }) => <IpAddress of={ip_address} /> },
];

function Kinded({ name, kind }: { name: string; kind: string }) {
  return (
    <span className="wrap-anywhere">
      {name} <span className="text-[13px] whitespace-nowrap text-muted">{kind}</span>
    </span>
  );
}

export default function AuditLog() {
  const address = useAddress();
  return (
    <LogPage<Entry>
      title="Audit log"
      intro="Every change, every revealed value and every refusal. Each entry is chained to the one before it."
      collection="audit-logs"
      columns={columns}
      filters={['action', 'subject_id']}
      above={<ChainVerification />}
      filterBar={
        <>
          <TextFilter key={address.get('action')} address={address} name="action" label="Action" />
          <TextFilter
            key={`subject ${address.get('subject_id')}`}
            address={address}
            name="subject_id"
            label="Subject ID"
          />
        </>
      }
      empty={{ icon: ScrollText, title: 'No entries yet', filtered: 'No entries match the filter' }}
      panel={(entry, close) => <AuditEntry entry={entry} onClose={close} />}
    />
  );
}
