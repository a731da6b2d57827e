/**
 * PostgreSQL: for several replicas over one database. All that is peculiar to it is in this file.
 * A server that is away means UNAVAILABLE within seconds, never a hang, and the pool finds it again by
 * itself. Commits by other replicas are heard by LISTEN; while that connection is deaf, `hearsChanges` says so. Every commit
 * is durable when it is acknowledged, also where the server's default is another; a server that can't is refused.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { Failure } from '../contract/errors.ts';
import {
  Announcer,
  type Engine,
  keyringRow,
  type Peeked,
  type Refusal,
  Refused,
  readingEngine,
  refuseNul,
  type Statement,
  touchedBy,
  type Unit,
  type UnitRows,
  UnitsRefused,
} from './engine.ts';
import { isBehind, migrate } from './migrations/migrations.ts';
import { durably, lossOf } from './postgres-durability.ts';
import { cut, PostgresListener } from './postgres-listener.ts';
import type { Schema } from './schema.ts';
import { checkSchema } from './schema-check.ts';
import { StoreError } from './store-error.ts';

export const channel = 'strongroom_changes';
/** A notification holds 8000 bytes at most; past this many ids everything is stale. */
const mostAnnounced = 150;
const uniqueViolation = '23505';
const bigint = 20;
/** Deadlock and serialization failure: the same submission may succeed at once. */
const transient = new Set(['40P01', '40001']);
const attempts = 6;
const longestGoodbye = 2_000;
/** Held for the length of a submission of several units: replicas that change rows in different orders take turns. */
const changesLock = 7_231_984_310;

export async function openPostgres(url: string): Promise<Engine> {
  const settings: pg.PoolConfig = {
    connectionString: url,
    application_name: 'strongroom',
    connectionTimeoutMillis: connectTimeout(url, 2_000),
    statement_timeout: 15_000,
    query_timeout: 16_000,
    idle_in_transaction_session_timeout: 15_000,
    keepAlive: true,
    // Just-in-time compilation costs more than our short queries, and far more without statistics.
    options: '-c jit=off',
    types: { getTypeParser },
  };
  const pool = new pg.Pool({ ...settings, max: 10 });
  // A connection that breaks is replaced, and its query fails: there is nobody else to tell. Without a listener
  // of its own on each, one that breaks in use would end the process.
  pool.on('error', () => {});
  const clients = new Set<pg.PoolClient>();
  pool.on('connect', client => {
    client.on('error', () => {});
    clients.add(client);
  });
  pool.on('remove', client => clients.delete(client));
  const cutAll = () => clients.forEach(cut);
  const db = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: guardedPool(pool) }) });
  await prepare(pool, db).catch(async error => {
    await db.destroy();
    throw error;
  });
  const announcer = new Announcer();
  const listener = new PostgresListener({
    settings,
    channel,
    announce: touched => announcer.announce(touched),
    notify: payload => pool.query(notify, [channel, payload]),
    onSilence: cutAll,
  });
  await listener.start();
  return {
    name: 'postgres',
    isSole: false,
    db,
    lists: db, // A server searches in a process of its own.
    commit: async units => {
      const rows = await (isOneStatement(units) ? commitAtOnce(pool, units[0]!) : commit(pool, units));
      announcer.announce(touchedBy(units));
      return rows;
    },
    insertingInto,
    onChange: announcer.add,
    hear: touched => announcer.announce(touched),
    hearsChanges: () => listener.isListening,
    close: async () => {
      await listener.stop();
      const silent = setTimeout(cutAll, longestGoodbye);
      await db.destroy();
      clearTimeout(silent);
    },
  };
}

/** `connect_timeout` of the URL, in seconds, as PostgreSQL's own clients read it. */
function connectTimeout(url: string, otherwise: number): number {
  const seconds = Number(new URL(url).searchParams.get('connect_timeout'));
  return seconds > 0 ? seconds * 1000 : otherwise;
}

/** It is a sign of life, and nothing that anyone wants to find again: no disk waits for it. */
const notify = "SELECT pg_notify($1, $2), pg_catalog.set_config('synchronous_commit', 'off', true)";

