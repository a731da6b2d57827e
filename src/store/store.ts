/**
 * The store: all SQL, with one set of queries for both engines. It handles sealed bytes, stamps and digests, never
 * plaintext, and makes no decisions: whether a row can be trusted is checked where the keys are. Reads run immediately;
 * changes are statements, which take effect in a unit.
 */
import { randomBytes } from 'node:crypto';
import type { MessagePort } from 'node:worker_threads';
import { publicBytes, type Sealed } from '../base/bytes.ts';
import { diagnostics } from './diagnostics.ts';
import type { Loader } from './dump/loading.ts';
import { type Tables, tables } from './dump/tables.ts';
import { conditions } from './engine/conditions.ts';
import { type Engine, type Peeked, touchedBy, type Unit } from './engine/engine.ts';
import { setMeta } from './engine/meta.ts';
import { believing, type Revisions } from './integrity/believing.ts';
import { stampedRows } from './integrity/stamped-rows.ts';
import { givenNames } from './lists/given-names.ts';
import type { PostgresPlace } from './postgres/servers.ts';
import { accounts } from './records/accounts.ts';
import { acme } from './records/acme.ts';
import { approvals } from './records/approvals.ts';
import { authorities, issuedCertificates, profiles } from './records/authorities.ts';
import { credentials } from './records/credentials.ts';
import { deliveries } from './records/deliveries.ts';
import { deviceLogins } from './records/device-logins.ts';
import { identities } from './records/identities.ts';
import { keptAnswers } from './records/kept-answers.ts';
import { keyring } from './records/keyring.ts';
import { issuers, leases } from './records/leases.ts';
import { limits } from './records/limits.ts';
import { logs } from './records/logs.ts';
import { mails } from './records/mails.ts';
import { memberGroups } from './records/member-groups.ts';
import { oauthGrants } from './records/oauth-grants.ts';
import { organizations } from './records/organizations.ts';
import { outbox } from './records/outbox.ts';
import { overview } from './records/overview.ts';
import { proposals } from './records/proposals.ts';
import { references } from './records/references.ts';
import { requestLogs } from './records/request-logs.ts';
import { resources } from './records/resources.ts';
import { roleRequests } from './records/role-requests.ts';
import { rotations } from './records/rotations.ts';
import { runs } from './records/runs.ts';
import { stages } from './records/stages.ts';
import { timelines } from './records/timelines.ts';
import { toolSessions } from './records/tool-sessions.ts';
import { rulesForUse } from './records/use-rules.ts';
import { webhooks } from './records/webhooks.ts';
import { openSqliteSnapshot } from './sqlite/snapshot.ts';
import { giveBack } from './sqlite/space.ts';
import { openSqlite, openSqliteBeside, peekSqlite } from './sqlite/sqlite.ts';

export { compactSqlite } from './sqlite/space.ts';

/** The operations on all records. */
type Nouns = ReturnType<typeof nounsOf>;

export interface Store
  extends Nouns,
    Pick<Engine, 'isSole' | 'commit' | 'onChange' | 'hearsChanges' | 'writerPort' | 'server'> {
  readonly engine: Engine['name'];
  /** Sets the source of each row's newest revision. Until it is set, no row counts as the newest. */
  believe(revisions: Revisions): void;
  /** Writes a small value in the same way as everything else. Resolves once it is durable. */
  tryWrite(): Promise<void>;
  /** Returns some unused space to the system; resolves to true if there is more. */
  giveBackSpace(): Promise<boolean>;
  /** Opens a consistent view of the current data, unaffected by later writes. */
  snapshot(): Promise<Snapshot>;
  close(): Promise<void>;
}

/** A consistent view: all reads see the same point in time. */
export interface Snapshot extends Nouns {
  /** All stored data, for a backup. */
  readonly tables: Tables;
  close(): Promise<void>;
}

export type Location =
  | {
      readonly engine: 'sqlite';
      readonly path: string;
      readonly serves: boolean;
      /** The port to the writer, if another thread of this process has opened the database. */
      readonly writer?: MessagePort;
    }
  | ({ readonly engine: 'postgres' } & PostgresPlace);

/**
 * Another thread of this process that uses the same data. A change reported here arrives there before any later
 * message, so a caller that learns of the change through the other thread finds it applied there.
 */
export interface Sibling {
  tell(touched: readonly string[]): void;
  onTold(listener: (touched: readonly string[] | 'all') => void): void;
  /** Calls the listener with everything that was reported elsewhere before now. Absent if messages bring all of it. */
  readonly catchUp?: () => void;
}

/**
 * For a thread between others: reports changes to all of them, and passes on each one's changes to the others, in order.
 */
