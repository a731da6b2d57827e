/**
 * Binds what is wrapped to its context, for providers that have no additional data of their own, or may ignore it: the
 * digest of the context is wrapped with the rest, and compared when it is opened.
 */
import { hash as digest, timingSafeEqual } from 'node:crypto';
import { RootKeyError } from './root-key.ts';

const digestSize = 32;

export function bound(context: Uint8Array, plain: Uint8Array): Buffer {
  return Buffer.concat([digest('sha256', context, 'buffer'), plain]);
}

/** Throws `RootKeyError` if it was bound to another context. */
export function unbound(context: Uint8Array, bytes: Buffer): Buffer {
  const found = bytes.subarray(0, digestSize);
  const isOurs = found.length === digestSize && timingSafeEqual(found, digest('sha256', context, 'buffer'));
  if (!isOurs) throw new RootKeyError('it was wrapped for another slot');
  return bytes.subarray(digestSize);
}
