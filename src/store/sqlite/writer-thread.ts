/**
 * The writer thread of the SQLite engine: the only connection that writes, for all threads of the process. Submissions
 * that arrive during a sync to disk are grouped, and share the next one.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import type { MessagePort } from 'node:worker_threads';
import { remembering } from '../../base/memo.ts';
import { starterPort, threadData, toStarter } from '../../threads/thread.ts';
import { servedTogether } from '../../threads/together.ts';
import {
  type Statement,
  type Unit,
  type UnitRows,
  type WriteRefusal,
  WriteRefused,
} from '../engine/engine.ts';
import { alteredBy } from '../integrity/schema-difference.ts';
import { faultInFile } from '../integrity/sqlite-schema.ts';
import { rowsOf } from './row-text.ts';

/** Takes effect as a whole or not at all. */
type Submission = readonly Unit[];

type SubmissionResult =
  | { readonly rows: UnitRows[] }
  | { readonly refusals: ReadonlyMap<number, WriteRefusal> }
  | { readonly failure: string };

/** Offered on each port. */
export type SubmissionServices = {
  commit: (units: Submission) => SubmissionResult;
  close: () => void;
};

/** Offered to the thread that started this one. */
export type WriterServices = {
  /** Starts serving another port. */
  listen: (port: MessagePort) => void;
  close: () => void;
};

export interface WriterData {
  readonly path: string;
  readonly pragmas: string;
  readonly steps: readonly string[];
}

const constraintUnique = 2067;
const constraintPrimaryKey = 1555;
const highestGroup = 64;

const { path, pragmas, steps } = threadData<WriterData>();
const db = new DatabaseSync(path, { timeout: 5_000 });
db.exec(pragmas);
const prepare = remembering(500, (sql: string) => db.prepare(sql));

const services: WriterServices = {
  listen: servedTogether(highestGroup, commitGroup),
  close: () => {
    db.close();
    starterPort().close();
  },
};
toStarter(services);

function commitGroup(group: readonly Submission[]): SubmissionResult[] {
  try {
    command('BEGIN IMMEDIATE');
    checkSchema();
    const results = group.map(submission => runSubmission(submission, group.length > 1));
    command(results.length === 1 && 'refusals' in results[0]! ? 'ROLLBACK' : 'COMMIT');
    return results;
  } catch (error) {
    if (db.isTransaction) command('ROLLBACK');
    return group.map(() => ({ failure: (error as Error).message }));
  }
}

/** The schema version last found to be ours. It changes with every change of the schema. */
let checkedVersion: unknown;

/** A trigger could delete a log entry that was just stored, so nothing is stored if the schema has been altered. */
function checkSchema(): void {
  const version = prepare('PRAGMA schema_version').get()!.schema_version;
  if (version === checkedVersion) return;
  const fault = faultInFile(db, steps);
  if (fault !== null) throw new Error(alteredBy(fault));
  checkedVersion = version;
}

/** Stores all units or none. If any are refused, the result names all of those. */
function runSubmission(units: Submission, amongOthers: boolean): SubmissionResult {
  const isUndone = amongOthers || units.length > 1;
  if (isUndone) command('SAVEPOINT submission');
  const outcome = runAll(units);
  const refusals = typeof outcome === 'string' ? refusalsIn(units, outcome) : null;
  if (isUndone && refusals !== null) command('ROLLBACK TO submission');
  if (isUndone) command('RELEASE submission');
  return refusals === null ? { rows: outcome as UnitRows[] } : { refusals };
}

/** Refusals are rare, so units have no savepoints of their own. The first refusal ends the run. */
function runAll(units: readonly Unit[]): UnitRows[] | WriteRefusal {
  try {
    return units.map(runStatements);
  } catch (error) {
    return refusalOf(error);
  }
}

/** Runs the units again, each in a savepoint, to find out independently which of them are refused. */
function refusalsIn(units: readonly Unit[], first: WriteRefusal): Map<number, WriteRefusal> {
  if (units.length === 1) return new Map([[0, first]]);
  command('ROLLBACK TO submission');
  const refusals = new Map<number, WriteRefusal>();
  for (const [index, unit] of units.entries()) {
    command('SAVEPOINT unit');
    const outcome = runAll([unit]);
    if (typeof outcome === 'string') refusals.set(index, outcome);
    if (typeof outcome === 'string') command('ROLLBACK TO unit');
    command('RELEASE unit');
  }
  return refusals;
}

function runStatements({ statements }: Unit): UnitRows {
  return statements.map(runStatement).filter(result => result !== null);
}

function runStatement(statement: Statement): Record<string, unknown>[] | null {
  const { sql, parameters, rows, returning, unless } = statement;
  const query = prepare(sql);
  if (unless !== undefined) {
    if (query.get(...inputs(parameters)) === undefined) throw new WriteRefused(unless);
    return null;
  }
  if (returning) return query.all(...inputs(parameters));
  const changed =
    rows === undefined
      ? Number(query.run(...inputs(parameters)).changes)
      : insertAll(query, rowsOf(rows), statement.taking);
  if (statement.expect !== undefined && changed !== statement.expect) throw new WriteRefused('stale');
  return null;
}

/** Returns how many rows were stored. */
function insertAll(query: StatementSync, rows: readonly SQLInputValue[][], taking?: string): number {
  let stored = 0;
  if (taking === undefined) {
    for (const row of rows) stored += Number(query.run(...row).changes);
    return stored;
  }
  const taken = prepare(taking).get(rows.length);
  if (taken === undefined) throw new Error('the last position is missing');
  const before = Number(taken.position) - rows.length;
  for (const [index, row] of rows.entries()) stored += Number(query.run(before + index + 1, ...row).changes);
  return stored;
}

/** Any other error fails the whole group: a full disk is not one unit's fault. */
function refusalOf(error: unknown): WriteRefusal {
  if (error instanceof WriteRefused) return error.refusal;
  const code = (error as { errcode?: number }).errcode;
  if (code === constraintUnique || code === constraintPrimaryKey) return 'taken';
  throw error;
}

function command(sql: string): void {
  prepare(sql).run();
}

function inputs(parameters: readonly unknown[]): SQLInputValue[] {
  return parameters as SQLInputValue[];
}
