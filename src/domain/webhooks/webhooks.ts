/**
 * Webhooks: where an organization is notified of events. The service must be allowed to connect to a webhook's URL.
 * Its signing secret is shown once, stored sealed, and rotated with the old one in use for one more day. A key that
 * is restricted to vaults neither sees nor creates webhooks.
 */
import { randomBytes } from 'node:crypto';
import type { Egress } from '../../access/egress.ts';
import { type Action, shownByEvents } from '../../access/policy.ts';
import type { SearchQuery } from '../../contract/common.ts';
import { invalid } from '../../contract/errors.ts';
import type { DisabledReason, EventKind, WebhookFormat } from '../../contract/names.ts';
import { iso, isoOrNull } from '../../contract/text.ts';
import type { Webhook, WebhookCreate, WebhookUpdate, WebhookWithSecret } from '../../contract/webhooks.ts';
import type { WebhookRow } from '../../store/records/webhooks.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import { revisedRecords } from '../kernel/revised-records.ts';
import type { MaybeAllowed, SubjectChange } from '../kernel/subjects.ts';
import type { Records } from '../resources/records.ts';
import { formatOf, formatRefusal } from './format-urls.ts';

export type Webhooks = ReturnType<typeof webhooksWith>;

/** A webhook to create, with its secret in plain text. */
type NewWebhook = Pick<
  WebhookRow,
  'id' | 'organization_id' | 'name' | 'url' | 'format' | 'events' | 'vault_ids' | 'enabled'
> & { readonly secret: string };

type Writing = Permit<'webhooks:write'>;

const rotationOverlap = 24 * 3_600_000;

export function webhooksWith(parts: Parts, records: Records, egress: Egress) {
  const { store, keyring, stamps, keyringSync, guard, now, newId } = parts;
  const { find, list, get, change, revise, remove } = revisedRecords(parts, {
    noun: 'webhooks',
    stamper: stamps.webhook,
    byId: store.webhooks.byId,
    page: ({ caller, vaults }, page, { q }: SearchQuery) =>
      vaults === null ? store.webhooks.page(caller.organizationId, page, q) : null,
    present: shown,
    update: store.webhooks.update,
    subject: webhookChange,
  });

  function checkUrl(url: string): void {
    const refusal = egress.refusalOf(new URL(url));
    if (refusal !== null) throw invalid('url', refusal);
  }

  function checkFormat(format: WebhookFormat, url: string): void {
    const refusal = formatRefusal(format, url);
    if (refusal !== null) throw invalid('url', refusal);
  }

  function sealSecret(row: Pick<WebhookRow, 'id' | 'organization_id'>, version: number, secret: string) {
    const sealer = keyring.organizationSealer(row.organization_id);
    return sealer.seal(secretPlace(row.id, version), Buffer.from(secret, 'utf8'));
  }

  async function insert(permit: Writing, draft: NewWebhook): Promise<WebhookRow> {
    const keyringCurrent = await keyringSync.requireCurrent();
    const row = stamps.webhook.create(now(), {
      ...draft,
      disabled_reason: null,
      secret: sealSecret(draft, 1, draft.secret),
      secret_version: 1,
      previous_secret: null,
      previous_until: null,
    });
    const statements = [keyringCurrent, ...store.webhooks.insert(row)];
    await change(permit, 'webhook.created', row, { lasts: 'without end', statements });
    return row;
  }

  /** Adds the state of their delivery queues. */
  async function shown(rows: readonly WebhookRow[]): Promise<Webhook[]> {
    const failing = await store.webhooks.failing(rows.map(({ id }) => id));
    return rows.map(row => presentWebhook(row, failing.get(row.id) ?? null));
  }

  return {
    /** The verified row of a webhook that the caller can see. */
    find,

    list,
    get,

    async create(
      permit: Writing,
      { url, format = 'standard', events, vault_ids = null, name, enabled = true }: WebhookCreate,
    ): Promise<WebhookWithSecret> {
      const { caller } = permit;
      await guard.mayShow(caller, shownByEvents(events));
      checkUrl(url);
      checkFormat(format, url);
      await records.checkVaults(permit, vault_ids ?? []);
      const place = { id: newId(), organization_id: caller.organizationId };
      const secret = newSecret();
      const row = await retryingStale(() =>
        insert(permit, {
          ...place,
          name: name ?? new URL(url).host,
          url,
          format: storedFormat(format),
          events: JSON.stringify(events),
          vault_ids: vault_ids && JSON.stringify(vault_ids),
          enabled: enabled ? 1 : 0,
          secret,
        }),
      );
      return { ...presentWebhook(row, null), secret };
    },

    async update(permit: Writing, id: string, body: WebhookUpdate): Promise<Webhook> {
      const { caller } = permit;
      if (body.url !== undefined) checkUrl(body.url);
      await records.checkVaults(permit, body.vault_ids ?? []);
      // Deliveries that waited while it was disabled continue; failures at an old URL don't count against a new one.
      const begins = body.enabled || body.url !== undefined;
      return revise(permit, id, 'webhook.updated', async (before, next) => {
        const row = next(changedColumns(before, body));
        checkFormat(formatOf(row), row.url);
        // Choosing the destination or the events gives access to what the events tell, so it requires the permission
        // to see that.
        await guard.mayShow(caller, shownByEvents(JSON.parse(row.events) as EventKind[]));
        const restart = begins ? [store.webhooks.forgive(id), store.webhooks.arrive(id, now())] : [];
        const lasts = tellsNoMore(before, row) ? 'as before' : 'without end';
        return { row, lasts, statements: [store.webhooks.update(row), ...restart] };
      });
    },

    remove: (permit: Writing, id: string): Promise<void> =>
      remove(permit, id, 'webhook.deleted', ({ revision }) => ({
        statements: store.webhooks.remove(id, revision),
      })),

    /** Creates a new signing secret. The previous one stays in use for a day. */
    async rotateSecret(permit: Writing, id: string): Promise<WebhookWithSecret> {
      const secret = newSecret();
      const rotated = await revise(permit, id, 'webhook.secret_rotated', async (before, next) => {
        const keyringCurrent = await keyringSync.requireCurrent();
        const version = before.secret_version + 1;
        const row = next({
          secret: sealSecret(before, version, secret),
          secret_version: version,
          previous_secret: before.secret,
          previous_until: now() + rotationOverlap,
        });
        return { row, lasts: 'without end', statements: [store.webhooks.update(row), keyringCurrent] };
      });
      return { ...rotated, secret };
    },
  };
}

