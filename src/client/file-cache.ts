/**
 * A cache in a file, for runtimes with a file system. The file is replaced as a whole, and only its owner can read it.
 * The temporary file is always newly created, so that a file prepared by another user is never written to.
 */
import type { CacheStorage } from './cache.ts';

/** In bytes: more than the declared secrets of any vault need; a larger file is not ours. */
const largest = 32 * 1024 * 1024;

export function file(path: string): CacheStorage {
  return {
    load: async () => {
      const { readFile, stat } = await import('node:fs/promises');
      try {
        const { size } = await stat(path);
        return size > largest ? null : new Uint8Array(await readFile(path));
      } catch (error) {
        return missing(error);
      }
    },
    save: bytes => replace(path, bytes),
    clear: async () => {
      const { rm } = await import('node:fs/promises');
      await rm(path, { force: true });
    },
  };
}

function missing(error: unknown): null {
  if ((error as { code?: unknown }).code === 'ENOENT') return null;
  throw error;
}

async function replace(path: string, bytes: Uint8Array): Promise<void> {
  const { mkdir, open, rename, rm } = await import('node:fs/promises');
  const { basename, dirname, join } = await import('node:path');
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const aside = join(dirname(path), `.${basename(path)}.${crypto.randomUUID()}`);
  try {
    const file = await open(aside, 'wx', 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(aside, path);
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  }
}
