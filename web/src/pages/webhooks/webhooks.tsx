/** Webhooks: who is told what, whether it arrives, and every attempt. */
import { Plus, Webhook as WebhookIcon } from 'lucide-react';
import { useState } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import type { Webhook } from '../../api/types.ts';
import { useList } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { useAddress } from '../../ui/address.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty, Page } from '../../ui/page.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';
import { Deliveries } from './deliveries.tsx';
import { WebhookForm } from './webhook-form.tsx';
import { WebhookPanel } from './webhook-panel.tsx';

const columns: readonly Column<Webhook>[] = [
  {
    id: 'url',
    header: 'Address',
    cell: ({ id, name, url }) => (
      <Link href={`/webhooks/${id}`} className="group block min-w-0">
        <span className="block font-medium break-words group-hover:underline">{name}</span>
        <span className="block font-mono text-xs break-all text-muted">{url}</span>
      </Link>
    ),
  },
  { id: 'events', header: 'Events', from: 'md', cell: ({ events }) => <Events events={events} /> },
  { id: 'state', header: 'State', cell: webhook => <WebhookState webhook={webhook} /> },
  { id: 'made', header: 'Made', from: 'sm', cell: ({ created_at }) => <Ago at={created_at} /> },
];

function Events({ events }: { events: readonly string[] }) {
  return (
    <span className="flex flex-wrap gap-1">
      {events.slice(0, 3).map(event => (
        <Badge key={event}>{event}</Badge>
      ))}
      {events.length > 3 && <Badge>{events.length - 3} more</Badge>}
    </span>
  );
}

export function WebhookState({ webhook: { enabled, disabled_reason } }: { webhook: Webhook }) {
  if (enabled) return <Badge tone="good">on</Badge>;
  if (disabled_reason === null) return <Badge>off</Badge>;
  return (
    <Badge tone="bad">{disabled_reason === 'gone' ? 'off: receiver is gone' : 'off: nothing arrived'}</Badge>
  );
}

export default function Webhooks() {
  const { webhook } = useParams<{ webhook?: string }>();
  const address = useAddress();
  const may = useMay();
  const [, go] = useLocation();
  const [creating, setCreating] = useState(false);
  const list = useList<Webhook>('webhooks', { page: address.page });
  const create = may('webhooks:write') && (
    <Button look="primary" onClick={() => setCreating(true)}>
      <Plus className="size-4" aria-hidden /> New webhook
    </Button>
  );
  return (
    <Page
      title="Webhooks"
      intro="Tells another service what happened, signed, and never with a value."
      actions={create}
    >
      <div className="surface overflow-hidden">
        <DataTable
          label="Webhooks"
          columns={columns}
          list={list}
          page={address.page}
          onPage={address.setPage}
          empty={
            <Empty icon={WebhookIcon} title="No webhook yet" action={create}>
              Have a service told when something changes, or before it expires.
            </Empty>
          }
        />
      </div>
      <Deliveries />
      {creating && <WebhookForm onClose={() => setCreating(false)} />}
      {webhook && <WebhookPanel key={webhook} id={webhook} onClose={() => go('/webhooks')} />}
    </Page>
  );
}