export function webhookChange<A extends Action = never>(row: MaybeAllowed<WebhookRow, A>): SubjectChange<A> {
  return { type: 'webhook', id: row.id, name: row.name, revision: row.revision };
}

/** Whether it is only renamed or disabled. */
function tellsNoMore(before: WebhookRow, after: WebhookRow): boolean {
  const isSame = (['url', 'format', 'events', 'vault_ids', 'secret_version'] as const).every(
    column => before[column] === after[column],
  );
  return isSame && after.enabled <= before.enabled;
}

export function secretPlace(id: string, version: number) {
  return { type: 'webhook', resource: id, field: 'secret', version };
}

/** In the form defined by Standard Webhooks. */
function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

function changedColumns(row: WebhookRow, body: WebhookUpdate): Partial<WebhookRow> {
  const { url, format, events, vault_ids, name, enabled } = body;
  const namedAfterHost = row.name === new URL(row.url).host;
  return {
    url: url ?? row.url,
    format: format === undefined ? row.format : storedFormat(format),
    name: name ?? (url !== undefined && namedAfterHost ? new URL(url).host : row.name),
    events: events === undefined ? row.events : JSON.stringify(events),
    vault_ids: vault_ids === undefined ? row.vault_ids : vault_ids && JSON.stringify(vault_ids),
    enabled: enabled === undefined ? row.enabled : enabled ? 1 : 0,
    disabled_reason: enabled === undefined ? row.disabled_reason : null,
  };
}

/** Null for the default, so that replicas of an earlier release accept the row. */
function storedFormat(format: WebhookFormat): string | null {
  return format === 'standard' ? null : format;
}

function presentWebhook(row: WebhookRow, failingSince: number | null): Webhook {
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    format: formatOf(row),
    events: JSON.parse(row.events) as string[],
    vault_ids: row.vault_ids === null ? null : (JSON.parse(row.vault_ids) as string[]),
    enabled: row.enabled === 1,
    disabled_reason: row.disabled_reason as DisabledReason | null,
    failing_since: isoOrNull(failingSince),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
