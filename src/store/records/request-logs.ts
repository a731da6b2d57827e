/**
 * The request log: blocks of entries that were synced together, and an index of the organizations, vaults and access
 * keys they concern. A row per entry would cost more than the rest of a vault read.
 */
import { type Selectable, sql } from 'kysely';
import { type Columns, type Engine, type Statement, statement } from '../engine/engine.ts';
import { offsetOf, type Page } from '../engine/page.ts';
import { hashesBefore } from '../integrity/links-before.ts';
import { each } from '../schema/common.ts';
import type { RequestBlockTable, RequestIndexTable, UnfiledTable } from '../schema/schema.ts';
import { isFiltered, totalOf } from './logs.ts';

export type RequestBlockRow = Selectable<RequestBlockTable>;
export type RequestIndexRow = Selectable<RequestIndexTable>;
export type UnfiledRow = Selectable<UnfiledTable>;

export interface RequestFilter {
  readonly organizationId: string;
  readonly vaultId?: string | undefined;
  readonly vaultIds?: readonly string[] | undefined;
  readonly status?: number | undefined;
  readonly address?: string | undefined;
  readonly accessKeyId?: string | undefined;
  readonly accessKeyIds?: readonly string[] | undefined;
  /** Answered, or refused. */
  readonly success?: boolean | undefined;
  /** Ids limit the time range, because they sort by time. */
  readonly fromId?: string | undefined;
  readonly beforeId?: string | undefined;
}

/**
 * The blocks that contain a page of a filtered list, newest first. The first `skip` matching entries belong to the page
 * before.
 */
export interface BlocksOfPage {
  readonly blocks: readonly RequestBlockRow[];
  readonly skip: number;
}

/** Requests in one part of a period. */
export interface CountedPart {
  readonly part: number;
  readonly access_key_id: string | null;
  readonly successes: number;
  readonly failures: number;
}

const blockColumns: Columns<'request_blocks'> = {
  ...each('uuid', 'id', 'writer'),
  seq: 'bigint',
  ...each('text', 'text', 'hash', 'mark'),
};
const indexColumns: Columns<'request_index'> = {
  ...each('uuid', 'organization_id', 'block_id', 'vault_id', 'access_key_id'),
  ...each('integer', 'part', 'status', 'entries', 'requests'),
  ip_address: 'text',
};

/** The lowest status of a refusal. */
const firstRefusal = 400;

