/** Errors of backups and restores, as one line for the operator. */
import { AgeError } from '../keyring/age/header.ts';
import { RootKeyError } from '../keyring/root-key/root-key.ts';
import { StoreError } from '../store/engine/store-error.ts';

export class BackupError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'BackupError';
  }
}

/** Error codes of the system, of PostgreSQL, and of SQLite, which uses numbers. */
const full = new Set<unknown>(['ENOSPC', 'EDQUOT', 'EFBIG', '53100', 13]);
const failedWrite = 778;

/** `what` is the file or the database in which it happened. */
export function explained(error: unknown, what: string): Error {
  if (error instanceof BackupError || error instanceof RootKeyError) return error;
  if (causesOf(error).some(isFull)) return new BackupError(`no space left for ${what}`, error);
  if (error instanceof AgeError) return new BackupError(`${what} can’t be used: ${error.message}`, error);
  if (error instanceof StoreError) return error;
  const code = causesOf(error).find(({ code }) => typeof code === 'string' && /^E[A-Z]+$/.test(code))?.code;
  if (code !== undefined) return new BackupError(`${what} can’t be read or written (${code})`, error);
  return error as Error;
}

interface Coded {
  readonly code?: unknown;
  readonly errcode?: unknown;
}

function isFull({ code, errcode }: Coded): boolean {
  return full.has(code) || full.has(errcode) || errcode === failedWrite;
}

function causesOf(error: unknown): Coded[] {
  const found: Coded[] = [];
  for (let at = error; at instanceof Error && found.length < 10; at = at.cause) found.push(at as Coded);
  return found;
}
