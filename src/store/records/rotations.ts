/** Rotations of secrets, what is due about them, and the claims of replicas on doing it. */
import { type Compilable, type ExpressionBuilder, type Selectable, sql } from 'kysely';
import { type Engine, type Statement, statement } from '../engine/engine.ts';
import { type Page, type PageOf, pageOf } from '../engine/page.ts';
import { type Audited, auditedRevision } from '../integrity/audited.ts';
import { updateRevised } from '../integrity/revisions.ts';
import type { RotationQueueTable, RotationTable } from '../schema/rotations.ts';
import type { Schema } from '../schema/schema.ts';

export type RotationRow = Selectable<RotationTable>;
export type AuditedRotation = RotationRow & Audited;
export type RotationQueueRow = Selectable<RotationQueueTable>;

export interface RotationFilter {
  readonly organizationId: string;
  /** All vaults if undefined. */
  readonly vaultIds?: readonly string[] | undefined;
  readonly isFailing?: boolean;
}

type Planned = Pick<RotationQueueRow, 'resource_id' | 'organization_id' | 'vault_id'>;
type Failing = Pick<RotationQueueRow, 'failures' | 'failing_since' | 'reason'>;

const over = ['done', 'abandoned'];
const sound: Failing = { failures: 0, failing_since: null, reason: null };
const unclaimed = { claimed_by: null, claimed_until: null };

/** One that used a new value after it. */
function newer(eb: ExpressionBuilder<Schema, 'rotations'>) {
  return eb
    .selectFrom('rotations as newer')
    .select('newer.id')
    .whereRef('newer.resource_id', '=', 'rotations.resource_id')
    .whereRef('newer.id', '>', 'rotations.id')
    .where('newer.version', 'is not', null);
}

export function rotations({ db, lists, commit, name }: Engine) {
  const audited = (from = db) =>
    from.selectFrom('rotations').selectAll('rotations').select(auditedRevision());
  const queue = (id: string) => db.updateTable('rotation_queues').where('resource_id', '=', id);

  return {
    /** The one of a secret that is not over. There is at most one, because a secret is worked on by one process. */
    living: (resourceId: string): Promise<AuditedRotation | undefined> =>
      audited()
        .where('resource_id', '=', resourceId)
        .where('state', 'not in', over)
        .orderBy('id', 'desc')
        .executeTakeFirst(),

    /** The newest one that used a new value. */
    last: (resourceId: string): Promise<AuditedRotation | undefined> =>
      audited()
        .where('resource_id', '=', resourceId)
        .where('version', 'is not', null)
        .orderBy('id', 'desc')
        .executeTakeFirst(),

    page: (resourceId: string, page: Page): Promise<PageOf<AuditedRotation>> =>
      pageOf(audited(lists).where('resource_id', '=', resourceId), page),

    insert: (row: RotationRow): Statement => statement(db.insertInto('rotations').values(row)),
    /** Refused as stale if another change came first. */
    update: (row: RotationRow): Statement => updateRevised(db, 'rotations', row),

    /** A secret has another plan, or none if `nextAt` is null: what is due about it is worked out soon. */
    plan: (of: Planned, nextAt: number | null, now: number): Statement =>
      statement(
        db
          .insertInto('rotation_queues')
          .values({ ...of, next_at: nextAt, due_at: nextAt ?? now, ...sound, ...unclaimed })
          .onConflict(conflict =>
            conflict.column('resource_id').doUpdateSet({ next_at: nextAt, due_at: now, ...sound }),
          ),
      ),

    /** For a secret that is deleted permanently. */
    removeOf: (resourceId: string): Statement[] => [
      statement(db.deleteFrom('rotations').where('resource_id', '=', resourceId)),
      statement(db.deleteFrom('rotation_queues').where('resource_id', '=', resourceId)),
    ],
    /** For a vault that is deleted permanently. */
    removeIn: (vaultId: string): Statement[] => [
      statement(db.deleteFrom('rotations').where('vault_id', '=', vaultId)),
      statement(db.deleteFrom('rotation_queues').where('vault_id', '=', vaultId)),
    ],

    /**
     * Deletes those that are over since then and that a newer one followed, because only the last one knows how the
     * current value is removed. They remain in the audit log. Returns how many.
     */
    async forget(before: number, most: number): Promise<number> {
      const found = await db
        .selectFrom('rotations')
        .select('id')
        .where('state', 'in', over)
        .where('updated_at', '<', before)
        .where(eb => eb.exists(newer(eb)))
        .limit(most)
        .execute();
      if (found.length === 0) return 0;
      const ids = found.map(({ id }) => id);
      await commit([{ statements: [statement(db.deleteFrom('rotations').where('id', 'in', ids))] }]);
      return found.length;
    },

    queues: {
      of: (id: string): Promise<RotationQueueRow | undefined> =>
        db.selectFrom('rotation_queues').selectAll().where('resource_id', '=', id).executeTakeFirst(),

      /** What rotates when, the next first. */
      async page(filter: RotationFilter, { page, limit }: Page) {
        const { organizationId, vaultIds, isFailing = false } = filter;
        let found = lists
          .selectFrom('rotation_queues')
          .innerJoin('resources', 'resources.id', 'rotation_queues.resource_id')
          .where('rotation_queues.organization_id', '=', organizationId)
          .where('resources.deleted_at', 'is', null)
          .where('next_at', 'is not', null);
        if (vaultIds !== undefined) found = found.where('rotation_queues.vault_id', 'in', vaultIds);
        if (isFailing) found = found.where('failing_since', 'is not', null);
        const { total } = await found
          .select(({ fn }) => fn.countAll<number>().as('total'))
          .executeTakeFirstOrThrow();
        const rows = await found
          .selectAll('rotation_queues')
          .orderBy('next_at')
          .orderBy('resource_id')
          .limit(limit)
          .offset((page - 1) * limit)
          .execute();
        return { rows: rows as RotationQueueRow[], total: Number(total) };
      },

      /** When something is to be done next, and whether attempts fail. */
      set: (
        id: string,
        changes: Partial<Failing & Pick<RotationQueueRow, 'due_at' | 'next_at'>>,
      ): Statement => statement(queue(id).set(changes)),
      /** For one that is rotated: when it gets its next value, and when something else is to be done. */
      succeeded: (id: string, dueAt: number, nextAt?: number): Statement =>
        statement(
          queue(id).set({ due_at: dueAt, ...(nextAt !== undefined && { next_at: nextAt }), ...sound }),
        ),
      /** Requires that the holder still has it; otherwise the unit is refused as stale. */
      held: (id: string, holder: string): Statement =>
        statement(queue(id).set({ claimed_by: holder }).where('claimed_by', '=', holder), {
          expect: 1,
        }),
      remove: (id: string): Statement =>
        statement(db.deleteFrom('rotation_queues').where('resource_id', '=', id)),
      ...claimsIn({ db, commit, name }),
    },
  };
}

