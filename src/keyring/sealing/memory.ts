/** Keys that a process creates for itself, and that exist only in its memory. */
import { createSecretKey, hash as digest, randomBytes } from 'node:crypto';
import type { Sealed } from '../../base/bytes.ts';
import { openDirect, type ParentKey, sealDirect } from './envelope.ts';

const keySize = 32;

/** Seals data in this process's memory with a key that is never stored. Opening takes one decryption. */
export class MemorySeal {
  readonly #key: ParentKey = { id: 0, key: createSecretKey(randomBytes(keySize)) };

  seal(place: Uint8Array, plain: Uint8Array): Sealed {
    return sealDirect(this.#key, place, plain, randomBytes);
  }

  open(place: Uint8Array, bytes: Sealed): Buffer {
    return openDirect(this.#key, place, bytes);
  }
}

/**
 * A fast keyed hash for lookups in this process's memory. Without the key, collisions with an entry can't be
 * constructed.
 */
export function memoryDigest(): (text: string) => string {
  const key = randomBytes(keySize).toString('base64');
  return text => digest('sha256', key + text, 'base64url');
}
