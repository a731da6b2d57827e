/**
 * What an engine offers to the nouns of the store. Writing is done with units: lists of statements that take
 * effect together or not at all. A unit is data, so it can cross to a writer thread, be grouped with others
 * into one sync to disk, and be tried again. Nothing is decided between two statements of a unit; where a
 * statement depends on what is stored, it says so (`expect`), and the unit is refused when it isn't so. What the
 * whole unit depends on is a statement of its own, which only looks (`unless`).
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
  /** Rows of parameters in place of the one, as one text, for an engine that runs the statement with each of them. */
  readonly rows?: string;
  /** Takes the positions of the rows, as many as there are, just before they are inserted. */
  readonly taking?: string;
}

export interface StatementOptions {
  /** How many rows must change; another number refuses the unit as stale. */
  readonly expect?: number;
  /** A condition: it changes nothing, and where it finds no row the unit is refused as this. */
  readonly unless?: WriteRefusal;
  /** Whether rows come back from it. */
  readonly returning?: boolean;
}

export interface Unit {
  readonly statements: readonly Statement[];
  /** Ids of the vaults, credentials and organizations whose kept copies are stale once this is committed. */
  readonly touches?: readonly string[];
  /** No statement needs what another of them did, and none returns anything: they may run as one. */
  readonly independent?: boolean;
}

/** The rows that a unit's returning statements gave, statement by statement. */
export type UnitRows = readonly (readonly Record<string, unknown>[])[];

/**
 * `stale`: what a statement expected was not there. `taken`: a unique name is in use. `unauthorized`: what the caller's
 * authority rests on is not as it was. `ownerless`: no owner would be left.
 */
export type WriteRefusal = 'stale' | 'taken' | 'unauthorized' | 'ownerless';

/** Thrown by a statement, to undo its unit. */
export class WriteRefused extends Error {
  readonly refusal: WriteRefusal;

  constructor(refusal: WriteRefusal) {
    super(refusal);
    this.refusal = refusal;
  }
}

/** Nothing of the submission was stored, because of these units of it. The others may be submitted again. */
export class UnitsRefused extends Error {
  readonly refusals: ReadonlyMap<number, WriteRefusal>;

  constructor(refusals: ReadonlyMap<number, WriteRefusal>) {
    super('the store refused part of a submission');
    this.name = 'UnitsRefused';
    this.refusals = refusals;
  }
}

/** `all`: anything may have changed. `isOwn`: it was stored from here, by this thread. */
export type ChangeListener = (touched: readonly string[] | 'all', isOwn?: boolean) => void;

export interface CommitOptions {
  /**
   * How many milliseconds it may wait for a sync that somebody else needs anyway. What nobody waits for says so, and
   * then costs those who do wait no sync of its own.
   */
  readonly patience?: number;
}

export type Commit = (units: readonly Unit[], options?: CommitOptions) => Promise<readonly UnitRows[]>;

export interface Engine {
  readonly name: 'sqlite' | 'postgres';
  /** Whether this is the only connection by which requests are written down. */
  readonly isSole: boolean;
  /** Builds statements, and runs reads on connections of their own: what a key finds, or a few rows beside each other. */
  readonly db: Kysely<Schema>;
  /**
   * Runs reads whose work grows with what is stored: pages, searches, totals. However long one takes, the thread that
   * serves goes on.
   */
  readonly lists: Kysely<Schema>;
  /** Durable when it resolves. Throws `UnitsRefused`, or `Failure` UNAVAILABLE; then nothing was kept. */
  commit: Commit;
  /** Prepares a statement that inserts any number of rows, in their order. */
  insertingInto<T extends keyof Schema>(
    table: T,
    columns: Columns<T>,
    /** What is done about a row that is there already, in SQL. */
    onConflict?: string,
  ): InsertMany<T>;
  /** Called after each commit here, and for those of others as soon as they are known. */
  onChange(listener: ChangeListener): void;
  /** Another thread of this process committed a change. */
  hear(touched: readonly string[]): void;
  /** Whether changes by others are being heard. While they are not, nothing kept may be trusted. */
  hearsChanges(): boolean;
  /** A way to the one that writes, for another thread of this process; where every connection may write there is none. */
  writerPort?(): MessagePort;
  /** What is known of the server; an embedded database has none. */
  readonly server?: DatabaseServer;
  close(): Promise<void>;
}

export interface DatabaseServer {
  replication(): Promise<Replication>;
  /** How often a connection was lost: what is reached afterwards may not have all that was acknowledged before. */
  losses(): number;
  /** Null where it does not say. */
  timeline(): Promise<Timeline | null>;
}

/** Where the history of a database is: a standby that takes over goes on with a new number. */
export interface Timeline {
  /** Of the server and its standbys, and of no other. */
  readonly cluster: string;
  readonly number: number;
}

/** Over what can be read, and takes no change. The builder closes nothing that it was never asked to use, so we do. */
export function readingEngine(
  name: Engine['name'],
  db: Kysely<Schema>,
  disconnect: () => Promise<void>,
): Engine {
  const refuse = () => {
    throw new Error('what is read here can’t be written');
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

/** What is found in a database that is not opened: whether it has our tables, and the keyring. */
export type Peeked =
  | { readonly isEmpty: true; readonly keyring?: undefined }
  | { readonly isEmpty: false; readonly keyring: Sealed | undefined };

/** The row of `meta` that holds the keyring. */
export const keyringRow = 'keyring';

/** A table's columns in a fixed order, each with its type on PostgreSQL; positions are taken for the rows. */
export type Columns<T extends keyof Schema> = Readonly<
  Record<Exclude<keyof Insertable<Schema[T]> & string, 'position'>, string>
>;

/**
 * Tables whose rows have a position. The last one that was given is a row of `last_positions`, which whoever takes more
 * holds until their commit: so the order of positions is the order in which rows become visible, over all replicas,
 * and whoever reads on behind a position misses none.
 */
const positioned: ReadonlySet<keyof Schema> = new Set<keyof Schema>(['events', 'audit_logs']);

/** Takes `count` positions, the last of which it returns; undefined where the table has none. */
export function takingFor(table: keyof Schema, count: string): string | undefined {
  if (!positioned.has(table)) return undefined;
  return `UPDATE last_positions SET position = position + ${count} WHERE name = '${table}'`;
}

export type InsertMany<T extends keyof Schema> = (
  rows: readonly Readonly<
    Required<Pick<Insertable<Schema[T]>, keyof Columns<T> & keyof Insertable<Schema[T]>>>
  >[],
) => Statement;

export function statement(query: Compilable, options: StatementOptions = {}): Statement {
  const { sql, parameters } = query.compile();
  refuseNul(parameters);
  return { sql, parameters, ...options };
}

/** Tells listeners apart from engines: both engines announce in the same way. */
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

/** PostgreSQL can't keep the character NUL in a text, SQLite can: neither is asked to, so that both are alike. */
export function refuseNul(parameters: readonly unknown[]): void {
  for (const parameter of parameters) {
    if (typeof parameter === 'string' && parameter.includes('\0')) {
      throw invalid('', 'text must not contain the character NUL');
    }
    if (Array.isArray(parameter)) refuseNul(parameter);
  }
}
