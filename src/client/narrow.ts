/**
 * `narrow(key, restrictions)`: derives a restricted access key from an access key, offline. The result reveals nothing
 * about the original key, can be restricted further in the same way, and ends with the original. The format is described
 * in docs/agents.md; the service refuses any deviation from it.
 */
import { wrong } from './request.ts';

const keyOperations = [
  'sign',
  'verify',
  'decrypt',
  'encrypt',
  'wrap',
  'unwrap',
  'mac',
  'rewrap',
  'ssh-certificate',
] as const;
export type KeyOperation = (typeof keyOperations)[number];

/** Each field restricts the key further; an omitted field changes nothing. */
export interface Restrictions {
  /** Only resources with one of these names, in which `*` matches any number of characters. */
  readonly names?: readonly string[] | undefined;
  readonly kinds?: readonly ('secret' | 'key' | 'certificate')[] | undefined;
  /** Reads no values. Secrets and keys can still be used through their use rules. */
  readonly namesOnly?: true | undefined;
  /** Only reads: secrets and keys can't be used through their use rules. */
  readonly mayUse?: false | undefined;
  /** Only these operations with keys, of those that the key may do. */
  readonly operations?: readonly KeyOperation[] | undefined;
  /** Only from these addresses, such as `10.0.0.0/8`. */
  readonly cidrs?: readonly string[] | undefined;
  readonly expiresAt?: Date | undefined;
  readonly expiresInSeconds?: number | undefined;
}

export interface NarrowedKey {
  readonly token: string;
  /** Its id in the request log. */
  readonly id: string;
}

type Bytes = Uint8Array<ArrayBuffer>;

