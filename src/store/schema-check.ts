/**
 * Whether the tables of a database are those of this program: the columns that `stamp-columns.ts` declares, which the
 * compiler holds to the typed schema. A database that looks otherwise is refused at the start, in one line, and not by the first request that meets it.
 */
import { type Kysely, sql } from 'kysely';
import type { EngineName } from './migrations/migrations.ts';
import type { Schema } from './schema.ts';
import { columns } from './stamp-columns.ts';
import { StoreError } from './store-error.ts';

interface Column {
  readonly table: string;
  readonly name: string;
}

const columnsOn: Record<EngineName, ReturnType<typeof sql<Column>>> = {
  sqlite: sql<Column>`SELECT s.name AS "table", c.name AS name
    FROM sqlite_schema s JOIN pragma_table_xinfo(s.name) c WHERE s.type = 'table'`,
  postgres: sql<Column>`SELECT c.relname AS "table", a.attname AS name
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relkind IN ('r', 'p') AND pg_table_is_visible(c.oid) AND a.attnum > 0 AND NOT a.attisdropped`,
};

/** Tables of others are none of our business; ours have our columns, all of them and no other. */
export async function checkSchema(db: Kysely<Schema>, engine: EngineName): Promise<void> {
  const { rows } = await columnsOn[engine].execute(db);
  const found = new Set(rows.map(({ table, name }) => `${table}.${name}`));
  const wanted = new Set(
    Object.entries(columns).flatMap(([table, held]) => Object.keys(held).map(name => `${table}.${name}`)),
  );
  const missing = [...wanted].find(column => !found.has(column));
  if (missing !== undefined) throw altered(`it lacks ${missing}`);
  const strange = [...found].find(column => column.split('.')[0]! in columns && !wanted.has(column));
  if (strange !== undefined) throw altered(`${strange} is not known here`);
}

function altered(how: string): StoreError {
  return new StoreError(`the tables of this database are not those of this version: ${how}`);
}
