/**
 * Creates and imports keys: generated here or provided as PEM, stored as PKCS#8 or SPKI.
 *
 * Guarantees: a returned key was parsed strictly, has one of the algorithms in `key-algorithms.ts`, is consistent, and,
 * if private, was tested once. Generating and decrypting block their thread until they are done, so they belong in the
 * worker pool. OpenSSL sees only DER that passed the parser, and never gets a chance to prompt for a passphrase.
 * Refuses, always as INVALID_REQUEST on `pem` or `passphrase`: no PEM or several, text around it, sizes over the limit,
 * a missing or wrong passphrase, excessive costs, and anything that `key-encodings.ts` refuses.
 */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { invalid } from '../contract/errors.ts';
import type { KeySpecification } from '../contract/keys.ts';
import { octets, readDer, sequence } from './der.ts';
import { encodePassphrase } from './derivation.ts';
import { curves, type KeyType } from './key-algorithms.ts';
import {
  importEcPrivate,
  importPkcs1Private,
  importPkcs1Public,
  importPkcs8,
  importSpki,
  type KeyMaterial,
  privateMaterial,
} from './key-encodings.ts';
import { openLegacyPem, planOpening, wrongPassphrase } from './password-encryption.ts';
import { type PemBlock, readPem } from './pem.ts';
import { refusing } from './refusing.ts';
import { generateSymmetric } from './symmetric-key.ts';

export type { KeyMaterial, KeyType };

const maxKeyBytes = 64 * 1024;

const generatePair = generateKeyPairSync as unknown as (
  type: string,
  options: object,
) => { privateKey: KeyObject };

export async function generateKey(spec: KeySpecification): Promise<KeyMaterial> {
  if (spec.key_type === 'AES' || spec.key_type === 'HMAC')
    return generateSymmetric(spec.key_type, spec.key_size);
  const [type, options] = generatorOf(spec);
  const { privateKey } = generatePair(type, options);
  const curve = 'curve' in spec ? spec.curve : null;
  const keySize = 'key_size' in spec ? spec.key_size : (curveNamed(spec.curve)?.keySize ?? 256);
  return privateMaterial(privateKey, { keyType: spec.key_type, keySize, curve });
}

type PairSpecification = Exclude<KeySpecification, { key_type: 'AES' | 'HMAC' }>;

function generatorOf(spec: PairSpecification): [type: string, options: object] {
  switch (spec.key_type) {
    case 'RSA':
      return ['rsa', { modulusLength: spec.key_size, publicExponent: 65_537 }];
    case 'EC':
      return ['ec', { namedCurve: curveNamed(spec.curve)?.openssl }];
    case 'OKP':
      return [spec.curve.toLowerCase(), {}];
    default:
      return [`${spec.key_type.toLowerCase()}-${spec.key_size}`, {}];
  }
}

const curveNamed = (name: string) => Object.values(curves).find(({ curve }) => curve === name);

/** Reads one key from PEM: PKCS#8 (plain or encrypted), PKCS#1, SEC1 or SPKI. */
export async function importKey(pem: string, passphrase?: string): Promise<KeyMaterial> {
  const blocks = readPem(pem, { field: 'pem', maxBytes: maxKeyBytes, maxBlocks: 4, allowNotes: false });
  const keys = blocks.filter(({ label }) => label !== 'EC PARAMETERS');
  if (keys.length > 1) throw invalid('pem', 'contains more than one key; send them one by one');
  // OpenSSL writes the curve as a separate block before a SEC1 key, which names it as well.
  if (keys.length === 0 || (blocks.length > 1 && keys[0]!.label !== 'EC PRIVATE KEY'))
    throw invalid('pem', 'contains parameters without a key');
  return readKeyBlock(keys[0]!, 'pem', passphrase);
}

export const isPrivateKeyLabel = (label: string): boolean => label.endsWith('PRIVATE KEY');

/** Reads the key in one PEM block; `field` is the request field that contains it. */
export async function readKeyBlock(
  block: PemBlock,
  field: string,
  passphrase?: string,
): Promise<KeyMaterial> {
  const { label, bytes } = block;
  if (label === 'RSA PRIVATE KEY') return importPkcs1Private(openLegacy(block, field, passphrase), field);
  if (label === 'EC PRIVATE KEY') return importEcPrivate(openLegacy(block, field, passphrase), field);
  if (block.headers.size > 0)
    throw invalid(field, 'has PEM headers that do not belong to this kind of block');
  switch (label) {
    case 'PRIVATE KEY':
      return importPkcs8(bytes, field);
    case 'ENCRYPTED PRIVATE KEY':
      return importPkcs8(openPkcs8(bytes, field, passphrase), field);
    case 'PUBLIC KEY':
      return importSpki(bytes, field);
    case 'RSA PUBLIC KEY':
      return importPkcs1Public(bytes, field);
    default:
      throw invalid(
        field,
        'contains a PEM block that is not a key: PKCS#8, PKCS#1, SEC1 and SPKI are accepted',
      );
  }
}

/** The bytes of a PKCS#1 or SEC1 block, decrypted if its headers say that it is encrypted. */
function openLegacy({ headers, bytes }: PemBlock, field: string, passphrase?: string): Buffer {
  if (headers.size === 0) return bytes;
  return checkOpened(openLegacyPem(headers, bytes, needed(passphrase), field));
}

function openPkcs8(bytes: Buffer, field: string, passphrase?: string): Buffer {
  const { opening, ciphertext } = refusing(field, 'is not a readable encrypted PKCS#8', () => {
    const [algorithm, content] = sequence(readDer(bytes), 2, 2);
    return { opening: planOpening(algorithm!, field), ciphertext: octets(content) };
  });
  return checkOpened(opening.open(ciphertext, encodePassphrase(needed(passphrase))));
}

function needed(passphrase: string | undefined): string {
  if (passphrase === undefined) throw invalid('passphrase', 'is required: the key is encrypted');
  return passphrase;
}

/** One wrong passphrase in 256 leaves valid padding, but the result is not DER. */
function checkOpened(bytes: Buffer): Buffer {
  try {
    sequence(readDer(bytes));
    return bytes;
  } catch (error) {
    throw wrongPassphrase(error);
  }
}
