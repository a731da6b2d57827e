/**
 * The last values, encrypted, so that a program can start while the vault is unavailable. They are sealed with
 * AES-256-GCM under a key derived from the access key: the file is useless without the access key, and a file for
 * another service, vault or access key doesn't open. Values older than the limit are not used.
 */

/** Storage for the sealed bytes. It never sees a value. */
export interface CacheStorage {
  load(): Promise<Uint8Array | null>;
  save(bytes: Uint8Array): Promise<void>;
  clear(): Promise<void>;
}

export interface CacheBinding {
  readonly url: string;
  readonly vault: string;
  readonly key: string;
}

export interface Cached {
  /** When the vault last confirmed these, in milliseconds since 1970. */
  readonly confirmedAt: number;
  readonly values: Readonly<Record<string, string>>;
}

type Bytes = Uint8Array<ArrayBuffer>;

const format = 'strongroom client cache 1';
const saltLength = 32;
const nonceLength = 12;
const utf8 = new TextEncoder();

export async function sealCache(cached: Cached, binding: CacheBinding): Promise<Uint8Array> {
  const salt = crypto.getRandomValues(new Uint8Array(saltLength));
  const nonce = crypto.getRandomValues(new Uint8Array(nonceLength));
  const key = await keyOf(binding, salt, 'encrypt');
  const plain = utf8.encode(JSON.stringify(cached));
  const sealed = await crypto.subtle.encrypt(algorithm(nonce, binding), key, plain);
  return joined([salt, nonce, new Uint8Array(sealed)]);
}

/** Null if it was not sealed for this binding, or was altered. */
export async function openCache(bytes: Uint8Array, binding: CacheBinding): Promise<Cached | null> {
  const copy: Bytes = new Uint8Array(bytes);
  const salt = copy.subarray(0, saltLength);
  const nonce = copy.subarray(saltLength, saltLength + nonceLength);
  try {
    const key = await keyOf(binding, salt, 'decrypt');
    const sealed = copy.subarray(saltLength + nonceLength);
    const plain = await crypto.subtle.decrypt(algorithm(nonce, binding), key, sealed);
    return JSON.parse(new TextDecoder().decode(plain));
  } catch {
    return null;
  }
}

/** An access key has 256 random bits, so it needs no slow derivation. */
async function keyOf({ key }: CacheBinding, salt: Bytes, use: 'encrypt' | 'decrypt') {
  const material = await crypto.subtle.importKey('raw', utf8.encode(key), 'HKDF', false, ['deriveKey']);
  const derivation = { name: 'HKDF', hash: 'SHA-256', salt, info: utf8.encode(format) };
  return crypto.subtle.deriveKey(derivation, material, { name: 'AES-GCM', length: 256 }, false, [use]);
}

function algorithm(iv: Bytes, { url, vault }: CacheBinding) {
  // As JSON, so that no two bindings have the same text.
  return { name: 'AES-GCM', iv, additionalData: utf8.encode(JSON.stringify([format, url, vault])) };
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((total, part) => total + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
