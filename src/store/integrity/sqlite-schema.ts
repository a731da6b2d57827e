/**
 * The schema of an embedded database, as stored in its file. Doesn't use Kysely, because the writer's thread checks it
 * too.
 */
import type { DatabaseSync } from 'node:sqlite';
import { type Described, differenceFrom, expectedAfter, tablesIn } from './schema-difference.ts';

export interface FileRow extends Described {
  readonly type: string;
  readonly name: string;
  readonly on: string;
}

export const fileQuery = `SELECT type, name, lower(tbl_name) AS "on", type || ' ' || lower(name) AS key,
  lower(tbl_name) || ': ' || coalesce(sql, '') AS text FROM sqlite_schema`;
/** SQLite follows only the statement; the table named next to it can be a different one. */
export function concerning(tables: readonly string[], rows: readonly FileRow[]): FileRow[] {
  const ours = new Set(tables);
  const named = new RegExp(`\\b(${tables.join('|')})\\b`, 'i');
  return rows.filter(
    ({ type, name, on, text }) =>
      type === 'trigger' ||
      ours.has(name.toLowerCase()) ||
      ours.has(on) ||
      (type === 'index' && named.test(text)),
  );
}

/** Returns null if the schema is what these migrations create. */
export function faultInFile(db: DatabaseSync, steps: readonly string[]): string | null {
  const expected = expectedAfter('sqlite', steps);
  const rows = db.prepare(fileQuery).all() as unknown as FileRow[];
  const tellsSteps = rows.some(({ key }) => key === 'table kysely_migration');
  const done = tellsSteps ? db.prepare('SELECT name FROM kysely_migration').all() : [];
  const isNewer = done.some(({ name }) => !steps.includes(String(name)));
  return differenceFrom(expected, concerning(tablesIn(expected), rows), isNewer);
}
