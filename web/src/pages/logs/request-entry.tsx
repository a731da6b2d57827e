/** One entry of the request log in full. */
import type { AccessKey, RequestLog } from '../../api/types.ts';
import { useRecord } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { AccessKeyName } from '../../shared/access-key-name.tsx';
import { Restrictions } from '../../shared/restrictions.tsx';
import { VaultName } from '../../shared/vault-name.tsx';
import { Badge } from '../../ui/badge.tsx';
import { SidePanel } from '../../ui/dialog.tsx';
import { Facts, Mono } from '../../ui/facts.tsx';
import { Exact } from '../../ui/time.tsx';
import { reasonOf } from './refusal.ts';
import { VerifyReceipt } from './verify-receipt.tsx';

/** The restrictions that the access key's holder added, as written. */
function Narrowing({ of }: { of: NonNullable<RequestLog['narrowing']> }) {
  return (
    <span className="flex flex-col gap-1 break-all">
      <Mono>{of.id}</Mono>
      {of.restrictions.map(restriction => (
        <Mono key={JSON.stringify(restriction)}>{JSON.stringify(restriction)}</Mono>
      ))}
    </span>
  );
}

export function RequestEntry({ entry, onClose }: { entry: RequestLog; onClose: () => void }) {
  const may = useMay();
  const { data: key = null } = useRecord<AccessKey>(
    'access-keys',
    entry.access_key_id ?? undefined,
    may('access-keys:read'),
  );
  const reason = entry.success ? null : reasonOf(entry);
  return (
    <SidePanel open onClose={onClose} title="Request" description={<Exact at={entry.created_at} />}>
      <Facts
        facts={[
          [
            'Outcome',
            <Badge key="outcome" tone={entry.success ? 'neutral' : 'bad'}>
              {entry.status} {entry.success ? 'succeeded' : 'refused'}
            </Badge>,
          ],
          ...(reason === null ? [] : [['Reason', reason] as const]),
          ...(entry.count > 1
            ? [['Count', `${entry.count} identical requests; this is the first`] as const]
            : []),
          ['Vault', <VaultName key="vault" id={entry.vault_id} />],
          ['Access key', <AccessKeyName key="key" id={entry.access_key_id} />],
          ...(key === null ? [] : [['Restrictions', <Restrictions key="restrictions" of={key} />] as const]),
          ...(entry.narrowing === null
            ? []
            : [['Restricted by its holder', <Narrowing key="narrowing" of={entry.narrowing} />] as const]),
          ['Requested', entry.requested || (entry.success ? 'all active secrets' : 'not understood')],
          ...(entry.via === null
            ? []
            : [
                [
                  'Through templates',
                  `${entry.via.length} ${entry.via.length === 1 ? 'value' : 'values'}`,
                ] as const,
              ]),
          ['Tool', entry.tool ?? 'none'],
          ['Route', <Mono key="route">{`${entry.method} ${entry.route}`}</Mono>],
          ['Address', <Mono key="address">{entry.ip_address}</Mono>],
          ['Client', entry.user_agent || 'unknown'],
          ['Duration', `${entry.duration_ms.toFixed(2)} ms`],
          ['Request ID', <Mono key="request">{entry.request_id}</Mono>],
          ['Entry ID', <Mono key="id">{entry.id}</Mono>],
          ['Receipt', <VerifyReceipt key="receipt" log="request-logs" entry={entry} />],
        ]}
      />
    </SidePanel>
  );
}
