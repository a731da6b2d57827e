/**
 * Writes a file completely or not at all, even if the write is interrupted: it is written under a temporary name,
 * synced and renamed, and the folder is synced too. The temporary file is always newly created: a file or link that
 * someone else put there is never written to. Folders are made here too, one by one.
 */
import { randomBytes } from 'node:crypto';
import { constants, existsSync, mkdirSync } from 'node:fs';
import { link, open, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

const asNew = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

const atItsEnd = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;

/**
 * A folder and those above it, for their owner alone. Node's own way never ends where a folder exists in which none can
 * be made, as in /proc.
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

/** Durable when it resolves; otherwise the previous content is still there. */
export async function writeDurably(path: string, text: string, mode = 0o600): Promise<void> {
  const aside = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}`);
  try {
    await writeSynced(aside, text, mode);
    await rename(aside, path);
  } catch (error) {
    await unlink(aside).catch(() => {});
    throw error;
  }
  await syncFolder(dirname(path));
}

/** As `writeDurably`, where there is no such file yet; `EEXIST` where there is. */
export async function createDurably(path: string, text: string, mode = 0o600): Promise<void> {
  const aside = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}`);
  try {
    await writeSynced(aside, text, mode);
    await link(aside, path);
  } finally {
    await unlink(aside).catch(() => {});
  }
  await syncFolder(dirname(path));
}

/**
 * Adds lines to the end of a file, which is created where there is none: another process may have renamed it meanwhile.
 * A line that an interrupted write left unfinished is ended first.
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

/** What is in the file by now stays there. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, constants.O_RDWR);
  await file.sync().finally(() => file.close());
}

/** An unused temporary name for the same file. */
export async function renameDurably(from: string, to: string): Promise<void> {
  await rename(from, to);
  await syncFolder(dirname(to));
}

/** As `renameDurably`, and fails with EEXIST where there is something already. */
export async function linkDurably(from: string, to: string): Promise<void> {
  await link(from, to);
  await unlink(from);
  await syncFolder(dirname(to));
}

async function writeSynced(path: string, text: string, mode: number): Promise<void> {
  const file = await open(path, asNew, mode);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY);
  await handle.sync().finally(() => handle.close());
}
