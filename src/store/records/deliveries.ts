/** Deliveries: one per event and subscribed webhook, with the result of every attempt. */

import { type Selectable, sql } from 'kysely';
import type { Stamp } from '../../base/bytes.ts';
import { type Columns, type Engine, type Statement, statement } from '../engine/engine.ts';
import { type Page, type PageOf, pageOf } from '../engine/page.ts';
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
  id: 'uuid',
  organization_id: 'uuid',
  webhook_id: 'uuid',
  event_id: 'uuid',
  event_position: 'bigint',
  event: 'text',
  vault_id: 'uuid',
  resource_id: 'uuid',
  state: 'text',
  tries: 'integer',
  attempts: 'text',
  next_attempt_at: 'bigint',
  finished_at: 'bigint',
  created_at: 'bigint',
};

export function deliveries({ db, lists, commit, insertingInto }: Engine) {
  // Built once: at a thousand deliveries per second, building it each time would cost more than running it.
  let settling: string | undefined;
  const settlingSql = () =>
    statement(
      db
        .updateTable('deliveries')
        .set({ state: '', tries: 0, attempts: '', next_attempt_at: 0, finished_at: 0 })
        .where('id', '=', '')
        .where('state', '=', 'pending'),
    ).sql;

  return {
    addAll: insertingInto('deliveries', columns),

    byId: (organizationId: string, id: string): Promise<DeliveryRow | undefined> =>
      db
        .selectFrom('deliveries')
        .selectAll()
        .where('id', '=', id)
        .where('organization_id', '=', organizationId)
        .executeTakeFirst(),

    async page(filter: DeliveryFilter, page: Page): Promise<PageOf<DeliveryRow>> {
      let found = lists
        .selectFrom('deliveries')
        .selectAll()
        .where('organization_id', '=', filter.organizationId);
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
      db
        .selectFrom('deliveries')
        .innerJoin('events', 'events.id', 'deliveries.event_id')
        .selectAll('deliveries')
        .select(['events.payload', 'events.created_at as event_created_at', 'events.stamp as event_stamp'])
        .where('webhook_id', '=', webhookId)
        .where('state', '=', 'pending')
        .where('next_attempt_at', '<=', now)
        .orderBy('next_attempt_at')
        .orderBy('event_position')
        .limit(limit)
        .execute(),

    async nextAttemptAt(webhookId: string): Promise<number | null> {
      const row = await db
        .selectFrom('deliveries')
        .select('next_attempt_at')
        .where('webhook_id', '=', webhookId)
        .where('state', '=', 'pending')
        .orderBy('next_attempt_at')
        .limit(1)
        .executeTakeFirst();
      return row?.next_attempt_at ?? null;
    },

    /** A delivery that another process has finished stays finished. */
    settle: ({ id, state, tries, attempts, next_attempt_at, finished_at }: DeliveryOutcome): Statement => {
      settling ??= settlingSql();
      const parameters = [state, tries, attempts, next_attempt_at, finished_at, id, 'pending'];
      return { sql: settling, parameters };
    },

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
