/**
 * A strict parser for DER, the encoding of all keys, certificates and PKCS#12 files.
 *
 * Guarantees: exactly one element, all bytes consumed, one interpretation. All untrusted data passes here before
 * OpenSSL or a library sees it, so that no two parsers can disagree about it.
 * Refuses: indefinite and non-minimal lengths, lengths past the end, trailing bytes, high tag numbers, constructed
 * strings, non-minimal integers, and nesting or element counts beyond the limits below.
 */

export interface Der {
  readonly tag: number;
  /** The whole element, including tag and length. */
  readonly raw: Buffer;
  readonly body: Buffer;
  readonly children: readonly Der[];
}

/** Says what is wrong with the bytes but never repeats them, because it is logged as a cause. */
export class DerError extends Error {}

export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  null: 0x05,
  oid: 0x06,
  sequence: 0x30,
  set: 0x31,
} as const;

/** A real certificate nests about ten deep; strings that wrap more DER are parsed separately. */
const maxDepth = 24;
const maxElements = 20_000;
const constructed = 0x20;

/** Reads exactly one element; `bytes` must contain nothing else. */
export function readDer(bytes: Uint8Array): Der {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const element = readElement(buffer, { count: 0 }, 0);
  if (element.raw.length !== buffer.length) throw new DerError('bytes after the end');
  return element;
}

function readElement(bytes: Buffer, seen: { count: number }, depth: number): Der {
  if (depth > maxDepth) throw new DerError('nested too deep');
  if (++seen.count > maxElements) throw new DerError('too many elements');
  const tag = bytes[0];
  if (tag === undefined || tag === 0) throw new DerError('no element');
  if ((tag & 0x1f) === 0x1f) throw new DerError('high tag number');
  const { start, end } = readLength(bytes);
  const body = bytes.subarray(start, end);
  const children = tag & constructed ? readChildren(body, seen, depth + 1) : [];
  const element = { tag, raw: bytes.subarray(0, end), body, children };
  checkUniversal(element);
  return element;
}

function readChildren(body: Buffer, seen: { count: number }, depth: number): Der[] {
  const children: Der[] = [];
  for (let at = 0; at < body.length; ) {
    const child = readElement(body.subarray(at), seen, depth);
    children.push(child);
    at += child.raw.length;
  }
  return children;
}

function readLength(bytes: Buffer): { start: number; end: number } {
  const first = bytes[1];
  if (first === undefined) throw new DerError('cut off');
  if (first === 0x80) throw new DerError('indefinite length');
  const size = first & 0x80 ? first & 0x7f : 0;
  if (size > 4) throw new DerError('length too long');
  if (bytes.length < 2 + size) throw new DerError('cut off');
  const length = size === 0 ? first : bytes.readUIntBE(2, size);
  if (size > 0 && (length < 0x80 || bytes[2] === 0)) throw new DerError('length not minimal');
  const start = 2 + size;
  if (start + length > bytes.length) throw new DerError('cut off');
  return { start, end: start + length };
}

/** Further DER rules for the contents of the universal types used here. */
const bodyRules: Readonly<Record<number, (body: Buffer) => boolean>> = {
  [tags.boolean]: body => body.length === 1 && (body[0] === 0 || body[0] === 0xff),
  [tags.integer]: isMinimalInteger,
  [tags.bits]: body => body.length > 0 && body[0]! < 8,
  [tags.null]: body => body.length === 0,
  [tags.oid]: body => body.length > 0 && body.length <= 64 && body.at(-1)! < 0x80,
};

function checkUniversal({ tag, body }: Der): void {
  if (tag & 0xc0) return;
  const number = tag & 0x1f;
  const isList = number === 0x10 || number === 0x11;
  if (isList !== Boolean(tag & constructed))
    throw new DerError('a tag that is not constructed as DER requires');
  if (bodyRules[tag]?.(body) === false) throw new DerError('a value that is not well-formed');
}

function isMinimalInteger(body: Buffer): boolean {
  const [first, second] = body;
  if (first === undefined) return false;
  if (second === undefined) return true;
  return !(first === 0 && second < 0x80) && !(first === 0xff && second >= 0x80);
}

function expectTag(element: Der | undefined, tag: number): Der {
  if (!element) throw new DerError('an element is missing');
  if (element.tag !== tag) throw new DerError('an unexpected tag');
  return element;
}

/** The elements of a SEQUENCE that has between `min` and `max` of them. */
export function sequence(element: Der | undefined, min = 0, max = Number.POSITIVE_INFINITY): readonly Der[] {
  const { children } = expectTag(element, tags.sequence);
  if (children.length < min || children.length > max)
    throw new DerError('a sequence with an unexpected number of elements');
  return children;
}

/** Optional elements, identified by their tags: each at most once, in this order, and nothing else. */
export function optionals(elements: readonly Der[], ...order: number[]): (Der | undefined)[] {
  const rest = [...elements];
  const found = order.map(tag => (rest[0]?.tag === tag ? rest.shift() : undefined));
  if (rest.length > 0) throw new DerError('an unexpected element');
  return found;
}

/** The one element inside an explicit context tag, `[number]`. */
export function explicit(element: Der | undefined, number: number): Der {
  const { children } = expectTag(element, 0xa0 | number);
  if (children.length !== 1) throw new DerError('an explicit tag that does not wrap exactly one element');
  return children[0]!;
}

/** A non-negative INTEGER. */
export function unsigned(element: Der | undefined): bigint {
  const { body } = expectTag(element, tags.integer);
  if (body[0]! & 0x80) throw new DerError('a negative integer');
  return toBigInt(body);
}

/**
 * A non-negative INTEGER as a number. A value of 2^53 or more becomes the largest safe integer, which every limit
 * refuses.
 */
export function count(element: Der | undefined): number {
  const value = unsigned(element);
  return value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(value);
}

export function octets(element: Der | undefined): Buffer {
  return expectTag(element, tags.octets).body;
}

/** A BIT STRING of whole bytes. */
export function wholeBits(element: Der | undefined): Buffer {
  const { body } = expectTag(element, tags.bits);
  if (body[0] !== 0) throw new DerError('a bit string with unused bits');
  return body.subarray(1);
}

export function oid(element: Der | undefined): string {
  const { body } = expectTag(element, tags.oid);
  const arcs: bigint[] = [];
  let arc = 0n;
  for (const byte of body) {
    if (arc === 0n && byte === 0x80) throw new DerError('identifier not minimal');
    arc = (arc << 7n) | BigInt(byte & 0x7f);
    if (byte & 0x80) continue;
    arcs.push(arc);
    arc = 0n;
  }
  const head = arcs.shift()!;
  const top = head < 80n ? head / 40n : 2n;
  return [top, head - top * 40n, ...arcs].join('.');
}

export function toBigInt(bytes: Buffer): bigint {
  return bytes.length === 0 ? 0n : BigInt(`0x${bytes.toString('hex')}`);
}
