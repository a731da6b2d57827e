/**
 * Webhooks, and the lease on each one's queue: one process at a time works on a queue, and its lease expires if it
 * dies.
 */
import { type Compilable, type Selectable, sql } from 'kysely';
import { type Engine, type Statement, statement } from '../engine/engine.ts';
import { containing, type Page, type PageOf, pageOf } from '../engine/page.ts';
import { type Audited, auditedRevision } from '../integrity/audited.ts';
import { removeRevised, updateRevised } from '../integrity/revisions.ts';
import type { WebhookQueueTable, WebhookTable } from '../schema/schema.ts';

export type WebhookRow = Selectable<WebhookTable>;
export type AuditedWebhook = WebhookRow & Audited;
export type ListeningWebhook = AuditedWebhook & Pick<QueueRow, 'begins_after'>;
type QueueRow = Selectable<WebhookQueueTable>;

export function webhooks({ db, lists, commit, name: engine }: Engine) {
  const postgres = engine === 'postgres';
  /** Leases use the database's clock, so that replicas with differing clocks agree on them. */
  const databaseNow = postgres
    ? sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`
    : sql<number>`CAST(unixepoch('subsec') * 1000 AS INTEGER)`;

  const audited = (from = db) => from.selectFrom('webhooks').selectAll('webhooks').select(auditedRevision());

  const claimable = (now: number) =>
    db
      .selectFrom('webhook_queues')
      .select('webhook_id')
      .where('due_at', '<=', now)
      .where(eb => eb.or([eb('resume_at', 'is', null), eb('resume_at', '<=', now)]))
      .where(eb => eb.or([eb('leased_until', 'is', null), eb('leased_until', '<', databaseNow)]))
      .orderBy('due_at');

  const queue = (id: string) => db.updateTable('webhook_queues').where('webhook_id', '=', id);
  const leases = () => db.updateTable('webhook_queues').returning('webhook_id');
  const leasedFor = (lease: number) => sql<number>`${databaseNow} + ${sql.lit(lease)}`;

  /** Changes leases. Returns the ids of their queues. */
  async function lease(change: Compilable): Promise<string[]> {
    const [rows] = await commit([{ statements: [statement(change, { returning: true })] }]);
    return rows![0]!.map(row => String(row.webhook_id));
  }

  return {
    byId: (organizationId: string, id: string): Promise<AuditedWebhook | undefined> =>
      audited().where('id', '=', id).where('organization_id', '=', organizationId).executeTakeFirst(),

    /** Looks up by id only: for deliveries, which have no caller. */
    anywhere: (id: string): Promise<AuditedWebhook | undefined> =>
      audited().where('id', '=', id).executeTakeFirst(),

    enabledOf: (organizationIds: readonly string[]): Promise<ListeningWebhook[]> =>
      audited()
        .innerJoin('webhook_queues', 'webhook_queues.webhook_id', 'webhooks.id')
        .select('webhook_queues.begins_after')
        .where('organization_id', 'in', [...organizationIds])
        .where('enabled', '=', 1)
        .orderBy('id')
        .execute(),

    async page(organizationId: string, page: Page, q?: string): Promise<PageOf<AuditedWebhook>> {
      let found = audited(lists).where('organization_id', '=', organizationId);
      if (q !== undefined) found = found.where(sql<boolean>`lower(name) LIKE ${containing(q)} ESCAPE '\\'`);
      return pageOf(found, page);
    },

    insert: (row: WebhookRow): Statement[] => [
      statement(db.insertInto('webhooks').values(row)),
      statement(
        db.insertInto('webhook_queues').values({
          ...idleQueue,
          webhook_id: row.id,
          begins_after: sql<number>`(SELECT position FROM last_positions WHERE name = 'events')`,
        }),
      ),
    ],

    update: (row: WebhookRow): Statement => updateRevised(db, 'webhooks', row),

    /** Also deletes its queue and its pending deliveries. */
    remove: (id: string, revision: number): Statement[] => [
      statement(db.deleteFrom('deliveries').where('webhook_id', '=', id).where('state', '=', 'pending')),
      removeRevised(db, 'webhooks', { id, revision }),
    ],

    /** Records that a delivery is waiting, due at `at`. */
    arrive: (id: string, at: number): Statement =>
      statement(
        queue(id).set({
          due_at: sql`CASE WHEN due_at IS NULL OR due_at > ${at} THEN ${at} ELSE due_at END`,
          arrivals: sql`arrivals + 1`,
        }),
      ),

    arrived: (id: string): Statement => statement(queue(id).set({ failing_since: null })),

    /** Clears the receiver's failures and pause. */
    forgive: (id: string): Statement => statement(queue(id).set({ failing_since: null, resume_at: null })),

    pause: (id: string, until: number): Statement => statement(queue(id).set({ resume_at: until })),

    /** The first failure after a success sets the time; later ones change nothing. */
    failed: (id: string, at: number): Statement =>
      statement(queue(id).set({ failing_since: at }).where('failing_since', 'is', null)),

    /** For those of the webhooks that are failing: since when nothing has arrived. */
    async failing(ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
      if (ids.length === 0) return new Map();
      const rows = await lists
        .selectFrom('webhook_queues')
        .select(['webhook_id', 'failing_since'])
        .where('webhook_id', 'in', [...ids])
        .where('failing_since', 'is not', null)
        .execute();
      return new Map(rows.map(({ webhook_id, failing_since }) => [webhook_id, failing_since!]));
    },

    queue: (id: string): Promise<QueueRow | undefined> =>
      db.selectFrom('webhook_queues').selectAll().where('webhook_id', '=', id).executeTakeFirst(),

    /** Leases queues with due deliveries, each to one process only. */
    async claim(holder: string, now: number, length: number, limit: number): Promise<string[]> {
      const waiting = await claimable(now).limit(1).executeTakeFirst();
      if (waiting === undefined) return [];
      const free = claimable(now).limit(limit);
      return lease(
        leases()
          .set({ leased_by: holder, leased_until: leasedFor(length) })
          .where('webhook_id', 'in', postgres ? free.forUpdate().skipLocked() : free),
      );
    },

    /** Extends the holder's leases. Returns the queues that it still holds. */
    async renew(holder: string, ids: readonly string[], length: number): Promise<Set<string>> {
      const held = leases().where('leased_by', '=', holder).where('webhook_id', 'in', ids);
      return new Set(await lease(held.set({ leased_until: leasedFor(length) })));
    },

    /** Releases a queue. Returns false if a delivery arrived after `arrivals` was read, or the lease was lost. */
    async release(id: string, holder: string, arrivals: number, dueAt: number | null): Promise<boolean> {
      const held = leases()
        .where('webhook_id', '=', id)
        .where('leased_by', '=', holder)
        .where('arrivals', '=', arrivals);
      const released = await lease(held.set({ leased_by: null, leased_until: null, due_at: dueAt }));
      return released.length === 1;
    },

    /**
     * Releases leases without changing due times: one holder's when it stops, or all if no other process can be
     * running.
     */
    async abandon(holder: string | null): Promise<void> {
      const all = db.updateTable('webhook_queues').set({ leased_by: null, leased_until: null });
      const held = holder === null ? all : all.where('leased_by', '=', holder);
      await commit([{ statements: [statement(held)] }]);
    },
  };
}

const idleQueue = {
  due_at: null,
  resume_at: null,
  failing_since: null,
  arrivals: 0,
  leased_by: null,
  leased_until: null,
};
