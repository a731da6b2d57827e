/** Deliveries: one per event and subscribed webhook, with the result of every attempt. */
import { type Selectable, sql } from 'kysely';
import type { Stamp } from '../../base/bytes.ts';
import { type Columns, type Engine, type Statement, statement } from '../engine/engine.ts';
import { type Page, type PageOf, pageOf } from '../engine/page.ts';
import { prepared } from '../engine/prepared.ts';
import { each } from '../schema/common.ts';
import type { DeliveryTable } from '../schema/schema.ts';

export type DeliveryRow = Selectable<DeliveryTable>;

/** A delivery with its event's content, and the event's stamp. */
export interface DueDelivery extends DeliveryRow {
  readonly payload: string;
  readonly event_created_at: number;
  readonly event_stamp: Stamp;
}

export interface DeliveryFilter {
  readonly organizationId: string;
  readonly webhookId?: string | undefined;
  readonly event?: string | undefined;
  readonly state?: string | undefined;
}

export type DeliveryOutcome = Pick<
  DeliveryRow,
  'id' | 'state' | 'tries' | 'attempts' | 'next_attempt_at' | 'finished_at'
>;

const columns: Columns<'deliveries'> = {
  ...each('uuid', 'id', 'organization_id', 'webhook_id', 'event_id', 'vault_id', 'resource_id'),
  ...each('text', 'event', 'state', 'attempts'),
  ...each('bigint', 'event_position', 'next_attempt_at', 'finished_at', 'created_at'),
  tries: 'integer',
};

export function deliveries({ db, lists, commit, insertingInto }: Engine) {
  const rows = (from = db) => from.selectFrom('deliveries').selectAll();
  /** Of one webhook, the next attempt first. */
  const pending = (webhookId: string) =>
    db
      .selectFrom('deliveries')
      .where('webhook_id', '=', webhookId)
      .where('state', '=', 'pending')
      .orderBy('next_attempt_at');

  return {
    addAll: insertingInto('deliveries', columns),

    byId: (organizationId: string, id: string): Promise<DeliveryRow | undefined> =>
      rows().where('id', '=', id).where('organization_id', '=', organizationId).executeTakeFirst(),

    async page(filter: DeliveryFilter, page: Page): Promise<PageOf<DeliveryRow>> {
      let found = rows(lists).where('organization_id', '=', filter.organizationId);
      if (filter.webhookId !== undefined) found = found.where('webhook_id', '=', filter.webhookId);
      if (filter.event !== undefined) found = found.where('event', '=', filter.event);
      if (filter.state !== undefined) found = found.where('state', '=', filter.state);
      return pageOf(found, page);
    },

    /** The number of pending and abandoned deliveries in all organizations. */
    async byState(): Promise<ReadonlyMap<string, number>> {
      const rows = await lists
        .selectFrom('deliveries')
        .select(['state', eb => eb.fn.countAll<number>().as('count')])
        .where('state', 'in', ['pending', 'dead'])
        .groupBy('state')
        .execute();
      return new Map(rows.map(({ state, count }) => [state, Number(count)]));
    },

    /** New deliveries first, in the order of their events, then those due for a retry. */
    due: (webhookId: string, now: number, limit: number): Promise<DueDelivery[]> =>
      pending(webhookId)
        .innerJoin('events', 'events.id', 'deliveries.event_id')
        .selectAll('deliveries')
        .select(['events.payload', 'events.created_at as event_created_at', 'events.stamp as event_stamp'])
        .where('next_attempt_at', '<=', now)
        .orderBy('event_position')
        .limit(limit)
        .execute(),

    async nextAttemptAt(webhookId: string): Promise<number | null> {
      const next = pending(webhookId).select('next_attempt_at').limit(1);
      return (await next.executeTakeFirst())?.next_attempt_at ?? null;
    },

    /** A delivery that another process has finished stays finished. Prepared: there may be a thousand per second. */
    settle: prepared<DeliveryOutcome>(({ id, state, tries, attempts, next_attempt_at, finished_at }) =>
      db
        .updateTable('deliveries')
        .set({ state, tries, attempts, next_attempt_at, finished_at })
        .where('id', '=', id)
        .where('state', '=', 'pending'),
    ),

    /** Restarts a delivery manually, as if it were new. */
    again: (id: string, now: number): Statement =>
      statement(
        db
          .updateTable('deliveries')
          .set({ state: 'pending', tries: 0, next_attempt_at: now, finished_at: null })
          .where('id', '=', id),
        { expect: 1 },
      ),

    /** Deletes some deliveries that were finished before then, or abandoned with their webhook. Returns how many. */
    async forget(before: number, limit: number): Promise<number> {
      const old = db
        .selectFrom('deliveries')
        .select('id')
        .where('created_at', '<', before)
        .where(sql<boolean>`coalesce(finished_at, next_attempt_at) < ${before}`)
        .orderBy('created_at')
        .limit(limit);
      const remove = db.deleteFrom('deliveries').where('id', 'in', old).returning('id');
      const [rows] = await commit([{ statements: [statement(remove, { returning: true })] }]);
      return rows![0]!.length;
    },
  };
}
