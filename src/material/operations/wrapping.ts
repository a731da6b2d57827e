/**
 * Wraps keys for storage or transport: AES Key Wrap (RFC 3394) with a stored key, or with one that was agreed on with an
 * EC or X25519 key (ECDH-ES, RFC 7518 4.6) or encapsulated to an ML-KEM key. The last has JOSE's names, but no final
 * specification yet, so its derivation is our own, that of ECDH-ES.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createPrivateKey,
  createPublicKey,
  decapsulate,
  diffieHellman,
  encapsulate,
  generateKeyPairSync,
  type KeyObject,
  type webcrypto,
} from 'node:crypto';
import { invalid } from '../../contract/errors.ts';
import { algorithmMismatch, notDecrypted } from './refusals.ts';

/** A wrapped key, and what its holder needs besides the private key to unwrap it. */
export interface Wrapped {
  readonly value: Buffer;
  readonly epk?: webcrypto.JsonWebKey;
  readonly ek?: Buffer;
}

const initial = Buffer.alloc(8, 0xa6);
const block = 8;

/** RFC 3394. */
export function wrapWithAes(key: Uint8Array, plain: Uint8Array): Buffer {
  if (plain.length < 2 * block || plain.length % block !== 0)
    throw invalid('value', 'must be at least 16 bytes, in multiples of 8: only keys are wrapped');
  const cipher = createCipheriv(cipherFor(key), key, initial);
  return Buffer.concat([cipher.update(plain), cipher.final()]);
}

export function unwrapWithAes(key: Uint8Array, wrapped: Uint8Array): Buffer {
  try {
    const decipher = createDecipheriv(cipherFor(key), key, initial);
    return Buffer.concat([decipher.update(wrapped), decipher.final()]);
  } catch {
    throw notDecrypted();
  }
}

const cipherFor = (key: Uint8Array) => `id-aes${key.length * 8}-wrap`;

export function wrapForAgreement(publicPem: string, algorithm: string, plain: Uint8Array): Wrapped {
  const publicKey = createPublicKey(publicPem);
  const ephemeral = generateLike(publicKey);
  const secret = diffieHellman({ privateKey: ephemeral.privateKey, publicKey });
  const value = wrapWithAes(concatKdf(secret, algorithm, bitsOf(algorithm)), plain);
  return { value, epk: ephemeral.publicKey.export({ format: 'jwk' }) };
}

export function unwrapByAgreement(
  pem: string,
  algorithm: string,
  wrapped: Uint8Array,
  epk: webcrypto.JsonWebKey | undefined,
): Buffer {
  const privateKey = createPrivateKey(pem);
  return unwrapWithAes(concatKdf(agreed(privateKey, epk), algorithm, bitsOf(algorithm)), wrapped);
}

/** A public key of another kind, off the curve or of low order is refused like any other wrong input. */
function agreed(privateKey: KeyObject, epk: webcrypto.JsonWebKey | undefined): Buffer {
  try {
    const publicKey = createPublicKey({ key: epk!, format: 'jwk' });
    return diffieHellman({ privateKey, publicKey });
  } catch {
    throw notDecrypted();
  }
}

function generateLike(key: KeyObject) {
  if (key.asymmetricKeyType === 'x25519') return generateKeyPairSync('x25519');
  if (key.asymmetricKeyType !== 'ec') throw algorithmMismatch();
  return generateKeyPairSync('ec', { namedCurve: key.asymmetricKeyDetails!.namedCurve! });
}

export function wrapForKem(publicPem: string, algorithm: string, plain: Uint8Array): Wrapped {
  const { sharedKey, ciphertext } = encapsulate(createPublicKey(publicPem));
  return { value: wrapWithAes(concatKdf(sharedKey, algorithm, bitsOf(algorithm)), plain), ek: ciphertext };
}

export function unwrapByKem(
  pem: string,
  algorithm: string,
  wrapped: Uint8Array,
  ek: Uint8Array | undefined,
): Buffer {
  let shared: Buffer;
  try {
    shared = decapsulate(createPrivateKey(pem), ek!);
  } catch {
    throw notDecrypted();
  }
  return unwrapWithAes(concatKdf(shared, algorithm, bitsOf(algorithm)), wrapped);
}

const bitsOf = (algorithm: string) => Number(/A(\d{3})KW$/.exec(algorithm)![1]);

/** NIST SP 800-56A with SHA-256, as RFC 7518 4.6.2 uses it, for at most 256 bits. */
export function concatKdf(
  secret: Uint8Array,
  algorithm: string,
  bits: number,
  [apu, apv]: readonly [Buffer, Buffer] = [Buffer.alloc(0), Buffer.alloc(0)],
): Buffer {
  const parts = [counted(Buffer.from(algorithm, 'utf8')), counted(apu), counted(apv), number(bits)];
  const hashed = createHash('sha256').update(Buffer.concat([number(1), secret, ...parts]));
  return hashed.digest().subarray(0, bits / 8);
}

const counted = (bytes: Buffer) => Buffer.concat([number(bytes.length), bytes]);

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
