/** The reader thread of the SQLite engine: what takes its time to be found holds up nobody here who serves. */
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

export interface Question {
  readonly id: number;
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

export type Found =
  | { readonly id: number; readonly rows: Record<string, unknown>[] }
  | { readonly id: number; readonly failure: string };

const port = parentPort!;
const db = new DatabaseSync(workerData.path as string, { readOnly: true, timeout: 5_000 });
const prepared = new Map<string, StatementSync>();

port.on('message', (question: Question | 'close') => {
  if (question !== 'close') {
    port.postMessage(answerTo(question));
    return;
  }
  db.close();
  port.close();
});

function answerTo({ id, sql, parameters }: Question): Found {
  try {
    return { id, rows: prepare(sql).all(...(parameters as SQLInputValue[])) };
  } catch (error) {
    return { id, failure: (error as Error).message };
  }
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
