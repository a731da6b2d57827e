/**
 * Tries the migrations without changing the database. An embedded database is copied and the copy is migrated;
 * PostgreSQL's is migrated in a transaction that is never committed. The tables that change are locked until then. If a
 * lock is held elsewhere, the trial gives up rather than block other sessions.
 */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Engine, readingEngine } from './engine/engine.ts';
import { checkSchema } from './integrity/schema-check.ts';
import { migrate } from './migrations/migrations.ts';
import type { PostgresPlace } from './postgres/servers.ts';
import { openSqliteSnapshot } from './sqlite/snapshot.ts';
import { migrateFile } from './sqlite/sqlite.ts';

const longestStatement = 3_600_000;

/** `close` closes the connection to the copy. The caller removes the folder. */
export async function trySqlite(path: string, scratch: string): Promise<Engine> {
  const copy = join(scratch, 'trial.db');
  const reader = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  try {
    reader.prepare('VACUUM INTO ?').run(copy);
  } finally {
    reader.close();
  }
  await migrateFile(copy);
  return checked(openSqliteSnapshot(copy));
}

export async function tryPostgres(place: PostgresPlace): Promise<Engine> {
  const [{ PostgresServers }, { openTransaction }] = await Promise.all([
    import('./postgres/servers.ts'),
    import('./postgres/transaction.ts'),
  ]);
  const { client, db } = await openTransaction(new PostgresServers(place), '', longestStatement);
  try {
    await client.query("SET LOCAL lock_timeout = '3s'");
    await migrate(db, 'postgres', { inTransaction: true });
  } catch (error) {
    await client.end();
    throw error;
  }
  return checked(readingEngine('postgres', db, () => client.end()));
}

async function checked(engine: Engine): Promise<Engine> {
  await checkSchema(engine.db, engine.name).catch(async error => {
    await engine.close();
    throw error;
  });
  return engine;
}
