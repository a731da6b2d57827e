/**
 * Work on a separate connection, in one transaction, so that it sees a single point in time or takes effect as a whole,
 * even behind a pooler: reading the keyring, snapshots and migrations. Locks last only as long as the transaction.
 */
import { Kysely, PostgresAdapter, PostgresDialect, sql } from 'kysely';
import type pg from 'pg';
import { type Engine, keyringRow, type Peeked, readingEngine, refuseNul } from '../engine/engine.ts';
import { isBehind, migrate } from '../migrations/migrations.ts';
import type { Schema } from '../schema/schema.ts';
import { durably } from './durability.ts';
import { unavailable } from './pool.ts';
import { pinning } from './search-path.ts';
import { noJit, type PostgresPlace, PostgresServers } from './servers.ts';

const longestLook = 5_000;
const longestRead = 60_000;
/** As long as another process may need for its migration. */
const longestMigration = 3_600_000;
/** A step with an optional index gives up on it after this time. */
const longestStep = 15_000;
/** The advisory lock that earlier versions hold for the duration of their session. */
const migrationLock = '3853314791062309107';

/** Changes nothing. */
export async function peekPostgres(place: PostgresPlace): Promise<Peeked> {
  const servers = new PostgresServers(place);
  const client = await servers.connect({ queryTimeout: longestLook }).catch(unavailable);
  try {
    const table = await client.query("SELECT pg_catalog.to_regclass('meta') AS name");
    if (table.rows[0].name === null) return { isEmpty: true };
    const { rows } = await client.query('SELECT value FROM meta WHERE key = $1', [keyringRow]);
    return { isEmpty: false, keyring: rows[0]?.value };
  } catch (error) {
    return unavailable(error);
  } finally {
    await client.end();
  }
}

/** A consistent view of the database for as long as it is open. It changes nothing, and does not wait for writers. */
export async function openPostgresSnapshot(place: PostgresPlace): Promise<Engine> {
  const servers = new PostgresServers(place);
  const mode = 'ISOLATION LEVEL REPEATABLE READ READ ONLY';
  const { client, db } = await openTransaction(servers, mode, longestRead);
  return readingEngine('postgres', db, () => client.end());
}

/**
 * Begins a transaction without limits on time. Ending its connection without a commit rolls it back. `db` uses only this
 * connection.
 */
export async function openTransaction(servers: PostgresServers, mode: string, queryTimeout: number) {
  const client = await servers.connect({ queryTimeout }).catch(unavailable);
  const unlimited = 'SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0';
  await client
    .query(`BEGIN ${mode}; ${pinning(servers.path!)}; ${unlimited}; SET LOCAL jit = ${noJit.jit}`)
    .then(() => client.query('SELECT 1')) // The first read determines the snapshot.
    .catch(async error => {
      await client.end();
      return unavailable(error);
    });
  const dialect = new TransactionDialect({ pool: poolOfOne(client) });
  return { client, db: new Kysely<Schema>({ dialect }) };
}

/** Runs all migrations that are left, or none. A concurrent start waits, and then finds them done. */
export async function migratePostgres(servers: PostgresServers): Promise<void> {
  const { client, db } = await openTransaction(servers, '', longestMigration);
  try {
    await client.query(`SELECT pg_advisory_xact_lock(${migrationLock})`).catch(unavailable);
    await client.query(`SET LOCAL statement_timeout = ${longestStep}`);
    await client.query(durably);
    if (await isBehind(db, 'postgres')) await migrate(db, 'postgres', { inTransaction: true });
    await client.query('COMMIT').catch(unavailable);
  } finally {
    await client.end();
  }
}

/** Takes Kysely's lock for the transaction instead of the session, which behind a pooler is shared. */
class TransactionDialect extends PostgresDialect {
  override createAdapter(): PostgresAdapter {
    return new TransactionAdapter();
  }
}

class TransactionAdapter extends PostgresAdapter {
  override async acquireMigrationLock(db: Kysely<never>): Promise<void> {
    await sql`SELECT pg_advisory_xact_lock(${sql.lit(migrationLock)}::bigint)`.execute(db);
  }

  override async releaseMigrationLock(): Promise<void> {}
}

/** Never uses another connection, which would see a different snapshot. */
function poolOfOne(client: pg.Client): pg.Pool {
  const connected = {
    query: (text: string, parameters: unknown[]) => client.query(text, parameters),
    release: () => {},
  };
  return guardedPool({ connect: async () => connected, end: async () => {} } as never, unavailable);
}

/** Kysely's queries, with errors translated. */
export function guardedPool(pool: Pick<pg.Pool, 'connect' | 'end'>, fail: (cause: unknown) => never) {
  return {
    connect: async () => {
      const client = await pool.connect().catch(fail);
      return {
        query: async (text: string, parameters: readonly unknown[] = []) => {
          refuseNul(parameters);
          return client.query(text, [...parameters]).catch(fail);
        },
        release: () => client.release(),
      };
    },
    end: () => pool.end(),
  } as unknown as pg.Pool;
}