async function prepare(pool: pg.Pool, db: Kysely<Schema>): Promise<void> {
  const lost = await lossOf(pool).catch(fail);
  if (lost !== null) throw new StoreError(`${lost}: acknowledged writes could be lost`);
  if (await isBehind(db, 'postgres')) await migrate(db, 'postgres');
  await checkSchema(db, 'postgres');
}

const insertingInto: Engine['insertingInto'] = (table, columns, onConflict = '') => {
  const names = Object.keys(columns) as (keyof typeof columns)[];
  const arrays = Object.values(columns).map((type, index) => `$${index + 1}::${type}[]`);
  const sql = `INSERT INTO ${table} (${names.join(', ')}) SELECT * FROM unnest(${arrays.join(', ')}) ${onConflict}`;
  return rows => {
    const parameters = names.map(name => rows.map(row => row[name]));
    refuseNul(parameters);
    return { sql, parameters };
  };
};

/** Changes nothing. */
export async function peekPostgres(url: string): Promise<Peeked> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: connectTimeout(url, 5_000),
    query_timeout: 5_000,
  });
  client.on('error', () => {});
  await client.connect().catch(fail);
  try {
    const table = await client.query("SELECT to_regclass('meta') AS name");
    if (table.rows[0].name === null) return { isEmpty: true };
    const { rows } = await client.query('SELECT value FROM meta WHERE key = $1', [keyringRow]);
    return { isEmpty: false, keyring: rows[0]?.value };
  } catch (error) {
    return fail(error);
  } finally {
    await client.end();
  }
}

/** One moment of the database, for as long as it is open. It changes nothing, and waits for nobody who writes. */
export async function openPostgresSnapshot(url: string): Promise<Engine> {
  const { client, db } = await openTransaction(url, 'ISOLATION LEVEL REPEATABLE READ READ ONLY', 60_000);
  return readingEngine('postgres', db, () => client.end());
}

export interface PostgresTransaction {
  readonly client: pg.Client;
  /** Over this connection alone. */
  readonly db: Kysely<Schema>;
}

/** A connection of its own, with a transaction begun on it. Whoever ends it without a commit leaves nothing behind. */
export async function openTransaction(
  url: string,
  mode: string,
  queryTimeout: number,
): Promise<PostgresTransaction> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'strongroom',
    connectionTimeoutMillis: connectTimeout(url, 5_000),
    query_timeout: queryTimeout,
    options: '-c jit=off',
    types: { getTypeParser },
  });
  client.on('error', () => {});
  await client
    .connect()
    .then(() => client.query(`BEGIN ${mode}`))
    .then(() => client.query('SELECT 1')) // The moment is that of the first read.
    .catch(async error => {
      await client.end();
      return fail(error);
    });
  const dialect = new PostgresDialect({ pool: poolOfOne(client) });
  return { client, db: new Kysely<Schema>({ dialect }) };
}

/** Never another connection: that would see another moment. */
function poolOfOne(client: pg.Client): pg.Pool {
  return guardedPool({
    connect: async () => ({
      query: (sql: string, parameters: unknown[]) => client.query(sql, parameters),
      release: () => {},
    }),
    end: async () => {},
  } as unknown as pg.Pool);
}

