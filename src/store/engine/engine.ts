/**
 * The interface between the store and its engines. Changes are made in units: lists of statements that take effect
 * together or not at all. A unit is data, so it can be sent to a writer thread, grouped with others into one sync to
 * disk, and retried. No decisions are made between its statements. A statement that depends on stored data declares
 * this (`expect`), and the unit is refused if the data differs. Conditions for the whole unit are separate, read-only
 * statements (`unless`).
 */
import type { MessagePort } from 'node:worker_threads';
import type { Compilable, Insertable, Kysely } from 'kysely';
import type { Sealed } from '../../base/bytes.ts';
import { invalid } from '../../contract/errors.ts';
import type { Replication } from '../../contract/overview.ts';
import type { Schema } from '../schema/schema.ts';

export interface Statement extends StatementOptions {
  readonly sql: string;
  readonly parameters: readonly unknown[];
  /**
   * Several rows of parameters as one text, in place of `parameters`, for an engine that runs the statement once per
   * row.
   */
  readonly rows?: string;
  /** SQL that reserves positions for the rows, run just before they are inserted. */
  readonly taking?: string;
}

export interface StatementOptions {
  /** How many rows must change. Any other number refuses the unit as stale. */
  readonly expect?: number;
  /**
   * Makes the statement a condition: it changes nothing, and if it finds no row the unit is refused for this reason.
   */
  readonly unless?: WriteRefusal;
  /** Whether it returns rows. */
  readonly returning?: boolean;
}

export interface Unit {
  readonly statements: readonly Statement[];
  /** Ids of the vaults, credentials and organizations whose cached copies are stale after the commit. */
  readonly touches?: readonly string[];
  /** No statement depends on another, and none returns rows, so they may run as one. */
  readonly independent?: boolean;
}

/** The rows that a unit's returning statements produced, per statement. */
export type UnitRows = readonly (readonly Record<string, unknown>[])[];

/**
 * `stale`: a statement did not find the expected rows. `taken`: a unique name is in use. `unauthorized`: the records
 * that authorize the caller have changed. `ownerless`: the organization would have no owner left.
 */
export type WriteRefusal = 'stale' | 'taken' | 'unauthorized' | 'ownerless';

/** Thrown while a unit runs, to roll it back. */
export class WriteRefused extends Error {
  readonly refusal: WriteRefusal;

  constructor(refusal: WriteRefusal) {
    super(refusal);
    this.refusal = refusal;
  }
}

/** Nothing in the submission was stored, because these units were refused. The others may be submitted again. */
export class UnitsRefused extends Error {
  readonly refusals: ReadonlyMap<number, WriteRefusal>;

  constructor(refusals: ReadonlyMap<number, WriteRefusal>) {
    super('the store refused part of a submission');
    this.name = 'UnitsRefused';
    this.refusals = refusals;
  }
}

/** Whether a submission was stored. False if it was refused, because another process was first. */
export async function isStored(submission: Promise<unknown>): Promise<boolean> {
  try {
    await submission;
    return true;
  } catch (error) {
    if (error instanceof UnitsRefused) return false;
    throw error;
  }
}

/** `all`: anything may have changed. `isOwn`: this thread made the change. */
export type ChangeListener = (touched: readonly string[] | 'all', isOwn?: boolean) => void;

interface CommitOptions {
  /**
   * In milliseconds: how long the commit may wait for a sync that another commit needs anyway. Commits that no request
   * waits for set this, so they don't cost the others an additional sync.
   */
  readonly patience?: number;
}

type Commit = (units: readonly Unit[], options?: CommitOptions) => Promise<readonly UnitRows[]>;

export interface Engine {
  readonly name: 'sqlite' | 'postgres';
  /** Whether this is the only connection through which requests are logged. */
  readonly isSole: boolean;
  /** Builds statements, and runs short reads on separate connections: lookups by key, or of a few adjacent rows. */
  readonly db: Kysely<Schema>;
  /**
   * Runs reads whose cost grows with the amount of data: pages, searches, totals. They never block the thread that
   * serves requests.
   */
  readonly lists: Kysely<Schema>;
  /** Durable when it resolves. Throws `UnitsRefused`, or `Failure` UNAVAILABLE; nothing was stored then. */
  commit: Commit;
  /** Prepares a statement that inserts any number of rows, in order. */
  insertingInto<T extends keyof Schema>(
    table: T,
    columns: Columns<T>,
    /** SQL that handles a row that already exists. */
    onConflict?: string,
  ): InsertMany<T>;
  /** The listener is called after each commit here, and for commits elsewhere as soon as they are known. */
  onChange(listener: ChangeListener): void;
  /** Called when another thread of this process has committed a change. */
  hear(touched: readonly string[] | 'all'): void;
  /** Whether changes made elsewhere are being received. While they are not, nothing cached may be trusted. */
  hearsChanges(): boolean;
  /** A port to the writer, for another thread of this process. Absent if every connection may write. */
  writerPort?(): MessagePort;
  /** Information about the database server; absent for an embedded database. */
  readonly server?: DatabaseServer;
  close(): Promise<void>;
}

