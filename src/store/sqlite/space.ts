/**
 * Returns unused space in an embedded database to the system, a few pages at a time, so that requests don't wait. Free
 * space is reused first; the file shrinks only if much of it is free. PostgreSQL manages its own space.
 */
import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import type { Engine } from '../engine/engine.ts';

/** In pages: what one unit moves in about a millisecond. */
const step = 100;
/** Less than this is soon used again. */
const leastFree = 1_000;
const shareFree = 1 / 8;
const incremental = 2;

/** Must run before the first table is created; later it requires a VACUUM. */
export const givesBack = 'PRAGMA auto_vacuum = INCREMENTAL;';

/** Returns true if there may be more to return. */
export async function giveBack({ name, db, commit }: Engine): Promise<boolean> {
  if (name !== 'sqlite') return false;
  const found = sql<
    Record<'pages' | 'free' | 'mode', number>
  >`SELECT page_count AS pages, freelist_count AS free, auto_vacuum AS mode
    FROM pragma_page_count, pragma_freelist_count, pragma_auto_vacuum`;
  const { pages, free, mode } = (await found.execute(db)).rows[0]!;
  if (mode !== incremental || free < leastFree || free < pages * shareFree) return false;
  const statement = { sql: `PRAGMA incremental_vacuum(${step})`, parameters: [], returning: true };
  await commit([{ statements: [statement] }], { patience: 1_000 });
  return true;
}

/**
 * Returns all unused space, and enables `giveBack` from then on. The file must not be open elsewhere, because other
 * processes would have to wait.
 */
export function compactSqlite(path: string): { readonly before: number; readonly after: number } {
  const before = statSync(path).size;
  const database = new DatabaseSync(path, { timeout: 10_000 });
  try {
    database.exec(`${givesBack} VACUUM`);
  } finally {
    database.close();
  }
  return { before, after: statSync(path).size };
}
