/**
 * Proves that a key works: it signs, agrees or decapsulates once before it is stored.
 *
 * Guarantees: the public key stored with a private key really belongs to it.
 */
import {
  createPublicKey,
  decapsulate,
  diffieHellman,
  encapsulate,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import type { Algorithm } from './key-algorithms.ts';

const probe = Buffer.from('strongroom: does this key work?');

/** Whether `privateKey` works with its public key; false also if OpenSSL refuses to use it. */
export function works(privateKey: KeyObject, { keyType, curve }: Algorithm): boolean {
  try {
    const publicKey = createPublicKey(privateKey);
    if (curve === 'X25519') return agrees(privateKey, publicKey);
    if (keyType === 'ML-KEM') return decapsulates(privateKey, publicKey);
    const digest = keyType === 'RSA' || keyType === 'EC' ? 'sha256' : null;
    return verify(digest, probe, publicKey, sign(digest, probe, privateKey));
  } catch {
    return false;
  }
}

function agrees(privateKey: KeyObject, publicKey: KeyObject): boolean {
  const other = generateKeyPairSync('x25519');
  const here = diffieHellman({ privateKey, publicKey: other.publicKey });
  return here.equals(diffieHellman({ privateKey: other.privateKey, publicKey }));
}

function decapsulates(privateKey: KeyObject, publicKey: KeyObject): boolean {
  const { sharedKey, ciphertext } = encapsulate(publicKey);
  return decapsulate(privateKey, ciphertext).equals(sharedKey);
}

/** Whether an X25519 public key can be used: points of low order give everyone the same secret. */
export function canAgreeWith(publicKey: KeyObject): boolean {
  try {
    diffieHellman({ privateKey: generateKeyPairSync('x25519').privateKey, publicKey });
    return true;
  } catch {
    return false;
  }
}