export function requestLogs({ db, lists, name, insertingInto }: Engine) {
  const emptyId = name === 'postgres' ? sql<string | null>`NULL::uuid` : sql<string | null>`NULL`;
  const appendAny = insertingInto('request_blocks', blockColumns);
  // Part of every group of requests, so it is built once. A single long row is passed faster as plain parameters.
  const appendSql = db
    .insertInto('request_blocks')
    .values({ id: '', writer: '', seq: 0, text: '', hash: '', mark: '' })
    .compile().sql;
  const appendOne = ({ id, writer, seq, text, hash, mark }: RequestBlockRow): Statement =>
    name === 'postgres'
      ? appendAny([{ id, writer, seq, text, hash, mark }])
      : { sql: appendSql, parameters: [id, writer, seq, text, hash, mark] };

  const inPeriod = ({ organizationId, fromId, beforeId }: RequestFilter) =>
    lists
      .selectFrom('request_index')
      .where('organization_id', '=', organizationId)
      .$if(fromId !== undefined, found => found.where('block_id', '>=', fromId!))
      .$if(beforeId !== undefined, found => found.where('block_id', '<', beforeId!));

  function inVaults(filter: RequestFilter) {
    let found = inPeriod(filter);
    if (filter.vaultId !== undefined) found = found.where('vault_id', '=', filter.vaultId);
    if (filter.vaultIds !== undefined) found = found.where('vault_id', 'in', [...filter.vaultIds]);
    return found;
  }

  function index(filter: RequestFilter) {
    let found = inVaults(filter);
    if (filter.status !== undefined) found = found.where('status', '=', filter.status);
    if (filter.success !== undefined)
      found = found.where('status', filter.success ? '<' : '>=', firstRefusal);
    if (filter.address !== undefined) found = found.where('ip_address', '=', filter.address);
    if (filter.accessKeyId !== undefined) found = found.where('access_key_id', '=', filter.accessKeyId);
    if (filter.accessKeyIds !== undefined)
      found = found.where('access_key_id', 'in', [...filter.accessKeyIds]);
    return found;
  }

  const newest = (filter: RequestFilter, limit: number) =>
    index(filter)
      .select(({ fn }) => ['block_id', fn.sum<number>('entries').as('entries')])
      .groupBy('block_id')
      .orderBy('block_id', 'desc')
      .limit(limit);

  const stored = (from = db) => from.selectFrom('request_blocks').selectAll();

  async function blocks(ids: readonly string[]): Promise<RequestBlockRow[]> {
    return ids.length === 0 ? [] : stored(lists).where('id', 'in', ids).orderBy('id', 'desc').execute();
  }

  return {
    /** Refused unless the table stores it. */
    append: (row: RequestBlockRow): Statement => ({ ...appendOne(row), expect: 1 }),

    addToIndex: insertingInto('request_index', indexColumns),

    /** Records that the writer's blocks from this one on are not in the index. */
    leave: (row: UnfiledRow): Statement => statement(db.insertInto('unfiled').values(row)),

    noneLeft: (writer: string): Statement => statement(db.deleteFrom('unfiled').where('writer', '=', writer)),

    left: (): Promise<UnfiledRow[]> => db.selectFrom('unfiled').selectAll().execute(),

    ofWriter: (writer: string, fromId: string, limit: number): Promise<RequestBlockRow[]> =>
      stored().where('id', '>=', fromId).where('writer', '=', writer).orderBy('id').limit(limit).execute(),

    async total(filter: RequestFilter): Promise<number> {
      if (!isFiltered(filter)) return totalOf(db, filter.organizationId, 'request');
      const { total } = await index(filter)
        .select(({ fn }) => fn.sum<number | null>(fn.coalesce('requests', 'entries')).as('total'))
        .executeTakeFirstOrThrow();
      return total ?? 0;
    },

    /**
     * Counts the requests between each of these ids and the next: one scan of the index for each, in one statement.
     * `byKey` counts those of each access key.
     */
    async parts(filter: RequestFilter, bounds: readonly string[], byKey: boolean): Promise<CountedPart[]> {
      const requests = sql`coalesce(requests, entries)`;
      const [first, ...rest] = bounds.slice(1).map((beforeId, part) => {
        const found = index({ ...filter, fromId: bounds[part], beforeId }).select([
          sql<number>`CAST(${part} AS integer)`.as('part'),
          sql<number>`CAST(coalesce(sum(CASE WHEN status < ${firstRefusal} THEN ${requests} END), 0) AS bigint)`.as(
            'successes',
          ),
          sql<number>`CAST(coalesce(sum(CASE WHEN status >= ${firstRefusal} THEN ${requests} END), 0) AS bigint)`.as(
            'failures',
          ),
        ]);
        return byKey
          ? found.select('access_key_id').groupBy('access_key_id')
          : found.select(emptyId.as('access_key_id'));
      });
      if (first === undefined) return [];
      const all = rest.reduce((joined, next) => joined.unionAll(next), first);
      const rows = await all.execute();
      return rows.map(({ part, successes, failures, access_key_id }) => ({
        part: Number(part),
        access_key_id,
        successes: Number(successes),
        failures: Number(failures),
      }));
    },

    /** Each block contains at least one matching entry, so as many blocks as entries are enough. */
    async page(filter: RequestFilter, page: Page): Promise<BlocksOfPage> {
      const offset = offsetOf(page);
      const seen = sql<number>`CAST(SUM(entries) OVER (ORDER BY block_id DESC ROWS UNBOUNDED PRECEDING) AS bigint)`;
      const ranked = lists
        .selectFrom(newest(filter, offset + page.limit).as('newest'))
        .select(['block_id', 'entries', seen.as('seen')]);
      const found = await lists
        .selectFrom(ranked.as('ranked'))
        .selectAll()
        .where('seen', '>', offset)
        .orderBy('block_id', 'desc')
        .limit(page.limit)
        .execute();
      const first = found[0];
      const skip = first === undefined ? 0 : offset - (first.seen - first.entries);
      return { blocks: await blocks(found.map(row => row.block_id)), skip };
    },

    /** The newest matching blocks, for reading in batches. */
    async newest(filter: RequestFilter, limit: number): Promise<RequestBlockRow[]> {
      return blocks((await newest(filter, limit).execute()).map(row => row.block_id));
    },

    block: (id: string): Promise<RequestBlockRow | undefined> =>
      stored().where('id', '=', id).executeTakeFirst(),

    /** The hashes of the links before these blocks. */
    hashesBefore: hashesBefore<string>(lists, 'request_blocks', 'id'),

    /** A batch of the whole log, oldest first, for export and verification. */
    stretch: (afterId: string | null, limit: number): Promise<RequestBlockRow[]> =>
      stored()
        .$if(afterId !== null, query => query.where('id', '>', afterId))
        .orderBy('id')
        .limit(limit)
        .execute(),

    indexOf: async (
      organizationIds: readonly string[],
      blockIds: readonly string[],
    ): Promise<RequestIndexRow[]> => {
      if (organizationIds.length === 0) return [];
      return db
        .selectFrom('request_index')
        .selectAll()
        .where('organization_id', 'in', organizationIds)
        .where('block_id', 'in', blockIds)
        .orderBy('part')
        .execute();
    },

    /** The oldest blocks that are older than an id. */
    oldest: (beforeId: string, limit: number): Promise<RequestBlockRow[]> =>
      stored().where('id', '<', beforeId).orderBy('id').limit(limit).execute(),

    remove: (ids: readonly string[], organizationIds: readonly string[]): Statement[] => [
      statement(db.deleteFrom('request_blocks').where('id', 'in', ids), { expect: ids.length }),
      ...organizationIds.map(organizationId =>
        statement(
          db
            .deleteFrom('request_index')
            .where('organization_id', '=', organizationId)
            .where('block_id', 'in', ids),
        ),
      ),
    ],
  };
}
