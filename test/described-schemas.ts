/** What each step of the migrations makes of an empty database, as the database itself describes it. */
import { DatabaseSync } from 'node:sqlite';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { describe } from '../src/store/integrity/schema-description.ts';
import { type EngineName, migrate, steps } from '../src/store/migrations/migrations.ts';
import { adapt, TransactionalDdlDialect } from '../src/store/sqlite/sqlite.ts';

type Changes = Record<string, string | null>;
// biome-ignore lint/suspicious/noExplicitAny: its schema changes with each step
type Db = Kysely<any>;

const tablesOf: Record<EngineName, string> = {
  sqlite: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
  postgres:
    "SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'",
};

async function changesBy(db: Db, engine: EngineName, tables: () => Promise<string[]>) {
  const described: Record<string, Changes> = {};
  let before = new Map<string, string>();
  for (const step of Object.keys(steps)) {
    await migrate(db, engine, { upTo: step });
    const rows = await describe(db, engine, await tables());
    const now = new Map(rows.map(({ key, text }) => [key, text] as const).toSorted());
    const changes: Changes = {};
    for (const key of before.keys()) if (!now.has(key)) changes[key] = null;
    for (const [key, text] of now) if (before.get(key) !== text) changes[key] = text;
    described[step] = changes;
    before = now;
  }
  return described;
}

export async function describedSchemas(emptyDatabaseUrl: string) {
  const file = new DatabaseSync(':memory:');
  const dialect = new TransactionalDdlDialect({ database: adapt(file) });
  const embedded: Db = new Kysely({ dialect });
  const sqlite = await changesBy(embedded, 'sqlite', async () =>
    file
      .prepare(tablesOf.sqlite)
      .all()
      .map(({ name }) => String(name)),
  );
  await embedded.destroy();
  const pool = new pg.Pool({ connectionString: emptyDatabaseUrl, max: 1 });
  const db: Db = new Kysely({ dialect: new PostgresDialect({ pool }) });
  const postgres = await changesBy(db, 'postgres', async () =>
    (await pool.query(tablesOf.postgres)).rows.map(({ name }) => name),
  );
  await db.destroy();
  return { sqlite, postgres };
}
