/**
 * Restores a backup into an empty database of either engine. The database does not become visible until it is
 * completely loaded and verified: a SQLite file is filled under another name and then renamed, a PostgreSQL database is
 * filled in one transaction.
 */
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { linkDurably, makeFolder } from '../base/durable-file.ts';
import { AgeError } from '../keyring/age/header.ts';
import { type Loading, type Location, openLoading } from '../store/store.ts';
import { inScratch } from './backup.ts';
import { BackupError, explained } from './backup-error.ts';
import { type Restored, type RestoreParts, restoreInto } from './load-and-verify.ts';

/** Inspects the loaded data before it becomes visible. If it throws, nothing is restored. */
type Look<T> = (restored: Restored, loading: Loading) => Promise<T>;

export async function restoreTo<T>(location: Location, parts: RestoreParts, look: Look<T>): Promise<T> {
  if (location.engine === 'postgres') return fill(location, parts, look);
  const { path } = location;
  if (existsSync(path) || existsSync(`${path}-wal`)) throw occupied(path);
  makeFolder(dirname(path));
  return inScratch(dirname(path), 'restore', async scratch => {
    const aside = join(scratch, basename(path));
    const found = await fill({ ...location, path: aside }, parts, look);
    await linkDurably(aside, path).catch(error => {
      throw error.code === 'EEXIST' ? occupied(path) : explained(error, path);
    });
    return found;
  });
}

const occupied = (path: string) =>
  new BackupError(`a database already exists: ${path}. Restore into an empty place`);

async function fill<T>(location: Location, parts: RestoreParts, look: Look<T>): Promise<T> {
  const loading = await openLoading(location).catch(error => {
    throw explained(error, 'the database to restore into');
  });
  try {
    const found = await look(await restoreInto(loading, parts), loading);
    await loading.finish();
    return found;
  } catch (error) {
    await loading.discard();
    throw explained(error, error instanceof AgeError ? 'the backup' : 'the restored database');
  }
}
