/** The webhooks, their state, and all deliveries. */
import { Webhook as WebhookIcon } from 'lucide-react';
import { Link, useLocation, useParams } from 'wouter';
import type { Webhook } from '../../api/types.ts';
import { CollectionTable, useCreate } from '../../shared/collection.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Page } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';
import { Deliveries } from './deliveries.tsx';
import { eventName } from './labels.ts';
import { WebhookForm } from './webhook-form.tsx';
import { WebhookPanel } from './webhook-panel.tsx';
import { WebhookState } from './webhook-state.tsx';

const columns: readonly Column<Webhook>[] = [
  {
    id: 'url',
    header: 'Webhook',
    cell: ({ id, name, url }) => (
      <Link href={`/webhooks/${id}`} className="group block min-w-0">
        <span className="block font-medium break-words group-hover:underline">{name}</span>
        <span className="block font-mono text-xs break-all text-muted">{url}</span>
      </Link>
    ),
  },
  { id: 'events', header: 'Events', from: 'md', cell: ({ events }) => <Events events={events} /> },
  { id: 'state', header: 'State', cell: webhook => <WebhookState webhook={webhook} /> },
  { id: 'created', header: 'Created', from: 'sm', cell: ({ created_at }) => <Ago at={created_at} /> },
];

function Events({ events }: { events: readonly string[] }) {
  return (
    <span className="flex flex-wrap gap-1">
      {events.slice(0, 3).map(event => (
        <Badge key={event}>{eventName(event)}</Badge>
      ))}
      {events.length > 3 && <Badge>{events.length - 3} more</Badge>}
    </span>
  );
}

export default function Webhooks() {
  const { webhook } = useParams<{ webhook?: string }>();
  const [, go] = useLocation();
  const { action, form } = useCreate({
    scope: 'webhooks:write',
    label: 'New webhook',
    form: close => <WebhookForm onClose={close} />,
  });
  return (
    <Page
      title="Webhooks"
      intro="Send messages about events to a chat or another service. They never contain secret values."
      actions={action}
    >
      <CollectionTable<Webhook>
        collection="webhooks"
        label="Webhooks"
        columns={columns}
        action={action}
        empty={{
          icon: WebhookIcon,
          title: 'No webhooks yet',
          hint: 'Create one to notify a service when a resource changes or is about to expire.',
        }}
      />
      <Deliveries />
      {form}
      {webhook && <WebhookPanel key={webhook} id={webhook} onClose={() => go('/webhooks')} />}
    </Page>
  );
}
