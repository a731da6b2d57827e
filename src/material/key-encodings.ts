/**
 * Imports one key from the DER of one encoding: PKCS#8, PKCS#1, SEC1 or SPKI.
 *
 * Guarantees: the encoding was parsed strictly and its numbers checked before OpenSSL loaded it; EC points are returned
 * uncompressed, so that a key has only one PEM; a private key was tested.
 * Refuses: unknown algorithms and curves, a public key that belongs to another private key, keys that don't work.
 */
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { invalid } from '../contract/errors.ts';
import { count, type Der, DerError, octets, optionals, readDer, sequence, wholeBits } from './der.ts';
import { type Algorithm, type Curve, type KeyType, readAlgorithm, rsa } from './key-algorithms.ts';
import {
  checkEcPrivate,
  checkEd25519Point,
  checkPoint,
  checkRsaPrivate,
  checkRsaPublic,
} from './key-checks.ts';
import { canAgreeWith, works } from './key-proof.ts';
import { refusing } from './refusing.ts';

export interface KeyMaterial {
  readonly holds: 'private' | 'public';
  readonly keyType: KeyType;
  /** Bits; the parameter-set number for ML-DSA and ML-KEM. */
  readonly keySize: number;
  readonly curve: string | null;
  /** PKCS#8 for a private key, SPKI for a public one; see `symmetric-key.ts` for the others. */
  readonly pem: string;
  /** SPKI; empty for a symmetric key. */
  readonly publicPem: string;
}

const unreadable = 'is not a readable key: it is damaged or cut off, or its encoding is not strict DER';

export function importPkcs8(bytes: Buffer, field: string): KeyMaterial {
  return refusing(field, unreadable, () => {
    const [version, identifier, inner, ...options] = sequence(readDer(bytes), 3, 5);
    if (count(version) > 1) throw new DerError('a PKCS#8 of an unsupported version');
    const [, enclosed] = optionals(options, 0xa0, 0x81);
    const algorithm = checkPrivate(readAlgorithm(identifier, field), octets(inner), field);
    const key = createPrivateKey({ key: bytes, format: 'der', type: 'pkcs8' });
    checkEnclosedPublic(enclosed, key, field);
    return privateMaterial(key, algorithm, field);
  });
}

/** Checks what can be checked for the algorithm, and adds RSA's size to it. */
function checkPrivate(algorithm: Algorithm, inner: Buffer, field: string): Algorithm {
  if (algorithm.keyType === 'RSA') return { ...rsa, keySize: checkRsaPrivate(readDer(inner), field) };
  if (algorithm.keyType === 'EC') return checkEcPrivate(readDer(inner), algorithm as Curve, field);
  return algorithm;
}

/** A version 2 PKCS#8 may contain the public key in `[1]`. OpenSSL ignores it, but other parsers may not. */
function checkEnclosedPublic(enclosed: Der | undefined, key: KeyObject, field: string): void {
  if (!enclosed) return;
  const spki = readDer(createPublicKey(key).export({ format: 'der', type: 'spki' }));
  if (!wholeBits(sequence(spki)[1]).equals(enclosed.body.subarray(1)))
    throw invalid(field, 'contains a public key that does not belong to its private key');
}

export function importPkcs1Private(bytes: Buffer, field: string): KeyMaterial {
  return refusing(field, unreadable, () => {
    const keySize = checkRsaPrivate(readDer(bytes), field);
    return privateMaterial(
      createPrivateKey({ key: bytes, format: 'der', type: 'pkcs1' }),
      { ...rsa, keySize },
      field,
    );
  });
}

export function importEcPrivate(bytes: Buffer, field: string): KeyMaterial {
  return refusing(field, unreadable, () => {
    const curve = checkEcPrivate(readDer(bytes), undefined, field);
    return privateMaterial(createPrivateKey({ key: bytes, format: 'der', type: 'sec1' }), curve, field);
  });
}

export function importPkcs1Public(bytes: Buffer, field: string): KeyMaterial {
  return refusing(field, unreadable, () => {
    const keySize = checkRsaPublic(readDer(bytes), field);
    return publicMaterial(createPublicKey({ key: bytes, format: 'der', type: 'pkcs1' }), { ...rsa, keySize });
  });
}

export function importSpki(bytes: Buffer, field: string): KeyMaterial {
  return refusing(field, unreadable, () => {
    const [identifier, bits] = sequence(readDer(bytes), 2, 2);
    const algorithm = checkPublic(readAlgorithm(identifier, field), wholeBits(bits), field);
    const key = createPublicKey({ key: bytes, format: 'der', type: 'spki' });
    if (algorithm.curve === 'X25519' && !canAgreeWith(key))
      throw invalid(field, 'is an X25519 key of low order');
    return publicMaterial(key, algorithm);
  });
}

function checkPublic(algorithm: Algorithm, bits: Buffer, field: string): Algorithm {
  if (algorithm.keyType === 'RSA') return { ...rsa, keySize: checkRsaPublic(readDer(bits), field) };
  if (algorithm.keyType === 'EC') checkPoint(bits, algorithm as Curve, field);
  if (algorithm.curve === 'Ed25519') checkEd25519Point(bits, field);
  return algorithm;
}

export function privateMaterial(key: KeyObject, algorithm: Algorithm, field = 'pem'): KeyMaterial {
  if (!works(key, algorithm)) throw invalid(field, 'is a private key that does not work with its public key');
  const { keyType, keySize, curve } = algorithm;
  const ours =
    keyType === 'EC' ? createPrivateKey({ key: key.export({ format: 'jwk' }), format: 'jwk' }) : key;
  const pem = ours.export({ format: 'pem', type: 'pkcs8' }) as string;
  return { holds: 'private', keyType, keySize, curve, pem, publicPem: spkiPem(createPublicKey(ours)) };
}

function publicMaterial(key: KeyObject, { keyType, keySize, curve }: Algorithm): KeyMaterial {
  const ours =
    keyType === 'EC' ? createPublicKey({ key: key.export({ format: 'jwk' }), format: 'jwk' }) : key;
  const pem = spkiPem(ours);
  return { holds: 'public', keyType, keySize, curve, pem, publicPem: pem };
}

function spkiPem(key: KeyObject): string {
  return key.export({ format: 'pem', type: 'spki' }) as string;
}
