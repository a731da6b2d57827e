/**
 * The writer thread of the SQLite engine: the only connection that writes, for all threads of the process. Submissions
 * that arrive while a sync to disk is under way wait together, and then share the next one.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { type Refusal, Refused, type Statement, type Unit, type UnitRows } from './engine.ts';
import { rowsOf } from './row-text.ts';
import { alteredBy } from './schema-difference.ts';
import { faultInFile } from './sqlite-schema.ts';

export interface Submission {
  readonly id: number;
  readonly units: readonly Unit[];
}

export type SubmissionResult =
  | { readonly id: number; readonly rows: UnitRows[] }
  | { readonly id: number; readonly refusals: ReadonlyMap<number, Refusal> }
  | { readonly id: number; readonly failure: string };

const constraintUnique = 2067;
const constraintPrimaryKey = 1555;
const highestGroup = 64;

/** From the thread that started this one: another port to listen to, or the end. */
export type WriterOrder = { readonly port: MessagePort } | 'close';

/** A submission, and where the one who waits for it listens. */
interface Received {
  readonly from: MessagePort;
  readonly submission: Submission;
}

const db = new DatabaseSync(workerData.path as string, { timeout: 5_000 });
db.exec(workerData.pragmas as string);
const prepared = new Map<string, StatementSync>();
const ports = new Set<MessagePort>();

parentPort!.on('message', (order: WriterOrder) => {
  if (order !== 'close') return listenTo(order.port);
  db.close();
  parentPort!.close();
});

function listenTo(port: MessagePort): void {
  ports.add(port);
  port.on('close', () => ports.delete(port));
  port.on('message', (first: readonly Submission[] | 'close') => {
    const received: Received[] = [];
    const isLast = take(port, first, received);
    // Whoever else waits by now shares the sync.
    for (const other of ports) gather(other, received);
    if (received.length > 0) commitAll(received);
    if (isLast) port.close();
  });
}

function gather(port: MessagePort, received: Received[]): void {
  while (received.length < highestGroup) {
    const next = receiveMessageOnPort(port);
    if (next === undefined) return;
    // Nothing comes after it: it closes the port once this group is settled.
    if (take(port, next.message, received)) setImmediate(() => port.close());
  }
}

/** Whether it was the port's last. */
function take(from: MessagePort, message: readonly Submission[] | 'close', received: Received[]): boolean {
  if (message === 'close') return true;
  for (const submission of message) received.push({ from, submission });
  return false;
}

function commitAll(received: readonly Received[]): void {
  const results = commitGroup(received.map(({ submission }) => submission));
  for (const [index, { from }] of received.entries()) from.postMessage(results[index]!);
}

function commitGroup(group: readonly Submission[]): SubmissionResult[] {
  try {
    command('BEGIN IMMEDIATE');
    checkSchema();
    const results = group.map(submission => runSubmission(submission, group.length > 1));
    command(results.length === 1 && 'refusals' in results[0]! ? 'ROLLBACK' : 'COMMIT');
    return results;
  } catch (error) {
    if (db.isTransaction) command('ROLLBACK');
    return group.map(({ id }) => ({ id, failure: (error as Error).message }));
  }
}

/** The version of the schema that was last found to be ours; it changes with every change of the schema. */
let checkedVersion: unknown;

/** A trigger could take an entry of the log away that was just stored, so nothing is stored beside anything strange. */
function checkSchema(): void {
  const version = prepare('PRAGMA schema_version').get()!.schema_version;
  if (version === checkedVersion) return;
  const fault = faultInFile(db, workerData.steps as readonly string[]);
  if (fault !== null) throw new Error(alteredBy(fault));
  checkedVersion = version;
}

/** All units or none; where some are refused, all of those are named. */
function runSubmission({ id, units }: Submission, amongOthers: boolean): SubmissionResult {
  const isUndone = amongOthers || units.length > 1;
  if (isUndone) command('SAVEPOINT submission');
  const outcome = runAll(units);
  const refusals = typeof outcome === 'string' ? refusalsIn(units, outcome) : null;
  if (isUndone && refusals !== null) command('ROLLBACK TO submission');
  if (isUndone) command('RELEASE submission');
  return refusals === null ? { id, rows: outcome as UnitRows[] } : { id, refusals };
}

/** Hardly any is ever refused, so none has a savepoint of its own. The first that is refused ends it. */
function runAll(units: readonly Unit[]): UnitRows[] | Refusal {
  try {
    return units.map(runStatements);
  } catch (error) {
    return refusalOf(error);
  }
}

/** Runs them once more, each in a savepoint, so that one that is refused says nothing about the others. */
function refusalsIn(units: readonly Unit[], first: Refusal): Map<number, Refusal> {
  if (units.length === 1) return new Map([[0, first]]);
  command('ROLLBACK TO submission');
  const refusals = new Map<number, Refusal>();
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
    if (query.get(...inputs(parameters)) === undefined) throw new Refused(unless);
    return null;
  }
  if (returning) return query.all(...inputs(parameters));
  if (rows !== undefined) {
    const stored = insertAll(query, rowsOf(rows), statement.taking);
    if (statement.expect !== undefined && stored !== statement.expect) throw new Refused('stale');
    return null;
  }
  const changed = Number(query.run(...inputs(parameters)).changes);
  if (statement.expect !== undefined && changed !== statement.expect) throw new Refused('stale');
  return null;
}

/** How many were stored. */
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

/** Anything but a refusal is the whole group's failure: a full disk is not one unit's fault. */
function refusalOf(error: unknown): Refusal {
  if (error instanceof Refused) return error.refusal;
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
