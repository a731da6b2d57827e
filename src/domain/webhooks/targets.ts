/**
 * What the delivery of events needs from the domain: which webhooks subscribe to an event, a webhook's URL and
 * signing secrets, and disabling a webhook. Everything is read from verified rows; a row that isn't as it was written
 * is reported to the operator and gets no deliveries.
 */
import { trustedCaller } from '../../access/caller.ts';
import type { Sealed } from '../../base/bytes.ts';
import { type DisabledReason, testKind, type WebhookFormat } from '../../contract/names.ts';
import type { DueDelivery } from '../../store/records/deliveries.ts';
import type { StoredEvent } from '../../store/records/outbox.ts';
import type { AuditedResource } from '../../store/records/resources.ts';
import type { AuditedWebhook, ListeningWebhook, WebhookRow } from '../../store/records/webhooks.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import { eventOf, webhookSubject } from '../kernel/events.ts';
import type { Parts } from '../kernel/parts.ts';
import { eventIn } from '../kernel/row-check.ts';
import { formatOf } from './format-urls.ts';
import { secretPlace, webhookChange } from './webhooks.ts';

/** A webhook, with what is needed to send to it. */
export interface WebhookTarget {
  readonly id: string;
  readonly url: string;
  readonly format: WebhookFormat;
  readonly enabled: boolean;
  /** The current signing secret, and the previous one while both are in use. */
  readonly secrets: readonly string[];
  /** Whether this delivery is unaltered and this webhook still subscribes to it. */
  takes(delivery: DueDelivery): boolean;
}

export type WebhookTargets = ReturnType<typeof webhookTargetsWith>;

export function webhookTargetsWith(
  { store, keyring, stamps, keyringSync, guard, now, newId }: Parts,
  onError: (error: unknown) => void,
) {
  function believed<T, R>(value: T, believe: (value: T) => R): R | null {
    try {
      return believe(value);
    } catch (error) {
      onError(error);
      return null;
    }
  }

  async function listeningIn(organizationIds: readonly string[]) {
    const rows = await store.webhooks.enabledOf(organizationIds);
    const listening = rows.flatMap(row => believed(row, stamps.webhook.believe<ListeningWebhook>) ?? []);
    return listening.map(row => ({ id: row.id, after: row.begins_after, wants: filterOf(row) }));
  }

  async function secretsOf(row: WebhookRow): Promise<string[]> {
    await keyringSync.ensureKeysFor(row.secret, row.previous_secret ?? row.secret);
    const sealer = keyring.organizationSealer(row.organization_id);
    const open = (version: number, sealed: Sealed) =>
      sealer.open(secretPlace(row.id, version), sealed).toString('utf8');
    const previous = row.previous_secret !== null && now() < row.previous_until!;
    return [
      open(row.secret_version, row.secret),
      ...(previous ? [open(row.secret_version - 1, row.previous_secret!)] : []),
    ];
  }

  return {
    /** The given events, each with the ids of the webhooks that subscribe to it; none for an event that was altered. */
    async wanting(events: readonly StoredEvent[]): Promise<ReadonlyMap<StoredEvent, readonly string[]>> {
      const listening = await listeningIn([...new Set(events.map(event => event.organization_id))]);
      const found = new Map<StoredEvent, string[]>();
      for (const event of events) {
        const asking = listening.filter(({ after, wants }) => event.position > after && wants(event));
        // The event is verified only if a webhook subscribes to it.
        const holds = asking.length > 0 && believed(event, stamps.believeEvent<StoredEvent>) !== null;
        found.set(event, holds ? asking.map(({ id }) => id) : []);
      }
      return found;
    },

    /** Null if it was deleted or isn't as it was written. */
    async target(id: string): Promise<WebhookTarget | null> {
      const stored = await store.webhooks.anywhere(id);
      const row = stored && believed(stored, stamps.webhook.believe<AuditedWebhook>);
      if (!row) return null;
      const wants = filterOf(row);
      return {
        id,
        url: row.url,
        format: formatOf(row),
        enabled: row.enabled === 1,
        secrets: await secretsOf(row),
        takes: delivery => {
          const event = eventIn(delivery);
          const holds = believed(event, stamps.believeEvent<typeof event>) !== null;
          if (!holds || event.organization_id !== row.organization_id) return false;
          return event.type === testKind ? event.resource_id === id : wants(event);
        },
      };
    },

    /** The name of the vault that a delivery is about; null if there is none, or it is not as it was written. */
    async vaultName({ organization_id, vault_id }: Pick<DueDelivery, 'organization_id' | 'vault_id'>) {
      if (vault_id === null) return null;
      const stored = await store.resources.byId(organization_id, vault_id);
      return (stored && believed(stored, stamps.resource.believe<AuditedResource>)?.name) ?? null;
    },

    async disable(id: string, reason: DisabledReason): Promise<void> {
      await retryingStale(async () => {
        const stored = await store.webhooks.anywhere(id);
        if (stored === undefined || stored.enabled === 0) return;
        const service = trustedCaller('service', 'service', 'Strongroom', stored.organization_id, newId());
        const permit = await guard.admit(service, 'webhooks:write');
        const before = stamps.webhook.believe(await guard.found(permit, stored));
        const row = stamps.webhook.revise(before, { enabled: 0, disabled_reason: reason }, now());
        const event = eventOf('webhook.disabled', { ...webhookSubject(row), reason }, now(), newId);
        await guard.change(permit, 'webhook.disabled', {
          subjects: [{ ...webhookChange(row), details: { reason } }],
          statements: [store.webhooks.update(row), store.outbox.add(stamps.stampEvent(event))],
          touches: [id],
        });
      });
    },
  };
}

type Asked = Pick<StoredEvent, 'organization_id' | 'vault_id' | 'type'>;

function filterOf(row: WebhookRow): (event: Asked) => boolean {
  const kinds = new Set(JSON.parse(row.events) as string[]);
  const vaults = row.vault_ids === null ? null : new Set(JSON.parse(row.vault_ids) as string[]);
  return ({ organization_id, vault_id, type }) =>
    organization_id === row.organization_id && kinds.has(type) && (vaults === null || vaults.has(vault_id!));
}
