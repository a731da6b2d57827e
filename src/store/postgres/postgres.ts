/**
 * The PostgreSQL engine, for several replicas that share one database. Everything specific to PostgreSQL is in this
 * folder. If the server can't be reached, requests fail with UNAVAILABLE within seconds instead of hanging, and the
 * pool reconnects to it or its successor automatically. Commits by other replicas are received with LISTEN, or by
 * polling behind a pooler; while they are not, `hearsChanges` is false. Every commit is durable when it is
 * acknowledged, even if that is not the server's default. A server that can't guarantee this is refused.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Kysely, PostgresDialect } from 'kysely';
import type pg from 'pg';
import { Chores } from '../../base/chores.ts';
import {
  Announcer,
  type Engine,
  type Statement,
  touchedBy,
  type Unit,
  type UnitRows,
  UnitsRefused,
  type WriteRefusal,
  WriteRefused,
} from '../engine/engine.ts';
import { StoreError } from '../engine/store-error.ts';
import { checkSchema } from '../integrity/schema-check.ts';
import { lookAgainEvery, SchemaWatch } from '../integrity/schema-watch.ts';
import { isBehind } from '../migrations/migrations.ts';
import type { Schema } from '../schema/schema.ts';
import { durably, lossOf, serverBehind } from './durability.ts';
import { codeOf, PostgresPool } from './pool.ts';
import { PostgresListener } from './replica-change-listener.ts';
import { forgetChanges, PostgresPoller } from './replica-change-poller.ts';
import { type PostgresPlace, PostgresServers } from './servers.ts';
import { combined, insertingInto, single, storedOtherwise } from './statements.ts';
import { guardedPool, migratePostgres } from './transaction.ts';

export const channel = 'strongroom_changes';
/** A notification can contain at most 8000 bytes. Beyond this many ids, everything is marked as stale. */
const mostAnnounced = 150;
const uniqueViolation = '23505';
/** Deadlock and serialization failure: an immediate retry may succeed. */
const transient = new Set(['40P01', '40001']);
const attempts = 6;
const forgetEvery = 30_000;
/**
 * Held while a submission of several units runs, so that replicas that change rows in different orders take turns. It
 * locks one of our tables that nothing else writes to while the service runs, because any user of the database could
 * hold an advisory lock. Replicas of earlier versions use the advisory lock, so it is taken as well if it is free. If
 * it isn't, the server resolves deadlocks between the two, and one of them retries.
 */
const inTurn = `LOCK TABLE kysely_migration_lock IN SHARE ROW EXCLUSIVE MODE;
  SELECT pg_catalog.pg_try_advisory_xact_lock(7231984310)`;

export async function openPostgres(place: PostgresPlace): Promise<Engine> {
  const servers = new PostgresServers(place);
  const pool = new PostgresPool(servers);
  const db = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: guardedPool(pool, pool.fail) }) });
  await prepare(servers, pool, db).catch(async error => {
    await db.destroy();
    throw error;
  });
  const announcer = new Announcer();
  const hearing = hearingOf(place, servers, pool, announcer);
  await hearing.start();
  const schema = new SchemaWatch(db, 'postgres');
  const chores = new Chores(() => {})
    .every(forgetEvery, () => pool.query(forgetChanges))
    .every(lookAgainEvery, schema.lookIfDue);
  return {
    name: 'postgres',
    isSole: false,
    db,
    lists: db, // The server runs searches in separate processes.
    commit: async units => {
      if (schema.isOverdue) await schema.seen();
      schema.refuseIfAltered();
      const rows = await (isOneStatement(units) ? commitAtOnce(pool, units[0]!) : commit(pool, units));
      announcer.announce(touchedBy(units), true);
      return rows;
    },
    insertingInto,
    onChange: announcer.add,
    hear: touched => announcer.announce(touched),
    hearsChanges: () => hearing.hears,
    server: serverBehind(pool, pool.fail, () => servers.losses),
    close: async () => {
      await chores.stop();
      await hearing.stop();
      await pool.close(() => db.destroy());
    },
  };
}

/** Uses LISTEN where it works, otherwise polling. */
function hearingOf(
  { listenUrl = null, ...place }: PostgresPlace,
  servers: PostgresServers,
  pool: PostgresPool,
  announcer: Announcer,
): PostgresListener | PostgresPoller {
  const announce = announcer.announce.bind(announcer);
  if (listenUrl === null && servers.isPooled) return new PostgresPoller(pool, announce);
  return new PostgresListener({
    servers: listenUrl === null ? servers : new PostgresServers({ ...place, url: listenUrl }),
    channel,
    announce,
    // A pooler assigns its own process ids.
    isOurs: processId => !servers.isPooled && pool.has(processId),
    notify: payload => pool.query(notify, [channel, payload]).catch(pool.fail),
    // If it listens through another URL, its result says nothing about the pool's connections.
    suspect: isSilent => {
      if (listenUrl === null && isSilent) pool.cutAll();
      if (listenUrl !== null && !isSilent) void pool.cutIfSilent();
    },
  });
}

