/**
 * Space that an embedded database no longer needs, given back to the system a few pages at a time, so that nobody waits
 * for it. What is freed is used again first; only where much is free does the file become smaller. PostgreSQL looks
 * after its own.
 */
import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import type { Engine } from '../engine/engine.ts';

/** In pages: what one unit moves in about a millisecond. */
const step = 100;
/** It will be used again soon. */
const leastFree = 1_000;
const shareFree = 1 / 8;
const incremental = 2;

interface Pages {
  readonly pages: number;
  readonly free: number;
  readonly mode: number;
}

/** Before the first table is made; later it takes a VACUUM. */
export const givesBack = 'PRAGMA auto_vacuum = INCREMENTAL;';

/** True if there is more to give back. */
export async function giveBack({ name, db, commit }: Engine): Promise<boolean> {
  if (name !== 'sqlite') return false;
  const found = sql<Pages>`SELECT page_count AS pages, freelist_count AS free, auto_vacuum AS mode
    FROM pragma_page_count, pragma_freelist_count, pragma_auto_vacuum`;
  const { pages, free, mode } = (await found.execute(db)).rows[0]!;
  if (mode !== incremental || free < leastFree || free < pages * shareFree) return false;
  const statement = { sql: `PRAGMA incremental_vacuum(${step})`, parameters: [], returning: true };
  await commit([{ statements: [statement] }], { patience: 1_000 });
  return true;
}

/** All at once, and so that `giveBack` works from then on. Nobody else may have the file open: they would wait for it. */
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
