/**
 * The root key as a file: one line of text, readable by its owner alone, beside the database but never in
 * it. It is made once, durably, before anything is sealed with it, and never written again.
 */
import { createHash, createSecretKey, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, link, mkdir, open, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { openDirect, type ParentKey, sealDirect } from '../envelope.ts';
import { type RootKey, RootKeyError, type RootKeySource } from './root-key.ts';

const provider = 'key-file';
const label = 'strongroom-root-key-v1';
const keySize = 32;
const shape = new RegExp(`^${label}:([A-Za-z0-9+/]{43}=)\\s*$`);

export function keyFile(path: string): RootKeySource {
  return {
    provider,
    open: async () => localRootKey(provider, await readKey(path), path),
    create: async () => {
      await writeKeyOnce(path);
      return localRootKey(provider, await readKey(path), path);
    },
  };
}

/** A root key whose bytes are in this process: wraps with AES-256-GCM. */
function localRootKey(name: string, bytes: Uint8Array, path: string): RootKey {
  const parent: ParentKey = { id: fingerprint(bytes), key: createSecretKey(bytes) };
  bytes.fill(0);
  return {
    provider: name,
    wrap: async (context, plain) => sealDirect(parent, context, plain, randomBytes),
    unwrap: async (context, wrapped) => {
      try {
        return openDirect(parent, context, wrapped);
      } catch (cause) {
        throw new RootKeyError(`the root key in ${path} is not the one that protects this data`, cause);
      }
    },
  };
}

/** Tells one root key from another in the header of what it wrapped; 32 bits of a hash give nothing away. */
function fingerprint(bytes: Uint8Array): number {
  return createHash('sha256').update(label).update(bytes).digest().readUInt32BE(0);
}

async function readKey(path: string): Promise<Uint8Array> {
  let file: FileHandle;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (cause) {
    throw new RootKeyError(`the root key file ${path} can't be opened`, cause);
  }
  try {
    const { mode } = await file.stat();
    if ((mode & 0o077) !== 0) {
      throw new RootKeyError(`the root key file ${path} can be read by others: chmod 400 it`);
    }
    return parseKey(await file.readFile('utf8'), path);
  } finally {
    await file.close();
  }
}

function parseKey(text: string, path: string): Uint8Array {
  const [, body] = shape.exec(text) ?? [];
  if (body === undefined) {
    throw new RootKeyError(`the root key file ${path} does not hold a Strongroom root key`);
  }
  return Buffer.from(body, 'base64');
}

/** Writes aside, syncs, then links into place: a crash leaves no half key, and a second writer keeps the first's. */
async function writeKeyOnce(path: string): Promise<void> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const aside = join(folder, `.${basename(path)}.${randomBytes(6).toString('hex')}`);
  const file = await open(aside, 'wx', 0o400);
  try {
    await file.writeFile(`${label}:${randomBytes(keySize).toString('base64')}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  try {
    await link(aside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await unlink(aside);
  }
  await syncFolder(folder);
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY);
  await handle.sync().finally(() => handle.close());
}
