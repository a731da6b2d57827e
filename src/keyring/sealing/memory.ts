/** Keys that are made by a process for itself, and die with it. */
import { createSecretKey, hash as digest, randomBytes } from 'node:crypto';
import type { Sealed } from '../../base/bytes.ts';
import { openDirect, type ParentKey, sealDirect } from './envelope.ts';

const keySize = 32;

/** Seals what lives in this process's memory alone, under a key that dies with it. One decryption to open. */
export class MemorySeal {
  readonly #key: ParentKey = { id: 0, key: createSecretKey(randomBytes(keySize)) };

  seal(place: Uint8Array, plain: Uint8Array): Sealed {
    return sealDirect(this.#key, place, plain, randomBytes);
  }

  open(place: Uint8Array, bytes: Sealed): Buffer {
    return openDirect(this.#key, place, bytes);
  }
}

/** A fast mark of a text for look-ups in this process's memory: without its key nobody can aim at an entry. */
export function memoryDigest(): (text: string) => string {
  const key = randomBytes(keySize).toString('base64');
  return text => digest('sha256', key + text, 'base64url');
}
