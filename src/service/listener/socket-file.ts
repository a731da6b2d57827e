/**
 * The file of a Unix socket. Users who may write to the file may connect, so its mode is set before the first connection
 * is served. A stale file of an ended process is removed; a file that is not a socket, or that a process listens on,
 * never is.
 */
import { chmodSync, lstatSync, unlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { lockFolder } from '../../store/sqlite/folder-lock.ts';
import { UsageError } from '../settings/report.ts';

/** The kernel's limit, in bytes; a longer path would be truncated. */
const longestPath = 107;

/** Reserves the path until it is released. The lock prevents two starts from removing each other's socket. */
export async function claimSocket(path: string) {
  if (Buffer.byteLength(path) > longestPath)
    throw new UsageError(`--socket must be a path of at most ${longestPath} bytes`);
  const lock = lockFolder(`${path}.lock`);
  if (lock === null) throw inUse();
  try {
    await removeStale(path);
  } catch (error) {
    lock.release();
    throw error;
  }
  return {
    /** Sets the mode once the socket is bound. Until then, only our own user can connect, because of the umask. */
    open: (mode: number) => chmodSync(path, mode),
    release: () => lock.release(),
  };
}

async function removeStale(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw new UsageError('--socket names a file that is not a socket');
  if (!(await isAbandoned(path))) throw inUse();
  unlinkSync(path);
}

/** Only a refused connection means that nothing listens: a busy or inaccessible process still exists. */
function isAbandoned(path: string): Promise<boolean> {
  return new Promise(resolve => {
    const probe = connect(path);
    probe.once('connect', () => {
      probe.destroy();
      resolve(false);
    });
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'));
  });
}

function inUse(): UsageError {
  return new UsageError('--socket is in use by another process');
}
