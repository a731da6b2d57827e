/** Events, which are stored with their change and delivered later, and the notices of expiries. */
import { type Selectable, sql } from 'kysely';
import { type Columns, type Engine, type Statement, statement } from '../engine/engine.ts';
import { auditedRevision } from '../integrity/audited.ts';
import { each } from '../schema/common.ts';
import type { EventTable, ExpiryNoticeTable } from '../schema/schema.ts';
import type { AuditedResource } from './resources.ts';

export type StoredEvent = Selectable<EventTable>;
export type EventRow = Omit<StoredEvent, 'position'>;
type ExpiryNotice = Selectable<ExpiryNoticeTable>;

/** Resources that expire after `after` and up to `to`, beyond the one named by `from`. */
export interface ExpiryWindow {
  readonly after: number;
  readonly to: number;
  readonly from: { readonly expiration_date: number; readonly id: string } | null;
}

const columns: Columns<'events'> = {
  ...each('uuid', 'id', 'organization_id', 'vault_id', 'resource_id'),
  ...each('text', 'type', 'payload'),
  created_at: 'bigint',
  fanned: 'integer',
  stamp: 'bytea',
};

export function outbox({ db, commit, insertingInto }: Engine) {
  const addAll = insertingInto('events', columns);
  const expiring = () =>
    db
      .selectFrom('resources')
      .selectAll('resources')
      .select(auditedRevision())
      .where('deleted_at', 'is', null)
      .where('enabled', '=', 1)
      .where('expiration_date', 'is not', null)
      .where(
        sql<boolean>`NOT EXISTS (SELECT 1 FROM resources AS vault
          WHERE vault.id = resources.vault_id AND vault.deleted_at IS NOT NULL)`,
      );

  return {
    add: (...rows: readonly EventRow[]): Statement => addAll(rows),

    /** The oldest events whose deliveries have not been created yet. */
    toFanOut: (limit: number): Promise<StoredEvent[]> =>
      db.selectFrom('events').selectAll().where('fanned', '=', 0).orderBy('position').limit(limit).execute(),

    /** Refused as stale if another replica was first for any of them. */
    markFanned: (ids: readonly string[]): Statement =>
      statement(db.updateTable('events').set({ fanned: 1 }).where('id', 'in', ids).where('fanned', '=', 0), {
        expect: ids.length,
      }),

    /** Refused as taken if the notice was already given. */
    addNotice: (row: ExpiryNotice): Statement => statement(db.insertInto('expiry_notices').values(row)),

    /** Whether this notice, or one closer to the expiry, was given for the same version. */
    async noticed({ resource_id, version, expiration_date, days }: ExpiryNotice): Promise<boolean> {
      const found = db
        .selectFrom('expiry_notices')
        .select('days')
        .where('resource_id', '=', resource_id)
        .where('version', '=', version)
        .where('expiration_date', '=', expiration_date)
        .where('days', '<=', days)
        .limit(1);
      return (await found.executeTakeFirst()) !== undefined;
    },

    expiringIn({ after, to, from }: ExpiryWindow, limit: number): Promise<AuditedResource[]> {
      let found = expiring().where('expiration_date', '>', after).where('expiration_date', '<=', to);
      if (from !== null) {
        const { expiration_date, id } = from;
        found = found.where(eb =>
          eb.or([
            eb('expiration_date', '>', expiration_date),
            eb.and([eb('expiration_date', '=', expiration_date), eb('id', '>', id)]),
          ]),
        );
      }
      return found.orderBy('expiration_date').orderBy('id').limit(limit).execute();
    },

    expiringAmong: (ids: readonly string[]): Promise<AuditedResource[]> =>
      expiring().where('id', 'in', ids).execute(),

    /** Deletes some of the oldest events that are no longer needed. Returns how many. */
    async forget(before: number, limit: number): Promise<number> {
      const old = db
        .selectFrom('events')
        .select('position')
        .where('created_at', '<', before)
        .where('fanned', '=', 1)
        .where(sql<boolean>`NOT EXISTS (SELECT 1 FROM deliveries WHERE deliveries.event_id = events.id)`)
        .orderBy('created_at')
        .limit(limit);
      const remove = db.deleteFrom('events').where('position', 'in', old).returning('position');
      const [rows] = await commit([{ statements: [statement(remove, { returning: true })] }]);
      return rows![0]!.length;
    },
  };
}