/** The sign is only a heartbeat, so it need not be durable. */
const notify = "SELECT pg_notify($1, $2), pg_catalog.set_config('synchronous_commit', 'off', true)";

async function prepare(servers: PostgresServers, pool: PostgresPool, db: Kysely<Schema>): Promise<void> {
  (await pool.connect().catch(pool.fail)).release(); // After this it is known whether there is a pooler.
  const lost = await lossOf(pool).catch(pool.fail);
  if (lost !== null) throw new StoreError(`${lost}: acknowledged writes could be lost`);
  if (await isBehind(db, 'postgres')) await migratePostgres(servers);
  await checkSchema(db, 'postgres');
}

function isOneStatement(units: readonly Unit[]): boolean {
  return units.length === 1 && units[0]!.independent === true && touchedBy(units).length === 0;
}

/** A single round trip, which is a transaction by itself. */
async function commitAtOnce(pool: PostgresPool, unit: Unit, attempt = 1): Promise<readonly UnitRows[]> {
  try {
    await pool.query(combined(unit.statements, pool.keepsNames));
    return [[]];
  } catch (error) {
    if (codeOf(error) === storedOtherwise) throw new UnitsRefused(new Map([[0, 'stale']]));
    if (!transient.has(codeOf(error)) || attempt === attempts) return pool.fail(error);
  }
  await sleep(Math.random() * 50 * attempt);
  return commitAtOnce(pool, unit, attempt + 1);
}

async function commit(pool: PostgresPool, units: readonly Unit[], attempt = 1): Promise<readonly UnitRows[]> {
  const client = await pool.connect().catch(pool.fail);
  let broken: Error | undefined;
  try {
    await client.query(`${pool.begin}; ${durably}${units.length > 1 ? `; ${inTurn}` : ''}`);
    const rows = await runUnits(client, units, pool.keepsNames);
    await client.query('COMMIT');
    return rows;
  } catch (error) {
    await client.query('ROLLBACK').catch(rollbackError => {
      broken = rollbackError as Error;
    });
    if (error instanceof UnitsRefused) throw error;
    if (!transient.has(codeOf(error)) || attempt === attempts) return pool.fail(error);
  } finally {
    client.release(broken);
  }
  await sleep(Math.random() * 50 * attempt); // So that two deadlocked submissions don't collide again.
  return commit(pool, units, attempt + 1);
}

async function runUnits(client: pg.PoolClient, units: readonly Unit[], isNamed: boolean) {
  const refusals = new Map<number, WriteRefusal>();
  const rows: UnitRows[] = [];
  for (const [index, unit] of units.entries()) {
    const outcome = await runUnit(client, unit, units.length > 1, isNamed);
    if (typeof outcome === 'string') refusals.set(index, outcome);
    else rows.push(outcome);
  }
  if (refusals.size > 0) throw new UnitsRefused(refusals);
  await announce(client, touchedBy(units));
  return rows;
}

/** A single unit needs no savepoint: if it is refused, so is the submission. */
async function runUnit(
  client: pg.PoolClient,
  unit: Unit,
  amongOthers: boolean,
  isNamed: boolean,
): Promise<UnitRows | WriteRefusal> {
  if (amongOthers) await client.query('SAVEPOINT unit');
  try {
    const rows: Record<string, unknown>[][] = [];
    for (const statement of unit.statements) {
      const result = await runStatement(client, statement, isNamed);
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

async function runStatement(
  client: pg.PoolClient,
  statement: Statement,
  isNamed: boolean,
): Promise<Record<string, unknown>[]> {
  const { rowCount, rows } = await client.query(single(statement, isNamed));
  if (statement.expect !== undefined && rowCount !== statement.expect) throw new WriteRefused('stale');
  if (statement.unless !== undefined && rowCount === 0) throw new WriteRefused(statement.unless);
  return rows;
}

/** For replicas that listen, and for those that poll. */
const announcing = 'WITH kept AS (INSERT INTO changes (touched) VALUES ($2)) SELECT pg_notify($1, $2)';

async function announce(client: pg.PoolClient, touched: readonly string[]): Promise<void> {
  if (touched.length === 0) return;
  const payload = touched.length > mostAnnounced ? 'all' : touched.join(',');
  await client.query(announcing, [channel, payload]);
}

function refusalOf(error: unknown): WriteRefusal {
  if (error instanceof WriteRefused) return error.refusal;
  if (codeOf(error) === uniqueViolation) return 'taken';
  throw error;
}
