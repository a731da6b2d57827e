/**
 * Seals text for this machine's own files under a key derived from a credential or a random key, bound to what it is
 * for. Without the same key and the same binding, it can't be opened.
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';

const cipher = 'aes-256-gcm';
const [saltSize, nonceSize, tagSize] = [32, 12, 16];

export interface TextSealer {
  /** A name for the file that reveals neither the key nor what it is bound to. */
  readonly name: string;
  seal(plain: Buffer): string;
  /** Null if it was altered, or sealed for something else. */
  open(text: string): Buffer | null;
}

export function textSealer(key: string, binding: string): TextSealer {
  const bound = Buffer.from(binding);
  const keyFor = (salt: Buffer) => Buffer.from(hkdfSync('sha256', key, salt, bound, 32));
  return {
    name: keyFor(createHash('sha256').update('name').digest()).toString('hex').slice(0, 32),
    seal: plain => {
      const [salt, nonce] = [randomBytes(saltSize), randomBytes(nonceSize)];
      const sealing = createCipheriv(cipher, keyFor(salt), nonce, { authTagLength: tagSize }).setAAD(bound);
      const sealed = Buffer.concat([sealing.update(plain), sealing.final()]);
      return Buffer.concat([salt, nonce, sealing.getAuthTag(), sealed]).toString('base64');
    },
    open: text => {
      const bytes = Buffer.from(text, 'base64');
      const [nonceAt, tagAt, sealedAt] = [saltSize, saltSize + nonceSize, saltSize + nonceSize + tagSize];
      try {
        const opening = createDecipheriv(
          cipher,
          keyFor(bytes.subarray(0, nonceAt)),
          bytes.subarray(nonceAt, tagAt),
          { authTagLength: tagSize },
        );
        opening.setAAD(bound).setAuthTag(bytes.subarray(tagAt, sealedAt));
        return Buffer.concat([opening.update(bytes.subarray(sealedAt)), opening.final()]);
      } catch {
        return null;
      }
    },
  };
}
