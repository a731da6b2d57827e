/**
 * The root key as a file: one line of text, readable only by its owner, stored next to the database but never in it. It
 * is created once, durably, before anything is sealed with it, and never changed.
 */
import { createHash, createSecretKey, randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createDurably, makeFolder, syncFolder } from '../../base/durable-file.ts';
import { openDirect, type ParentKey, parentIdOf, sealDirect } from '../sealing/envelope.ts';
import { KeyringDamaged, type RootKey, RootKeyError, type RootKeySource } from './root-key.ts';

const provider = 'key-file';
const label = 'strongroom-root-key-v1';
const keySize = 32;
const root = 0;
const shape = new RegExp(`^${label}:([A-Za-z0-9+/]{43}=)\\s*$`);

/** `self`: the user of this process, if the system has users. */
export function keyFile(path: string, self = process.geteuid?.()): RootKeySource {
  const open = async () => localRootKey(provider, await readKey(path, self), path);
  return {
    provider,
    exists: () =>
      lstat(path).then(
        () => true,
        error => error.code !== 'ENOENT',
      ),
    open,
    create: async () => {
      await writeKeyOnce(path);
      return open();
    },
  };
}

/** A root key whose bytes are in this process. Wraps with AES-256-GCM. */
function localRootKey(name: string, bytes: Uint8Array, path: string): RootKey {
  const parent: ParentKey = { id: fingerprint(bytes), key: createSecretKey(bytes) };
  bytes.fill(0);
  return {
    provider: name,
    wrap: async (context, plain) => sealDirect(parent, context, plain, randomBytes),
    unwrap: async (context, wrapped) => {
      try {
        // The header names the key that wrapped it. If it names this one but can't be opened, it is damaged.
        if (parentIdOf(wrapped) === parent.id) return openDirect(parent, context, wrapped);
      } catch (cause) {
        throw new KeyringDamaged(cause);
      }
      throw new RootKeyError(`the root key in ${path} is not the one that protects this data`);
    },
  };
}

/** Identifies a root key in the header of what it wrapped. 32 bits of a hash reveal nothing about the key. */
function fingerprint(bytes: Uint8Array): number {
  return createHash('sha256').update(label).update(bytes).digest().readUInt32BE(0);
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: ': it does not exist (--root-key-file sets another path)',
  ELOOP: ': it is a symbolic link',
  EACCES: ': this user may not read it',
};

function reasonOf(cause: unknown): string {
  return reasons[(cause as NodeJS.ErrnoException).code ?? ''] ?? '';
}

async function readKey(path: string, self: number | undefined): Promise<Uint8Array> {
  let file: FileHandle;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (cause) {
    throw new RootKeyError(`the root key file ${path} can't be opened${reasonOf(cause)}`, cause);
  }
  try {
    const stats = await file.stat();
    if ((stats.mode & sharedBits(stats, self)) !== 0) {
      throw new RootKeyError(`the root key file ${path} can be read by others: chmod 400 it`);
    }
    if (self !== undefined) await refuseForeign(path, stats, self);
    return parseKey(await file.readFile('utf8'), path);
  } finally {
    await file.close();
  }
}

/**
 * For a file owned by root, the group may have read access: this is how orchestrators pass credentials (a Kubernetes
 * `fsGroup`, or an access control list of systemd, which looks like the group's permissions). We could not read it
 * otherwise.
 */
function sharedBits({ uid }: Stats, self: number | undefined): number {
  return uid === root && self !== root && self !== undefined ? 0o037 : 0o077;
}

/**
 * If another user owns the file and could have placed it there, they know our root key, and can open everything that we
 * seal.
 */
async function refuseForeign(path: string, file: Stats, self: number): Promise<void> {
  const isForeign = ({ uid }: Stats) => uid !== self && uid !== root;
  if (!isForeign(file)) return;
  const folder = await stat(dirname(path));
  if (isForeign(folder) || (folder.mode & 0o022) !== 0) {
    throw new RootKeyError(
      `the root key file ${path} belongs to another user, in a folder that others can write to: chown it`,
    );
  }
}

function parseKey(text: string, path: string): Uint8Array {
  const [, body] = shape.exec(text) ?? [];
  if (body === undefined) {
    throw new RootKeyError(`the root key file ${path} does not contain a Strongroom root key`);
  }
  return Buffer.from(body, 'base64');
}

/** A second writer keeps the first one's key. */
async function writeKeyOnce(path: string): Promise<void> {
  makeFolder(dirname(path));
  const text = `${label}:${randomBytes(keySize).toString('base64')}\n`;
  await createDurably(path, text, 0o400).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
    await syncFolder(dirname(path)); // The first one may not have got that far.
  });
}
