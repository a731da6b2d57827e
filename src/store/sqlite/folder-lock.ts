/**
 * A lock held by one process, and released however that process ends. Distinguishes a lock that is held from one that
 * can't be tried, so that a caller waits only if there is another process.
 */
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeFolder } from '../../base/durable-file.ts';
import { StoreError } from '../engine/store-error.ts';

const busy = 5;

/**
 * Held as long as this process runs. Returns null if another process holds it. A lock that can't be tried, for example
 * on a full disk, is an error.
 */
export function lockFolder(path: string): { release(): void } | null {
  let lock: DatabaseSync | undefined;
  try {
    makeFolder(dirname(path));
    lock = new DatabaseSync(path, { timeout: 0 });
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    return { release: () => lock!.close() };
  } catch (error) {
    lock?.close();
    if (isHeld(error)) return null;
    throw new StoreError(`the lock ${path} can’t be taken: ${(error as Error).message}`, error);
  }
}

/** The low byte of SQLite's error codes is the primary code; the rest are details. */
function isHeld(error: unknown): boolean {
  return ((error as { errcode?: number }).errcode ?? 0) % 256 === busy;
}
