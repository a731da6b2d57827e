/**
 * The embedded engine: one file with a write-ahead log, every commit synced. Short reads run here on a read-only
 * connection; lists run on the reader thread and writes on the one writer thread, so that neither a long search nor a
 * sync blocks the event loop. Everything specific to SQLite is in this folder.
 */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MessagePort } from 'node:worker_threads';
import { Kysely, SqliteAdapter, type SqliteDatabase, SqliteDialect, type SqliteStatement } from 'kysely';
import type { Sealed } from '../../base/bytes.ts';
import { makeFolder } from '../../base/durable-file.ts';
import { remembering } from '../../base/memo.ts';
import { Failure } from '../../contract/errors.ts';
import {
  Announcer,
  type Engine,
  keyringRow,
  type Peeked,
  refuseNul,
  type Statement,
  takingFor,
  touchedBy,
} from '../engine/engine.ts';
import { StoreError } from '../engine/store-error.ts';
import { checkSchema } from '../integrity/schema-check.ts';
import { isBehind, migrate } from '../migrations/migrations.ts';
import type { Schema } from '../schema/schema.ts';
import { lockFolder } from './folder-lock.ts';
import { readerDialect } from './reader.ts';
import { rowsText } from './row-text.ts';
import { givesBack } from './space.ts';
import { pragmas, Submissions, unavailable, Writer } from './submissions.ts';

