/** Bytes that a test makes up, where the service has them from its keyring. */
import type { Digest, Sealed, Stamp } from '../src/base/bytes.ts';

export const sealedFrom = (bytes: Uint8Array | string): Sealed =>
  Buffer.from(bytes as string) as Uint8Array as Sealed;
export const digestFrom = (bytes: Uint8Array): Digest => bytes as Digest;
export const stampFrom = (bytes: Uint8Array): Stamp => bytes as Stamp;
