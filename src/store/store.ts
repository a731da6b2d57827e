/**
 * The store: all SQL, one set of queries for both engines. It sees sealed bytes, stamps and digests, never
 * plaintext, and it decides nothing: whether a row may be believed is for those who hold the keys.
 * Each noun offers reads, which run at once, and statements, which take effect in a unit.
 */

import { randomBytes } from 'node:crypto';
import type { MessagePort } from 'node:worker_threads';
import { publicBytes, type Sealed } from '../base/bytes.ts';
import { diagnostics } from './diagnostics.ts';
import type { Loader } from './dump/loading.ts';
import { type Tables, tables } from './dump/tables.ts';
import { conditions } from './engine/conditions.ts';
import { type Engine, type Peeked, statement, touchedBy, type Unit } from './engine/engine.ts';
import { believing, type Revisions } from './integrity/believing.ts';
import { stampedRows } from './integrity/stamped-rows.ts';
import { givenNames } from './lists/given-names.ts';
import type { PostgresPlace } from './postgres/servers.ts';
import { accounts } from './records/accounts.ts';
import { approvals } from './records/approvals.ts';
import { credentials } from './records/credentials.ts';
import { deliveries } from './records/deliveries.ts';
import { deviceLogins } from './records/device-logins.ts';
import { identities } from './records/identities.ts';
import { keptAnswers } from './records/kept-answers.ts';
import { keyring } from './records/keyring.ts';
import { limits } from './records/limits.ts';
import { logs } from './records/logs.ts';
import { memberGroups } from './records/member-groups.ts';
import { oauthGrants } from './records/oauth-grants.ts';
import { organizations } from './records/organizations.ts';
import { outbox } from './records/outbox.ts';
import { overview } from './records/overview.ts';
import { requestLogs } from './records/request-logs.ts';
import { resources } from './records/resources.ts';
import { timelines } from './records/timelines.ts';
import { toolSessions } from './records/tool-sessions.ts';
import { rulesForUse } from './records/use-rules.ts';
import { webhooks } from './records/webhooks.ts';
import { openSqliteSnapshot } from './sqlite/snapshot.ts';
import { giveBack } from './sqlite/space.ts';
import { openSqlite, openSqliteBeside, peekSqlite } from './sqlite/sqlite.ts';

export { compactSqlite } from './sqlite/space.ts';

/** What every noun offers. */
type Nouns = ReturnType<typeof nounsOf>;

export interface Store
  extends Nouns,
    Pick<Engine, 'isSole' | 'commit' | 'onChange' | 'hearsChanges' | 'writerPort' | 'server'> {
  readonly engine: Engine['name'];
  /** Rows are the newest where this says so; before it is given, none is. */
  believe(revisions: Revisions): void;
  /** Stores something small by the way of everything that is stored. Resolves once it is durable. */
  tryWrite(): Promise<void>;
  /** Gives a little of the space that is no longer needed back to the system; true if there is more. */
  giveBackSpace(): Promise<boolean>;
  /** What is stored right now, whatever is written while it is read. */
  snapshot(): Promise<Snapshot>;
  close(): Promise<void>;
}

/** All reads of one see the same moment. */
export interface Snapshot extends Nouns {
  /** All that is stored, for a backup. */
  readonly tables: Tables;
  close(): Promise<void>;
}

export type Location =
  | {
      readonly engine: 'sqlite';
      readonly path: string;
      readonly serves: boolean;
      /** Where another thread of this process opened it before: the way to its writer. */
      readonly writer?: MessagePort;
    }
  | ({ readonly engine: 'postgres' } & PostgresPlace);

/**
 * Another thread of this process over the same data. What is told here is heard there before anything that is said
 * later, so whoever learns of a change through the other thread finds it changed there too.
 */
export interface Sibling {
  tell(touched: readonly string[]): void;
  onTold(listener: (touched: readonly string[]) => void): void;
}

/** For a thread between two others: what one of these changes is told to both, in the order in which it was said. */
export function among(one: Sibling, other: Sibling): Sibling {
  one.onTold(other.tell);
  other.onTold(one.tell);
  return {
    tell: ids => {
      one.tell(ids);
      other.tell(ids);
    },
    onTold: listener => {
      one.onTold(listener);
      other.onTold(listener);
    },
  };
}