/** How often the serving process checks for changes made by a command running beside it. */
const outsideInterval = 400;
const longestMigration = 600_000;
const noteOutsideChange: Statement = {
  sql: `INSERT INTO meta (key, value) VALUES ('outside_changes', randomblob(8))
    ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
  parameters: [],
};

/** `serves`: this process serves the file, and detects changes made by commands running beside it. */
export async function openSqlite(path: string, serves: boolean): Promise<Engine> {
  makeFolder(dirname(path));
  if (await needsMigration(path)) await migrateFile(path);
  const opened = openReader(path);
  await checkSchema(opened.db, 'sqlite').catch(async error => {
    await opened.db.destroy();
    throw unreadable(path, error);
  });
  const writer = new Writer(path);
  return { ...engineOver(path, opened, writer, serves), isSole: serves, writerPort: () => writer.port() };
}

/** For another thread of the process that serves the file. Uses the same writer. */
export function openSqliteBeside(path: string, writer: MessagePort): Engine {
  return engineOver(path, openReader(path), new Submissions(writer), true);
}

function engineOver(
  path: string,
  { reader, db }: ReturnType<typeof openReader>,
  writer: Writer | Submissions,
  serves: boolean,
): Engine {
  const lists = new Kysely<Schema>({ dialect: readerDialect(path) });
  const announcer = new Announcer();
  const watch = serves ? hearOutsideChanges(reader, announcer) : null;
  return {
    name: 'sqlite',
    isSole: false,
    db,
    lists,
    commit: async (units, options) => {
      const noted = serves ? units : [...units, { statements: [noteOutsideChange] }];
      const rows = await writer.commit(noted, options?.patience);
      announcer.announce(touchedBy(units), true);
      return rows;
    },
    insertingInto,
    onChange: announcer.add,
    hear: touched => announcer.announce(touched),
    hearsChanges: () => true, // Own changes are known immediately, and there is no connection to lose.
    close: async () => {
      clearInterval(watch ?? undefined);
      await Promise.all([db.destroy(), lists.destroy()]);
      await writer.close(); // Last, so that the whole log is checkpointed into one file.
    },
  };
}

function openReader(path: string) {
  const reader = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  return { reader, db: new Kysely<Schema>({ dialect: new SqliteDialect({ database: adapt(reader) }) }) };
}

function unreadable(path: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const { message } = (error instanceof Failure ? error.cause : error) as Error;
  return new StoreError(`the database ${path} can’t be read: ${message}`, error);
}

/** Only reads: if no migration is needed, nothing is locked or written, so this works on a full disk. */
async function needsMigration(path: string): Promise<boolean> {
  if (!existsSync(path)) return true;
  const { db } = openReader(path);
  try {
    return await isBehind(db, 'sqlite');
  } catch (error) {
    throw unreadable(path, error);
  } finally {
    await db.destroy();
  }
}

const insertingInto: Engine['insertingInto'] = (table, columns, onConflict = '') => {
  const names = Object.keys(columns) as (keyof typeof columns)[];
  const taking = takingFor(table, '?');
  const filled = taking === undefined ? names : ['position', ...names];
  const places = filled.map(() => '?').join(', ');
  const sql = `INSERT INTO ${table} (${filled.join(', ')}) VALUES (${places}) ${onConflict}`;
  return rows => {
    const values = rows.map(row => names.map(name => row[name]));
    for (const row of values) refuseNul(row);
    const statement = { sql, parameters: [], rows: rowsText(values) };
    return taking === undefined ? statement : { ...statement, taking: `${taking} RETURNING position` };
  };
};

/** Changes nothing. */
export function peekSqlite(path: string): Peeked {
  if (!existsSync(path)) return { isEmpty: true };
  const reader = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  try {
    const table = reader.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'meta'").get();
    if (table === undefined) return { isEmpty: true };
    const row = reader.prepare('SELECT value FROM meta WHERE key = ?').get(keyringRow);
    return { isEmpty: false, keyring: row?.value as Sealed | undefined };
  } catch (error) {
    throw unreadable(path, error);
  } finally {
    reader.close();
  }
}

function hearOutsideChanges(reader: DatabaseSync, announcer: Announcer): NodeJS.Timeout {
  const query = reader.prepare("SELECT hex(value) AS mark FROM meta WHERE key = 'outside_changes'");
  let known = query.get()?.mark;
  const look = () => {
    const mark = markNow();
    if (mark !== known) announcer.announce('all');
    known = mark;
  };
  // If it can't be read, it may have changed.
  const markNow = () => {
    try {
      return query.get()?.mark;
    } catch {
      return randomUUID();
    }
  };
  return setInterval(look, outsideInterval).unref();
}

/**
 * One process at a time, because Kysely's own lock has no effect here. The others wait, and then find all steps done.
 */
export async function migrateFile(path: string): Promise<void> {
  const giveUp = Date.now() + longestMigration;
  let lock = lockFolder(`${path}-migration`);
  while (lock === null && Date.now() < giveUp) {
    await sleep(20);
    lock = lockFolder(`${path}-migration`);
  }
  if (lock === null) throw unavailable(new Error('another process is still migrating the database'));
  try {
    await migrateLocked(path);
  } finally {
    lock.release();
  }
}

async function migrateLocked(path: string): Promise<void> {
  const connection = new DatabaseSync(path, { timeout: 10_000 });
  connection.exec(givesBack + pragmas);
  const db = new Kysely<Schema>({ dialect: new TransactionalDdlDialect({ database: adapt(connection) }) });
  try {
    await migrate(db, 'sqlite');
  } finally {
    await db.destroy();
  }
}

/** SQLite can roll back schema changes, but Kysely's adapter reports that it can't. */
export class TransactionalDdlDialect extends SqliteDialect {
  override createAdapter(): SqliteAdapter {
    return new (class extends SqliteAdapter {
      override get supportsTransactionalDdl(): boolean {
        return true;
      }
    })();
  }
}

/** Adapts node:sqlite to the driver interface that Kysely expects. */
export function adapt(database: DatabaseSync): SqliteDatabase {
  const prepare = (sql: string) =>
    sql === 'rollback' ? undoing(database) : adaptStatement(database.prepare(sql));
  return { prepare: remembering(500, prepare), close: () => database.close() };
}

/** On a full disk SQLite ends the transaction itself. A rollback would then fail and hide the cause. */
function undoing(database: DatabaseSync): SqliteStatement {
  const run = () => {
    if (database.isTransaction) database.exec('ROLLBACK');
    return { changes: 0, lastInsertRowid: 0 };
  };
  return { reader: false, all: () => [], run, iterate: () => [][Symbol.iterator]() };
}

function adaptStatement(query: StatementSync): SqliteStatement {
  const inputs = (parameters: readonly unknown[]) => parameters as SQLInputValue[];
  return {
    reader: query.columns().length > 0,
    all: parameters => {
      refuseNul(parameters);
      return guarded(() => query.all(...inputs(parameters)));
    },
    run: parameters => guarded(() => query.run(...inputs(parameters))),
    iterate: parameters => query.iterate(...inputs(parameters)) as IterableIterator<unknown>,
  };
}

function guarded<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw unavailable(cause);
  }
}
