/** The audit log, the heads of both logs' chains, the number of entries per organization, and signed checkpoints. */
import { type Insertable, type Selectable, sql } from 'kysely';
import { publicBytes } from '../../base/bytes.ts';
import { actorIn } from '../engine/audit-actor.ts';
import { type Columns, type Engine, type Statement, statement } from '../engine/engine.ts';
import { metaValue, setMeta } from '../engine/meta.ts';
import { countOf, offsetOf, type Page, type PageOf } from '../engine/page.ts';
import { revisedTables } from '../integrity/audited.ts';
import { hashesBefore } from '../integrity/links-before.ts';
import { each } from '../schema/common.ts';
import type { AuditLogTable, CheckpointTable, LogCountTable, LogHeadTable } from '../schema/schema.ts';

/** The columns written for an entry. */
export type NewAuditRow = Omit<Insertable<AuditLogTable>, 'position'>;
export type PlacedAuditRow = Selectable<AuditLogTable>;
export type LogHeadRow = Selectable<LogHeadTable>;
export type LogCountRow = Selectable<LogCountTable>;
export type CheckpointRow = Selectable<CheckpointTable>;
export type Stream = 'request' | 'audit';

export interface AuditFilter {
  readonly organizationId: string;
  readonly action?: string | undefined;
  readonly subjectId?: string | undefined;
  readonly actorId?: string | undefined;
  /** Ids limit the time range, because they sort by time. */
  readonly fromId?: string | undefined;
  readonly beforeId?: string | undefined;
}

const auditColumns: Columns<'audit_logs'> = {
  ...each('uuid', 'id', 'writer'),
  seq: 'bigint',
  ...each('text', 'entry', 'hash', 'mark'),
};
const countColumns: Columns<'log_counts'> = { organization_id: 'uuid', stream: 'text', total: 'bigint' };
/** The row of `meta` with the newest revisions. */
const revisionsRow = 'audited_revisions';
const addToCount =
  'ON CONFLICT (organization_id, stream) DO UPDATE SET total = log_counts.total + excluded.total';

