/** The request log: every read of a vault, as it happens. */
import { Activity } from 'lucide-react';
import { useState } from 'react';
import type { RequestLog as Entry } from '../../api/types.ts';
import { useList } from '../../api/use.ts';
import { useAddress } from '../../ui/address.ts';
import { Badge } from '../../ui/badge.tsx';
import { Empty, Page } from '../../ui/page.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Clock } from '../../ui/time.tsx';
import { VaultName } from '../access/vault-name.tsx';
import {
  ChoiceFilter,
  ClearFilters,
  ExportLinks,
  IpAddress,
  LiveButton,
  MomentFilter,
  TextFilter,
  useLive,
  VaultFilter,
} from './log-filters.tsx';
import { RequestEntry } from './request-entry.tsx';

const filters = ['vault_id', 'access_key_id', 'status', 'ip_address', 'from', 'to'] as const;
const statuses = [
  ['', 'Any'],
  ['200', '200 answered'],
  ['304', '304 not changed'],
  ['400', '400 bad request'],
  ['401', '401 unauthorized'],
  ['403', '403 forbidden'],
  ['404', '404 not found'],
  ['410', '410 expired'],
  ['429', '429 too many'],
] as const;

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
      id: 'status',
      header: 'Status',
      cell: ({ status, success }) => <Badge tone={success ? 'good' : 'bad'}>{status}</Badge>,
    },
    { id: 'vault', header: 'Vault', cell: ({ vault_id }) => <VaultName id={vault_id} /> },
    {
      id: 'requested',
      header: 'Requested',
      from: 'md',
      cell: ({ requested, tool }) => <span className="break-all">{tool ?? requested}</span>,
    },
    { id: 'address', header: 'Address', from: 'sm', cell: ({ ip_address }) => <IpAddress of={ip_address} /> },
    {
      id: 'client',
      header: 'Client',
      from: 'lg',
      cell: ({ user_agent }) => (
        <span className="line-clamp-1 max-w-48 break-all text-muted">{user_agent}</span>
      ),
    },
    {
      id: 'took',
      header: 'Took',
      from: 'lg',
      end: true,
      cell: ({ duration_ms }) => <span className="tabular-nums">{duration_ms.toFixed(2)} ms</span>,
    },
  ];
}

export default function RequestLog() {
  const address = useAddress();
  const [opened, setOpened] = useState<Entry | null>(null);
  const { live, every, toggle } = useLive(address.page);
  const filter = Object.fromEntries(filters.map(name => [name, address.get(name)]));
  const list = useList<Entry>('request-logs', { ...filter, page: address.page }, { every });
  const isFiltered = filters.some(name => address.get(name) !== '');
  const actions = (
    <>
      <LiveButton live={live} onToggle={toggle} />
      <ExportLinks log="request-logs" filter={filter} />
    </>
  );
  return (
    <Page
      title="Request log"
      intro="Every read of a vault, written down before it is answered."
      actions={actions}
    >
      <RequestFilters />
      <div className="surface overflow-hidden">
        <DataTable
          label="Request log"
          columns={columnsFor(setOpened)}
          list={list}
          page={address.page}
          onPage={address.setPage}
          empty={
            <Empty
              icon={Activity}
              title={isFiltered ? 'No request fits the filter' : 'No vault has been read yet'}
            >
              {isFiltered
                ? ''
                : 'Make an access key for a vault and read it: the request shows up here while you look.'}
            </Empty>
          }
        />
      </div>
      {opened && <RequestEntry entry={opened} onClose={() => setOpened(null)} />}
    </Page>
  );
}

function RequestFilters() {
  const address = useAddress();
  return (
    <div className="flex flex-wrap items-end gap-3">
      <VaultFilter key={address.get('vault_id')} address={address} />
      <ChoiceFilter address={address} name="status" label="Status" choices={statuses} />
      <TextFilter key={address.get('ip_address')} address={address} name="ip_address" label="Address" />
      <MomentFilter address={address} name="from" label="From" />
      <MomentFilter address={address} name="to" label="To" />
      <ClearFilters address={address} names={filters} />
    </div>
  );
}