const version = 1;
const label = `strongroom narrow ${version}`;
const prefix = 'sr_narrow_';
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const [idLength, markLength, checksumLength] = [22, 43, 6];
const accessKey = /^sr_vault_[0-9A-Za-z]{71}$/;
const narrowedKey = /^sr_narrow_[0-9A-Za-z]{72,}$/;
const [longest, mostRestrictions, mostEntries, longestEntry] = [2048, 8, 50, 255];
const kinds = ['secret', 'key', 'certificate'];
/** Characters that hide, reorder or break text. */
const unsafe = /[\p{Cc}\p{Cs}\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/u;
const stretch = 32;
const utf8 = new TextEncoder();

export async function narrow(key: string, restrictions: Restrictions): Promise<NarrowedKey> {
  const { id, restricted, chain } = await partsOf(typeof key === 'string' ? key.trim() : '');
  const added = utf8.encode(JSON.stringify(written(restrictions)));
  const all = joined([restricted, Uint8Array.of(added.length >> 8, added.length & 255), added]);
  const unmarked = `${id}${encoded(all)}`;
  const mark = encoded(await hmac(chain, added));
  const unchecked = `${prefix}${unmarked}${mark}`;
  const token = unchecked + checksum(unchecked);
  if (token.length > longest || countOf(all) > mostRestrictions) {
    throw wrong(`a key has at most ${mostRestrictions} restrictions and ${longest} characters`);
  }
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', utf8.encode(unmarked)));
  return { token, id: [...digest.subarray(0, 8)].map(byte => byte.toString(16).padStart(2, '0')).join('') };
}

/** The restrictions that a key already has, and the last link of its HMAC chain. */
async function partsOf(key: string) {
  const isWhole = accessKey.test(key);
  if (!isWhole && !narrowedKey.test(key)) throw wrong('key must be an access key');
  if (checksum(key.slice(0, -checksumLength)) !== key.slice(-checksumLength)) {
    throw wrong('key is incomplete or mistyped');
  }
  const body = key.slice(isWhole ? 'sr_vault_'.length : prefix.length);
  const id = body.slice(0, idLength);
  if (isWhole) {
    const chain = await hmac(utf8.encode(key), utf8.encode(label));
    return { id, restricted: Uint8Array.of(version), chain };
  }
  const end = body.length - checksumLength - markLength;
  const restricted = decoded(body.slice(idLength, end));
  if (restricted[0] !== version) throw wrong('key was restricted by a newer version');
  return { id, restricted, chain: decoded(body.slice(end, -checksumLength)) };
}

/** The members in this order, without omitted ones. */
function written(given: Restrictions) {
  const {
    names,
    kinds: ofKinds,
    namesOnly,
    mayUse,
    operations,
    cidrs,
    expiresAt,
    expiresInSeconds,
    ...others
  } = given;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw wrong('a restriction is unknown');
  if (namesOnly !== undefined && namesOnly !== true) throw wrong('namesOnly must be true');
  if (mayUse !== undefined && mayUse !== false) throw wrong('mayUse must be false');
  const members = {
    cidrs: cidrs && texts('cidrs', cidrs, text => /^[0-9A-Fa-f:.]+\/\d{1,3}$/.test(text)),
    expiration_date: endOf(expiresAt, expiresInSeconds),
    kinds: ofKinds && texts('kinds', ofKinds, text => kinds.includes(text)),
    may_use: mayUse,
    names: names && texts('names', names, text => !unsafe.test(text)),
    names_only: namesOnly,
    operations:
      operations && texts('operations', operations, text => keyOperations.some(one => one === text)),
  };
  if (Object.values(members).every(value => value === undefined)) throw wrong('nothing is restricted');
  return members;
}

function endOf(at: Date | undefined, inSeconds: number | undefined): string | undefined {
  if (at !== undefined && inSeconds !== undefined)
    throw wrong('expiresAt can’t be combined with expiresInSeconds');
  const end = inSeconds === undefined ? at : new Date(Date.now() + Math.floor(inSeconds * 1000));
  if (end === undefined) return undefined;
  if (!(end.getTime() >= 0 && end.getTime() <= Date.UTC(9999, 11, 31)))
    throw wrong('expiresAt must be a date');
  return end.toISOString();
}

function texts(name: string, given: readonly string[], isSound: (text: string) => boolean): string[] {
  const all = [...given].map(text => (typeof text === 'string' ? text.normalize('NFC') : ''));
  const isList = all.length >= 1 && all.length <= mostEntries;
  const areSound = all.every(text => text !== '' && [...text].length <= longestEntry && isSound(text));
  if (!isList || !areSound) throw wrong(`${name} must be a list of 1 to ${mostEntries} ${name}`);
  return all;
}

function countOf(bytes: Bytes): number {
  let count = 0;
  for (let at = 1; at < bytes.length; count++) at += 2 + (bytes[at]! << 8) + bytes[at + 1]!;
  return count;
}

async function hmac(key: Bytes, message: Bytes): Promise<Bytes> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const imported = await crypto.subtle.importKey('raw', key, algorithm, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, message));
}

const digitsFor = (size: number) => Math.ceil((size * 8) / Math.log2(62));

/** Each block of bytes is one number in base 62, with as many digits as the largest such number. */
function encoded(bytes: Bytes): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += stretch) {
    const part = bytes.subarray(at, at + stretch);
    let value = part.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
    let written = '';
    for (let place = 0; place < digitsFor(part.length); place++, value /= 62n) {
      written = digits[Number(value % 62n)]! + written;
    }
    text += written;
  }
  return text;
}

function decoded(text: string): Bytes {
  const bytes: number[] = [];
  for (let at = 0; at < text.length; at += digitsFor(stretch)) {
    const part = text.slice(at, at + digitsFor(stretch));
    let value = [...part].reduce((sum, digit) => sum * 62n + BigInt(digits.indexOf(digit)), 0n);
    const size = Math.floor((part.length * Math.log2(62)) / 8);
    const read = Array.from({ length: size }, () => 0);
    for (let place = size - 1; place >= 0; place--, value /= 256n) read[place] = Number(value % 256n);
    bytes.push(...read);
  }
  return Uint8Array.from(bytes);
}

/** CRC-32 as in ZIP. */
function checksum(text: string): string {
  let sum = 0xffffffff;
  for (const byte of utf8.encode(text)) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, ~sum >>> 0);
  return encoded(bytes);
}

function joined(parts: readonly Bytes[]): Bytes {
  return Uint8Array.from(parts.flatMap(part => [...part]));
}
