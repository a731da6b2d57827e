/**
 * Checks that a database's schema is this program's: the columns declared in `stamp-columns.ts`, which the compiler
 * matches to the typed schema, and everything that the migrations created, exactly. A database that differs is refused
 * at the start with one line, rather than by the first request that it affects. If it changes while it is served, no
 * more writes are made, so requests that must be logged are refused.
 */
import { type Kysely, sql } from 'kysely';
import { StoreError } from '../engine/store-error.ts';
import { type EngineName, migrationsDone, steps } from '../migrations/migrations.ts';
import type { Schema } from '../schema/schema.ts';
import { describe } from './schema-description.ts';
import { alteredBy, differenceFrom, expectedAfter, tablesIn } from './schema-difference.ts';
import { columns } from './stamp-columns.ts';

interface Column {
  readonly table: string;
  readonly name: string;
}

const columnsOn: Record<EngineName, ReturnType<typeof sql<Column>>> = {
  sqlite: sql<Column>`SELECT s.name AS "table", c.name AS name
    FROM sqlite_schema s JOIN pragma_table_xinfo(s.name) c WHERE s.type = 'table'`,
  postgres: sql<Column>`SELECT c.relname AS "table", a.attname AS name
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
    WHERE c.relkind IN ('r', 'p') AND pg_catalog.pg_table_is_visible(c.oid) AND a.attnum > 0 AND NOT a.attisdropped`,
};

/** Ignores tables that are not ours. Ours must have exactly the declared columns. */
function columnFault(rows: readonly Column[]): string | null {
  const found = new Set(rows.map(({ table, name }) => `${table}.${name}`));
  const wanted = new Set(
    Object.entries(columns).flatMap(([table, held]) => Object.keys(held).map(name => `${table}.${name}`)),
  );
  const missing = [...wanted].find(column => !found.has(column));
  if (missing !== undefined) return `${missing} is missing`;
  const strange = [...found].find(column => column.split('.')[0]! in columns && !wanted.has(column));
  return strange === undefined ? null : `unexpected column ${strange}`;
}

/**
 * Returns null if the schema is what the completed migrations create. While a database is served, additions by a newer
 * version are tolerated. But anyone with write access can add a step to the list of migrations, so a verification
 * accepts no unknown step.
 */
export async function schemaFault(
  db: Kysely<Schema>,
  engine: EngineName,
  isServed = false,
): Promise<string | null> {
  const done = await migrationsDone(db);
  const unknown = done.find(step => !(step in steps));
  const isNewer = unknown !== undefined;
  if (isNewer && !isServed) return `a newer version changed it (${unknown}): verify it with that version`;
  if (done.length === Object.keys(steps).length && !isNewer) {
    const fault = columnFault((await columnsOn[engine].execute(db)).rows);
    if (fault !== null) return fault;
  }
  const expected = expectedAfter(engine, isNewer ? Object.keys(steps) : done);
  return differenceFrom(expected, await describe(db, engine, tablesIn(expected)), isNewer);
}

export async function checkSchema(db: Kysely<Schema>, engine: EngineName): Promise<void> {
  const fault = await schemaFault(db, engine);
  if (fault !== null) throw new StoreError(alteredBy(fault));
}
