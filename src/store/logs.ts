/** The request log and the audit log: chained entries, the heads of the chains, and signed checkpoints. */
import { type Selectable, sql } from 'kysely';
import { type Columns, type Engine, type Statement, statement } from './engine.ts';
import { offsetOf, type Page, type PageOf } from './page.ts';
import type { AuditLogTable, CheckpointTable, LogHeadTable, RequestLogTable } from './schema.ts';

export type RequestLogRow = Omit<Selectable<RequestLogTable>, 'position'>;
export type AuditLogRow = Omit<Selectable<AuditLogTable>, 'position'>;
export type PlacedRow = (Selectable<RequestLogTable> | Selectable<AuditLogTable>) & {
  readonly position: number;
};
export type LogHeadRow = Selectable<LogHeadTable>;
export type CheckpointRow = Selectable<CheckpointTable>;
export type Stream = 'request' | 'audit';

export interface LogFilter {
  readonly organizationId: string;
  readonly vaultId?: string | undefined;
  readonly vaultIds?: readonly string[] | undefined;
  readonly status?: number | undefined;
  readonly address?: string | undefined;
  readonly accessKeyId?: string | undefined;
  readonly action?: string | undefined;
  readonly subjectId?: string | undefined;
  /** Ids bound the time: they sort by it. */
  readonly fromId?: string | undefined;
  readonly beforeId?: string | undefined;
}

const chained = {
  id: 'uuid',
  organization_id: 'uuid',
  writer: 'uuid',
  seq: 'bigint',
  entry: 'text',
} as const;
const requestColumns: Columns<'request_logs'> = {
  ...chained,
  hash: 'text',
  mark: 'text',
  vault_id: 'uuid',
  access_key_id: 'uuid',
  status: 'integer',
  ip_address: 'text',
};
const auditColumns: Columns<'audit_logs'> = {
  ...chained,
  hash: 'text',
  mark: 'text',
  action: 'text',
  subject_id: 'uuid',
  subject_revision: 'integer',
};

