/**
 * The byte layout of everything sealed, and the only place that calls a cipher.
 *
 *   one-use   1 format | 1 algorithm | 4 key id | 12 nonce | 32 data key + 16 tag | 12 nonce | n text + 16 tag
 *   direct    1 format | 1 algorithm | 4 key id | 12 nonce | n text + 16 tag
 *
 * One-use seals with a random data key that the parent key wraps, so no two values share a key. Direct seals with the
 * parent itself: for wrapping keys, and for short-lived answers in memory.
 *
 * Every ciphertext is bound to its place: format, algorithm and key id come from the header, the rest from the context.
 * Each part is preceded by its length, so that no two contexts have the same encoding. Every failure to open is an
 * `Unsealable` error, which contains nothing of the plaintext.
 */
import { createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto';
import type { Sealed } from '../../base/bytes.ts';

export type Random = (size: number) => Uint8Array;

/**
 * A key that seals other keys or values. `id` is part of each header, so that keys can be distinguished after a
 * rotation.
 */
export interface ParentKey {
  readonly id: number;
  readonly key: KeyObject;
}

export class Unsealable extends Error {
  constructor(cause?: unknown) {
    super('sealed bytes can’t be opened in this place with this key', { cause });
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

/** Joins fields unambiguously: each is preceded by its length. */
export function lengthPrefixed(fields: readonly (string | Uint8Array)[]): Buffer {
  // Built as one text of bytes: a call into the runtime per field would cost more than hashing the result.
  let joined = '';
  for (const field of fields) joined += withLength(asBytes(field));
  return Buffer.from(joined, 'latin1');
}

/** Bytes as text, one character per byte. */
export type ByteText = string;

const ascii = /^[\0-\x7f]*$/;

/** The UTF-8 bytes of a text, or the given bytes. */
export function asBytes(field: string | Uint8Array): ByteText {
  if (typeof field !== 'string')
    return Buffer.from(field.buffer, field.byteOffset, field.length).toString('latin1');
  return ascii.test(field) ? field : Buffer.from(field, 'utf8').toString('latin1');
}

const shortPrefixes = Array.from({ length: 256 }, (_, length) => `\0\0\0${String.fromCharCode(length)}`);

export function withLength(bytes: ByteText): ByteText {
  const { length } = bytes;
  const prefix = shortPrefixes[length];
  if (prefix !== undefined) return prefix + bytes;
  const [high, low] = [length >>> 16, length & 0xffff];
  return String.fromCharCode(high >>> 8, high & 255, low >>> 8, low & 255) + bytes;
}

export function sealOneUse(parent: ParentKey, context: Uint8Array, plain: Uint8Array, random: Random) {
  const head = header(algorithms.oneUse, parent.id);
  const bound = lengthPrefixed([head, context]);
  const sealed = unpooled(headerSize + encryptedSize(keySize) + encryptedSize(plain.length));
  sealed.set(head);
  const dataKey = random(keySize);
  const textAt = encryptInto(sealed, headerSize, parent.key, bound, dataKey, random);
  encryptInto(sealed, textAt, dataKey, bound, plain, random);
  dataKey.fill(0);
  return sealed as Uint8Array as Sealed;
}

export function openOneUse(parent: ParentKey, context: Uint8Array, bytes: Uint8Array): Buffer {
  const head = expectHeader(bytes, algorithms.oneUse, parent.id);
  const bound = lengthPrefixed([head, context]);
  const textAt = headerSize + encryptedSize(keySize);
  const dataKeyBytes = decrypt(parent.key, bound, bytes.subarray(headerSize, textAt));
  const plain = decrypt(dataKeyBytes, bound, bytes.subarray(textAt));
  dataKeyBytes.fill(0);
  return plain;
}

export function sealDirect(parent: ParentKey, context: Uint8Array, plain: Uint8Array, random: Random) {
  const head = header(algorithms.direct, parent.id);
  const sealed = unpooled(headerSize + encryptedSize(plain.length));
  sealed.set(head);
  encryptInto(sealed, headerSize, parent.key, lengthPrefixed([head, context]), plain, random);
  return sealed as Uint8Array as Sealed;
}

export function openDirect(parent: ParentKey, context: Uint8Array, bytes: Uint8Array): Buffer {
  const head = expectHeader(bytes, algorithms.direct, parent.id);
  return decrypt(parent.key, lengthPrefixed([head, context]), bytes.subarray(headerSize));
}

/** Whether bytes have the layout of this parent's direct seals. Whether they can be opened is not checked. */
export function isDirect(parentId: number, bytes: Uint8Array): boolean {
  const isLongEnough = bytes.length >= headerSize + nonceSize + tagSize;
  return isLongEnough && header(algorithms.direct, parentId).equals(bytes.subarray(0, headerSize));
}

/** The id of the parent key that the bytes claim. Only opening them proves it. */
export function parentIdOf(bytes: Uint8Array): number {
  if (bytes.length < headerSize || bytes[0] !== format) throw new Unsealable();
  return Buffer.from(bytes.buffer, bytes.byteOffset, headerSize).readUInt32BE(2);
}

/** The form in which sealed bytes name their parent key, for a store that can't open them. */
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

/** Unpooled memory: when sent to another thread, a slice of the runtime's pool would take the whole pool along. */
function unpooled(size: number): Buffer {
  return Buffer.allocUnsafeSlow(size);
}

function encryptedSize(plainSize: number): number {
  return nonceSize + plainSize + tagSize;
}

/** Writes nonce, text and tag. Returns the position after them. */
function encryptInto(
  sealed: Buffer,
  at: number,
  key: KeyObject | Uint8Array,
  bound: Uint8Array,
  plain: Uint8Array,
  random: Random,
): number {
  const nonce = random(nonceSize);
  const cipher = createCipheriv(cipherName, key, nonce, { authTagLength: tagSize });
  cipher.setAAD(bound);
  const textAt = at + nonceSize;
  const tagAt = textAt + plain.length;
  sealed.set(nonce, at);
  sealed.set(cipher.update(plain), textAt);
  cipher.final(); // GCM returns no further bytes here, only the tag.
  sealed.set(cipher.getAuthTag(), tagAt);
  return tagAt + tagSize;
}

function decrypt(key: KeyObject | Uint8Array, bound: Uint8Array, bytes: Uint8Array): Buffer {
  if (bytes.length < nonceSize + tagSize) throw new Unsealable();
  const tagAt = bytes.length - tagSize;
  const decipher = createDecipheriv(cipherName, key, bytes.subarray(0, nonceSize), {
    authTagLength: tagSize,
  });
  decipher.setAAD(bound);
  decipher.setAuthTag(bytes.subarray(tagAt));
  const plain = decipher.update(bytes.subarray(nonceSize, tagAt));
  try {
    decipher.final(); // GCM returns no further bytes here; it only determines whether `plain` may be used.
  } catch (cause) {
    plain.fill(0);
    throw new Unsealable(cause);
  }
  return plain;
}
