/**
 * Webhooks: where an organization is notified of events. The service must be allowed to connect to a webhook's URL.
 * Its signing secret is shown once, stored sealed, and rotated with the old one in use for one more day. A key that
 * is restricted to vaults neither sees nor creates webhooks.
 */

import { randomBytes } from 'node:crypto';
import type { Caller } from '../../access/caller.ts';
import type { Egress } from '../../access/egress.ts';
import { type Action, shownByEvents } from '../../access/policy.ts';
import type { AuditAction } from '../../contract/audit-actions.ts';
import type { SearchQuery } from '../../contract/common.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import { iso, isoOrNull } from '../../contract/text.ts';
import type {
  DisabledReason,
  EventKind,
  Webhook,
  WebhookCreate,
  WebhookUpdate,
  WebhookWithSecret,
} from '../../contract/webhooks.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { WebhookRow } from '../../store/records/webhooks.ts';
import { type Collection, listOf } from '../kernel/collection.ts';
import type { Permit } from '../kernel/guard.ts';
import type { Parts } from '../kernel/parts.ts';
import { retryingStale } from '../kernel/stale-changes.ts';
import type { Allowed, MaybeAllowed, SubjectChange } from '../kernel/subjects.ts';
import type { Records } from '../resources/records.ts';
import { notFoundAs } from '../resources/subject.ts';

export interface Webhooks
  extends Collection<Webhook, WebhookCreate, WebhookUpdate, SearchQuery, WebhookWithSecret> {
  /** Creates a new signing secret. The previous one stays in use for a day. */
  rotateSecret(caller: Caller, id: string): Promise<WebhookWithSecret>;
  /** The verified row of a webhook that the caller can see. */
  find<A extends Action>(permit: Permit<A>, id: string): Promise<Allowed<WebhookRow, A>>;
}

/** A webhook to create, with its secret in plain text. */
type NewWebhook = Pick<
  WebhookRow,
  'id' | 'organization_id' | 'name' | 'url' | 'events' | 'vault_ids' | 'enabled'
> & { readonly secret: string };

interface Revision {
  readonly columns: Partial<WebhookRow>;
  /** Stored together with the columns. */
  readonly statements: readonly Statement[];
}

type Writing = Permit<'webhooks:write'>;

const rotationOverlap = 24 * 3_600_000;

