/** One entry of the audit log in full. */
import type { AuditLog } from '../../api/types.ts';
import { VaultName } from '../../shared/vault-name.tsx';
import { Badge } from '../../ui/badge.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { SidePanel } from '../../ui/dialog.tsx';
import { Facts, Mono } from '../../ui/facts.tsx';
import { Exact } from '../../ui/time.tsx';
import { VerifyReceipt } from './verify-receipt.tsx';

export function AuditEntry({ entry, onClose }: { entry: AuditLog; onClose: () => void }) {
  const { actor, subject } = entry;
  return (
    <SidePanel open onClose={onClose} title={entry.action} description={<Exact at={entry.created_at} />}>
      <div className="flex flex-col gap-6">
        <Facts
          facts={[
            [
              'Outcome',
              <Badge key="outcome" tone={entry.outcome === 'allowed' ? 'neutral' : 'bad'}>
                {entry.outcome}
              </Badge>,
            ],
            ['Effect', entry.effect ?? 'unknown to this version'],
            ['Actor', `${actor.name} (${actor.kind.replaceAll('_', ' ')})`],
            ['Actor ID', <Mono key="actor">{actor.id}</Mono>],
            ['Subject', subject === null ? '–' : `${subject.name} (${subject.type})`],
            ['Subject ID', <Mono key="subject">{subject?.id ?? '–'}</Mono>],
            ['Revision', entry.revision ?? '–'],
            ['Vault', <VaultName key="vault" id={entry.vault_id} />],
            ['Address', <Mono key="address">{entry.ip_address}</Mono>],
            ['Client', entry.user_agent || 'unknown'],
            ['Request ID', <Mono key="request">{entry.request_id}</Mono>],
            ['Entry ID', <Mono key="id">{entry.id}</Mono>],
            ['Receipt', <VerifyReceipt key="receipt" log="audit-logs" entry={entry} />],
          ]}
        />
        {Object.keys(entry.details).length > 0 && (
          <CodeBlock text={JSON.stringify(entry.details, null, 2)} label="details" />
        )}
      </div>
    </SidePanel>
  );
}
