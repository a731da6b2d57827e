/** One entry of the request log in full. */
import type { AccessKey, RequestLog } from '../../api/types.ts';
import { useRecord } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { SidePanel } from '../../ui/dialog.tsx';
import { Facts, Mono } from '../../ui/facts.tsx';
import { Exact } from '../../ui/time.tsx';
import { VaultName } from '../access/vault-name.tsx';

export function RequestEntry({ entry, onClose }: { entry: RequestLog; onClose: () => void }) {
  return (
    <SidePanel open onClose={onClose} title="Request" description={<Exact at={entry.created_at} />}>
      <Facts
        facts={[
          [
            'Outcome',
            <Badge key="outcome" tone={entry.success ? 'good' : 'bad'}>
              {entry.status} {entry.success ? 'succeeded' : 'refused'}
            </Badge>,
          ],
          ...(entry.count > 1
            ? [['Count', `${entry.count} identical requests; this is the first`] as const]
            : []),
          ['Vault', <VaultName key="vault" id={entry.vault_id} />],
          ['Access key', <KeyName key="key" id={entry.access_key_id} />],
          ['Requested', entry.requested || 'all active secrets'],
          ['Tool', entry.tool ?? 'none'],
          ['Route', <Mono key="route">{`${entry.method} ${entry.route}`}</Mono>],
          ['Address', <Mono key="address">{entry.ip_address}</Mono>],
          ['Client', entry.user_agent || 'unknown'],
          ['Duration', `${entry.duration_ms.toFixed(2)} ms`],
          ['Request ID', <Mono key="request">{entry.request_id}</Mono>],
          ['Entry ID', <Mono key="id">{entry.id}</Mono>],
          ['Receipt', <Mono key="receipt">{entry.receipt}</Mono>],
        ]}
      />
    </SidePanel>
  );
}

function KeyName({ id }: { id: string | null }) {
  const may = useMay();
  const key = useRecord<AccessKey>('access-keys', id ?? undefined, may('access-keys:read'));
  if (id === null) return <span className="text-muted">none recognised</span>;
  return <>{key.data?.name ?? <Mono>{id}</Mono>}</>;
}