const getTypeParser: typeof pg.types.getTypeParser = ((oid: number, format: 'text' | 'binary') =>
  oid === bigint ? Number : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser;

function isOneStatement(units: readonly Unit[]): boolean {
  return units.length === 1 && units[0]!.independent === true && touchedBy(units).length === 0;
}

/** One round trip, and a transaction by itself. */
async function commitAtOnce(pool: pg.Pool, unit: Unit, attempt = 1): Promise<readonly UnitRows[]> {
  try {
    await pool.query(combined(unit.statements));
    return [[]];
  } catch (error) {
    if (!transient.has(codeOf(error)) || attempt === attempts) return fail(error);
  }
  await sleep(Math.random() * 50 * attempt);
  return commitAtOnce(pool, unit, attempt + 1);
}

const combinations = new Map<string, string>();

/** Statements that need nothing of each other, as one that is prepared once on each connection. */
function combined(statements: readonly Statement[]): pg.QueryConfig {
  let before = 0;
  const parts = statements.map(({ sql, parameters }, index) => {
    const shifted = sql.replace(/\$(\d+)/g, (_, number) => `$${Number(number) + before}`);
    before += parameters.length;
    return `s${index} AS (${shifted})`;
  });
  const text = `WITH ${parts.join(', ')} ${durably}`;
  if (!combinations.has(text)) combinations.set(text, `combined ${combinations.size}`);
  return {
    name: combinations.get(text)!,
    text,
    values: statements.flatMap(statement => statement.parameters),
  };
}

async function commit(pool: pg.Pool, units: readonly Unit[], attempt = 1): Promise<readonly UnitRows[]> {
  const client = await pool.connect().catch(fail);
  let broken: Error | undefined;
  try {
    await client.query(`BEGIN; ${durably}`);
    if (units.length > 1) await client.query('SELECT pg_advisory_xact_lock($1)', [changesLock]);
    const rows = await runUnits(client, units);
    await client.query('COMMIT');
    return rows;
  } catch (error) {
    await client.query('ROLLBACK').catch(rollbackError => {
      broken = rollbackError as Error;
    });
    if (error instanceof UnitsRefused) throw error;
    if (!transient.has(codeOf(error)) || attempt === attempts) return fail(error);
  } finally {
    client.release(broken);
  }
  await sleep(Math.random() * 50 * attempt); // Two that met in a deadlock should not meet again.
  return commit(pool, units, attempt + 1);
}

async function runUnits(client: pg.PoolClient, units: readonly Unit[]): Promise<UnitRows[]> {
  const refusals = new Map<number, Refusal>();
  const rows: UnitRows[] = [];
  for (const [index, unit] of units.entries()) {
    const outcome = await runUnit(client, unit, units.length > 1);
    if (typeof outcome === 'string') refusals.set(index, outcome);
    else rows.push(outcome);
  }
  if (refusals.size > 0) throw new UnitsRefused(refusals);
  await announce(client, touchedBy(units));
  return rows;
}

/** One unit needs no savepoint: with it the whole submission is refused. */
async function runUnit(client: pg.PoolClient, unit: Unit, amongOthers: boolean): Promise<UnitRows | Refusal> {
  if (amongOthers) await client.query('SAVEPOINT unit');
  try {
    const rows: Record<string, unknown>[][] = [];
    for (const statement of unit.statements) {
      const result = await runStatement(client, statement);
      if (statement.returning) rows.push(result);
    }
    if (amongOthers) await client.query('RELEASE SAVEPOINT unit');
    return rows;
  } catch (error) {
    const refusal = refusalOf(error);
    if (amongOthers) await client.query('ROLLBACK TO SAVEPOINT unit');
    return refusal;
  }
}

async function runStatement(client: pg.PoolClient, statement: Statement): Promise<Record<string, unknown>[]> {
  const { rowCount, rows } = await client.query(statement.sql, [...statement.parameters]);
  if (statement.expect !== undefined && rowCount !== statement.expect) throw new Refused('stale');
  if (statement.unless !== undefined && rowCount === 0) throw new Refused(statement.unless);
  return rows;
}

async function announce(client: pg.PoolClient, touched: readonly string[]): Promise<void> {
  if (touched.length === 0) return;
  const payload = touched.length > mostAnnounced ? 'all' : touched.join(',');
  await client.query('SELECT pg_notify($1, $2)', [channel, payload]);
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof Refused) return error.refusal;
  if (codeOf(error) === uniqueViolation) return 'taken';
  throw error;
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code ?? '');
}

/** A statement that PostgreSQL finds wrong is our mistake; everything else means it can't serve us now. */
function fail(cause: unknown): never {
  const ours = /^(22|42)/.test(codeOf(cause));
  throw ours ? cause : new Failure('UNAVAILABLE', { cause, retryAfter: 1 });
}

/** The builder's reads, with their errors translated where they arise. */
function guardedPool(pool: pg.Pool): pg.Pool {
  return {
    connect: async () => {
      const client = await pool.connect().catch(fail);
      return {
        query: async (sql: string, parameters: readonly unknown[] = []) => {
          refuseNul(parameters);
          return client.query(sql, [...parameters]).catch(fail);
        },
        release: () => client.release(),
      };
    },
    end: () => pool.end(),
  } as unknown as pg.Pool;
}
