/**
 * The algorithms that a key may have, and how each is identified in its encoding.
 *
 * Guarantees: a key with an algorithm that is not in these tables is rejected at its identifier, so OpenSSL never loads
 * explicit curve parameters, DSA groups or anything else that a file may name.
 */
import { invalid } from '../contract/errors.ts';
import type { KeySpecification } from '../contract/keys.ts';
import { type Der, DerError, oid, sequence, tags } from './der.ts';

export type KeyType = KeySpecification['key_type'];

export interface Algorithm {
  readonly keyType: KeyType;
  /** Bits, or the parameter-set number; 0 for RSA, where the modulus determines it. */
  readonly keySize: number;
  readonly curve: string | null;
}

export interface Curve extends Algorithm {
  readonly keyType: 'EC';
  readonly curve: string;
  /** OpenSSL's name for it. */
  readonly openssl: string;
  readonly bytes: number;
  /** The order of the group: a private key is smaller. */
  readonly order: bigint;
}

export const rsa: Algorithm = { keyType: 'RSA', keySize: 0, curve: null };

const curve = (name: string, openssl: string, keySize: number, order: string): Curve => ({
  keyType: 'EC',
  keySize,
  curve: name,
  openssl,
  bytes: Math.ceil(keySize / 8),
  order: BigInt(`0x${order}`),
});

export const curves: Readonly<Record<string, Curve>> = {
  '1.2.840.10045.3.1.7': curve(
    'P-256',
    'prime256v1',
    256,
    'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551',
  ),
  '1.3.132.0.34': curve(
    'P-384',
    'secp384r1',
    384,
    'ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973',
  ),
  '1.3.132.0.35': curve(
    'P-521',
    'secp521r1',
    521,
    `1${'f'.repeat(64)}fa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409`,
  ),
  '1.3.132.0.10': curve(
    'secp256k1',
    'secp256k1',
    256,
    'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141',
  ),
};

const okp = (name: string): Algorithm => ({ keyType: 'OKP', keySize: 256, curve: name });
const lattice = (keyType: 'ML-DSA' | 'ML-KEM', keySize: number): Algorithm => ({
  keyType,
  keySize,
  curve: null,
});

/** Algorithms that the identifier determines completely, without parameters. */
const plain: Readonly<Record<string, Algorithm>> = {
  '1.3.101.112': okp('Ed25519'),
  '1.3.101.110': okp('X25519'),
  '2.16.840.1.101.3.4.3.17': lattice('ML-DSA', 44),
  '2.16.840.1.101.3.4.3.18': lattice('ML-DSA', 65),
  '2.16.840.1.101.3.4.3.19': lattice('ML-DSA', 87),
  '2.16.840.1.101.3.4.4.1': lattice('ML-KEM', 512),
  '2.16.840.1.101.3.4.4.2': lattice('ML-KEM', 768),
  '2.16.840.1.101.3.4.4.3': lattice('ML-KEM', 1024),
};

/** Reads the AlgorithmIdentifier of a PKCS#8 or SPKI. */
export function readAlgorithm(identifier: Der | undefined, field: string): Algorithm {
  const [name, parameters] = sequence(identifier, 1, 2);
  const id = oid(name);
  if (id === '1.2.840.113549.1.1.1') return readRsa(parameters);
  if (id === '1.2.840.10045.2.1') return readCurve(parameters, field);
  const algorithm = plain[id];
  if (!algorithm)
    throw invalid(
      field,
      'has an algorithm that is not supported: use RSA, EC, Ed25519, X25519, ML-DSA or ML-KEM',
    );
  if (parameters) throw new DerError('unexpected parameters');
  return algorithm;
}

function readRsa(parameters: Der | undefined): Algorithm {
  if (parameters && parameters.tag !== tags.null) throw new DerError('unexpected parameters');
  return rsa;
}

/** Only named curves: with explicit parameters, a file could pass off a weak curve as a strong key. */
export function readCurve(parameters: Der | undefined, field: string): Curve {
  const found = parameters?.tag === tags.oid ? curves[oid(parameters)] : undefined;
  if (!found) throw invalid(field, 'has a curve that is not supported: use P-256, P-384, P-521 or secp256k1');
  return found;
}
