/**
 * The file of a Unix socket. Whoever may write to the file may connect, so it gets its mode before anybody is served. A
 * file that a process left behind is removed; one that somebody listens on, or that is no socket, never is.
 */
import { chmodSync, lstatSync, unlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { lockFolder } from '../../store/sqlite/folder-lock.ts';
import { UsageError } from '../settings/report.ts';

/** What the kernel takes; a longer name would be cut. */
const longestPath = 107;

export interface ClaimedSocket {
  /** Once it is bound. Until then only our own user can connect: files are created for them alone. */
  open(mode: number): void;
  release(): void;
}

/** The path is ours, and free, until it is released. The lock keeps two starts from removing each other's socket. */
export async function claimSocket(path: string): Promise<ClaimedSocket> {
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
  return { open: mode => chmodSync(path, mode), release: () => lock.release() };
}

async function removeStale(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw new UsageError('--socket names a file that is not a socket');
  if (!(await isAbandoned(path))) throw inUse();
  unlinkSync(path);
}

/** Only a refusal says that nobody listens: whoever is busy, or may not be asked, is there. */
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
