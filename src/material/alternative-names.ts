/**
 * Subject alternative names as text: `dns:…`, `ip:…`, `email:…`, `uri:…`.
 *
 * Guarantees: the kind is read from the encoding, never by splitting a printed string. Names written into a certificate
 * are ASCII and well-formed, so that no client can read an unintended name from it.
 * Refuses: unknown kinds, malformed names and addresses, more than a hundred names.
 */
import { isIP } from 'node:net';
import { invalid } from '../contract/errors.ts';
import { type Der, DerError, explicit, octets, oid, readDer, sequence } from './der.ts';

const maxNames = 100;
const maxLength = 2048;
const subjectAltName = '2.5.29.17';

interface AlternativeName {
  readonly type: 'dns' | 'ip' | 'email' | 'url';
  readonly value: string;
}

const label = '[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?';
const dnsName = new RegExp(`^(?:\\*\\.)?${label}(?:\\.${label})*$`);

const rules: Readonly<Record<string, { type: AlternativeName['type']; fits: (value: string) => boolean }>> = {
  dns: { type: 'dns', fits: value => value.length <= 253 && dnsName.test(value) },
  ip: { type: 'ip', fits: value => isIP(value) !== 0 && !value.includes('%') },
  email: { type: 'email', fits: value => value.length <= 320 && /^[^\s@<>"]+@[A-Za-z0-9.-]+$/.test(value) },
  uri: { type: 'url', fits: value => /^[A-Za-z][A-Za-z0-9+.-]*:\S+$/.test(value) && URL.canParse(value) },
};

export function parseAlternativeNames(names: readonly string[], field: string): AlternativeName[] {
  if (names.length > maxNames) throw invalid(field, `has more than ${maxNames} names`);
  return names.map(name => parseOne(name, field));
}

function parseOne(name: string, field: string): AlternativeName {
  const colon = name.indexOf(':');
  const kind = name.slice(0, colon);
  const rule = colon > 0 && Object.hasOwn(rules, kind) ? rules[kind] : undefined;
  if (!rule) throw invalid(field, 'has a name that does not start with dns:, ip:, email: or uri:');
  const value = name.slice(colon + 1);
  // Names outside ASCII have an encoded form (xn--…), which the caller must provide.
  const isSane = value.length <= maxLength && /^[\x20-\x7e]+$/.test(value) && rule.fits(value);
  if (!isSane) throw invalid(field, `has a malformed ${kind} name`);
  return { type: rule.type, value };
}

/** Prefixes `localhost` or `127.0.0.1` with its kind. */
export const withKind = (name: string): string => `${isIP(name) ? 'ip' : 'dns'}:${name}`;

/** The names in a certificate's extensions, from the elements of its body. */
export function alternativeNamesOf(tbs: readonly Der[]): string[] {
  const extensions = tbs.find(({ tag }) => tag === 0xa3);
  if (!extensions) return [];
  const found = sequence(explicit(extensions, 3)).filter(
    item => oid(sequence(item, 2, 3)[0]) === subjectAltName,
  );
  if (found.length > 1) throw new DerError('a duplicate extension');
  return found.flatMap(item => sequence(readDer(octets(sequence(item).at(-1)))).flatMap(formatOne));
}

const textKinds: Readonly<Record<number, string>> = { 129: 'email', 130: 'dns', 134: 'uri' };

/** Kinds that are not needed here (directory names, other names) are left out. */
function formatOne({ tag, body }: Der): string[] {
  if (tag === 0x87) return [`ip:${formatAddress(body)}`];
  return tag in textKinds ? [`${textKinds[tag]}:${ascii(body)}`] : [];
}

/** An IA5String, and printable: a zero byte in a name once made browsers accept the part before it. */
function ascii(body: Buffer): string {
  const text = body.toString('latin1');
  if (!/^[\x20-\x7e]*$/.test(text)) throw new DerError('a name that is not printable ASCII');
  return text;
}

function formatAddress(body: Buffer): string {
  if (body.length === 4) return body.join('.');
  if (body.length !== 16) throw new DerError('an address of invalid length');
  const groups = Array.from({ length: 8 }, (_, i) => body.readUInt16BE(2 * i).toString(16));
  // The URL parser writes an IPv6 address in canonical form (RFC 5952).
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}
