/**
 * Reads every table, row by row, in an order that is the same on both engines, for backups. Leaves out columns that the
 * database computes, and data that can be rebuilt from other tables. Reads the tables as they are, so an earlier schema
 * works too. Rows are read in small batches, however many there are.
 */
import { type Kysely, type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import type { Engine } from '../engine/engine.ts';
import { columns as declared } from '../integrity/stamp-columns.ts';
import { type AnySchema, type EngineName, isBehind, migrationsDone } from '../migrations/migrations.ts';
import type { Schema } from '../schema/schema.ts';

export type TableName = keyof Schema;

export interface TableShape {
  readonly name: TableName;
  /** In the order of their names. */
  readonly columns: readonly Column[];
}

export interface Column {
  readonly name: string;
  /** The engine's name for it. */
  readonly type: string;
  /** Its place in the table's key; null if it is not part of it. */
  readonly key: number | null;
}

/** Data that can be rebuilt: cached answers, the last positions, and changes exchanged between running replicas. */
const madeAnew: ReadonlySet<string> = new Set<TableName>(['kept_answers', 'last_positions', 'changes']);
/** Tables that others refer to come first. */
const copied = (Object.keys(declared) as TableName[]).filter(name => !madeAnew.has(name));
const rowsAtOnce = 100;

/** For a connection with a consistent snapshot. */
export function tables({ name: engine, db }: Pick<Engine, 'name' | 'db'>) {
  async function shapes(): Promise<TableShape[]> {
    const found: TableShape[] = [];
    for (const name of copied) found.push({ name, columns: await columnsOf(name) });
    return found.filter(({ columns }) => columns.length > 0);
  }

  async function columnsOf(name: TableName): Promise<Column[]> {
    const { rows } = await columnsOn[engine](name).execute(db);
    return rows.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  async function* rows(shape: TableShape): AsyncIterable<unknown[][]> {
    const names = shape.columns.map(({ name }) => name);
    for await (const found of rowsOn[engine](db, selecting(engine, db, shape)))
      yield found.map(row => names.map(name => row[name]));
  }

  return {
    /** Throws if a newer version has migrated the tables. */
    shapes: async (): Promise<TableShape[]> => {
      await isBehind(db, engine);
      return shapes();
    },

    /** The migrations that were run. */
    schema: (): Promise<readonly string[]> => migrationsDone(db),

    count: async ({ name }: TableShape): Promise<number> => {
      const { rows } = await sql<{ n: number }>`SELECT count(*) AS n FROM ${sql.table(name)}`.execute(db);
      return Number(rows[0]!.n);
    },

    rows,
  };
}

export type Tables = ReturnType<typeof tables>;

const columnsOn: Record<EngineName, (table: TableName) => RawBuilder<Column>> = {
  sqlite: table => sql<Column>`SELECT name, lower(type) AS type, nullif(pk, 0) AS key
    FROM pragma_table_xinfo(${table}) WHERE hidden = 0`,
  postgres: table => sql<Column>`SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type,
      array_position(i.indkey::int2[], a.attnum)::int AS key
    FROM pg_attribute a LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
    WHERE a.attrelid = to_regclass(${table}) AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''`,
};

/** Texts are sorted by their bytes, independent of the database's collation. */
function selecting(engine: EngineName, db: Engine['db'], { name, columns }: TableShape): Query {
  const key = columns.filter(column => column.key !== null).toSorted((a, b) => a.key! - b.key!);
  let query = (db as Kysely<AnySchema>).selectFrom(name).select(columns.map(column => column.name));
  for (const column of key) {
    const isText = engine === 'postgres' && column.type === 'text';
    query = query.orderBy(isText ? sql`${sql.ref(column.name)} COLLATE "C"` : sql.ref(column.name));
  }
  return query as unknown as Query;
}

type Row = Readonly<Record<string, unknown>>;
type Query = SelectQueryBuilder<Schema, never, Row>;
type Rows = (db: Engine['db'], query: Query) => AsyncIterable<Row[]>;

const rowsOn: Record<EngineName, Rows> = {
  async *sqlite(_, query) {
    let batch: Row[] = [];
    for await (const row of query.stream()) {
      if (batch.push(row) < rowsAtOnce) continue;
      yield batch;
      batch = [];
    }
    yield batch;
  },
  async *postgres(db, query) {
    // The consumer may be slow, which must not end the transaction.
    await sql`SET LOCAL idle_in_transaction_session_timeout = 0`.execute(db);
    await sql`DECLARE copied NO SCROLL CURSOR FOR ${query}`.execute(db);
    try {
      for (;;) {
        const { rows } = await sql<Row>`FETCH ${sql.lit(rowsAtOnce)} FROM copied`.execute(db);
        yield rows;
        if (rows.length < rowsAtOnce) return;
      }
    } finally {
      await sql`CLOSE copied`.execute(db);
    }
  },
};