export function webhooksWith(
  { store, keyring, stamps, keyringSync, guard, now, newId }: Parts,
  records: Records,
  egress: Egress,
): Webhooks {
  async function find<A extends Action>(permit: Permit<A>, id: string): Promise<Allowed<WebhookRow, A>> {
    const row = await store.webhooks.byId(permit.caller.organizationId, id);
    return stamps.webhook.believe(await guard.found(permit, row));
  }

  function checkUrl(url: string): void {
    const refusal = egress.refusalOf(new URL(url));
    if (refusal !== null) throw invalid('url', refusal);
  }

  async function checkVaults(permit: Writing, ids: readonly string[]): Promise<void> {
    const missing = new Failure('NOT_FOUND', { field: 'vault_ids', reason: 'is not the id of a vault' });
    for (const id of ids) await records.find(permit, 'vault', id).catch(notFoundAs(missing));
  }

  function sealSecret(row: Pick<WebhookRow, 'id' | 'organization_id'>, version: number, secret: string) {
    const sealer = keyring.organizationSealer(row.organization_id);
    return sealer.seal(secretPlace(row.id, version), Buffer.from(secret, 'utf8'));
  }

  async function revise(
    permit: Writing,
    id: string,
    verb: AuditAction,
    revision: (row: WebhookRow) => Revision | Promise<Revision>,
  ): Promise<WebhookRow> {
    return retryingStale(async () => {
      const before = await find(permit, id);
      const { columns, statements } = await revision(before);
      const row = stamps.webhook.revise(before, columns, now());
      const lasts = tellsNoMore(before, row) ? 'as before' : 'without end';
      await guard.change(permit, verb, {
        subjects: [{ ...webhookChange(row), lasts }],
        statements: [store.webhooks.update(row), ...statements],
        touches: [id],
      });
      return row;
    });
  }

  async function insert(permit: Writing, draft: NewWebhook): Promise<WebhookRow> {
    const keyringCurrent = await keyringSync.requireCurrent();
    const time = now();
    const row = stamps.webhook.stamp({
      ...draft,
      disabled_reason: null,
      secret: sealSecret(draft, 1, draft.secret),
      secret_version: 1,
      previous_secret: null,
      previous_until: null,
      created_at: time,
      updated_at: time,
      revision: 1,
    });
    await guard.change(permit, 'webhook.created', {
      subjects: [{ ...webhookChange(row), lasts: 'without end' }],
      statements: [keyringCurrent, ...store.webhooks.insert(row)],
      touches: [row.id],
    });
    return row;
  }

  /** Adds the state of their delivery queues. */
  async function shown(rows: readonly WebhookRow[]): Promise<Webhook[]> {
    const failing = await store.webhooks.failing(rows.map(({ id }) => id));
    return rows.map(row => presentWebhook(row, failing.get(row.id) ?? null));
  }

  return {
    find,

    async list(caller, query) {
      const { vaults } = await guard.admit(caller, 'webhooks:read');
      if (vaults !== null) return listOf<Webhook>([], 0, query);
      const page = { page: query.page, limit: query.limit, asOf: query.as_of };
      const { rows, total } = await store.webhooks.page(caller.organizationId, page, query.q);
      const believed = rows.map(row => stamps.webhook.believe(row));
      return listOf(await shown(believed), total, query);
    },

    async get(caller, id) {
      const row = await find(await guard.admit(caller, 'webhooks:read'), id);
      return (await shown([row]))[0]!;
    },

    async create(caller, { url, events, vault_ids = null, name, enabled = true }) {
      const permit = await guard.admit(caller, 'webhooks:write');
      await guard.mayShow(caller, shownByEvents(events));
      checkUrl(url);
      await checkVaults(permit, vault_ids ?? []);
      const place = { id: newId(), organization_id: caller.organizationId };
      const secret = newSecret();
      const row = await retryingStale(() =>
        insert(permit, {
          ...place,
          name: name ?? new URL(url).host,
          url,
          events: JSON.stringify(events),
          vault_ids: vault_ids && JSON.stringify(vault_ids),
          enabled: enabled ? 1 : 0,
          secret,
        }),
      );
      return { ...presentWebhook(row, null), secret };
    },

    async update(caller, id, body) {
      const permit = await guard.admit(caller, 'webhooks:write');
      if (body.url !== undefined) checkUrl(body.url);
      await checkVaults(permit, body.vault_ids ?? []);
      // Deliveries that waited while it was disabled continue; failures at an old URL don't count against a new one.
      const begins = body.enabled || body.url !== undefined;
      const row = await revise(permit, id, 'webhook.updated', async before => {
        const columns = changedColumns(before, body);
        // Choosing the destination or the events gives access to what the events tell, so it requires the permission
        // to see that.
        await guard.mayShow(caller, shownByEvents(JSON.parse(columns.events!) as EventKind[]));
        return {
          columns,
          statements: begins ? [store.webhooks.forgive(id), store.webhooks.arrive(id, now())] : [],
        };
      });
      return (await shown([row]))[0]!;
    },

    async remove(caller, id) {
      const permit = await guard.admit(caller, 'webhooks:write');
      await retryingStale(async () => {
        const before = await find(permit, id);
        await guard.change(permit, 'webhook.deleted', {
          subjects: [{ ...webhookChange(before), revision: before.revision + 1 }],
          statements: store.webhooks.remove(id, before.revision),
          touches: [id],
        });
      });
    },

    async rotateSecret(caller, id) {
      const permit = await guard.admit(caller, 'webhooks:write');
      const secret = newSecret();
      const row = await revise(permit, id, 'webhook.secret_rotated', async before => {
        const keyringCurrent = await keyringSync.requireCurrent();
        const version = before.secret_version + 1;
        const columns = {
          secret: sealSecret(before, version, secret),
          secret_version: version,
          previous_secret: before.secret,
          previous_until: now() + rotationOverlap,
        };
        return { columns, statements: [keyringCurrent] };
      });
      return { ...(await shown([row]))[0]!, secret };
    },
  };
}

export function webhookChange<A extends Action = never>(row: MaybeAllowed<WebhookRow, A>): SubjectChange<A> {
  return { type: 'webhook', id: row.id, name: row.name, revision: row.revision };
}

/** Whether it is only renamed or disabled. */
function tellsNoMore(before: WebhookRow, after: WebhookRow): boolean {
  const isSame = (['url', 'events', 'vault_ids', 'secret_version'] as const).every(
    column => before[column] === after[column],
  );
  return isSame && after.enabled <= before.enabled;
}

/** The place under which a signing secret is sealed. */
export function secretPlace(id: string, version: number) {
  return { type: 'webhook', resource: id, field: 'secret', version };
}

/** In the form defined by Standard Webhooks. */
function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

function changedColumns(row: WebhookRow, body: WebhookUpdate): Partial<WebhookRow> {
  const { url, events, vault_ids, name, enabled } = body;
  const namedAfterHost = row.name === new URL(row.url).host;
  return {
    url: url ?? row.url,
    name: name ?? (url !== undefined && namedAfterHost ? new URL(url).host : row.name),
    events: events === undefined ? row.events : JSON.stringify(events),
    vault_ids: vault_ids === undefined ? row.vault_ids : vault_ids && JSON.stringify(vault_ids),
    enabled: enabled === undefined ? row.enabled : enabled ? 1 : 0,
    disabled_reason: enabled === undefined ? row.disabled_reason : null,
  };
}

function presentWebhook(row: WebhookRow, failingSince: number | null): Webhook {
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    events: JSON.parse(row.events) as string[],
    vault_ids: row.vault_ids === null ? null : (JSON.parse(row.vault_ids) as string[]),
    enabled: row.enabled === 1,
    disabled_reason: row.disabled_reason as DisabledReason | null,
    failing_since: isoOrNull(failingSince),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