/** One process at a time works on a secret; its claim expires if it dies. */
function claimsIn({ db, commit, name }: Pick<Engine, 'db' | 'commit' | 'name'>) {
  const postgres = name === 'postgres';
  const databaseNow = postgres
    ? sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`
    : sql<number>`CAST(unixepoch('subsec') * 1000 AS INTEGER)`;
  const claimedFor = (length: number) => sql<number>`${databaseNow} + ${sql.lit(length)}`;
  const free = () =>
    db
      .selectFrom('rotation_queues')
      .select('resource_id')
      .where(eb => eb.or([eb('claimed_until', 'is', null), eb('claimed_until', '<', databaseNow)]));

  async function claiming(change: Compilable): Promise<string[]> {
    const [rows] = await commit([{ statements: [statement(change, { returning: true })] }]);
    return rows![0]!.map(row => String(row.resource_id));
  }
  const taking = (holder: string, length: number) =>
    db
      .updateTable('rotation_queues')
      .returning('resource_id')
      .set({ claimed_by: holder, claimed_until: claimedFor(length) });

  return {
    /** Claims secrets about which something is due, each for one process only. */
    async claim(holder: string, now: number, length: number, most: number): Promise<string[]> {
      const due = free().where('due_at', '<=', now).orderBy('due_at').limit(most);
      if ((await due.executeTakeFirst()) === undefined) return [];
      return claiming(
        taking(holder, length).where('resource_id', 'in', postgres ? due.forUpdate().skipLocked() : due),
      );
    },

    /** Claims one, whether or not something is due about it. */
    claimOne: async (id: string, holder: string, length: number): Promise<boolean> => {
      const one = free().where('resource_id', '=', id);
      const found = postgres ? one.forUpdate().skipLocked() : one;
      return (await claiming(taking(holder, length).where('resource_id', 'in', found))).length === 1;
    },

    /** Whether the holder still has it, and keeps it for longer. */
    renew: async (id: string, holder: string, length: number): Promise<boolean> => {
      const held = taking(holder, length).where('resource_id', '=', id).where('claimed_by', '=', holder);
      return (await claiming(held)).length === 1;
    },

    async release(id: string, holder: string): Promise<void> {
      const held = db
        .updateTable('rotation_queues')
        .set(unclaimed)
        .where('resource_id', '=', id)
        .where('claimed_by', '=', holder);
      await commit([{ statements: [statement(held)] }]);
    },

    /** Releases all claims, if no other process can be running. */
    async abandon(): Promise<void> {
      await commit([{ statements: [statement(db.updateTable('rotation_queues').set(unclaimed))] }]);
    },
  };
}
