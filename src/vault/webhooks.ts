/**
 * Webhooks: where an organization wants to be told of what happens. A webhook's URL must lead to where the
 * service may connect to. Its signing secret is shown once, stored sealed, and rotated with the old one in
 * use for one more day. A key that is narrowed to vaults neither sees nor makes webhooks.
 */
import { randomBytes } from 'node:crypto';
import type { Caller } from '../access/caller.ts';
import type { Egress } from '../access/egress.ts';
import type { SearchQuery } from '../contract/common.ts';
import { Failure, invalid } from '../contract/errors.ts';
import { iso } from '../contract/text.ts';
import type { DisabledReason, Webhook, WebhookCreate, WebhookUpdate } from '../contract/webhooks.ts';
import type { Statement } from '../store/engine.ts';
import type { WebhookRow } from '../store/webhooks.ts';
import { type Collection, listOf } from './collection.ts';
import { retryingStale } from './guard.ts';
import type { Parts } from './parts.ts';
import type { Shelf } from './shelf.ts';

export interface Webhooks extends Collection<Webhook, WebhookCreate, WebhookUpdate, SearchQuery> {
  /** A new signing secret. The one before signs along for a day. */
  rotateSecret(caller: Caller, id: string): Promise<Webhook>;
  /** The believed row of a webhook that the caller sees. */
  find(caller: Caller, id: string): Promise<WebhookRow>;
}

/** A webhook about to be made, its secret still open. */
type Draft = Pick<
  WebhookRow,
  'id' | 'organization_id' | 'name' | 'url' | 'events' | 'vault_ids' | 'enabled'
> & { readonly secret: string };

interface Revision {
  readonly columns: Partial<WebhookRow>;
  /** What goes with it. */
  readonly statements?: readonly Statement[];
}

const rotationOverlap = 24 * 3_600_000;

export function webhooksWith(
  { store, keyring, stamps, terms, guard, now, newId }: Parts,
  shelf: Shelf,
  egress: Egress,
): Webhooks {
  async function find(caller: Caller, id: string): Promise<WebhookRow> {
    const row = await store.webhooks.byId(caller.organizationId, id);
    if (row === undefined || caller.vaultIds !== null) throw new Failure('NOT_FOUND');
    return stamps.webhook.believe(row);
  }

  function checkUrl(url: string): void {
    const refusal = egress.refusalOf(new URL(url));
    if (refusal !== null) throw invalid('url', refusal);
  }

  async function checkVaults(caller: Caller, ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      await shelf.find(caller, 'vault', id).catch(() => {
        throw new Failure('NOT_FOUND', { field: 'vault_ids', reason: 'names no vault' });
      });
    }
  }

  function sealSecret(row: Pick<WebhookRow, 'id' | 'organization_id'>, version: number, secret: string) {
    const box = keyring.organizationBox(row.organization_id);
    return box.seal(secretPlace(row.id, version), Buffer.from(secret, 'utf8'));
  }

  async function revise(
    caller: Caller,
    id: string,
    verb: string,
    revision: (row: WebhookRow) => Revision | Promise<Revision>,
  ): Promise<WebhookRow> {
    return retryingStale(async () => {
      const before = await find(caller, id);
      const { columns, statements = [] } = await revision(before);
      const row = stamps.webhook.revise(before, columns, now());
      await guard.change(caller, 'webhooks:write', verb, {
        subjects: [webhookChange(row)],
        statements: [store.webhooks.update(row), ...statements],
        touches: [id],
      });
      return row;
    });
  }

  async function insert(caller: Caller, draft: Draft): Promise<WebhookRow> {
    const hold = await terms.hold();
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
    await guard.change(caller, 'webhooks:write', 'webhook.created', {
      subjects: [webhookChange(row)],
      statements: [hold, ...store.webhooks.insert(row)],
      touches: [row.id],
    });
    return row;
  }

  return {
    find,

    async list(caller, query) {
      await guard.admit(caller, 'webhooks:read');
      if (caller.vaultIds !== null) return listOf<Webhook>([], 0, query);
      const page = { page: query.page, limit: query.limit, asOf: query.as_of };
      const { rows, total } = await store.webhooks.page(caller.organizationId, page, query.q);
      return listOf(
        rows.map(row => presentWebhook(stamps.webhook.believe(row))),
        total,
        query,
      );
    },

    async get(caller, id) {
      await guard.admit(caller, 'webhooks:read');
      return presentWebhook(await find(caller, id));
    },

    async create(caller, { url, events, vault_ids = null, name, enabled = true }) {
      await guard.admit(caller, 'webhooks:write');
      checkUrl(url);
      await checkVaults(caller, vault_ids ?? []);
      const place = { id: newId(), organization_id: caller.organizationId };
      const secret = newSecret();
      const row = await retryingStale(() =>
        insert(caller, {
          ...place,
          name: name ?? new URL(url).host,
          url,
          events: JSON.stringify(events),
          vault_ids: vault_ids && JSON.stringify(vault_ids),
          enabled: enabled ? 1 : 0,
          secret,
        }),
      );
      return { ...presentWebhook(row), secret };
    },

    async update(caller, id, body) {
      await guard.admit(caller, 'webhooks:write');
      if (body.url !== undefined) checkUrl(body.url);
      await checkVaults(caller, body.vault_ids ?? []);
      // What waited while it was disabled goes on; what was held against an old URL says nothing of the new one.
      const begins = body.enabled || body.url !== undefined;
      const row = await revise(caller, id, 'webhook.updated', before => ({
        columns: changedColumns(before, body),
        statements: begins ? [store.webhooks.forgive(id), store.webhooks.arrive(id, now())] : [],
      }));
      return presentWebhook(row);
    },

    async remove(caller, id) {
      await guard.admit(caller, 'webhooks:write');
      await retryingStale(async () => {
        const before = await find(caller, id);
        await guard.change(caller, 'webhooks:write', 'webhook.deleted', {
          subjects: [{ ...webhookChange(before), revision: before.revision + 1 }],
          statements: store.webhooks.remove(id, before.revision),
          touches: [id],
        });
      });
    },

    async rotateSecret(caller, id) {
      await guard.admit(caller, 'webhooks:write');
      const secret = newSecret();
      const row = await revise(caller, id, 'webhook.secret_rotated', async before => {
        const hold = await terms.hold();
        const version = before.secret_version + 1;
        const columns = {
          secret: sealSecret(before, version, secret),
          secret_version: version,
          previous_secret: before.secret,
          previous_until: now() + rotationOverlap,
        };
        return { columns, statements: [hold] };
      });
      return { ...presentWebhook(row), secret };
    },
  };
}

export function webhookChange(row: WebhookRow) {
  return { type: 'webhook', id: row.id, name: row.name, revision: row.revision };
}

/** Where a signing secret is sealed. */
export function secretPlace(id: string, version: number) {
  return { type: 'webhook', resource: id, field: 'secret', version };
}

/** In the form that Standard Webhooks gives it. */
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

function presentWebhook(row: WebhookRow): Webhook {
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    events: JSON.parse(row.events) as string[],
    vault_ids: row.vault_ids === null ? null : (JSON.parse(row.vault_ids) as string[]),
    enabled: row.enabled === 1,
    disabled_reason: row.disabled_reason as DisabledReason | null,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
