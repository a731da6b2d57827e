/** What the operator is told: lines, how they are printed, and the errors whose message is meant for them. */
import { describe, summary } from '../../base/described-error.ts';

/** One line for the operator, and the request that it is about: what happened, never what was sent. */
export type Report = (line: string, requestId?: string) => void;

export type ReportFormat = 'text' | 'json';

/** A report as it is printed. */
export function reportLine(format: ReportFormat, time: Date, line: string, requestId?: string): string {
  const at = time.toISOString();
  if (format === 'json') return `${JSON.stringify({ time: at, message: line, request_id: requestId })}\n`;
  return `${[at, requestId, line].filter(part => part !== undefined).join(' ')}\n`;
}

/** In milliseconds. */
const foldedFor = 60_000;
const mostFolded = 100;

/**
 * What is reported again and again, because a database is away for instance, is printed once a minute, and how often it
 * was: a report must never be what fills the disk.
 */
export function folding(report: Report, now: () => number = Date.now): Report {
  const told = new Map<string, { since: number; again: number }>();
  return (line, requestId) => {
    const before = told.get(line);
    if (before !== undefined && now() - before.since < foldedFor) {
      before.again++;
      return;
    }
    if (told.size >= mostFolded) told.delete(told.keys().next().value!);
    told.delete(line);
    told.set(line, { since: now(), again: 0 });
    const again = before?.again ?? 0;
    report(again === 0 ? line : `${line} (${counted(again, 'more time', 'more times')} since)`, requestId);
  };
}

/** How many there are of something. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** The command line is not valid. The message is the one line that the user sees. */
export class UsageError extends Error {}

/** Something found at the start is not as it should be. The message is the one line that the operator sees. */
export class StartRefused extends Error {}

/** What was asked can't be done. The message is the one line that the user sees. */
export class Refusal extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

const fileFaults: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'a part of its path is not a folder',
  EISDIR: 'it is a folder',
  EEXIST: 'it exists already',
  EACCES: 'this user may not',
  EPERM: 'the system does not permit it',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space is left',
};

/** A file or folder that can't be used, in a sentence; null for any other error. Its path is one that was given. */
function fileFault(error: unknown): string | null {
  const { path, code = '', syscall } = error as NodeJS.ErrnoException;
  const fault = fileFaults[code];
  // A folder can be opened: only reading it fails, and the system doesn't say then what was read.
  const named = path ?? (code === 'EISDIR' ? 'a file that was given' : undefined);
  if (!(error instanceof Error) || named === undefined || fault === undefined) return null;
  return `${named} can’t be ${syscall === 'mkdir' ? 'created' : 'used'}: ${fault}`;
}

/** Callers are told that something went wrong; operators are told what is not as it was written. */
function integrityFault(error: unknown): string | null {
  const { cause } = error as Error;
  return cause instanceof Error && cause.message.startsWith('stored data is not as it was written')
    ? summary(cause)
    : null;
}

/**
 * The one line that is told of an error: its own, where it was made for that. The classes of the service are loaded
 * only now: no command should wait for them.
 */
export async function messageOf(error: unknown): Promise<string> {
  if ([UsageError, StartRefused, Refusal].some(kind => error instanceof kind))
    return (error as Error).message;
  const { RootKeyError } = await import('../../keyring/root-key/root-key.ts');
  const { StoreError } = await import('../../store/engine/store-error.ts');
  const { BackupError } = await import('../../backup/backup-error.ts');
  if ([RootKeyError, StoreError, BackupError].some(kind => error instanceof kind))
    return (error as Error).message;
  const { Failure } = await import('../../contract/errors.ts');
  const fault = fileFault(error) ?? integrityFault(error);
  if (fault !== null) return fault;
  if (!(error instanceof Failure && error.code === 'UNAVAILABLE')) return describe(error);
  const why = error.cause instanceof Error ? summary(error.cause) : 'it takes no writes, or is not there';
  return `the database can’t be used: ${why}`;
}
