/**
 * The delivery history of events, for people to view; and sending on request: a test event, or an event once more.
 */
import type { List } from '../../contract/common.ts';
import { Failure } from '../../contract/errors.ts';
import { testKind } from '../../contract/names.ts';
import { iso, isoOrNull } from '../../contract/text.ts';
import type { Attempt, Delivery, DeliveryQuery } from '../../contract/webhooks.ts';
import type { DeliveryRow } from '../../store/records/deliveries.ts';
import type { StoredEvent } from '../../store/records/outbox.ts';
import { listOf } from '../kernel/collection.ts';
import { eventOf, webhookSubject } from '../kernel/events.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import { type Webhooks, webhookChange } from './webhooks.ts';

type Reading = Permit<'webhooks:read'>;
type Writing = Permit<'webhooks:write'>;

export type WebhookDeliveries = ReturnType<typeof webhookDeliveriesWith>;

export function webhookDeliveriesWith({ store, stamps, guard, now, newId }: Parts, webhooks: Webhooks) {
  /** A delivery belongs to the organization, as its webhook does, whichever vault the event is about. */
  async function find(permit: Permit, id: string): Promise<DeliveryRow> {
    return guard.found(permit, await store.deliveries.byId(permit.caller.organizationId, id));
  }

  return {
    async list({ caller, vaults }: Reading, query: DeliveryQuery): Promise<List<Delivery>> {
      if (vaults !== null) return listOf<Delivery>([], 0, query);
      const { page, limit, as_of, webhook_id, event, state } = query;
      const filter = { organizationId: caller.organizationId, webhookId: webhook_id, event, state };
      const { rows, total } = await store.deliveries.page(filter, { page, limit, asOf: as_of });
      return listOf(rows.map(presentDelivery), total, query);
    },

    async get(permit: Reading, id: string): Promise<Delivery> {
      return presentDelivery(await find(permit, id));
    },

    /** Sends a test event to a webhook, once, whether or not it is enabled. */
    async test(permit: Writing, webhookId: string): Promise<Delivery> {
      const webhook = await webhooks.find(permit, webhookId);
      const event = stamps.stampEvent(eventOf(testKind, webhookSubject(webhook), now(), newId));
      const row = newDelivery(newId(), webhookId, { ...event, position: 0 }, now());
      await guard.change(permit, 'webhook.tested', {
        subjects: [webhookChange(webhook)],
        statements: [
          store.outbox.add({ ...event, fanned: 1 }),
          store.deliveries.addAll([row]),
          store.webhooks.arrive(webhookId, now()),
        ],
        touches: [webhookId],
      });
      return presentDelivery(row);
    },

    /** Sends an event again as if it were new, with the same id. */
    async redeliver(permit: Writing, id: string): Promise<Delivery> {
      const row = await find(permit, id);
      const webhook = await webhooks.find(permit, row.webhook_id);
      if (webhook.enabled === 0 && row.event !== testKind) {
        throw new Failure('CONFLICT', { message: 'The webhook is disabled' });
      }
      const at = now();
      await guard.change(permit, 'webhook.redelivered', {
        subjects: [{ ...webhookChange(webhook), details: { delivery_id: id } }],
        statements: [store.deliveries.again(id, at), store.webhooks.arrive(row.webhook_id, at)],
        touches: [row.webhook_id],
      });
      return presentDelivery({ ...row, state: 'pending', next_attempt_at: at, finished_at: null });
    },
  };
}

export function newDelivery(id: string, webhookId: string, event: StoredEvent, now: number): DeliveryRow {
  return {
    id,
    organization_id: event.organization_id,
    webhook_id: webhookId,
    event_id: event.id,
    event_position: event.position,
    event: event.type,
    vault_id: event.vault_id,
    resource_id: event.resource_id,
    state: 'pending',
    tries: 0,
    attempts: '[]',
    next_attempt_at: 0,
    finished_at: null,
    created_at: now,
  };
}

function presentDelivery(row: DeliveryRow): Delivery {
  const next = row.next_attempt_at === 0 ? row.created_at : row.next_attempt_at;
  return {
    id: row.id,
    webhook_id: row.webhook_id,
    event: row.event,
    event_id: row.event_id,
    resource_id: row.resource_id,
    vault_id: row.vault_id,
    state: row.state as Delivery['state'],
    attempts: JSON.parse(row.attempts) as Attempt[],
    next_attempt_at: isoOrNull(next),
    created_at: iso(row.created_at),
    finished_at: isoOrNull(row.finished_at),
  };
}
