/**
 * Writes a file completely or not at all, even if the write is interrupted: the file is written under a temporary name,
 * synced and renamed, and its folder is synced too. The temporary file is always newly created, so a file or link
 * planted under that name is never written to. Also creates folders, one at a time.
 */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  renameSync,
  type Stats,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { link, open, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

/** Opens a file that must not exist yet. */
export const asNew = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const atItsEnd = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;

/**
 * Creates a folder and its missing parents, accessible only to their owner. Node's recursive `mkdir` never ends below an
 * existing folder in which none can be created, such as /proc.
 */
export function makeFolder(folder: string): void {
  const path = resolve(folder);
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/**
 * Replaces the file. The new content is durable when this resolves; if it fails before the rename, the previous content
 * remains.
 */
export async function writeDurably(path: string, text: string, mode = 0o600): Promise<void> {
  const aside = besides(path);
  try {
    await writeSynced(aside, text, mode);
    await rename(aside, path);
  } catch (error) {
    await unlink(aside).catch(() => {});
    throw error;
  }
  await syncFolder(dirname(path));
}

type Content = string | AsyncIterable<Uint8Array>;

/** Like `writeDurably`, but fails with `EEXIST` if the file exists. */
export async function createDurably(path: string, text: Content, mode = 0o600): Promise<void> {
  const aside = besides(path);
  try {
    await writeSynced(aside, text, mode);
    await link(aside, path);
  } finally {
    await unlink(aside).catch(() => {});
  }
  await syncFolder(dirname(path));
}

/**
 * Appends lines to a file. Creates it if it does not exist, because another process may have renamed it. A line left
 * unfinished by an interrupted write is terminated first.
 */
export async function appendDurably(path: string, lines: string, mode = 0o600): Promise<void> {
  const file = await open(path, atItsEnd, mode);
  try {
    const { size } = await file.stat();
    const last = size === 0 ? '\n' : (await file.read(Buffer.alloc(1), 0, 1, size - 1)).buffer.toString();
    await file.writeFile(last === '\n' ? lines : `\n${lines}`);
    await file.sync();
    if (size === 0) await syncFolder(dirname(path));
  } finally {
    await file.close();
  }
}

/** Makes the file's current content durable. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, constants.O_RDWR);
  await file.sync().finally(() => file.close());
}

/** Renames a file and syncs its new folder. */
export async function renameDurably(from: string, to: string): Promise<void> {
  await rename(from, to);
  await syncFolder(dirname(to));
}

/** Like `renameDurably`, but fails with `EEXIST` if the new name is taken. */
export async function linkDurably(from: string, to: string): Promise<void> {
  await link(from, to);
  await unlink(from);
  await syncFolder(dirname(to));
}

/**
 * Creates a file for the time of this process, without a pause in which the process could end, and says which file it
 * is. Fails with `EEXIST` if the file exists.
 */
export function createNow(path: string, text: string, mode: number): Stats {
  const file = openSync(path, asNew, mode);
  try {
    writeFileSync(file, text);
    return fstatSync(file);
  } catch (error) {
    unlinkSync(path);
    throw error;
  } finally {
    closeSync(file);
  }
}

/** The same for a file that exists. A reader has either the old content or the new one. */
export function replaceNow(path: string, text: string, mode: number): Stats {
  const aside = besides(path);
  const created = createNow(aside, text, mode);
  try {
    renameSync(aside, path);
  } catch (error) {
    unlinkSync(aside);
    throw error;
  }
  return created;
}

function besides(path: string): string {
  return join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}`);
}

const ownersRights = 0o700;

async function writeSynced(path: string, text: Content, mode: number): Promise<void> {
  const file = await open(path, asNew, mode & ownersRights);
  try {
    await file.writeFile(text);
    // Whatever the umask: what others are meant to read must not be withheld from them.
    if ((mode & ~ownersRights) !== 0) await file.chmod(mode);
    await file.sync();
  } finally {
    await file.close();
  }
}

export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY);
  await handle.sync().finally(() => handle.close());
}
