/** The audit log: every change, reveal and refusal, and whether its chain is intact. */
import { ScrollText } from 'lucide-react';
import type { AuditLog as Entry } from '../../api/types.ts';
import { useAddress } from '../../ui/address.ts';
import { Badge } from '../../ui/badge.tsx';
import { Name } from '../../ui/name.tsx';
import type { Column } from '../../ui/table.tsx';
import { ActorFilter } from './actor-filter.tsx';
import { actionsWith } from './audit-actions.ts';
import { AuditEntry } from './audit-entry.tsx';
import { ChainVerification } from './chain-verification.tsx';
import { ChoiceFilter, IpAddress, SearchFilter } from './log-filters.tsx';
import { LogPage } from './log-page.tsx';
import { Times } from './times.tsx';

const columns: readonly Column<Entry>[] = [
  {
    id: 'action',
    header: 'Action',
    cell: ({ action, outcome, count, subject }) => (
      <>
        <span className="flex flex-wrap items-center gap-1.5">
          <span className="break-words">{action}</span>
          {outcome === 'denied' && <Badge tone="bad">denied</Badge>}
          <Times count={count} />
        </span>
        <span className="block text-xs text-muted sm:hidden">
          <Subject of={subject} />
        </span>
      </>
    ),
  },
  {
    id: 'actor',
    header: 'Actor',
    wraps: true,
    from: 'sm',
    cell: ({ actor }) => <Kinded name={actor.name} kind={actor.kind.replaceAll('_', ' ')} />,
  },
  {
    id: 'subject',
    header: 'Subject',
    from: 'sm',
    wraps: true,
    cell: ({ subject }) => <Subject of={subject} />,
  },
  { id: 'address', header: 'Address', from: 'xl', cell: ({ ip_address }) => <IpAddress of={ip_address} /> },
];

function Subject({ of }: { of: Entry['subject'] }) {
  if (of === null) return <span className="text-muted">–</span>;
  return <Kinded name={of.name || of.id || ''} kind={of.type} />;
}

function Kinded({ name, kind }: { name: string; kind: string }) {
  return (
    <span>
      <Name text={name} /> <span className="text-xs whitespace-nowrap text-muted">{kind}</span>
    </span>
  );
}

/** Merges consecutive entries with the same actor, action, outcome and subject into the newest one, with a count. */
function folded(entries: readonly Entry[]): readonly Entry[] {
  const lines: Entry[] = [];
  for (const entry of entries) {
    const last = lines.at(-1);
    if (last !== undefined && isAlike(last, entry))
      lines[lines.length - 1] = { ...last, count: last.count + entry.count };
    else lines.push(entry);
  }
  return lines;
}

function isAlike(one: Entry, other: Entry): boolean {
  return (
    one.action === other.action &&
    one.outcome === other.outcome &&
    one.actor.id === other.actor.id &&
    one.subject?.id === other.subject?.id
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
      filters={['action', 'actor_id', 'subject_id']}
      fold={folded}
      above={<ChainVerification />}
      filterBar={
        <>
          <ActorFilter address={address} />
          <ChoiceFilter
            address={address}
            name="action"
            label="Action"
            choices={actionsWith(address.get('action'))}
          />
          <SearchFilter
            key={`subject ${address.get('subject_id')}`}
            address={address}
            name="subject_id"
            label="Subject"
            placeholder="Anything"
            collection="resources"
          />
        </>
      }
      empty={{ icon: ScrollText, title: 'No entries yet', filtered: 'No entries match the filter' }}
      panel={(entry, close) => <AuditEntry entry={entry} onClose={close} />}
    />
  );
}
