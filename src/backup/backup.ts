/**
 * Takes a backup while the service runs: a consistent snapshot of the database, encrypted as it is read. It counts as
 * done only after the file was restored into a scratch database and verified. Until then it has a name that can't be
 * mistaken for a backup, and a failure leaves nothing else behind.
 */
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { asNew, renameDurably } from '../base/durable-file.ts';
import { sealed } from '../keyring/age/age.ts';
import type { AgeIdentity, Recipient } from '../keyring/age/keys.ts';
import { type Location, openLoading, openSnapshot } from '../store/store.ts';
import { BackupError, explained } from './backup-error.ts';
import { contentsOf, type Manifest, manifestOf } from './contents.ts';
import { noWatcher, type OpenKeyring, restoreInto, Unproven, type Watcher } from './load-and-verify.ts';

export interface BackupParts {
  readonly location: Location;
  readonly recipients: readonly Recipient[];
  /** Of this program. */
  readonly version: string;
  readonly now: () => number;
  readonly watcher?: Watcher;
}

export interface Written {
  readonly manifest: Manifest;
  readonly bytes: number;
  readonly sha256: string;
}

export interface Taken extends Written {
  /** When its restored copy was verified; null if verification was not requested. */
  readonly proven_at: string | null;
}

interface WrittenFile extends Written {
  readonly identity: AgeIdentity;
}

/** The prefix of the names of unfinished files. */
export const unfinished = '.strongroom-';
/** The suffix of the names of files that failed verification. */
export const unproven = '.unproven';

/** Passes the file to `write` in pieces. */
export async function writeBackup(
  { location, recipients, version, now, watcher = noWatcher }: BackupParts,
  write: (bytes: Buffer) => Promise<unknown>,
): Promise<WrittenFile> {
  const snapshot = await openSnapshot(location).catch(error => {
    throw explained(error, 'the database');
  });
  try {
    const created_at = new Date(now()).toISOString();
    const shapes = await snapshot.tables.shapes();
    const manifest = await manifestOf(snapshot, shapes, { created_at, version, engine: location.engine });
    watcher.expect(Object.values(manifest.rows).reduce((sum, rows) => sum + rows, 0));
    const plain = contentsOf(snapshot, shapes, manifest, watcher.advance);
    const { bytes: pieces, identity } = await sealed(recipients, plain);
    const digest = createHash('sha256');
    let bytes = 0;
    for await (const piece of pieces) {
      digest.update(piece);
      bytes += piece.length;
      await write(piece);
    }
    return { manifest, bytes, sha256: digest.digest('hex'), identity };
  } finally {
    await snapshot.close();
  }
}

/** `openKeyring`: null to skip the verification. */
export async function backupToFile(
  parts: BackupParts,
  file: string,
  openKeyring: OpenKeyring | null,
): Promise<Taken> {
  const path = resolve(file);
  if (existsSync(path)) throw new BackupError(`${file} already exists`);
  const partial = join(dirname(path), `${unfinished}${basename(path)}-${randomBytes(6).toString('hex')}`);
  try {
    const { identity, ...written } = await writePartial(parts, partial);
    const proven_at = openKeyring === null ? null : await prove(parts, partial, identity, openKeyring);
    await renameDurably(partial, path);
    return { ...written, proven_at };
  } catch (error) {
    throw error instanceof Unproven ? await keptAside(partial, path, error) : explained(error, file);
  } finally {
    await rm(partial, { force: true });
  }
}

/** A damaged database leads to a damaged backup. It may be the best copy there is, so it is kept. */
async function keptAside(partial: string, path: string, { message }: Unproven): Promise<Unproven> {
  await renameDurably(partial, `${path}${unproven}`);
  return new Unproven(`${message}; it was kept as ${basename(path)}${unproven}`);
}

async function writePartial(parts: BackupParts, path: string): Promise<WrittenFile> {
  const file = await open(path, asNew, 0o600);
  try {
    const written = await writeBackup(parts, bytes => writeAll(file, bytes));
    await file.sync();
    return written;
  } finally {
    await file.close();
  }
}

/** A nearly full disk accepts part of a write and refuses the rest. */
async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
}

async function prove(
  { now, watcher = noWatcher }: BackupParts,
  file: string,
  identity: AgeIdentity,
  openKeyring: OpenKeyring,
): Promise<string> {
  await inScratch(dirname(file), basename(file).slice(unfinished.length), scratch =>
    proveIn(scratch, { source: bytesIn(file), identity, openKeyring, watcher }),
  );
  return new Date(now()).toISOString();
}

/** Opens the file when it is read, so that the reader gets the error. */
export async function* bytesIn(file: string): AsyncIterable<Uint8Array> {
  try {
    yield* createReadStream(file);
  } catch (error) {
    throw explained(error, file);
  }
}

/** Runs with a temporary folder inside another, whose disk is expected to have space. It is deleted afterwards. */
export async function inScratch<T>(
  folder: string,
  name: string,
  run: (scratch: string) => Promise<T>,
): Promise<T> {
  const scratch = await mkdtemp(join(folder, `${unfinished}${name}-`));
  try {
    return await run(scratch);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Restores a backup to verify it, and discards the result. */
export async function proveIn(scratch: string, parts: Parameters<typeof restoreInto>[1]) {
  const loading = await openLoading({ engine: 'sqlite', path: join(scratch, 'proof.db'), serves: false });
  try {
    return await restoreInto(loading, parts);
  } finally {
    await loading.discard();
  }
}
