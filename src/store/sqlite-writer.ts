/**
 * The writer thread of the SQLite engine: the only connection that writes. Submissions that arrive while a
 * sync to disk is under way wait together, and then share the next one.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import type { Refusal, Statement, Unit } from './engine.ts';

export interface Submission {
  readonly id: number;
  readonly units: readonly Unit[];
}

export type SubmissionResult =
  | { readonly id: number; readonly rows: Record<string, unknown>[][][] }
  | { readonly id: number; readonly refusals: ReadonlyMap<number, Refusal> }
  | { readonly id: number; readonly failure: string };

const constraintUnique = 2067;
const constraintPrimaryKey = 1555;
const highestGroup = 64;

class Stale extends Error {}

const port = parentPort!;
const db = new DatabaseSync(workerData.path as string, { timeout: 5_000 });
db.exec(workerData.pragmas as string);
const prepared = new Map<string, StatementSync>();

port.on('message', (first: readonly Submission[] | 'close') => {
  const group: Submission[] = [];
  let closing = first === 'close';
  if (first !== 'close') group.push(...first);
  while (group.length < highestGroup) {
    const next = receiveMessageOnPort(port);
    if (next === undefined) break;
    if (next.message === 'close') closing = true;
    else group.push(...(next.message as readonly Submission[]));
  }
  if (group.length > 0) for (const result of commitGroup(group)) port.postMessage(result);
  if (closing) {
    db.close();
    port.close();
  }
});

function commitGroup(group: readonly Submission[]): SubmissionResult[] {
  try {
    command('BEGIN IMMEDIATE');
    const results = group.map(submission => runSubmission(submission, group.length > 1));
    command(results.length === 1 && 'refusals' in results[0]! ? 'ROLLBACK' : 'COMMIT');
    return results;
  } catch (error) {
    if (db.isTransaction) command('ROLLBACK');
    return group.map(({ id }) => ({ id, failure: (error as Error).message }));
  }
}

/**
 * All units or none; where some are refused, all of those are named. One alone needs no savepoint: when it is refused,
 * the whole transaction goes.
 */
function runSubmission({ id, units }: Submission, amongOthers: boolean): SubmissionResult {
  const refusals = new Map<number, Refusal>();
  const rows: Record<string, unknown>[][][] = [];
  if (amongOthers) command('SAVEPOINT submission');
  for (const [index, unit] of units.entries()) {
    const outcome = runUnit(unit, units.length > 1);
    if (typeof outcome === 'string') refusals.set(index, outcome);
    else rows.push(outcome);
  }
  if (amongOthers && refusals.size > 0) command('ROLLBACK TO submission');
  if (amongOthers) command('RELEASE submission');
  return refusals.size > 0 ? { id, refusals } : { id, rows };
}

/** One unit needs no savepoint of its own: with it the whole submission is refused. */
function runUnit(unit: Unit, amongOthers: boolean): Record<string, unknown>[][] | Refusal {
  if (amongOthers) command('SAVEPOINT unit');
  try {
    const rows = unit.statements.map(runStatement).filter(result => result !== null);
    if (amongOthers) command('RELEASE unit');
    return rows;
  } catch (error) {
    const refusal = refusalOf(error);
    if (amongOthers) command('ROLLBACK TO unit');
    if (amongOthers) command('RELEASE unit');
    return refusal;
  }
}

function runStatement(statement: Statement): Record<string, unknown>[] | null {
  const { sql, parameters, rows, returning } = statement;
  const query = prepare(sql);
  if (returning) return query.all(...inputs(parameters));
  if (rows !== undefined) {
    for (const row of rows) query.run(...inputs(JSON.parse(row)));
    return null;
  }
  const changed = Number(query.run(...inputs(parameters)).changes);
  if (statement.expect !== undefined && changed !== statement.expect) throw new Stale();
  return null;
}

/** Anything but a refusal is the whole group's failure: a full disk is not one unit's fault. */
function refusalOf(error: unknown): Refusal {
  if (error instanceof Stale) return 'stale';
  const code = (error as { errcode?: number }).errcode;
  if (code === constraintUnique || code === constraintPrimaryKey) return 'taken';
  throw error;
}

function command(sql: string): void {
  prepare(sql).run();
}

function prepare(sql: string): StatementSync {
  let query = prepared.get(sql);
  if (query === undefined) {
    if (prepared.size >= 500) prepared.clear();
    query = db.prepare(sql);
    prepared.set(sql, query);
  }
  return query;
}

function inputs(parameters: readonly unknown[]): SQLInputValue[] {
  return parameters as SQLInputValue[];
}
