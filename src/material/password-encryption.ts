/**
 * Decrypts data protected by a passphrase: encrypted PKCS#8, the bags of a PKCS#12, and OpenSSL's legacy PEM.
 *
 * Guarantees: `planOpening` reads the parameters and refuses excessive costs before anything is derived; a wrong
 * passphrase and damaged bytes are indistinguishable, and both are reported on `passphrase`.
 * Refuses: obsolete ciphers that the runtime no longer offers (DES, RC4).
 */
import { createDecipheriv, createHash } from 'node:crypto';
import { invalid } from '../contract/errors.ts';
import { count, type Der, DerError, octets, oid, sequence } from './der.ts';
import {
  checkIterations,
  type Derivation,
  derivePkcs12,
  encodePassphrase,
  type Passphrase,
  planDerivation,
  purposes,
  readSalt,
} from './derivation.ts';
import { rc2CbcDecrypt } from './rc2.ts';

export interface Opening {
  readonly cost: number;
  open(ciphertext: Buffer, passphrase: Passphrase): Buffer;
}

interface Cipher {
  readonly name: string;
  readonly keySize: number;
  readonly ivSize: number;
}

const pbes2 = '1.2.840.113549.1.5.13';
const tripleDes: Cipher = { name: 'des-ede3-cbc', keySize: 24, ivSize: 8 };

const pbes2Ciphers: Readonly<Record<string, Cipher>> = {
  '2.16.840.1.101.3.4.1.2': { name: 'aes-128-cbc', keySize: 16, ivSize: 16 },
  '2.16.840.1.101.3.4.1.22': { name: 'aes-192-cbc', keySize: 24, ivSize: 16 },
  '2.16.840.1.101.3.4.1.42': { name: 'aes-256-cbc', keySize: 32, ivSize: 16 },
  '1.2.840.113549.3.7': tripleDes,
};

const pkcs12Ciphers: Readonly<Record<string, Cipher>> = {
  '1.2.840.113549.1.12.1.3': tripleDes,
  '1.2.840.113549.1.12.1.4': { name: 'des-ede-cbc', keySize: 16, ivSize: 8 },
  '1.2.840.113549.1.12.1.5': { name: 'rc2', keySize: 16, ivSize: 8 },
  '1.2.840.113549.1.12.1.6': { name: 'rc2', keySize: 5, ivSize: 8 },
};

export function wrongPassphrase(cause?: unknown): Error {
  return invalid('passphrase', 'is wrong, or the file is damaged', cause);
}

/** Reads an encryption AlgorithmIdentifier; derives nothing yet. */
export function planOpening(algorithm: Der, field: string): Opening {
  const [name, parameters] = sequence(algorithm, 2, 2);
  const scheme = oid(name);
  if (scheme === pbes2) return planPbes2(parameters!, field);
  const cipher = pkcs12Ciphers[scheme];
  if (cipher) return planPkcs12(cipher, parameters!, field);
  throw invalid(field, 'is encrypted with a scheme that is not supported; use AES-256 with PBKDF2');
}

function planPbes2(parameters: Der, field: string): Opening {
  const [kdf, encryption] = sequence(parameters, 2, 2);
  const derivation: Derivation = planDerivation(kdf!, field);
  const [name, ivElement] = sequence(encryption, 1, 2);
  const cipher = pbes2Ciphers[oid(name)];
  if (!cipher) throw invalid(field, 'is encrypted with a cipher that is not supported; use AES-256-CBC');
  const iv = octets(ivElement);
  if (iv.length !== cipher.ivSize) throw new DerError('an initialization vector of invalid length');
  if ((derivation.keyLength ?? cipher.keySize) !== cipher.keySize)
    throw new DerError('a key of invalid length');
  return {
    cost: derivation.cost,
    open: (ciphertext, passphrase) =>
      decrypt(cipher, derivation.derive(passphrase, cipher.keySize), iv, ciphertext),
  };
}

function planPkcs12(cipher: Cipher, parameters: Der, field: string): Opening {
  const [saltElement, iterationElement] = sequence(parameters, 2, 2);
  const salt = readSalt(saltElement);
  const iterations = checkIterations(count(iterationElement), field);
  const base = { digest: 'sha1', salt, iterations };
  return {
    // SHA-1 yields 20 bytes per run: a longer key takes a second one, and the initialization vector takes its own.
    cost: iterations * (Math.ceil(cipher.keySize / 20) + 1),
    open: (ciphertext, passphrase) => {
      const key = derivePkcs12({ ...base, purpose: purposes.key }, passphrase, cipher.keySize);
      const iv = derivePkcs12({ ...base, purpose: purposes.iv }, passphrase, cipher.ivSize);
      return decrypt(cipher, key, iv, ciphertext);
    },
  };
}

function decrypt(cipher: Cipher, key: Buffer, iv: Buffer, ciphertext: Buffer): Buffer {
  try {
    if (cipher.name === 'rc2') return rc2CbcDecrypt(key, iv, ciphertext) ?? refusePadding();
    const decipher = createDecipheriv(cipher.name, key, iv);
    return Buffer.concat([decipher.update(ciphertext), decipher.final()]);
  } catch (error) {
    throw wrongPassphrase(error);
  } finally {
    key.fill(0);
  }
}

function refusePadding(): never {
  throw new DerError('broken padding');
}

const legacyCiphers: Readonly<Record<string, Cipher>> = {
  'AES-128-CBC': { name: 'aes-128-cbc', keySize: 16, ivSize: 16 },
  'AES-192-CBC': { name: 'aes-192-cbc', keySize: 24, ivSize: 16 },
  'AES-256-CBC': { name: 'aes-256-cbc', keySize: 32, ivSize: 16 },
  'DES-EDE3-CBC': tripleDes,
};

/** Opens a PEM block with `Proc-Type: 4,ENCRYPTED`, whose key is MD5 over passphrase and salt. */
export function openLegacyPem(
  headers: ReadonlyMap<string, string>,
  ciphertext: Buffer,
  passphrase: string,
  field: string,
): Buffer {
  const [name, ivHex, ...more] = (headers.get('DEK-Info') ?? '').split(',');
  if (headers.get('Proc-Type') !== '4,ENCRYPTED' || ivHex === undefined || more.length > 0)
    throw invalid(field, 'has PEM headers that are incomplete');
  const cipher = Object.hasOwn(legacyCiphers, name!) ? legacyCiphers[name!] : undefined;
  if (!cipher) throw invalid(field, 'is encrypted with a cipher that is not supported; use AES-256-CBC');
  const iv = Buffer.from(ivHex, 'hex');
  if (iv.length !== cipher.ivSize || ivHex.length !== 2 * cipher.ivSize)
    throw invalid(field, 'has a DEK-Info header that does not match its cipher');
  const key = legacyKey(encodePassphrase(passphrase).utf8, iv.subarray(0, 8), cipher.keySize);
  return decrypt(cipher, key, iv, ciphertext);
}

function legacyKey(passphrase: Buffer, salt: Buffer, size: number): Buffer {
  let key = Buffer.alloc(0);
  let last = Buffer.alloc(0);
  while (key.length < size) {
    last = createHash('md5').update(last).update(passphrase).update(salt).digest();
    key = Buffer.concat([key, last]);
  }
  return key.subarray(0, size);
}
