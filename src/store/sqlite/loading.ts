/**
 * Fills a new SQLite file. The file is not used elsewhere before it is finished, so nothing is journaled or synced
 * until then. An interrupted load leaves a file that must be discarded.
 */
import { existsSync, rmSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { Kysely } from 'kysely';
import { syncFile } from '../../base/durable-file.ts';
import { countOn, type Loader, lastStep } from '../dump/loading.ts';
import type { TableShape } from '../dump/tables.ts';
import { readingEngine } from '../engine/engine.ts';
import { StoreError } from '../engine/store-error.ts';
import { migrate } from '../migrations/migrations.ts';
import type { Schema } from '../schema/schema.ts';
import { givesBack } from './space.ts';
import { adapt, TransactionalDdlDialect } from './sqlite.ts';

const whileLoading = `
  PRAGMA journal_mode = OFF;
  PRAGMA synchronous = OFF;
  PRAGMA locking_mode = EXCLUSIVE;
  PRAGMA temp_store = MEMORY;
  PRAGMA cache_size = -32000;
`;

/** Without a journal nothing can be rolled back: after a failure the whole file is discarded. */
const unjournaled = { inTransaction: true };

export async function openSqliteLoader(path: string): Promise<Loader> {
  if (existsSync(path) || existsSync(`${path}-wal`)) throw new StoreError(`${path} already exists`);
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  database.exec(givesBack + whileLoading);
  const db = new Kysely<Schema>({
    dialect: new TransactionalDdlDialect({ database: { ...adapt(database), close: () => {} } }),
  });
  const inserting = new Map<string, StatementSync>();
  return {
    engine: readingEngine('sqlite', db, async () => {}),
    create: async schema => {
      await migrate(db, 'sqlite', { upTo: lastStep(schema)!, ...unjournaled });
      database.exec('BEGIN');
    },
    insert: async (shape, rows) => {
      const statement = inserting.get(shape.name) ?? database.prepare(insertSql(shape));
      inserting.set(shape.name, statement);
      for (const row of rows) statement.run(...(row as SQLInputValue[]));
    },
    complete: async () => {
      database.exec('COMMIT');
      await migrate(db, 'sqlite', unjournaled);
      for (const statement of countOn) database.exec(statement);
      const [broken] = database.prepare('PRAGMA foreign_key_check').all();
      if (broken !== undefined) throw new StoreError(`a row of ${broken.table} refers to a missing row`);
    },
    finish: async () => {
      database.exec('PRAGMA locking_mode = NORMAL; PRAGMA journal_mode = WAL');
      database.close();
      await syncFile(path);
    },
    discard: async () => {
      if (database.isOpen) database.close();
      for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${path}${end}`, { force: true });
    },
  };
}

function insertSql({ name, columns }: TableShape): string {
  const names = columns.map(column => `"${column.name}"`);
  return `INSERT INTO ${name} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`;
}
