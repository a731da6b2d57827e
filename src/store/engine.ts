/**
 * What an engine offers to the nouns of the store. Writing is done with units: lists of statements that take
 * effect together or not at all. A unit is data, so it can cross to a writer thread, be grouped with others
 * into one sync to disk, and be tried again. Nothing is decided between two statements of a unit; where a
 * statement depends on what is stored, it says so (`expect`), and the unit is refused when it isn't so.
 */
import type { Compilable, Kysely } from 'kysely';
import { invalid } from '../contract/errors.ts';
import type { Schema } from './schema.ts';

export interface Statement {
  readonly sql: string;
  readonly parameters: readonly unknown[];
  /** Many rows of parameters in place of the one, each as JSON, for an engine that runs the statement with each of them. */
  readonly rows?: readonly string[];
  /** How many rows must change; another number refuses the unit as stale. */
  readonly expect?: number;
  /** Whether rows come back from it. */
  readonly returning?: boolean;
}

export interface Unit {
  readonly statements: readonly Statement[];
  /** Ids of the vaults, credentials and organizations whose kept copies are stale once this is committed. */
  readonly touches?: readonly string[];
  /** No statement needs what another of them did, and none expects or returns anything: they may run as one. */
  readonly independent?: boolean;
}

/** The rows that a unit's returning statements gave, statement by statement. */
export type UnitRows = readonly (readonly Record<string, unknown>[])[];

/** `stale`: what a statement expected was not there. `taken`: a unique name is in use. */
export type Refusal = 'stale' | 'taken';

/** Nothing of the submission was stored, because of these units of it. The others may be submitted again. */
export class UnitsRefused extends Error {
  readonly refusals: ReadonlyMap<number, Refusal>;

  constructor(refusals: ReadonlyMap<number, Refusal>) {
    super('the store refused part of a submission');
    this.name = 'UnitsRefused';
    this.refusals = refusals;
  }
}

/** `all`: anything may have changed. */
export type ChangeListener = (touched: readonly string[] | 'all') => void;

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
  /** Whether requests are written down here by this process alone. */
  readonly isSole: boolean;
  /** Builds statements, and runs reads on connections of their own. */
  readonly db: Kysely<Schema>;
  /** Durable when it resolves. Throws `UnitsRefused`, or `Failure` UNAVAILABLE; then nothing was kept. */
  commit: Commit;
  /** Any number of rows of texts and numbers, in their order, by one statement. */
  insertMany<T extends keyof Schema>(
    table: T,
    columns: Columns<T>,
    rows: readonly Readonly<Record<string, unknown>>[],
    /** What is done about a row that is there already, in SQL. */
    onConflict?: string,
  ): Statement;
  /** Called after each commit here, and for those of other processes as soon as they are known. */
  onChange(listener: ChangeListener): void;
  /** Whether changes by others are being heard. While they are not, nothing kept may be trusted. */
  hearsChanges(): boolean;
  /** Resolves where a read would succeed right now. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** A table's columns in a fixed order, each with its type on PostgreSQL; those that fill themselves are left out. */
export type Columns<T extends keyof Schema> = Readonly<
  Record<Exclude<keyof Schema[T] & string, 'position'>, string>
>;

export function statement(
  query: Compilable,
  options: { readonly expect?: number; readonly returning?: boolean } = {},
): Statement {
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

  announce(touched: readonly string[] | 'all'): void {
    if (touched.length === 0) return;
    for (const listener of this.#listeners) listener(touched);
  }
}

export function touchedBy(units: readonly Unit[]): string[] {
  return [...new Set(units.flatMap(unit => unit.touches ?? []))];
}

/** PostgreSQL can't keep the character NUL in a text, SQLite can: neither is asked to, so that both are alike. */
export function refuseNul(parameters: readonly unknown[]): void {
  for (const parameter of parameters) {
    if (typeof parameter === 'string' && parameter.includes('\0')) {
      throw invalid('', 'text must not hold the character NUL');
    }
    if (Array.isArray(parameter)) refuseNul(parameter);
  }
}
