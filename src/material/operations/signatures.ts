/**
 * Signatures and message authentication codes, in the formats of JOSE (RFC 7518, RFC 8037). Each algorithm accepts only
 * its own kind of keys.
 */
import {
  constants,
  createHmac,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  timingSafeEqual,
  verify,
} from 'node:crypto';
import { algorithmMismatch } from './refusals.ts';

interface Scheme {
  /** The runtime's name for the type of the key, and its curve if it has one. */
  readonly types: readonly string[];
  readonly curve?: string;
  readonly digest: string | null;
  readonly options?: object;
}

const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
const joined = { dsaEncoding: 'ieee-p1363' } as const;
const sequence = { dsaEncoding: 'der' } as const;
const rsa = (digest: string): Scheme => ({ types: ['rsa'], digest });
const rsaPss = (digest: string): Scheme => ({ types: ['rsa', 'rsa-pss'], digest, options: pss });
const ecdsa = (curve: string, digest: string): Scheme => ({ types: ['ec'], curve, digest, options: joined });
const lattice = (size: number): Scheme => ({ types: [`ml-dsa-${size}`], digest: null });

const schemes: Readonly<Record<string, Scheme>> = {
  RS256: rsa('sha256'),
  RS384: rsa('sha384'),
  RS512: rsa('sha512'),
  PS256: rsaPss('sha256'),
  PS384: rsaPss('sha384'),
  PS512: rsaPss('sha512'),
  ES256: ecdsa('prime256v1', 'sha256'),
  ES384: ecdsa('secp384r1', 'sha384'),
  ES512: ecdsa('secp521r1', 'sha512'),
  ES256K: ecdsa('secp256k1', 'sha256'),
  EdDSA: { types: ['ed25519', 'ed448'], digest: null },
  'ML-DSA-44': lattice(44),
  'ML-DSA-65': lattice(65),
  'ML-DSA-87': lattice(87),
};

function schemeFor(key: KeyObject, algorithm: string): Scheme {
  const scheme = Object.hasOwn(schemes, algorithm) ? schemes[algorithm]! : undefined;
  const isOfType = scheme?.types.includes(key.asymmetricKeyType ?? '');
  const isOnCurve = scheme?.curve === undefined || key.asymmetricKeyDetails?.namedCurve === scheme.curve;
  if (scheme === undefined || !isOfType || !isOnCurve) throw algorithmMismatch();
  return scheme;
}

/** Loads the private key once, for any number of messages. */
export function signerOf(pem: string): (algorithm: string, message: Uint8Array, der?: boolean) => Buffer {
  const key = createPrivateKey(pem);
  return (algorithm, message, der) => {
    const { digest, ...scheme } = schemeFor(key, algorithm);
    const options = optionsOf(scheme, der);
    return sign(digest, message, options === undefined ? key : { key, ...options });
  };
}

export function verifierOf(
  publicPem: string,
): (algorithm: string, message: Uint8Array, signature: Uint8Array, der?: boolean) => boolean {
  const key = createPublicKey(publicPem);
  return (algorithm, message, signature, der) => {
    const { digest, ...scheme } = schemeFor(key, algorithm);
    return verify(digest, message, { key, ...optionsOf(scheme, der) }, signature);
  };
}

/** JOSE joins both numbers of an ECDSA signature; X.509 and most other formats have them in a sequence. */
function optionsOf({ options }: Pick<Scheme, 'options'>, der = false): object | undefined {
  return options === joined && der ? sequence : options;
}

const digests: Readonly<Record<string, string>> = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' };

export function macWith(key: Uint8Array, algorithm: string, message: Uint8Array): Buffer {
  const digest = Object.hasOwn(digests, algorithm) ? digests[algorithm]! : null;
  if (digest === null || key.length * 8 < Number(algorithm.slice(2))) throw algorithmMismatch();
  return createHmac(digest, key).update(message).digest();
}

/** Takes as long for a wrong code as for a right one. */
export function isMacOf(key: Uint8Array, algorithm: string, message: Uint8Array, mac: Uint8Array): boolean {
  const own = macWith(key, algorithm, message);
  return own.length === mac.length && timingSafeEqual(own, mac);
}
