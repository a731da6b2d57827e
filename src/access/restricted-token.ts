/**
 * Access keys that their holder restricted: `sr_narrow_` + id + version and restrictions + mark + checksum. The mark is
 * the last link of a chain of HMACs that begins with the access key itself and has a link for each restriction: anyone
 * with a link can add another, but none can be removed. Anything that deviates from this format is not accepted. The
 * format is described in docs/agents.md, with examples that a test checks.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { check } from '../contract/check.ts';
import {
  type KeyNarrowing,
  longestCredential,
  type Restriction,
  restriction,
} from '../contract/restrictions.ts';
import { isCidr } from './address.ts';
import { bytesFrom, checksumLength, endsInItsChecksum, idLength, secretLength, uuidFrom } from './token.ts';

const prefix = 'sr_narrow_';
const version = 1;
const label = `strongroom narrow ${version}`;
const mostRestrictions = 8;
const least = idLength + secretLength + checksumLength + 1;
const shape = new RegExp(`^${prefix}[0-9A-Za-z]{${least},}$`);
/** Bytes are encoded in blocks of this size, so that the time grows linearly with their number. */
const stretch = 32;

export interface RestrictedToken {
  readonly id: string;
  /** As received: they can't be trusted before the chain is verified. */
  readonly links: readonly Buffer[];
  readonly mark: Buffer;
  /** A digest of the access key's id and the restrictions. */
  readonly digest: string;
}

export function isRestricted(token: string): boolean {
  return token.startsWith(prefix);
}

/** Parses the token; null if it does not have our format. It proves nothing yet. */
export function parseRestricted(text: string): RestrictedToken | null {
  if (text.length > longestCredential || !shape.test(text) || !endsInItsChecksum(text)) return null;
  const body = text.slice(prefix.length);
  const end = body.length - checksumLength - secretLength;
  const id = uuidFrom(body.slice(0, idLength));
  const links = linksIn(decoded(body.slice(idLength, end)));
  const mark = bytesFrom(body.slice(end, -checksumLength), 32);
  if (id === null || links === null || mark === null) return null;
  return { id, links, mark, digest: createHash('sha256').update(body.slice(0, end)).digest('hex') };
}

/** The key from which the chain of an access key starts. The access key can't be computed from it. */
export function restrictionKeyOf(accessKey: string): Buffer {
  return createHmac('sha256', accessKey).update(label).digest();
}

export function hasChain(restrictionKey: Uint8Array, { links, mark }: RestrictedToken): boolean {
  let key = restrictionKey;
  for (const link of links) key = createHmac('sha256', key).update(link).digest();
  return timingSafeEqual(key, mark);
}

/** Returns null if any of them is unknown here, or not in its canonical form. */
export function restrictionsIn({ links, digest }: RestrictedToken): KeyNarrowing | null {
  const restrictions = links.map(restrictionIn);
  if (restrictions.some(one => one === null)) return null;
  return { id: digest.slice(0, 16), restrictions: restrictions as Restriction[] };
}

function restrictionIn(link: Buffer): Restriction | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(link);
    const found = check(restriction, JSON.parse(text));
    const isWritten = JSON.stringify(found) === text;
    return isWritten && (found.cidrs ?? []).every(isCidr) ? found : null;
  } catch {
    return null;
  }
}

function linksIn(bytes: Buffer | null): Buffer[] | null {
  if (bytes?.[0] !== version) return null;
  const links: Buffer[] = [];
  for (let at = 1; at < bytes.length; ) {
    if (bytes.length < at + 2) return null;
    const start = at + 2;
    at = start + bytes.readUInt16BE(at);
    if (at > bytes.length || links.push(bytes.subarray(start, at)) > mostRestrictions) return null;
  }
  return links.length === 0 ? null : links;
}

const digitsFor = (size: number) => Math.ceil((size * 8) / Math.log2(62));
const sizes = new Map(Array.from({ length: stretch + 1 }, (_, size) => [digitsFor(size), size]));

function decoded(text: string): Buffer | null {
  const parts: Buffer[] = [];
  for (let at = 0; at < text.length; at += digitsFor(stretch)) {
    const digits = text.slice(at, at + digitsFor(stretch));
    const size = sizes.get(digits.length);
    const bytes = size === undefined ? null : bytesFrom(digits, size);
    if (bytes === null) return null;
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}
