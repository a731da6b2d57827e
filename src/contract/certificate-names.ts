/**
 * The names that an authority may write into certificates: host names and IP addresses.
 *
 * Guarantees: one spelling for each name (lower case, addresses in canonical form), so that a comparison can't be
 * avoided by another spelling. A pattern allows exactly what it says: `*` stands for one label, `**` for one or more,
 * and an address or a range for addresses. A wildcard is allowed only by a pattern that is the same text.
 * Refuses: malformed host names, single trailing dots, underscores, and names whose last label is a number.
 */
import { isIP } from 'node:net';

export interface IssuedName {
  readonly kind: 'dns' | 'ip';
  readonly value: string;
}

/** Addresses from the first on that begin with the same bits. */
export interface AddressRange {
  readonly bytes: Buffer;
  readonly bits: number;
}

const longestName = 253;
const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const hostName = new RegExp(`^${label}(?:\\.${label})*$`);

function isHostName(text: string): boolean {
  return text.length <= longestName && hostName.test(text) && !/(?:^|\.)[0-9]+$/.test(text);
}

/** Null if it is neither a host name, a wildcard of one, nor an address. */
export function issuedName(text: string): IssuedName | null {
  if (isIP(text) !== 0) {
    const bytes = addressBytes(text);
    return bytes && { kind: 'ip', value: addressText(bytes) };
  }
  const value = text.toLowerCase();
  const rest = value.startsWith('*.') ? value.slice(2) : value;
  const isWhole = rest === value || rest.includes('.');
  return isWhole && isHostName(rest) && value.length <= longestName ? { kind: 'dns', value } : null;
}

/** Null for text that is not an address, or has a zone. */
function addressBytes(text: string): Buffer | null {
  const family = isIP(text);
  if (family === 0 || text.includes('%')) return null;
  if (family === 4) return Buffer.from(text.split('.').map(Number));
  const [, plain = ''] = /^\[(.*)\]$/.exec(new URL(`http://[${text}]`).hostname) ?? [];
  const [head = '', tail] = plain.split('::');
  const groups = (part: string) =>
    part === '' ? [] : part.split(':').map(group => Number.parseInt(group, 16));
  const first = groups(head);
  const last = tail === undefined ? [] : groups(tail);
  const all = [...first, ...new Array<number>(8 - first.length - last.length).fill(0), ...last];
  return Buffer.from(all.flatMap(group => [group >> 8, group & 0xff]));
}

export function addressText(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(2 * at).toString(16));
  // The URL parser writes an IPv6 address in canonical form (RFC 5952).
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

/** `10.0.0.0/8`, or a single address. Null for anything else, and for bits beyond the prefix. */
export function addressRange(text: string): AddressRange | null {
  const [address = '', prefix, ...more] = text.split('/');
  const bytes = addressBytes(address);
  if (bytes === null || more.length > 0) return null;
  if (prefix === undefined) return { bytes, bits: bytes.length * 8 };
  if (!/^(?:0|[1-9][0-9]{0,2})$/.test(prefix)) return null;
  const bits = Number(prefix);
  const isWhole = bits <= bytes.length * 8 && masked(bytes, bits).equals(bytes);
  return isWhole ? { bytes, bits } : null;
}

function masked(bytes: Buffer, bits: number): Buffer {
  return Buffer.from(bytes.map((byte, at) => byte & (0xff << Math.min(8, Math.max(0, 8 * (at + 1) - bits)))));
}

/** Whether all addresses of the second range are in the first. */
export function rangeIncludes(range: AddressRange, other: AddressRange): boolean {
  const isSameFamily = range.bytes.length === other.bytes.length;
  return isSameFamily && other.bits >= range.bits && masked(other.bytes, range.bits).equals(range.bytes);
}

/** A host name pattern (`api.example.org`, `*.example.org`, `**.example.org`), an address or a range. */
export function isNamePattern(text: string): boolean {
  if (addressRange(text) !== null) return true;
  const [, rest = ''] = /^(?:\*{1,2}\.)?(.*)$/s.exec(text) ?? [];
  return isHostName(rest) && text.length <= longestName;
}

/** Whether a pattern of a profile allows a name. */
export function patternAllows(pattern: string, { kind, value }: IssuedName): boolean {
  const range = addressRange(pattern);
  if (kind === 'ip') return range !== null && rangeIncludes(range, addressRange(value)!);
  if (range !== null) return false;
  // The name of a wildcard certificate is itself never matched by a star.
  if (value.startsWith('*.')) return pattern === value;
  const [, stars, rest = ''] = /^(?:(\*{1,2})\.)?(.*)$/s.exec(pattern) ?? [];
  if (stars === undefined) return value === rest;
  if (!value.endsWith(`.${rest}`)) return false;
  return stars === '**' || !value.slice(0, -rest.length - 1).includes('.');
}

/** Whether a host name is in the domain, or is the domain itself. An empty domain contains all. */
export function isInDomain(name: string, domain: string): boolean {
  if (domain.startsWith('.')) return name.endsWith(domain);
  return domain === '' || name === domain || name.endsWith(`.${domain}`);
}

/** Whether it is a host name or an address or range, as constraints name them. */
export function isConstraint(text: string): boolean {
  return addressRange(text) !== null || isHostName(text);
}
