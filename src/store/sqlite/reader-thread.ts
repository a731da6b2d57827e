/** The reader thread of the SQLite engine. Long queries run here, so that they don't block requests. */
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { remembering } from '../../base/memo.ts';
import { starterPort, threadData, toStarter } from '../../threads/thread.ts';

export type ReaderServices = {
  rows: (sql: string, parameters: readonly unknown[]) => Record<string, unknown>[];
  close: () => void;
};

const db = new DatabaseSync(threadData<string>(), { readOnly: true, timeout: 5_000 });
const prepare = remembering(500, (sql: string) => db.prepare(sql));

const services: ReaderServices = {
  rows: (sql, parameters) => prepare(sql).all(...(parameters as SQLInputValue[])),
  close: () => {
    db.close();
    starterPort().close();
  },
};
toStarter(services);
