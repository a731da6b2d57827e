/** The request log: every read of a vault, as it happens. */
import { Activity } from 'lucide-react';
import type { RequestLog as Entry } from '../../api/types.ts';
import { AccessKeyName } from '../../shared/access-key-name.tsx';
import { VaultName, VaultText } from '../../shared/vault-name.tsx';
import { useAddress } from '../../ui/address.ts';
import { Badge } from '../../ui/badge.tsx';
import type { Column } from '../../ui/table.tsx';
import { Histogram } from './histogram.tsx';
import { ChoiceFilter, IpAddress, SearchFilter, TextFilter } from './log-filters.tsx';
import { LogPage } from './log-page.tsx';
import { reasonOf } from './refusal.ts';
import { RequestEntry } from './request-entry.tsx';
import { Times } from './times.tsx';

const statuses = [
  ['', 'Any'],
  ['200', '200 OK'],
  ['304', '304 unchanged'],
  ['400', '400 bad request'],
  ['401', '401 unauthorized'],
  ['403', '403 forbidden'],
  ['404', '404 not found'],
  ['410', '410 expired'],
  ['429', '429 too many'],
] as const;

const outcomes = [
  ['', 'Any'],
  ['true', 'Succeeded'],
  ['false', 'Refused'],
] as const;

const ownFilters = ['vault_id', 'access_key_id', 'success', 'status', 'ip_address'] as const;
/** A call with a secret or a key has an entry before it is sent, and one for its outcome. */
const sent = 102;

/** One row for each use: its outcome, unless that is not on the page. */
function withoutSent(entries: readonly Entry[]): readonly Entry[] {
  const ended = new Set(entries.filter(({ status }) => status !== sent).map(({ request_id }) => request_id));
  return entries.filter(({ status, request_id }) => status !== sent || !ended.has(request_id));
}

const columns: readonly Column<Entry>[] = [
  {
    id: 'status',
    header: 'Status',
    cell: ({ status, success, count }) => (
      <span className="flex flex-wrap items-center gap-1.5">
        <Status of={status} success={success} />
        <Times count={count} />
      </span>
    ),
  },
  {
    id: 'key',
    header: 'Access key',
    cell: ({ access_key_id, vault_id }) => (
      <>
        <AccessKeyName id={access_key_id} />
        <span className="block text-xs text-muted sm:hidden">{vault_id && <VaultText id={vault_id} />}</span>
      </>
    ),
  },
  { id: 'vault', header: 'Vault', from: 'sm', cell: ({ vault_id }) => <VaultName id={vault_id} /> },
  {
    id: 'requested',
    header: 'Requested',
    from: 'lg',
    wraps: true,
    cell: entry => (
      <span className="block max-w-72" title={entry.tool ?? entry.requested}>
        <span className="line-clamp-1 break-all">{entry.tool ?? entry.requested}</span>
        {!entry.success && <span className="block text-xs text-muted">{reasonOf(entry)}</span>}
      </span>
    ),
  },
  { id: 'address', header: 'Address', from: 'xl', cell: ({ ip_address }) => <IpAddress of={ip_address} /> },
  {
    id: 'client',
    header: 'Client',
    from: 'xl',
    wraps: true,
    cell: ({ user_agent }) => (
      <span className="line-clamp-1 max-w-40 min-w-24 break-all text-muted" title={user_agent}>
        {user_agent}
      </span>
    ),
  },
  {
    id: 'duration',
    header: 'Duration',
    from: 'xl',
    end: true,
    cell: ({ duration_ms }) => <span className="tabular-nums">{duration_ms.toFixed(2)} ms</span>,
  },
];

function Status({ of: status, success }: { of: number; success: boolean }) {
  if (status === sent) return <Badge tone="warn">sent, no outcome</Badge>;
  return success ? <span className="tabular-nums">{status}</span> : <Badge tone="bad">{status}</Badge>;
}

export default function RequestLog() {
  const address = useAddress();
  return (
    <LogPage<Entry>
      title="Request log"
      intro="Every read of a vault, recorded before it is answered."
      collection="request-logs"
      columns={columns}
      filters={ownFilters}
      fold={withoutSent}
      above={<Histogram address={address} filters={ownFilters} />}
      filterBar={
        <>
          <SearchFilter
            key={`vault ${address.get('vault_id')}`}
            address={address}
            name="vault_id"
            label="Vault"
            placeholder="All vaults"
            collection="vaults"
          />
          <SearchFilter
            key={`key ${address.get('access_key_id')}`}
            address={address}
            name="access_key_id"
            label="Access key"
            placeholder="All access keys"
            collection="access-keys"
          />
          <ChoiceFilter address={address} name="success" label="Outcome" choices={outcomes} />
          <ChoiceFilter address={address} name="status" label="Status" choices={statuses} />
          <TextFilter key={address.get('ip_address')} address={address} name="ip_address" label="Address" />
        </>
      }
      empty={{
        icon: Activity,
        title: 'No vault has been read yet',
        hint: 'Create an access key and read a vault with it. The request appears here immediately.',
        filtered: 'No requests match the filter',
      }}
      panel={(entry, close) => <RequestEntry entry={entry} onClose={close} />}
    />
  );
}
