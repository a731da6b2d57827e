/**
 * Work over one connection of its own, in one transaction, so that all of it sees one moment or takes effect at
 * once, also behind a pooler: a look at what is stored, a snapshot, and the migration. Nothing is locked longer than the
 * transaction lasts.
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
/** As long as another process may need for it. */
const longestMigration = 3_600_000;
/** A step that can do without an index gives it up after that. */
const longestStep = 15_000;
/** The one that earlier versions hold for as long as their session lasts. */
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

/** One moment of the database, for as long as it is open. It changes nothing, and waits for nobody who writes. */
export async function openPostgresSnapshot(place: PostgresPlace): Promise<Engine> {
  const servers = new PostgresServers(place);
  const mode = 'ISOLATION LEVEL REPEATABLE READ READ ONLY';
  const { client, db } = await openTransaction(servers, mode, longestRead);
  return readingEngine('postgres', db, () => client.end());
}

export interface PostgresTransaction {
  readonly client: pg.Client;
  /** Over this connection alone. */
  readonly db: Kysely<Schema>;
}

/** A transaction with no limits but ours. Whoever ends its connection without a commit leaves nothing behind. */
export async function openTransaction(
  servers: PostgresServers,
  mode: string,
  queryTimeout: number,
): Promise<PostgresTransaction> {
  const client = await servers.connect({ queryTimeout }).catch(unavailable);
  const unlimited = 'SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0';
  await client
    .query(`BEGIN ${mode}; ${pinning(servers.path!)}; ${unlimited}; SET LOCAL jit = ${noJit.jit}`)
    .then(() => client.query('SELECT 1')) // The moment is that of the first read.
    .catch(async error => {
      await client.end();
      return unavailable(error);
    });
  const dialect = new TransactionDialect({ pool: poolOfOne(client) });
  return { client, db: new Kysely<Schema>({ dialect }) };
}

/** All steps that are left, or none: whoever comes meanwhile waits, and finds them done. */
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

/** The transaction itself holds what the builder would lock for the session, which behind a pooler is somebody else's. */
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

/** Never another connection: that would see another moment. */
function poolOfOne(client: pg.Client): pg.Pool {
  const connected = {
    query: (text: string, parameters: unknown[]) => client.query(text, parameters),
    release: () => {},
  };
  return guardedPool({ connect: async () => connected, end: async () => {} } as never, unavailable);
}

/** The builder's reads, with their errors translated where they arise. */
export function guardedPool(
  pool: Pick<pg.Pool, 'connect' | 'end'>,
  fail: (cause: unknown) => never,
): pg.Pool {
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
