/**
 * Name constraints of authorities (RFC 5280, 4.2.1.10): which names the certificates below them may have.
 *
 * Guarantees: what is written is what is read. A kind of name of which nothing is permitted is excluded altogether,
 * because clients take the absence of a subtree as permission for all.
 * Refuses: constraints that this service can't enforce, and subtrees with a distance.
 */

import {
  type AddressRange,
  addressRange,
  type IssuedName,
  isInDomain,
  rangeIncludes,
} from '../contract/certificate-names.ts';
import { type Der, DerError, explicit, octets, oid, readDer, sequence, tags } from './der.ts';

export interface NameConstraints {
  /** Null if all are permitted. Host names below these are too. */
  readonly domains: readonly string[] | null;
  readonly ranges: readonly AddressRange[] | null;
  readonly excludedDomains: readonly string[];
  readonly excludedRanges: readonly AddressRange[];
}

export const nameConstraintsId = '2.5.29.30';
const dns = 0x82;
const address = 0x87;
const directoryName = 0xa4;
const permitted = 0xa0;
const excluded = 0xa1;
const unconstrained: NameConstraints = {
  domains: null,
  ranges: null,
  excludedDomains: [],
  excludedRanges: [],
};

/** What is permitted as text: domains, addresses and ranges. */
export function constraintsFrom(names: readonly string[] | null): NameConstraints {
  if (names === null) return unconstrained;
  const ranges = names.flatMap(name => addressRange(name) ?? []);
  const domains = names.filter(name => addressRange(name) === null);
  return { domains, ranges, excludedDomains: [], excludedRanges: [] };
}

/** The value of the extension. */
export function encodeConstraints(names: readonly string[]): Buffer {
  const { domains, ranges } = constraintsFrom(names);
  const none = [
    ...(domains!.length === 0 ? [subtree(dns, Buffer.alloc(0))] : []),
    ...(ranges!.length === 0 ? [4, 16].map(size => subtree(address, Buffer.alloc(2 * size))) : []),
  ];
  const some = [
    ...domains!.map(domain => subtree(dns, Buffer.from(domain, 'ascii'))),
    ...ranges!.map(range => subtree(address, withMask(range))),
  ];
  // With IPv4 ranges alone, IPv6 would remain open, and the other way around.
  const families = [4, 16].filter(size => !ranges!.some(({ bytes }) => bytes.length === size));
  const closed = ranges!.length === 0 ? [] : families.map(size => subtree(address, Buffer.alloc(2 * size)));
  const out = [...none, ...closed];
  return element(tags.sequence, [
    element(permitted, some),
    ...(out.length === 0 ? [] : [element(excluded, out)]),
  ]);
}

function subtree(tag: number, body: Buffer): Buffer {
  return element(tags.sequence, [element(tag, [body])]);
}

function withMask({ bytes, bits }: AddressRange): Buffer {
  const mask = bytes.map((_, at) => 0xff << Math.min(8, Math.max(0, 8 * (at + 1) - bits)));
  return Buffer.concat([bytes, mask]);
}

export function element(tag: number, parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const { length } = body;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), body]);
  const hex = length.toString(16);
  const size = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
  return Buffer.concat([Buffer.from([tag, 0x80 | size.length]), size, body]);
}

/** The extensions of a certificate by their identifiers, from the elements of its body. */
export function extensionsOf(tbs: readonly Der[]): ReadonlyMap<string, Buffer> {
  const found = tbs.find(({ tag }) => tag === 0xa3);
  return found === undefined ? new Map() : extensionsIn(explicit(found, 3));
}

export function extensionsIn(list: Der): ReadonlyMap<string, Buffer> {
  const all = new Map<string, Buffer>();
  for (const item of sequence(list)) {
    const parts = sequence(item, 2, 3);
    const id = oid(parts[0]);
    if (all.has(id)) throw new DerError('a duplicate extension');
    if (parts.length === 3 && parts[1]!.tag !== tags.boolean) throw new DerError('an unexpected tag');
    all.set(id, octets(parts.at(-1)));
  }
  return all;
}

/** The constraints that a certificate of an authority has. */
export function constraintsOf(tbs: readonly Der[]): NameConstraints {
  const value = extensionsOf(tbs).get(nameConstraintsId);
  if (value === undefined) return unconstrained;
  const subtrees = sequence(readDer(value), 1, 2);
  const of = (tag: number) =>
    subtrees.filter(one => one.tag === tag).flatMap(({ children }) => children.map(baseOf));
  if (subtrees.some(({ tag }) => tag !== permitted && tag !== excluded))
    throw new DerError('an unexpected tag');
  const [some, none] = [of(permitted), of(excluded)];
  // A directory name would have to be compared with our subjects.
  if ([...some, ...none].some(({ tag }) => tag === directoryName))
    throw new DerError('an unexpected kind of name');
  const domains = (bases: readonly Der[]) =>
    bases.filter(({ tag }) => tag === dns).map(({ body }) => domainOf(body));
  const ranges = (bases: readonly Der[]) =>
    bases.filter(({ tag }) => tag === address).map(({ body }) => rangeOf(body));
  return {
    domains: some.some(({ tag }) => tag === dns) ? domains(some) : null,
    ranges: some.some(({ tag }) => tag === address) ? ranges(some) : null,
    excludedDomains: domains(none).map(domain => domain.replace(/^\./, '')),
    excludedRanges: ranges(none),
  };
}

function baseOf(one: Der): Der {
  return sequence(one, 1, 1)[0]!;
}

/** With a leading dot, as some authorities write it, the domain itself is not part of it. */
function domainOf(body: Buffer): string {
  return body.toString('latin1').toLowerCase();
}

function rangeOf(body: Buffer): AddressRange {
  const half = body.length / 2;
  if (half !== 4 && half !== 16) throw new DerError('an address range of invalid length');
  const text = [...body.subarray(half)].map(byte => byte.toString(2).padStart(8, '0')).join('');
  if (!/^1*0*$/.test(text)) throw new DerError('an address range that is no prefix');
  return { bytes: body.subarray(0, half), bits: text.replaceAll('0', '').length };
}

/** Whether a certificate under these constraints may have the name. A wildcard is judged by what it stands for. */
export function constraintsAllow(constraints: NameConstraints, { kind, value }: IssuedName): boolean {
  const { domains, ranges, excludedDomains, excludedRanges } = constraints;
  if (kind === 'ip') {
    const range = addressRange(value)!;
    const isIn = (one: AddressRange) => rangeIncludes(one, range);
    return (ranges?.some(isIn) ?? true) && !excludedRanges.some(isIn);
  }
  const plain = value.replace(/^\*\./, '');
  const isOut = excludedDomains.some(
    domain => isInDomain(plain, domain) || (plain !== value && isInDomain(domain, plain)),
  );
  return (domains?.some(domain => isInDomain(plain, domain)) ?? true) && !isOut;
}

/** Whether everything that the second constraints permit, given as text, is permitted by the first. */
export function constraintsInclude(constraints: NameConstraints, names: readonly string[]): boolean {
  const { domains, ranges } = constraints;
  return names.every(name => {
    const range = addressRange(name);
    if (range !== null) return ranges?.some(one => rangeIncludes(one, range)) ?? true;
    return domains?.some(domain => isInDomain(name, domain)) ?? true;
  });
}