export function logs({ db, lists, name, commit, insertingInto }: Engine) {
  const actor = actorIn(name);
  // Part of every group of entries, so it is built once and only its parameters change.
  const headSql = db
    .insertInto('log_heads')
    .values({ writer: '', stream: '', seq: 0, hash: '', mark: '' })
    .onConflict(on =>
      on.columns(['writer', 'stream']).doUpdateSet(eb => ({
        seq: eb.ref('excluded.seq'),
        hash: eb.ref('excluded.hash'),
        mark: eb.ref('excluded.mark'),
      })),
    )
    .compile().sql;
  const appendAudits = insertingInto('audit_logs', auditColumns);
  const addToCounts = insertingInto('log_counts', countColumns, addToCount);
  const entries = () => db.selectFrom('audit_logs').selectAll();
  const checkpoints = () => db.selectFrom('checkpoints').selectAll();

  function audits(filter: AuditFilter) {
    let found = lists.selectFrom('audit_logs').where('organization_id', '=', filter.organizationId);
    if (filter.action !== undefined) found = found.where('action', '=', filter.action);
    if (filter.subjectId !== undefined) found = found.where('subject_id', '=', filter.subjectId);
    if (filter.actorId !== undefined) found = found.where(actor, '=', filter.actorId);
    if (filter.fromId !== undefined) found = found.where('id', '>=', filter.fromId);
    if (filter.beforeId !== undefined) found = found.where('id', '<', filter.beforeId);
    return found;
  }

  /** Of these subjects, those whose row still exists. */
  const living = (ids: readonly string[]) => {
    const asked = ids.map(id => (name === 'postgres' ? sql`(${id}::uuid)` : sql`(${id})`));
    const rows = revisedTables.map(table => sql`SELECT 1 FROM ${sql.table(table)} WHERE id = asked.id`);
    return sql<{
      id: string;
    }>`SELECT id FROM (WITH given (id) AS (VALUES ${sql.join(asked)}) SELECT id FROM given) AS asked
      WHERE EXISTS (${sql.join(rows, sql` UNION ALL `)})`;
  };

  return {
    /** The number of an organization's stored entries. */
    total: (organizationId: string, stream: Stream) => totalOf(db, organizationId, stream),

    /** Refused unless the table stores all of them. */
    appendAudits: (rows: readonly NewAuditRow[]): Statement => ({
      ...appendAudits(rows),
      expect: rows.length,
    }),

    setHead: ({ writer, stream, seq, hash, mark }: LogHeadRow): Statement => ({
      sql: headSql,
      parameters: [writer, stream, seq, hash, mark],
    }),

    /** Adds to the totals, in the order of ids, so that two replicas can't deadlock. */
    count: (changes: readonly LogCountRow[]): Statement =>
      addToCounts(changes.toSorted((a, b) => (a.organization_id < b.organization_id ? -1 : 1))),

    async auditPage(filter: AuditFilter, page: Page): Promise<PageOf<PlacedAuditRow>> {
      const found = audits(filter);
      const newest = found.selectAll().orderBy('id', 'desc');
      const rows = await newest.limit(page.limit).offset(offsetOf(page)).execute();
      if (!isFiltered(filter)) return { rows, total: await totalOf(db, filter.organizationId, 'audit') };
      return { rows, total: await countOf(found) };
    },

    /** The newest entries that match a filter. */
    newestAudits: (filter: AuditFilter, limit: number): Promise<PlacedAuditRow[]> =>
      audits(filter).selectAll().orderBy('id', 'desc').limit(limit).execute(),

    audit: (organizationId: string, id: string): Promise<PlacedAuditRow | undefined> =>
      entries().where('id', '=', id).where('organization_id', '=', organizationId).executeTakeFirst(),

    /** The hashes of the links before these entries, by position. */
    hashesBefore: hashesBefore<number>(lists, 'audit_logs', 'position'),

    /** A batch of the whole audit log in order of position, for export and verification. */
    auditStretch: (after: number, limit: number): Promise<PlacedAuditRow[]> =>
      entries().where('position', '>', after).orderBy('position').limit(limit).execute(),

    auditsOfWriter: (writer: string, after: number, limit: number): Promise<PlacedAuditRow[]> =>
      entries()
        .where('position', '>', after)
        .where('writer', '=', writer)
        .orderBy('position')
        .limit(limit)
        .execute(),

    /** The oldest entries by position. Never includes the newest of all, so that positions continue from it. */
    oldestAudits: (limit: number): Promise<PlacedAuditRow[]> =>
      entries()
        .where('position', '<', eb =>
          eb.selectFrom('audit_logs').select(({ fn }) => fn.max('position').as('last')),
        )
        .orderBy('position')
        .limit(limit)
        .execute(),

    /** Of these subjects, those whose row still exists. */
    living: async (ids: readonly string[]): Promise<string[]> =>
      ids.length === 0 ? [] : (await living(ids).execute(db)).rows.map(({ id }) => id),

    /** Requires that none of these rows has been deleted. */
    stillLiving: (ids: readonly string[]): Statement[] => {
      if (ids.length === 0) return [];
      const counted = sql`SELECT 1 AS found WHERE (SELECT count(*) FROM (${living(ids)}) AS l) = ${ids.length}`;
      const { sql: text, parameters } = counted.compile(db);
      return [{ sql: text, parameters, unless: 'stale' }];
    },

    removeAudits: (positions: readonly [first: number, last: number], expect: number): Statement =>
      statement(
        db.deleteFrom('audit_logs').where(eb => eb.between('position', positions[0], positions[1])),
        { expect },
      ),

    /** The newest entry with this action that belongs to no organization. */
    newestOwn: (action: string): Promise<PlacedAuditRow | undefined> =>
      entries()
        .where('organization_id', 'is', null)
        .where('action', '=', action)
        .orderBy('id', 'desc')
        .limit(1)
        .executeTakeFirst(),

    /** The preceding link of the same chain, if it is still stored. */
    auditBefore: ({ writer, seq, position }: PlacedAuditRow): Promise<PlacedAuditRow | undefined> =>
      entries()
        .where('position', '<', position)
        .where('writer', '=', writer)
        .where('seq', '=', seq - 1)
        .orderBy('position', 'desc')
        .limit(1)
        .executeTakeFirst(),

    heads: (): Promise<LogHeadRow[]> => db.selectFrom('log_heads').selectAll().execute(),

    lastCheckpoint: (): Promise<CheckpointRow | undefined> =>
      checkpoints().orderBy('number', 'desc').limit(1).executeTakeFirst(),

    checkpoints: (after: number, limit: number): Promise<CheckpointRow[]> =>
      checkpoints().where('number', '>', after).orderBy('number').limit(limit).execute(),

    /** The state saved by `logs/revision-index.ts`; undefined if none was saved yet. */
    keptRevisions: (): Promise<Uint8Array | undefined> => metaValue(db, revisionsRow),

    async keepRevisions(bytes: Uint8Array): Promise<void> {
      await commit([{ statements: [setMeta(db, revisionsRow, publicBytes(bytes))] }]);
    },

    addCheckpoint: (row: CheckpointRow): Statement => statement(db.insertInto('checkpoints').values(row)),

    removeCheckpoints: (before: number): Statement =>
      statement(db.deleteFrom('checkpoints').where('number', '<', before)),
  };
}

/** The number of an organization's stored entries, without counting them. */
export async function totalOf(db: Engine['db'], organizationId: string, stream: Stream): Promise<number> {
  const counted = db.selectFrom('log_counts').select('total').where('stream', '=', stream);
  return (await counted.where('organization_id', '=', organizationId).executeTakeFirst())?.total ?? 0;
}

/** Whether the filter has any condition besides the organization. */
export function isFiltered<F extends { readonly organizationId: string }>({
  organizationId,
  ...rest
}: F): boolean {
  return Object.values(rest).some(value => value !== undefined);
}