export async function openStore(location: Location, sibling: Sibling | null = null): Promise<Store> {
  const opened = await openEngine(location);
  const engine = sibling === null ? opened : besides(opened, sibling);
  let known: Revisions | null = null;
  return {
    ...believing(nounsOf(engine), () => known),
    believe: revisions => {
      known = revisions;
    },
    engine: engine.name,
    isSole: engine.isSole,
    commit: engine.commit,
    onChange: engine.onChange,
    hearsChanges: engine.hearsChanges,
    ...(engine.writerPort === undefined ? {} : { writerPort: engine.writerPort }),
    ...(engine.server === undefined ? {} : { server: engine.server }),
    // Two of them, so that they go the way of changes that take turns.
    tryWrite: async () => void (await engine.commit([writeCheck(engine), writeCheck(engine)])),
    giveBackSpace: () => giveBack(engine),
    snapshot: () => openSnapshot(location),
    close: engine.close,
  };
}

async function openEngine(location: Location): Promise<Engine> {
  // The driver is loaded by those who need it: it is a tenth of an idle service's memory.
  if (location.engine === 'postgres') return (await import('./postgres/postgres.ts')).openPostgres(location);
  const { path, serves, writer } = location;
  return writer === undefined ? openSqlite(path, serves) : openSqliteBeside(path, writer);
}

function besides(engine: Engine, sibling: Sibling): Engine {
  sibling.onTold(engine.hear);
  return {
    ...engine,
    commit: async (units, options) => {
      const rows = await engine.commit(units, options);
      const touched = touchedBy(units);
      if (touched.length > 0) sibling.tell(touched);
      return rows;
    },
  };
}

/** Reads without a migration, a lock or a write: from a live database, or from a copy that can't be written to. */
export async function openSnapshot(location: Location): Promise<Snapshot> {
  const engine = await (location.engine === 'sqlite'
    ? openSqliteSnapshot(location.path)
    : (await import('./postgres/transaction.ts')).openPostgresSnapshot(location));
  return snapshotOf(engine);
}

function snapshotOf(engine: Engine): Snapshot {
  return { ...nounsOf(engine), tables: tables(engine), close: engine.close };
}

/** A database that is being filled, and does not exist for anyone else before it is finished. */
export interface Loading extends Omit<Loader, 'engine'> {
  /** What it holds so far. */
  readonly snapshot: Snapshot;
}

/** Into a place where nothing of ours is; refused where something is. */
export async function openLoading(location: Location): Promise<Loading> {
  const { engine, ...loader } = await (location.engine === 'sqlite'
    ? (await import('./sqlite/loading.ts')).openSqliteLoader(location.path)
    : (await import('./postgres/loading.ts')).openPostgresLoader(location));
  return { ...loader, snapshot: snapshotOf(engine) };
}

/** What this version would make of a database, which stays as it is. An embedded one is copied into the folder. */
export async function openTrial(location: Location, scratch: string): Promise<Snapshot> {
  const { trySqlite, tryPostgres } = await import('./migration-trial.ts');
  return snapshotOf(
    await (location.engine === 'sqlite' ? trySqlite(location.path, scratch) : tryPostgres(location)),
  );
}

function nounsOf(engine: Engine) {
  return {
    organizations: organizations(engine),
    resources: resources(engine),
    credentials: credentials(engine),
    identities: identities(engine),
    givenNames: givenNames(engine),
    memberGroups: memberGroups(engine),
    useRules: rulesForUse(engine),
    approvals: approvals(engine),
    logs: logs(engine),
    requestLogs: requestLogs(engine),
    outbox: outbox(engine),
    webhooks: webhooks(engine),
    deliveries: deliveries(engine),
    limits: limits(engine),
    accounts: accounts(engine),
    overview: overview(engine),
    toolSessions: toolSessions(engine),
    deviceLogins: deviceLogins(engine),
    oauthGrants: oauthGrants(engine),
    keyring: keyring(engine),
    keptAnswers: keptAnswers(engine),
    timelines: timelines(engine),
    stampedRows: stampedRows(engine),
    conditions: conditions(engine),
    diagnostics: diagnostics(engine),
  };
}

function writeCheck({ db }: Engine): Unit {
  const row = { key: 'write_check', value: publicBytes(randomBytes(8)) };
  const insert = db.insertInto('meta').values(row);
  const replace = insert.onConflict(on => on.column('key').doUpdateSet({ value: row.value }));
  return { statements: [statement(replace)], independent: true };
}

/** The keyring as it is stored, read without changing anything. Undefined before the first start. */
export async function peekKeyring(location: Location): Promise<Sealed | undefined> {
  return (await peek(location)).keyring;
}

/** Whether nothing of ours is there: a first start has not come so far as to make the tables. */
export async function isEmpty(location: Location): Promise<boolean> {
  return (await peek(location)).isEmpty;
}

async function peek(location: Location): Promise<Peeked> {
  if (location.engine === 'sqlite') return peekSqlite(location.path);
  return (await import('./postgres/transaction.ts')).peekPostgres(location);
}