export function logs({ db, insertMany }: Engine) {
  const tables = { request: 'request_logs', audit: 'audit_logs' } as const;
  // These two go with every group of entries, so they are built once and only their parameters change.
  const headSql = db
    .insertInto('log_heads')
    .values({ writer: '', stream: '', seq: 0, hash: '' })
    .onConflict(on =>
      on
        .columns(['writer', 'stream'])
        .doUpdateSet(eb => ({ seq: eb.ref('excluded.seq'), hash: eb.ref('excluded.hash') })),
    )
    .compile().sql;
  const countSql = db
    .insertInto('log_counts')
    .values({ organization_id: '', stream: '', total: 0 })
    .onConflict(on =>
      on
        .columns(['organization_id', 'stream'])
        .doUpdateSet({ total: sql`log_counts.total + excluded.total` }),
    )
    .compile().sql;

  function requests(filter: LogFilter) {
    let found = db.selectFrom('request_logs').where('organization_id', '=', filter.organizationId);
    if (filter.vaultId !== undefined) found = found.where('vault_id', '=', filter.vaultId);
    if (filter.vaultIds !== undefined) found = found.where('vault_id', 'in', [...filter.vaultIds]);
    if (filter.status !== undefined) found = found.where('status', '=', filter.status);
    if (filter.address !== undefined) found = found.where('ip_address', '=', filter.address);
    if (filter.accessKeyId !== undefined) found = found.where('access_key_id', '=', filter.accessKeyId);
    if (filter.fromId !== undefined) found = found.where('id', '>=', filter.fromId);
    if (filter.beforeId !== undefined) found = found.where('id', '<', filter.beforeId);
    return found;
  }

  function audits(filter: LogFilter) {
    let found = db.selectFrom('audit_logs').where('organization_id', '=', filter.organizationId);
    if (filter.action !== undefined) found = found.where('action', '=', filter.action);
    if (filter.subjectId !== undefined) found = found.where('subject_id', '=', filter.subjectId);
    if (filter.fromId !== undefined) found = found.where('id', '>=', filter.fromId);
    if (filter.beforeId !== undefined) found = found.where('id', '<', filter.beforeId);
    return found;
  }

  async function totalOf(organizationId: string, stream: Stream): Promise<number> {
    const row = await db
      .selectFrom('log_counts')
      .select('total')
      .where('organization_id', '=', organizationId)
      .where('stream', '=', stream)
      .executeTakeFirst();
    return row?.total ?? 0;
  }

  async function total(stream: Stream, filter: LogFilter, counted: () => Promise<number>): Promise<number> {
    const narrowed = Object.entries(filter).some(
      ([key, value]) => key !== 'organizationId' && value !== undefined,
    );
    return narrowed ? counted() : totalOf(filter.organizationId, stream);
  }

  return {
    /** Entries of an organization that are kept. */
    total: totalOf,

    appendRequests: (rows: readonly RequestLogRow[]): Statement =>
      insertMany('request_logs', requestColumns, rows),

    appendAudits: (rows: readonly AuditLogRow[]): Statement => insertMany('audit_logs', auditColumns, rows),

    setHead: ({ writer, stream, seq, hash }: LogHeadRow): Statement => ({
      sql: headSql,
      parameters: [writer, stream, seq, hash],
    }),

    count: (organizationId: string, stream: Stream, change: number): Statement => ({
      sql: countSql,
      parameters: [organizationId, stream, change],
    }),

    async requestPage(filter: LogFilter, page: Page): Promise<PageOf<RequestLogRow>> {
      const found = requests(filter);
      const rows = await found
        .selectAll()
        .orderBy('id', 'desc')
        .limit(page.limit)
        .offset(offsetOf(page))
        .execute();
      const count = async () =>
        (await found.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow()).total;
      return { rows, total: await total('request', filter, count) };
    },

    /** The newest of the matching entries, for reading on from one stretch to the next. */
    requestsBefore: (filter: LogFilter, limit: number): Promise<RequestLogRow[]> =>
      requests(filter).selectAll().orderBy('id', 'desc').limit(limit).execute(),

    async auditPage(filter: LogFilter, page: Page): Promise<PageOf<AuditLogRow>> {
      const found = audits(filter);
      const rows = await found
        .selectAll()
        .orderBy('id', 'desc')
        .limit(page.limit)
        .offset(offsetOf(page))
        .execute();
      const count = async () =>
        (await found.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow()).total;
      return { rows, total: await total('audit', filter, count) };
    },

    request: (organizationId: string, id: string): Promise<RequestLogRow | undefined> =>
      db
        .selectFrom('request_logs')
        .selectAll()
        .where('id', '=', id)
        .where('organization_id', '=', organizationId)
        .executeTakeFirst(),

    audit: (organizationId: string, id: string): Promise<AuditLogRow | undefined> =>
      db
        .selectFrom('audit_logs')
        .selectAll()
        .where('id', '=', id)
        .where('organization_id', '=', organizationId)
        .executeTakeFirst(),

    /** A stretch of a whole stream in the order in which it came, for export and verification. */
    stretch: (stream: Stream, after: number, limit: number): Promise<PlacedRow[]> =>
      db
        .selectFrom(tables[stream])
        .selectAll()
        .where('position', '>', after)
        .orderBy('position')
        .limit(limit)
        .execute() as Promise<PlacedRow[]>,

    heads: (): Promise<LogHeadRow[]> => db.selectFrom('log_heads').selectAll().execute(),

    lastCheckpoint: (): Promise<CheckpointRow | undefined> =>
      db.selectFrom('checkpoints').selectAll().orderBy('number', 'desc').limit(1).executeTakeFirst(),

    checkpoints: (after: number, limit: number): Promise<CheckpointRow[]> =>
      db
        .selectFrom('checkpoints')
        .selectAll()
        .where('number', '>', after)
        .orderBy('number')
        .limit(limit)
        .execute(),

    addCheckpoint: (row: CheckpointRow): Statement => statement(db.insertInto('checkpoints').values(row)),

    /** The oldest request entries that are older than an id, a few at a time. */
    oldestRequests: (beforeId: string, limit: number): Promise<PlacedRow[]> =>
      db
        .selectFrom('request_logs')
        .selectAll()
        .where('id', '<', beforeId)
        .orderBy('position')
        .limit(limit)
        .execute() as Promise<PlacedRow[]>,

    removeCheckpoints: (before: number): Statement =>
      statement(db.deleteFrom('checkpoints').where('number', '<', before)),

    removeRequests: (through: number, beforeId: string, expect: number): Statement =>
      statement(db.deleteFrom('request_logs').where('position', '<=', through).where('id', '<', beforeId), {
        expect,
      }),
  };
}