export function among(...siblings: readonly Sibling[]): Sibling {
  for (const one of siblings)
    for (const other of siblings) if (one !== other) one.onTold(ids => ids !== 'all' && other.tell(ids));
  return {
    tell: ids => {
      for (const one of siblings) one.tell(ids);
    },
    onTold: listener => {
      for (const one of siblings) one.onTold(listener);
    },
  };
}

export async function openStore(location: Location, sibling: Sibling | null = null): Promise<Store> {
  const opened = await openEngine(location);
  const engine = sibling === null ? opened : withSibling(opened, sibling);
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
    // Two units, so that they are written like changes that run in sequence.
    tryWrite: async () => void (await engine.commit([writeCheck(engine), writeCheck(engine)])),
    giveBackSpace: () => giveBack(engine),
    snapshot: () => openSnapshot(location),
    close: engine.close,
  };
}

async function openEngine(location: Location): Promise<Engine> {
  // The driver is loaded only if needed: it takes a tenth of an idle service's memory.
  if (location.engine === 'postgres') return (await import('./postgres/postgres.ts')).openPostgres(location);
  const { path, serves, writer } = location;
  return writer === undefined ? openSqlite(path, serves) : openSqliteBeside(path, writer);
}

function withSibling(engine: Engine, sibling: Sibling): Engine {
  sibling.onTold(engine.hear);
  const { catchUp } = sibling;
  /** Whatever is cached asks this first, and so is never used after a change that it doesn't know. */
  const hearsChanges = () => {
    catchUp?.();
    return engine.hearsChanges();
  };
  return {
    ...engine,
    ...(catchUp === undefined ? {} : { hearsChanges }),
    commit: async (units, options) => {
      const rows = await engine.commit(units, options);
      const touched = touchedBy(units);
      if (touched.length > 0) sibling.tell(touched);
      return rows;
    },
  };
}

/** Opens a database read-only, without migrating or locking it: a live one, or a copy that can't be written to. */
export async function openSnapshot(location: Location): Promise<Snapshot> {
  const engine = await (location.engine === 'sqlite'
    ? openSqliteSnapshot(location.path)
    : (await import('./postgres/transaction.ts')).openPostgresSnapshot(location));
  return snapshotOf(engine);
}

function snapshotOf(engine: Engine): Snapshot {
  return { ...nounsOf(engine), tables: tables(engine), close: engine.close };
}

/** A database that is being filled. It is not visible to others before it is finished. */
export interface Loading extends Omit<Loader, 'engine'> {
  /** The data loaded so far. */
  readonly snapshot: Snapshot;
}

/** Opens an empty place for loading; refused if it contains any of our tables. */
export async function openLoading(location: Location): Promise<Loading> {
  const { engine, ...loader } = await (location.engine === 'sqlite'
    ? (await import('./sqlite/loading.ts')).openSqliteLoader(location.path)
    : (await import('./postgres/loading.ts')).openPostgresLoader(location));
  return { ...loader, snapshot: snapshotOf(engine) };
}

/**
 * Shows the database as this version would migrate it, without changing it. An embedded database is copied into
 * `scratch`.
 */
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
    stages: stages(engine),
    credentials: credentials(engine),
    identities: identities(engine),
    givenNames: givenNames(engine),
    memberGroups: memberGroups(engine),
    mails: mails(engine),
    useRules: rulesForUse(engine),
    references: references(engine),
    approvals: approvals(engine),
    proposals: proposals(engine),
    issuers: issuers(engine),
    leases: leases(engine),
    authorities: authorities(engine),
    profiles: profiles(engine),
    issuedCertificates: issuedCertificates(engine),
    runs: runs(engine),
    acme: acme(engine),
    rotations: rotations(engine),
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
    roleRequests: roleRequests(engine),
    keyring: keyring(engine),
    keptAnswers: keptAnswers(engine),
    timelines: timelines(engine),
    stampedRows: stampedRows(engine),
    conditions: conditions(engine),
    diagnostics: diagnostics(engine),
  };
}

function writeCheck({ db }: Engine): Unit {
  return { statements: [setMeta(db, 'write_check', publicBytes(randomBytes(8)))], independent: true };
}

/** Reads the stored keyring without changing anything. Undefined before the first start. */
export async function peekKeyring(location: Location): Promise<Sealed | undefined> {
  return (await peek(location)).keyring;
}

/** Whether the database contains none of our tables: no start has got as far as creating them. */
export async function isEmpty(location: Location): Promise<boolean> {
  return (await peek(location)).isEmpty;
}

async function peek(location: Location): Promise<Peeked> {
  if (location.engine === 'sqlite') return peekSqlite(location.path);
  return (await import('./postgres/transaction.ts')).peekPostgres(location);
}
