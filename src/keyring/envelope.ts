/**
 * The byte layout of everything sealed, and the only place that calls a cipher.
 *
 *   one-use   1 format | 1 algorithm | 4 key id | 12 nonce | 32 data key + 16 tag | 12 nonce | n text + 16 tag
 *   direct    1 format | 1 algorithm | 4 key id | 12 nonce | n text + 16 tag
 *
 * One-use seals under a random data key that the parent key wraps, so no two values share a key.
 * Direct seals under the parent itself: for wrapping keys, and for short-lived answers in memory.
 *
 * Every ciphertext is bound to its place: format, algorithm and key id come from the header, the rest from
 * the context, each with its length in front, so that no two contexts encode to the same bytes. Whatever
 * fails to open, fails in one way: `Unsealable`, with nothing of the plaintext in it.
 */
import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto';

declare const sealed: unique symbol;
/** Bytes that only a keyring can open. They may be stored, copied and logged by size. */
export type Sealed = Uint8Array & { readonly [sealed]: true };

export type Random = (size: number) => Uint8Array;

/** A key that seals others or values. `id` goes into each header, so that rotation can tell them apart. */
export interface ParentKey {
  readonly id: number;
  readonly key: KeyObject;
}

export class Unsealable extends Error {
  constructor(cause?: unknown) {
    super('sealed bytes do not open in this place with this key', { cause });
    this.name = 'Unsealable';
  }
}

const format = 1;
const algorithms = { oneUse: 1, direct: 2 } as const;
type Algorithm = (typeof algorithms)[keyof typeof algorithms];

const cipherName = 'aes-256-gcm';
const keySize = 32;
const nonceSize = 12;
const tagSize = 16;
const headerSize = 6;
const prefixSize = 4;
const wrappedKeySize = keySize + tagSize;

/** Joins fields so that the result can be read in one way only: each is preceded by its length. */
export function lengthPrefixed(fields: readonly (string | Uint8Array)[]): Buffer {
  let size = 0;
  for (const field of fields) size += prefixSize + Buffer.byteLength(field);
  const joined = Buffer.allocUnsafe(size);
  let at = 0;
  for (const field of fields) {
    const from = at + prefixSize;
    if (typeof field !== 'string') joined.set(field, from);
    const length = typeof field === 'string' ? joined.write(field, from, 'utf8') : field.length;
    joined.writeUInt32BE(length, at);
    at = from + length;
  }
  return joined;
}

export function sealOneUse(
  parent: ParentKey,
  context: Uint8Array,
  plain: Uint8Array,
  random: Random,
): Sealed {
  const head = header(algorithms.oneUse, parent.id);
  const bound = lengthPrefixed([head, context]);
  const dataKeyBytes = random(keySize);
  const wrappedKey = encrypt(parent.key, bound, dataKeyBytes, random);
  const text = encrypt(createSecretKey(dataKeyBytes), bound, plain, random);
  dataKeyBytes.fill(0);
  return Buffer.concat([head, wrappedKey, text]) as unknown as Sealed;
}

export function openOneUse(parent: ParentKey, context: Uint8Array, bytes: Uint8Array): Buffer {
  const head = expectHeader(bytes, algorithms.oneUse, parent.id);
  const bound = lengthPrefixed([head, context]);
  const textAt = headerSize + nonceSize + wrappedKeySize;
  const dataKeyBytes = decrypt(parent.key, bound, bytes.subarray(headerSize, textAt));
  const plain = decrypt(createSecretKey(dataKeyBytes), bound, bytes.subarray(textAt));
  dataKeyBytes.fill(0);
  return plain;
}

export function sealDirect(
  parent: ParentKey,
  context: Uint8Array,
  plain: Uint8Array,
  random: Random,
): Sealed {
  const head = header(algorithms.direct, parent.id);
  const text = encrypt(parent.key, lengthPrefixed([head, context]), plain, random);
  return Buffer.concat([head, text]) as unknown as Sealed;
}

export function openDirect(parent: ParentKey, context: Uint8Array, bytes: Uint8Array): Buffer {
  const head = expectHeader(bytes, algorithms.direct, parent.id);
  return decrypt(parent.key, lengthPrefixed([head, context]), bytes.subarray(headerSize));
}

/** Which parent key the bytes claim to be sealed under. The claim is proven only by opening them. */
export function parentIdOf(bytes: Uint8Array): number {
  if (bytes.length < headerSize || bytes[0] !== format) throw new Unsealable();
  return Buffer.from(bytes.buffer, bytes.byteOffset, headerSize).readUInt32BE(2);
}

/** How sealed bytes name their parent key: what a store looks for that can't open them. */
export function parentMark(id: number): Uint8Array {
  return header(algorithms.direct, id).subarray(2);
}

function header(algorithm: Algorithm, keyId: number): Buffer {
  const head = Buffer.allocUnsafe(headerSize);
  head[0] = format;
  head[1] = algorithm;
  head.writeUInt32BE(keyId, 2);
  return head;
}

function expectHeader(bytes: Uint8Array, algorithm: Algorithm, keyId: number): Buffer {
  const expected = header(algorithm, keyId);
  if (!expected.equals(bytes.subarray(0, headerSize))) throw new Unsealable();
  return expected;
}

function encrypt(key: KeyObject, bound: Uint8Array, plain: Uint8Array, random: Random): Buffer {
  const nonce = random(nonceSize);
  const cipher = createCipheriv(cipherName, key, nonce, { authTagLength: tagSize });
  cipher.setAAD(bound);
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

function decrypt(key: KeyObject, bound: Uint8Array, bytes: Uint8Array): Buffer {
  if (bytes.length < nonceSize + tagSize) throw new Unsealable();
  const tagAt = bytes.length - tagSize;
  const decipher = createDecipheriv(cipherName, key, bytes.subarray(0, nonceSize), {
    authTagLength: tagSize,
  });
  decipher.setAAD(bound);
  decipher.setAuthTag(bytes.subarray(tagAt));
  const plain = decipher.update(bytes.subarray(nonceSize, tagAt));
  try {
    decipher.final(); // GCM releases no further bytes here; it only decides whether `plain` may be used.
  } catch (cause) {
    plain.fill(0);
    throw new Unsealable(cause);
  }
  return plain;
}
