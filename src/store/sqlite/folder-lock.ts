/**
 * A lock that one process holds, and that is free again however that process ends. Held and failed are told apart:
 * whoever waits for another process must know that there is one.
 */
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeFolder } from '../../base/durable-file.ts';
import { StoreError } from '../engine/store-error.ts';

const busy = 5;

/**
 * Held for as long as this process lives. Null where another has it; a lock that can’t be
 * tried, as on a full disk, is an error.
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

/** The low byte of SQLite's codes says what happened, and the others how. */
function isHeld(error: unknown): boolean {
  return ((error as { errcode?: number }).errcode ?? 0) % 256 === busy;
}
