/**
 * A consistent view of an embedded database for as long as it is open: for reading while a service writes, and for
 * copies that can't be written to. It does not change the data.
 */
import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { Kysely, SqliteDialect } from 'kysely';
import { type Engine, readingEngine } from '../engine/engine.ts';
import type { Schema } from '../schema/schema.ts';
import { adapt } from './sqlite.ts';

const readOnly = 8;
const cannotOpen = 14;

export function openSqliteSnapshot(path: string): Engine {
  const database = openAt(path);
  const dialect = new SqliteDialect({ database: { ...adapt(database), close: () => {} } });
  return readingEngine('sqlite', new Kysely<Schema>({ dialect }), async () => database.close());
}

function openAt(path: string): DatabaseSync {
  try {
    return begun(new DatabaseSync(path, { readOnly: true, timeout: 5_000 }));
  } catch (error) {
    const code = ((error as { errcode?: number }).errcode ?? 0) & 0xff;
    if (existsSync(path) && (code === readOnly || code === cannotOpen)) return openUnwritable(path);
    throw error;
  }
}

/**
 * SQLite processes share the write-ahead log through a file next to it. If that file is missing and can't be created,
 * no other process has the database open, so nothing needs to be shared.
 */
function openUnwritable(path: string): DatabaseSync {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
  const hasLog = log !== undefined && log.size > 0;
  const url = new URL(`${pathToFileURL(path)}?mode=ro&${hasLog ? 'vfs=unix-none' : 'immutable=1'}`);
  const database = new DatabaseSync(url, { readOnly: true });
  if (hasLog) database.exec('PRAGMA locking_mode = EXCLUSIVE');
  return begun(database);
}

/** The first read determines the snapshot. */
function begun(database: DatabaseSync): DatabaseSync {
  try {
    database.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}