export interface DatabaseServer {
  replication(): Promise<Replication>;
  /** How often a connection was lost. The server reached afterwards may lack changes that were acknowledged before. */
  losses(): number;
  /** Null if the server does not report it. */
  timeline(): Promise<Timeline | null>;
}

/** A database's position in its replication history: a standby that is promoted starts a new timeline. */
export interface Timeline {
  /** Identifies the server and its standbys. */
  readonly cluster: string;
  readonly number: number;
}

/** An engine that can only read. Kysely closes nothing that was never used, so `disconnect` does. */
export function readingEngine(
  name: Engine['name'],
  db: Kysely<Schema>,
  disconnect: () => Promise<void>,
): Engine {
  const refuse = () => {
    throw new Error('this connection is read-only');
  };
  return {
    name,
    isSole: false,
    db,
    lists: db,
    commit: async () => refuse(),
    insertingInto: () => refuse,
    onChange: refuse,
    hear: refuse,
    hearsChanges: () => false,
    close: async () => {
      await db.destroy();
      await disconnect();
    },
  };
}

/** Read from a database without opening it as a store: whether it has our tables, and the keyring. */
export type Peeked =
  | { readonly isEmpty: true; readonly keyring?: undefined }
  | { readonly isEmpty: false; readonly keyring: Sealed | undefined };

/** The row of `meta` that holds the keyring. */
export const keyringRow = 'keyring';

/** A table's columns in a fixed order, each with its PostgreSQL type. Positions are assigned on insertion. */
export type Columns<T extends keyof Schema> = Readonly<
  Record<Exclude<keyof Insertable<Schema[T]> & string, 'position'>, string>
>;

/**
 * Tables whose rows have a position. The last one assigned is in a row of `last_positions`, which a transaction that
 * takes more locks until it commits. Therefore rows become visible in the order of their positions, across all
 * replicas, and a reader that continues after a position misses none.
 */
const positioned: ReadonlySet<keyof Schema> = new Set<keyof Schema>(['events', 'audit_logs']);

/** SQL that reserves `count` positions; undefined if the table has none. */
export function takingFor(table: keyof Schema, count: string): string | undefined {
  if (!positioned.has(table)) return undefined;
  return `UPDATE last_positions SET position = position + ${count} WHERE name = '${table}'`;
}

type InsertMany<T extends keyof Schema> = (
  rows: readonly Readonly<
    Required<Pick<Insertable<Schema[T]>, keyof Columns<T> & keyof Insertable<Schema[T]>>>
  >[],
) => Statement;

export function statement(query: Compilable, options: StatementOptions = {}): Statement {
  const { sql, parameters } = query.compile();
  refuseNul(parameters);
  return { sql, parameters, ...options };
}

/** Notifies the listeners of changes. Used by both engines. */
export class Announcer {
  readonly #listeners: ChangeListener[] = [];

  readonly add = (listener: ChangeListener): void => {
    this.#listeners.push(listener);
  };

  announce(touched: readonly string[] | 'all', isOwn = false): void {
    if (touched.length === 0) return;
    for (const listener of this.#listeners) listener(touched, isOwn);
  }
}

export function touchedBy(units: readonly Unit[]): string[] {
  return [...new Set(units.flatMap(unit => unit.touches ?? []))];
}

/**
 * PostgreSQL can't store the character NUL in text, but SQLite can. It is refused for both, so that they behave alike.
 */
export function refuseNul(parameters: readonly unknown[]): void {
  for (const parameter of parameters) {
    if (typeof parameter === 'string' && parameter.includes('\0')) {
      throw invalid('', 'text must not contain the character NUL');
    }
    if (Array.isArray(parameter)) refuseNul(parameter);
  }
}
