/**
 * The embedded engine: one file, write-ahead log, every commit synced. Reads run here on a connection that
 * can't write; writes go to the one writer thread, so that a sync never stops the event loop. All that is
 * peculiar to SQLite is in this file and in the writer's.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Kysely, SqliteAdapter, type SqliteDatabase, SqliteDialect, type SqliteStatement } from 'kysely';
import { Failure } from '../contract/errors.ts';
import {
  Announcer,
  type Engine,
  refuseNul,
  type Statement,
  touchedBy,
  type Unit,
  type UnitRows,
  UnitsRefused,
} from './engine.ts';
import { migrate } from './migrations/migrations.ts';
import type { Schema } from './schema.ts';
import type { Submission, SubmissionResult } from './sqlite-writer.ts';

const pragmas = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA foreign_keys = ON;
  PRAGMA secure_delete = FAST;
  PRAGMA temp_store = MEMORY;
  PRAGMA cache_size = -8000;
  PRAGMA wal_autocheckpoint = 4000;
`;
const workerFile = import.meta.url.endsWith('.ts') ? './sqlite-writer.ts' : './sqlite-writer.js';

/** How often the serving process looks whether a command beside it changed something. */
const outsideInterval = 400;
/** In MB. What the writer makes is short-lived, and would else be left lying about in much more memory. */
const youngest = 6;
const longestMigration = 600_000;
const noteOutsideChange: Statement = {
  sql: `INSERT INTO meta (key, value) VALUES ('outside_changes', randomblob(8))
    ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
  parameters: [],
};

/** `serves`: this process serves the file, and hears what commands beside it change. */
export async function openSqlite(path: string, serves: boolean): Promise<Engine> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  await migrateFile(path);
  const reader = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database: adapt(reader) }) });
  const announcer = new Announcer();
  const writer = new Writer(path);
  const ear = serves ? hearOutsideChanges(reader, announcer) : null;
  return {
    name: 'sqlite',
    isSole: serves,
    db,
    commit: async (units, options) => {
      const noted = serves ? units : [...units, { statements: [noteOutsideChange] }];
      const rows = await writer.commit(noted, options?.patience);
      announcer.announce(touchedBy(units));
      return rows;
    },
    insertMany,
    onChange: announcer.add,
    hearsChanges: () => true, // Its own it knows at once, and the file can't go away like a connection.
    ping: async () => void reader.prepare('SELECT 1').get(),
    close: async () => {
      clearInterval(ear ?? undefined);
      await db.destroy();
      await writer.close(); // Last, so that it leaves one file behind, with all of the log in it.
    },
  };
}

const insertions = new Map<string, string>();

/** Each of many rows is one text: handing its values to another thread one by one costs more than storing them. */
const insertMany: Engine['insertMany'] = (table, columns, rows, onConflict = '') => {
  const names = Object.keys(columns);
  const values = rows.map(row => names.map(name => row[name]));
  for (const row of values) refuseNul(row);
  const sql = insertions.get(table) ?? insertionInto(table, names, onConflict);
  return values.length === 1
    ? { sql, parameters: values[0]! }
    : { sql, parameters: [], rows: values.map(row => JSON.stringify(row)) };
};

function insertionInto(table: string, names: readonly string[], onConflict: string): string {
  const places = names.map(() => '?').join(', ');
  const sql = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${places}) ${onConflict}`;
  insertions.set(table, sql);
  return sql;
}

