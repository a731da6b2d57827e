/**
 * Operations with a key that never leaves the service: signatures, their verification, and decryption, in the formats
 * of JOSE (RFC 7518, RFC 8037). Each algorithm accepts only its own kind of keys.
 */
import {
  constants,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  privateDecrypt,
  sign,
  verify,
} from 'node:crypto';
import { invalid } from '../contract/errors.ts';
import type { UseAlgorithm } from '../contract/use-names.ts';

interface Scheme {
  /** The runtime's name for the type of the key, and its curve if it has one. */
  readonly types: readonly string[];
  readonly curve?: string;
  readonly digest: string | null;
  readonly options?: object;
}

const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
const joined = { dsaEncoding: 'ieee-p1363' };
const rsa = (digest: string): Scheme => ({ types: ['rsa'], digest });
const rsaPss = (digest: string): Scheme => ({ types: ['rsa', 'rsa-pss'], digest, options: pss });
const ecdsa = (curve: string, digest: string): Scheme => ({ types: ['ec'], curve, digest, options: joined });

const schemes: Readonly<Record<UseAlgorithm, Scheme>> = {
  RS256: rsa('sha256'),
  RS384: rsa('sha384'),
  RS512: rsa('sha512'),
  PS256: rsaPss('sha256'),
  PS384: rsaPss('sha384'),
  PS512: rsaPss('sha512'),
  ES256: ecdsa('prime256v1', 'sha256'),
  ES384: ecdsa('secp384r1', 'sha384'),
  ES512: ecdsa('secp521r1', 'sha512'),
  EdDSA: { types: ['ed25519', 'ed448'], digest: null },
  'RSA-OAEP': rsa('sha1'),
  'RSA-OAEP-256': rsa('sha256'),
};

function schemeFor(key: KeyObject, algorithm: UseAlgorithm): Scheme {
  const scheme = schemes[algorithm];
  const isOfType = scheme.types.includes(key.asymmetricKeyType ?? '');
  const isOnCurve = scheme.curve === undefined || key.asymmetricKeyDetails?.namedCurve === scheme.curve;
  if (!isOfType || !isOnCurve) throw invalid('alg', 'does not match the key');
  return scheme;
}

/** In base64url, like all input and output here. */
export function signWith(pem: string, algorithm: UseAlgorithm, message: string): string {
  const key = createPrivateKey(pem);
  const { digest, options } = schemeFor(key, algorithm);
  return sign(digest, Buffer.from(message, 'base64url'), { key, ...options }).toString('base64url');
}

export function verifyWith(
  publicPem: string,
  algorithm: UseAlgorithm,
  message: string,
  signature: string,
): boolean {
  const key = createPublicKey(publicPem);
  const { digest, options } = schemeFor(key, algorithm);
  const [signed, proof] = [Buffer.from(message, 'base64url'), Buffer.from(signature, 'base64url')];
  return verify(digest, signed, { key, ...options }, proof);
}

export function decryptWith(pem: string, algorithm: UseAlgorithm, ciphertext: string): string {
  const key = createPrivateKey(pem);
  const { digest } = schemeFor(key, algorithm);
  const padding = constants.RSA_PKCS1_OAEP_PADDING;
  try {
    const opened = privateDecrypt({ key, padding, oaepHash: digest! }, Buffer.from(ciphertext, 'base64url'));
    return opened.toString('base64url');
  } catch {
    throw invalid('ciphertext', 'can’t be decrypted with this key');
  }
}
