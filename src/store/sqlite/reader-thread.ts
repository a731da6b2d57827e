/** The reader thread of the SQLite engine. Long queries run here, so that they don't block requests. */
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { starterPort, threadData, toStarter } from '../../threads/thread.ts';

export type ReaderServices = {
  rows: (sql: string, parameters: readonly unknown[]) => Record<string, unknown>[];
  close: () => void;
};

const db = new DatabaseSync(threadData<string>(), { readOnly: true, timeout: 5_000 });
const prepared = new Map<string, StatementSync>();

const services: ReaderServices = {
  rows: (sql, parameters) => prepare(sql).all(...(parameters as SQLInputValue[])),
  close: () => {
    db.close();
    starterPort().close();
  },
};
toStarter(services);

function prepare(sql: string): StatementSync {
  let query = prepared.get(sql);
  if (query === undefined) {
    if (prepared.size >= 500) prepared.clear();
    query = db.prepare(sql);
    prepared.set(sql, query);
  }
  return query;
}
