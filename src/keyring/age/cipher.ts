/** The cipher of age files, ChaCha20-Poly1305, with the tag after the text. */
import { createCipheriv, createDecipheriv } from 'node:crypto';

const cipher = 'chacha20-poly1305';
export const tagSize = 16;

export function encrypted(key: Buffer, nonce: Buffer, plain: Buffer): Buffer {
  const sealing = createCipheriv(cipher, key, nonce, { authTagLength: tagSize });
  return Buffer.concat([sealing.update(plain), sealing.final(), sealing.getAuthTag()]);
}

/** Returns null if the bytes were not encrypted with this key, or changed. */
export function decrypted(key: Buffer, nonce: Buffer, bytes: Buffer): Buffer | null {
  const opening = createDecipheriv(cipher, key, nonce, { authTagLength: tagSize });
  opening.setAuthTag(bytes.subarray(bytes.length - tagSize));
  try {
    return Buffer.concat([opening.update(bytes.subarray(0, bytes.length - tagSize)), opening.final()]);
  } catch {
    return null;
  }
}
