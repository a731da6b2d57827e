/**
 * What this version would make of a database, which stays as it is: an embedded one is copied and the copy is migrated,
 * PostgreSQL's is migrated in a transaction that is never committed. What changes there is locked until then; where
 * somebody else holds a lock, the trial gives up and does not keep them waiting.
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

/** Closing it throws the copy's connection away; the folder is the caller's. */
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
