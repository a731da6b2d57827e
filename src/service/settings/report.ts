/** Reports to the operator: how they are printed, and the errors whose messages are meant for people. */
import { describe, summary } from '../../base/described-error.ts';

/** Prints one line for the operator, with the request that it is about. It never contains input. */
export type Report = (line: string, requestId?: string) => void;

type ReportFormat = 'text' | 'json';

/** Formats a report for printing. */
export function reportLine(format: ReportFormat, time: Date, line: string, requestId?: string): string {
  const at = time.toISOString();
  if (format === 'json') return `${JSON.stringify({ time: at, message: line, request_id: requestId })}\n`;
  return `${[at, requestId, line].filter(part => part !== undefined).join(' ')}\n`;
}

/** In milliseconds. */
const foldedFor = 60_000;
const mostFolded = 100;

/**
 * Prints a repeated report, for instance about an unavailable database, once a minute with its count, so that reports
 * never fill the disk.
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

/** A count with its noun in the singular or plural. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** The command line is not valid. The message is the one line that the user sees. */
export class UsageError extends Error {}

/** A check at the start failed. The message is the one line that the operator sees. */
export class StartRefused extends Error {}

/** A request that can't be fulfilled. The message is the one line that the user sees. */
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
  EACCES: 'permission denied',
  EPERM: 'the system does not permit it',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space is left',
};

/** Describes a file or folder that can't be used; null for any other error. Its path comes from the user. */
function fileFault(error: unknown): string | null {
  const { path, code = '', syscall } = error as NodeJS.ErrnoException;
  const fault = fileFaults[code];
  // A folder can be opened; only reading it fails, and then the error does not contain the path.
  const named = path ?? (code === 'EISDIR' ? 'a file that was given' : undefined);
  if (!(error instanceof Error) || named === undefined || fault === undefined) return null;
  return `${named} can’t be ${syscall === 'mkdir' ? 'created' : 'used'}: ${fault}`;
}

/** Callers only learn that an error occurred; operators learn which stored data was altered. */
function integrityFault(error: unknown): string | null {
  const { cause } = error as Error;
  return cause instanceof Error && cause.message.startsWith('stored data is not as it was written')
    ? summary(cause)
    : null;
}

/**
 * The one line to show for an error: its own message, if it is meant for people. The service's error classes are loaded
 * only here, so that no command waits for them.
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
  const why =
    error.cause instanceof Error ? summary(error.cause) : 'it does not accept writes, or is unavailable';
  return `the database can’t be used: ${why}`;
}
