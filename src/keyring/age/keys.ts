/**
 * Recipients and identities of age files: an X25519 key pair, or a passphrase with scrypt. Costs read from a file are
 * limited, so that it can't exhaust the machine.
 */
import {
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
  scrypt,
} from 'node:crypto';
import { promisify } from 'node:util';
import { bech32, fromBech32 } from './bech32.ts';
import { decrypted, encrypted, tagSize } from './cipher.ts';
import { base64, damaged, fromBase64, type Stanza, scryptType } from './header.ts';

/** Wraps the file key for a recipient. */
export type Recipient = (fileKey: Buffer) => Promise<Stanza>;
/** Unwraps the file key; returns null if none of the stanzas is for it. */
export type AgeIdentity = (stanzas: readonly Stanza[]) => Promise<Buffer | null>;

export const fileKeySize = 16;
/** Each key is used only once, so the nonce can be constant. */
const noNonce = Buffer.alloc(12);
const x25519 = { type: 'X25519', info: 'age-encryption.org/v1/X25519', size: 32 } as const;
const publicPrefix = Buffer.from('302a300506032b656e032100', 'hex');
const privatePrefix = Buffer.from('302e020100300506032b656e04220420', 'hex');
const recipientPrefix = 'age';
const identityPrefix = 'AGE-SECRET-KEY-';

/** A new key pair, as texts. */
export function newKeyPair(): { readonly recipient: string; readonly identity: string } {
  const { privateKey } = generateKeyPairSync('x25519');
  const secret = privateKey.export({ type: 'pkcs8', format: 'der' }).subarray(privatePrefix.length);
  return {
    recipient: recipientOf(privateKey),
    identity: bech32(identityPrefix.toLowerCase(), secret).toUpperCase(),
  };
}

function recipientOf(privateKey: KeyObject): string {
  return bech32(recipientPrefix, rawPublic(createPublicKey(privateKey)));
}

/** Returns null if the text is not an age public key. */
export function recipientFrom(text: string): Recipient | null {
  const raw = fromBech32(recipientPrefix, text);
  if (raw?.length !== x25519.size || text !== text.toLowerCase()) return null;
  return async fileKey => {
    const own = generateKeyPairSync('x25519');
    const share = rawPublic(own.publicKey);
    const key = sharedKey(own.privateKey, raw, share, raw);
    return { type: x25519.type, args: [base64(share)], body: encrypted(key, noNonce, fileKey) };
  };
}

/** Returns null if the text is not an age private key. */
export function identityFrom(text: string): AgeIdentity | null {
  const raw = text === text.toUpperCase() ? fromBech32(identityPrefix, text) : null;
  if (raw?.length !== x25519.size) return null;
  const privateKey = createPrivateKey({
    key: Buffer.concat([privatePrefix, raw]),
    format: 'der',
    type: 'pkcs8',
  });
  const own = rawPublic(createPublicKey(privateKey));
  return async stanzas => {
    for (const { type, args, body } of stanzas) {
      if (type !== x25519.type) continue;
      const share = fromBase64(args[0] ?? '');
      if (args.length !== 1 || share.length !== x25519.size || body.length !== fileKeySize + tagSize)
        throw damaged('its header is damaged');
      const found = decrypted(sharedKey(privateKey, share, share, own), noNonce, body);
      if (found !== null) return found;
    }
    return null;
  };
}

function rawPublic(key: KeyObject): Buffer {
  return key.export({ type: 'spki', format: 'der' }).subarray(publicPrefix.length);
}

function sharedKey(privateKey: KeyObject, other: Buffer, share: Buffer, recipient: Buffer): Buffer {
  const publicKey = createPublicKey({
    key: Buffer.concat([publicPrefix, other]),
    format: 'der',
    type: 'spki',
  });
  const salt = Buffer.concat([share, recipient]);
  return Buffer.from(hkdfSync('sha256', agreed(privateKey, publicKey), salt, x25519.info, 32));
}

/** The runtime refuses a share of low order. */
function agreed(privateKey: KeyObject, publicKey: KeyObject): Buffer {
  try {
    return diffieHellman({ privateKey, publicKey });
  } catch {
    throw damaged('its header is damaged');
  }
}

const scryptStanza = { type: scryptType, label: 'age-encryption.org/v1/scrypt', saltSize: 16 } as const;
/** As a power of two: 256 MiB and about a second. */
const defaultWork = 18;
const mostWork = 20;
const derive = promisify<Buffer | string, Buffer, number, object, Buffer>(scrypt);

export function passphraseRecipient(passphrase: string, work = defaultWork): Recipient {
  return async fileKey => {
    const salt = randomBytes(scryptStanza.saltSize);
    const body = encrypted(await passphraseKey(passphrase, salt, work), noNonce, fileKey);
    return { type: scryptStanza.type, args: [base64(salt), String(work)], body };
  };
}

export function passphraseIdentity(passphrase: string): AgeIdentity {
  return async stanzas => {
    const [first] = stanzas.filter(({ type }) => type === scryptStanza.type);
    if (first === undefined) return null;
    const [salt = '', work = ''] = first.args;
    const isSound =
      first.args.length === 2 &&
      fromBase64(salt).length === scryptStanza.saltSize &&
      /^[1-9][0-9]?$/.test(work) &&
      Number(work) <= mostWork &&
      first.body.length === fileKeySize + tagSize;
    if (!isSound) throw damaged('its header is damaged, or its work factor is too high');
    return decrypted(await passphraseKey(passphrase, fromBase64(salt), Number(work)), noNonce, first.body);
  };
}

function passphraseKey(passphrase: string, salt: Buffer, work: number): Promise<Buffer> {
  const [N, r] = [2 ** work, 8];
  const labelled = Buffer.concat([Buffer.from(scryptStanza.label), salt]);
  return derive(passphrase.normalize('NFKC'), labelled, 32, {
    N,
    r,
    p: 1,
    maxmem: 128 * N * r + 1024 * 1024,
  });
}