/** A value of `meta`, or undefined where there is no such file or table yet. Changes nothing. */
export function peekSqlite(path: string, key: string): Uint8Array | undefined {
  if (!existsSync(path)) return undefined;
  const reader = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  try {
    const table = reader.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'meta'").get();
    const row = table && reader.prepare('SELECT value FROM meta WHERE key = ?').get(key);
    return row?.value as Uint8Array | undefined;
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

/** Holds the data folder for as long as this process lives, however it ends. Null where another has it. */
export function lockFolder(path: string): { release(): void } | null {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const lock = new DatabaseSync(path, { timeout: 0 });
  try {
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    return { release: () => lock.close() };
  } catch {
    lock.close();
    return null;
  }
}

/** One process at a time: the builder's own lock does nothing here. The others wait, and find all done. */
async function migrateFile(path: string): Promise<void> {
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
  connection.exec(pragmas);
  const db = new Kysely<Schema>({ dialect: new TransactionalDdlDialect({ database: adapt(connection) }) });
  try {
    await migrate(db, 'sqlite');
  } finally {
    await db.destroy();
  }
}

/** SQLite can undo changes of the schema; the builder's own adapter plays safe and says it can't. */
class TransactionalDdlDialect extends SqliteDialect {
  override createAdapter(): SqliteAdapter {
    return new (class extends SqliteAdapter {
      override get supportsTransactionalDdl(): boolean {
        return true;
      }
    })();
  }
}

/** The builder speaks to a driver of another shape; this is all that differs. */
function adapt(database: DatabaseSync): SqliteDatabase {
  const prepared = new Map<string, SqliteStatement>();
  return {
    prepare: sql => {
      let query = prepared.get(sql);
      if (query === undefined) {
        if (prepared.size >= 500) prepared.clear();
        query = adaptStatement(database.prepare(sql));
        prepared.set(sql, query);
      }
      return query;
    },
    close: () => database.close(),
  };
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

function unavailable(cause: unknown): Failure {
  return new Failure('UNAVAILABLE', { cause, retryAfter: 1 });
}

interface Waiting {
  readonly resolve: (rows: readonly UnitRows[]) => void;
  readonly reject: (error: Error) => void;
}

/** The near side of the writer thread. A thread that dies fails what it held, and is replaced. */
class Writer {
  readonly #path: string;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker;
  /** What waits for the next submission, to share its sync. */
  #patient: Submission[] = [];
  #patienceOver: NodeJS.Timeout | undefined;
  #nextId = 1;
  #closing = false;

  constructor(path: string) {
    this.#path = path;
    this.#worker = this.#start();
  }

  commit(units: readonly Unit[], patience = 0): Promise<readonly UnitRows[]> {
    if (this.#closing) return Promise.reject(unavailable(new Error('the store is closed')));
    return new Promise((resolve, reject) => {
      const submission: Submission = { id: this.#nextId++, units };
      this.#waiting.set(submission.id, { resolve, reject });
      this.#patient.push(submission);
      if (patience === 0) this.#submit();
      else this.#patienceOver ??= setTimeout(() => this.#submit(), patience);
    });
  }

  #submit(): void {
    clearTimeout(this.#patienceOver);
    this.#patienceOver = undefined;
    if (this.#patient.length > 0) this.#worker.postMessage(this.#patient);
    this.#patient = [];
  }

  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    this.#submit();
    const ended = new Promise(resolve => this.#worker.once('exit', resolve));
    this.#worker.postMessage('close');
    await ended;
  }

  #start(): Worker {
    const worker = new Worker(new URL(workerFile, import.meta.url), {
      workerData: { path: this.#path, pragmas },
      resourceLimits: { maxYoungGenerationSizeMb: youngest },
    });
    worker.on('message', (result: SubmissionResult) => this.#settle(result));
    worker.on('error', cause => this.#failAll(cause));
    worker.on('exit', () => {
      this.#failAll(new Error('the writer thread ended'));
      if (!this.#closing) this.#worker = this.#start();
    });
    return worker;
  }

  #settle(result: SubmissionResult): void {
    const waiting = this.#waiting.get(result.id);
    this.#waiting.delete(result.id);
    if (waiting === undefined) return;
    if ('rows' in result) waiting.resolve(result.rows);
    else if ('refusals' in result) waiting.reject(new UnitsRefused(result.refusals));
    else waiting.reject(unavailable(new Error(result.failure)));
  }

  #failAll(cause: unknown): void {
    for (const { reject } of this.#waiting.values()) reject(unavailable(cause));
    this.#waiting.clear();
    this.#patient = [];
  }
}
