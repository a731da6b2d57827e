/**
 * Encryption with RSA (RSA-OAEP, RFC 8017) and with AES.
 *
 * Guarantees for AES: every ciphertext has its own data key and nonce, derived from the key and a random salt of 256
 * bits, and bound to the id and version of the key and to the algorithm. So no key and nonce are ever used twice, and the
 * number of ciphertexts is not limited. Whatever the reason, a failed decryption is refused in the same way, after the
 * same work.
 */
import {
  constants,
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  hkdfSync,
  privateDecrypt,
  publicEncrypt,
  randomBytes,
} from 'node:crypto';
import { invalid } from '../../contract/errors.ts';
import { algorithmMismatch, notDecrypted } from './refusals.ts';

/** What a ciphertext is bound to. */
export interface Binding {
  readonly keyId: string;
  readonly version: number;
}

const format = 1;
const headLength = 5;
const saltLength = 32;
const tagLength = 16;
const shortest = headLength + saltLength + tagLength;
const gcm = 'aes-256-gcm';
const label = 'strongroom data key v1';

/** Format, version of the key, salt, ciphertext and tag. */
export function encryptWithAes(
  key: Uint8Array,
  binding: Binding,
  plaintext: Uint8Array,
  aad: Uint8Array,
): Buffer {
  const salt = randomBytes(saltLength);
  const { dataKey, nonce } = derived(key, binding, salt);
  const cipher = createCipheriv(gcm, dataKey, nonce, { authTagLength: tagLength }).setAAD(aad);
  const body = Buffer.concat([cipher.update(plaintext), cipher.final()]);
  return Buffer.concat([headOf(binding.version), salt, body, cipher.getAuthTag()]);
}

export function decryptWithAes(
  key: Uint8Array,
  binding: Binding,
  sealed: Uint8Array,
  aad: Uint8Array,
): Buffer {
  const isWhole = sealed.length >= shortest && headOf(binding.version).equals(sealed.subarray(0, headLength));
  // Malformed ciphertexts cost as much as forged ones.
  const bytes = isWhole ? sealed : Buffer.alloc(Math.max(shortest, sealed.length));
  const { dataKey, nonce } = derived(key, binding, bytes.subarray(headLength, headLength + saltLength));
  const decipher = createDecipheriv(gcm, dataKey, nonce, { authTagLength: tagLength }).setAAD(aad);
  decipher.setAuthTag(bytes.subarray(-tagLength));
  try {
    const body = decipher.update(bytes.subarray(headLength + saltLength, -tagLength));
    const opened = Buffer.concat([body, decipher.final()]);
    if (isWhole) return opened;
  } catch {}
  throw notDecrypted();
}

/** The version that a ciphertext names; null if it is none of ours. */
export function versionNamedIn(sealed: Buffer): number | null {
  if (sealed.length < shortest || sealed[0] !== format) return null;
  return sealed.readUInt32BE(1);
}

function headOf(version: number): Buffer {
  const head = Buffer.alloc(headLength);
  head.writeUInt8(format);
  head.writeUInt32BE(version, 1);
  return head;
}

function derived(key: Uint8Array, { keyId, version }: Binding, salt: Uint8Array) {
  const context = Buffer.from(JSON.stringify([label, keyId, version, 'A256GCM']), 'utf8');
  const bytes = Buffer.from(hkdfSync('sha256', key, salt, context, 44));
  return { dataKey: bytes.subarray(0, 32), nonce: bytes.subarray(32) };
}

const oaepDigests: Readonly<Record<string, string>> = {
  /** Only for use rules that were written for it; never offered for new ciphertexts. */
  'RSA-OAEP': 'sha1',
  'RSA-OAEP-256': 'sha256',
  'RSA-OAEP-384': 'sha384',
  'RSA-OAEP-512': 'sha512',
};

function oaep(algorithm: string) {
  if (!Object.hasOwn(oaepDigests, algorithm)) throw algorithmMismatch();
  return { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: oaepDigests[algorithm]! };
}

export function encryptWithRsa(publicPem: string, algorithm: string, plaintext: Uint8Array): Buffer {
  const key = createPublicKey(publicPem);
  if (key.asymmetricKeyType !== 'rsa' || algorithm === 'RSA-OAEP') throw algorithmMismatch();
  try {
    return publicEncrypt({ key, ...oaep(algorithm) }, plaintext);
  } catch {
    throw invalid('value', 'is too long for this key and algorithm');
  }
}

export function decryptWithRsa(pem: string, algorithm: string, ciphertext: Uint8Array): Buffer {
  const key = createPrivateKey(pem);
  const options = { key, ...oaep(algorithm) };
  if (key.asymmetricKeyType !== 'rsa') throw algorithmMismatch();
  try {
    return privateDecrypt(options, ciphertext);
  } catch {
    throw notDecrypted();
  }
}
