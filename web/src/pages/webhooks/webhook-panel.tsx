/** One webhook: its details and deliveries, with buttons to test, edit and delete it and to replace its signing secret. */
import { Pencil, RefreshCw, Send } from 'lucide-react';
import { useState } from 'react';
import { post, remove, sentence } from '../../api/client.ts';
import type { Webhook, WebhookWithSecret } from '../../api/types.ts';
import { useRecord, useRefresh } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { ItemPanel, PanelPart } from '../../shared/item-panel.tsx';
import { VaultName } from '../../shared/vault-name.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Facts, Mono } from '../../ui/facts.tsx';
import { Exact } from '../../ui/time.tsx';
import { note } from '../../ui/toast.tsx';
import { Deliveries } from './deliveries.tsx';
import { eventName, formatNames } from './labels.ts';
import { SecretOnce, WebhookForm } from './webhook-form.tsx';
import { WebhookState } from './webhook-state.tsx';

export function WebhookPanel({ id, onClose }: { id: string; onClose: () => void }) {
  const record = useRecord<Webhook>('webhooks', id);
  const may = useMay();
  return (
    <ItemPanel record={record} onClose={onClose} kind="Webhook">
      {webhook => (
        <>
          {may('webhooks:write') && <WebhookActions webhook={webhook} onClose={onClose} />}
          <PanelPart title="Details">
            <Facts
              facts={[
                ['URL', <Mono key="url">{webhook.url}</Mono>],
                ['Sent to', formatNames[webhook.format]],
                ['State', <WebhookState key="state" webhook={webhook} />],
                ['Events', <Events key="events" events={webhook.events} />],
                ['Vaults', <Vaults key="vaults" ids={webhook.vault_ids} />],
                ['Created', <Exact key="created" at={webhook.created_at} />],
              ]}
            />
          </PanelPart>
          <Deliveries webhookId={webhook.id} />
        </>
      )}
    </ItemPanel>
  );
}

function Vaults({ ids }: { ids: readonly string[] | null }) {
  if (ids === null) return 'all';
  return (
    <span className="flex flex-wrap gap-x-3">
      {ids.map(id => (
        <VaultName key={id} id={id} />
      ))}
    </span>
  );
}

function Events({ events }: { events: readonly string[] }) {
  return (
    <span className="flex flex-wrap gap-1">
      {events.map(event => (
        <Badge key={event}>{eventName(event)}</Badge>
      ))}
    </span>
  );
}

function WebhookActions({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const [editing, setEditing] = useState(false);
  const [secret, setSecret] = useState('');
  const refresh = useRefresh();
  async function test() {
    await post(`/v1/webhooks/${webhook.id}/test`).then(
      () => note('Test sent: see Deliveries below'),
      error => note(sentence(error), { bad: true }),
    );
    await refresh('webhook-deliveries');
  }
  async function rotate() {
    const { secret: fresh } = await post<WebhookWithSecret>(`/v1/webhooks/${webhook.id}/rotate-secret`);
    setSecret(fresh);
  }
  async function discard() {
    await remove(`/v1/webhooks/${webhook.id}`);
    onClose();
    await refresh('webhooks');
    note('Webhook deleted');
  }
  return (
    <div className="flex flex-wrap gap-2">
      <Button size="small" look="primary" onClick={test}>
        <Send className="size-4" aria-hidden /> Send a test
      </Button>
      <Button size="small" onClick={() => setEditing(true)}>
        <Pencil className="size-4" aria-hidden /> Edit
      </Button>
      <ConfirmButton
        look="plain"
        size="small"
        label={
          <>
            <RefreshCw className="size-4" aria-hidden /> New signing secret
          </>
        }
        title="Create a new signing secret?"
        text="The receiver will need the new secret to verify messages."
        action="Create"
        onConfirm={rotate}
      />
      <ConfirmButton
        size="small"
        label="Delete"
        title={`Delete ${webhook.name}?`}
        text="No more events will be sent to it."
        action="Delete"
        onConfirm={discard}
      />
      {editing && <WebhookForm webhook={webhook} onClose={() => setEditing(false)} />}
      {secret !== '' && <SecretOnce secret={secret} onClose={() => setSecret('')} />}
    </div>
  );
}
