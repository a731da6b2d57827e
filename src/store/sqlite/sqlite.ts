/**
 * The embedded engine: one file, write-ahead log, every commit synced. Short reads run here on a connection that
 * can't write; lists go to the reader thread and writes to the one writer thread, so that neither a long search nor a
 * sync stops the event loop. All that is peculiar to SQLite is in this file and in the threads'.
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

/** How often the serving process looks whether a command beside it changed something. */
const outsideInterval = 400;
const longestMigration = 600_000;
const noteOutsideChange: Statement = {
  sql: `INSERT INTO meta (key, value) VALUES ('outside_changes', randomblob(8))
    ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
  parameters: [],
};

/** `serves`: this process serves the file, and hears what commands beside it change. */
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

/** For another thread of the process that serves the file: the writer is the same one. */
export function openSqliteBeside(path: string, writer: MessagePort): Engine {
  return engineOver(path, openReader(path), new Submissions(writer), true);
}

function engineOver(
  path: string,
  { reader, db }: OpenedReader,
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
    hearsChanges: () => true, // Its own it knows at once, and the file can't go away like a connection.
    close: async () => {
      clearInterval(watch ?? undefined);
      await Promise.all([db.destroy(), lists.destroy()]);
      await writer.close(); // Last, so that it leaves one file behind, with all of the log in it.
    },
  };
}

interface OpenedReader {
  readonly reader: DatabaseSync;
  readonly db: Kysely<Schema>;
}

function openReader(path: string): OpenedReader {
  const reader = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  return { reader, db: new Kysely<Schema>({ dialect: new SqliteDialect({ database: adapt(reader) }) }) };
}

function unreadable(path: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const { message } = (error instanceof Failure ? error.cause : error) as Error;
  return new StoreError(`the database ${path} can’t be read: ${message}`, error);
}

/** Found by reading alone: where nothing is to be done, nothing is locked or written, also on a full disk. */
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
  // What can't be read may have changed.
  const markNow = () => {
    try {
      return query.get()?.mark;
    } catch {
      return randomUUID();
    }
  };
  return setInterval(look, outsideInterval).unref();
}

/** One process at a time: the builder's own lock does nothing here. The others wait, and find all done. */
export async function migrateFile(path: string): Promise<void> {
  const giveUp = Date.now() + longestMigration;
  let lock = lockFolder(`${path}-migration`);
  while (lock === null && Date.now() < giveUp) {
    await sleep(20);
    lock = lockFolder(`${path}-migration`);
  }
  if (lock === null) throw unavailable(new Error('another process migrates the database, and does not end'));
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

/** SQLite can undo changes of the schema; the builder's own adapter plays safe and says it can't. */
export class TransactionalDdlDialect extends SqliteDialect {
  override createAdapter(): SqliteAdapter {
    return new (class extends SqliteAdapter {
      override get supportsTransactionalDdl(): boolean {
        return true;
      }
    })();
  }
}

/** The builder speaks to a driver of another shape; this is all that differs. */
export function adapt(database: DatabaseSync): SqliteDatabase {
  const prepared = new Map<string, SqliteStatement>();
  return {
    prepare: sql => {
      let query = prepared.get(sql);
      if (query === undefined) {
        if (prepared.size >= 500) prepared.clear();
        query = sql === 'rollback' ? undoing(database) : adaptStatement(database.prepare(sql));
        prepared.set(sql, query);
      }
      return query;
    },
    close: () => database.close(),
  };
}

/** A full disk ends the transaction by itself: to undo it then would fail, and hide why. */
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
