/** Symmetric keys, generated or imported. */
import { randomBytes } from 'node:crypto';
import { invalid } from '../contract/errors.ts';
import type { KeyMaterial } from './key-encodings.ts';
import { symmetricText } from './operations/stored-symmetric.ts';

type SymmetricType = 'AES' | 'HMAC';

const aesBytes = 32;
const shortestHmac = 32;
const longestHmac = 512;

export function generateSymmetric(keyType: SymmetricType, bits: number): KeyMaterial {
  return materialOf(keyType, randomBytes(bits / 8));
}

export function importSymmetric(keyType: SymmetricType, k: string): KeyMaterial {
  const bytes = Buffer.from(k, 'base64url');
  const { length } = bytes;
  if (bytes.toString('base64url') !== k) throw invalid('oct', 'must contain k as base64url without padding');
  if (keyType === 'AES' && length !== aesBytes) throw invalid('oct', 'must contain 32 bytes for AES');
  if (keyType === 'HMAC' && (length < shortestHmac || length > longestHmac))
    throw invalid('oct', `must contain ${shortestHmac} to ${longestHmac} bytes for HMAC`);
  return materialOf(keyType, bytes);
}

/** It is private like a private key, and has no public one. */
function materialOf(keyType: SymmetricType, bytes: Buffer): KeyMaterial {
  const pem = symmetricText(bytes);
  return { holds: 'private', keyType, keySize: bytes.length * 8, curve: null, pem, publicPem: '' };
}
