/**
 * Turns events into deliveries: one for each webhook that subscribes to the event. An event is marked and its
 * deliveries are created in one unit, so each event is fanned out once, by the first replica.
 */
import type { NewId } from '../contract/id.ts';
import type { MemberMails } from '../domain/operations/member-mails.ts';
import { newDelivery } from '../domain/webhooks/deliveries.ts';
import type { WebhookTargets } from '../domain/webhooks/targets.ts';
import { isStored } from '../store/engine/engine.ts';
import type { StoredEvent } from '../store/records/outbox.ts';
import type { Store } from '../store/store.ts';

export interface FanOutParts {
  readonly store: Store;
  readonly targets: WebhookTargets;
  readonly mails: Pick<MemberMails, 'about'>;
  readonly now: () => number;
  readonly newId: NewId;
}

export interface FannedOut {
  readonly events: readonly StoredEvent[];
  /** The webhooks that deliveries were created for. */
  readonly webhookIds: readonly string[];
  /** Whether there is more to do. */
  readonly more: boolean;
}

const batch = 200;
const patience = 20;
const none = { events: [], webhookIds: [] };

export async function fanOut({ store, targets, mails, now, newId }: FanOutParts): Promise<FannedOut> {
  const events = await store.outbox.toFanOut(batch);
  if (events.length === 0) return { ...none, more: false };
  // Webhooks are read after the events, so that every webhook created before an event is included.
  const wanting = await targets.wanting(events);
  const time = now();
  const deliveries = events.flatMap(event =>
    wanting.get(event)!.map(webhookId => newDelivery(newId(), webhookId, event, time)),
  );
  const webhookIds = [...new Set(deliveries.map(delivery => delivery.webhook_id))].sort();
  const statements = [
    store.outbox.markFanned(events.map(event => event.id)),
    ...(deliveries.length === 0 ? [] : [store.deliveries.addAll(deliveries)]),
    ...(await mails.about(events)),
    ...webhookIds.map(id => store.webhooks.arrive(id, time)),
  ];
  if (!(await isStored(store.commit([{ statements }], { patience })))) return { ...none, more: true };
  return { events, webhookIds, more: events.length === batch };
}
