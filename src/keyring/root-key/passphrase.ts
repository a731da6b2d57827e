/**
 * A root key derived from a passphrase with argon2id. Salt and costs are stored with each wrapped keyring, so that the
 * costs can be raised later. Costs that are read back are limited, so that an edited record can't exhaust the machine.
 */
import crypto, { type Argon2Parameters, createSecretKey, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { isDirect, openDirect, type ParentKey, sealDirect } from '../sealing/envelope.ts';
import { KeyringDamaged, type RootKey, RootKeyError, type RootKeySource } from './root-key.ts';

const provider = 'passphrase';
const saltSize = 16;
const headSize = saltSize + 12;
const minimumLength = 12;
const parentId = 0;
/** A changed byte in the salt or the ciphertext can't be distinguished from a wrong passphrase. */
const notTheOne =
  'the passphrase is not the one that protects this data (if it is the right one, the stored keyring is damaged)';

export interface Costs {
  /** Memory in KiB. */
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
}

/** RFC 9106's second recommended choice, with twice its memory. */
const defaultCosts: Costs = { memory: 128 * 1024, passes: 3, parallelism: 4 };
/** The minimum per lane that argon2 defines, in KiB. */
const leastMemory = 8;
const highestCosts: Costs = { memory: 2 * 1024 * 1024, passes: 64, parallelism: 64 };

const derive = promisify((parameters: Argon2Parameters, done: (error: Error | null, key: Buffer) => void) =>
  crypto.argon2('argon2id', parameters, done),
);

/** `read` returns the passphrase when it is needed: from a prompt, a file or the environment. */
export function passphrase(read: () => Promise<string>, costs: Costs = defaultCosts): RootKeySource {
  const open = async () => {
    // The first releases of the oldest supported runtime lack argon2. A key file works without it.
    if (crypto.argon2 === undefined) throw new RootKeyError('a passphrase requires Node 24.7 or newer');
    return passphraseRootKey(normalise(await read()), costs);
  };
  return { provider, exists: async () => false, open, create: open };
}

/** The same words typed on different keyboards may differ in their bytes. NFKC makes them equal. */
function normalise(text: string): string {
  const normal = text.replace(/\r?\n$/, '').normalize('NFKC');
  if ([...normal].length < minimumLength) {
    throw new RootKeyError(`the passphrase is too short: use at least ${minimumLength} characters`);
  }
  return normal;
}

function passphraseRootKey(secret: string, costs: Costs): RootKey {
  /** The newest derivation: what was wrapped last is usually unwrapped next. */
  let derived: { readonly head: Buffer; readonly key: ParentKey } | null = null;

  async function keyFor(head: Buffer): Promise<ParentKey> {
    if (derived === null || !derived.head.equals(head))
      derived = { head, key: await parentKey(secret, head) };
    return derived.key;
  }

  return {
    provider,
    wrap: async (context, plain) => {
      const head = writeHead(randomBytes(saltSize), costs);
      const parent = await keyFor(head);
      return Buffer.concat([head, sealDirect(parent, context, plain, randomBytes)]);
    },
    unwrap: async (context, wrapped) => {
      const head = Buffer.from(wrapped.subarray(0, headSize));
      const sealed = wrapped.subarray(headSize);
      if (!isDirect(parentId, sealed)) throw new KeyringDamaged();
      const parent = await keyFor(head);
      try {
        return openDirect(parent, context, sealed);
      } catch (cause) {
        throw new RootKeyError(notTheOne, cause);
      }
    },
  };
}

async function parentKey(secret: string, head: Buffer): Promise<ParentKey> {
  const { memory, passes, parallelism } = readCosts(head);
  const bytes = await derive({
    message: Buffer.from(secret, 'utf8'),
    nonce: head.subarray(0, saltSize),
    memory,
    passes,
    parallelism,
    tagLength: 32,
  });
  return { id: parentId, key: createSecretKey(bytes) };
}

function writeHead(salt: Uint8Array, costs: Costs): Buffer {
  const head = Buffer.alloc(headSize);
  head.set(salt);
  head.writeUInt32BE(costs.memory, saltSize);
  head.writeUInt32BE(costs.passes, saltSize + 4);
  head.writeUInt32BE(costs.parallelism, saltSize + 8);
  return head;
}

function readCosts(head: Buffer): Costs {
  if (head.length !== headSize) throw new KeyringDamaged();
  const costs: Costs = {
    memory: head.readUInt32BE(saltSize),
    passes: head.readUInt32BE(saltSize + 4),
    parallelism: head.readUInt32BE(saltSize + 8),
  };
  for (const name of ['memory', 'passes', 'parallelism'] as const) {
    if (costs[name] < 1 || costs[name] > highestCosts[name]) {
      throw new KeyringDamaged(new RangeError(`argon2 ${name} is outside the allowed range`));
    }
  }
  if (costs.memory < costs.parallelism * leastMemory) throw new KeyringDamaged();
  return costs;
}
