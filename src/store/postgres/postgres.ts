/**
 * PostgreSQL: for several replicas over one database. All that is peculiar to it is in the files of this name.
 * A server that is away means UNAVAILABLE within seconds, never a hang, and the pool finds it, or the one that took its
 * place, by itself. Commits by other replicas are heard by LISTEN, or by asking for them where a pooler is in between;
 * while they are not, `hearsChanges` says so. Every commit is durable when it is acknowledged, also where the server's
 * default is another; a server that can't is refused.
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
import { PostgresListener } from './listener.ts';
import { forgetChanges, PostgresPoller } from './poller.ts';
import { codeOf, PostgresPool } from './pool.ts';
import { type PostgresPlace, PostgresServers } from './servers.ts';
import { combined, insertingInto, single, storedOtherwise } from './statements.ts';
import { guardedPool, migratePostgres } from './transaction.ts';

export const channel = 'strongroom_changes';
/** A notification holds 8000 bytes at most; past this many ids everything is stale. */
const mostAnnounced = 150;
const uniqueViolation = '23505';
/** Deadlock and serialization failure: the same submission may succeed at once. */
const transient = new Set(['40P01', '40001']);
const attempts = 6;
const forgetEvery = 30_000;
/**
 * Held for the length of a submission of several units: replicas that change rows in different orders take turns. It is the
 * lock of a table of ours that nothing else writes to while the service runs, because any user of the database can hold a
 * lock that is a mere number. Replicas of earlier versions take turns by that number, so it is held beside it where it is free;
 * where it isn't, two that meet are told apart by the server, and one of them tries again.
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
    lists: db, // A server searches in a process of its own.
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

/** By being told, where a connection that listens is told; else by asking. */
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
    // A pooler numbers its connections as it likes.
    isOurs: processId => !servers.isPooled && pool.has(processId),
    notify: payload => pool.query(notify, [channel, payload]).catch(pool.fail),
    // Where it listens in another place, what it hears says nothing about the way of the pool.
    suspect: isSilent => {
      if (listenUrl === null && isSilent) pool.cutAll();
      if (listenUrl !== null && !isSilent) void pool.cutIfSilent();
    },
  });
}

/** It is a sign of life, and nothing that anyone wants to find again: no disk waits for it. */
const notify = "SELECT pg_notify($1, $2), pg_catalog.set_config('synchronous_commit', 'off', true)";

async function prepare(servers: PostgresServers, pool: PostgresPool, db: Kysely<Schema>): Promise<void> {
  (await pool.connect().catch(pool.fail)).release(); // By then it is known whether a pooler is in between.
  const lost = await lossOf(pool).catch(pool.fail);
  if (lost !== null) throw new StoreError(`${lost}: acknowledged writes could be lost`);
  if (await isBehind(db, 'postgres')) await migratePostgres(servers);
  await checkSchema(db, 'postgres');
}

function isOneStatement(units: readonly Unit[]): boolean {
  return units.length === 1 && units[0]!.independent === true && touchedBy(units).length === 0;
}

/** One round trip, and a transaction by itself. */
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
  await sleep(Math.random() * 50 * attempt); // Two that met in a deadlock should not meet again.
  return commit(pool, units, attempt + 1);
}

async function runUnits(
  client: pg.PoolClient,
  units: readonly Unit[],
  isNamed: boolean,
): Promise<UnitRows[]> {
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

/** One unit needs no savepoint: with it the whole submission is refused. */
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

/** For those who listen, and for those who ask. */
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
