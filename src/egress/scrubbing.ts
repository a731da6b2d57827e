/**
 * Takes a value out of an answer, in whichever common form it is written there: as it is, escaped for JSON, HTML or a
 * URL, in hex, decimal, base64 or UTF-16, backwards, in either case, and with anything between its characters that is
 * neither letter nor digit. Twelve of its characters in a row are enough. What an upstream encodes in a way of its own
 * is not found: which upstreams are asked is for the rule to say.
 */

/** How many letters and digits in a row are taken for the value. */
const window = 12;
const mark = Buffer.from('[redacted]');
const mostStarts = 1 << 17;

export interface Scrubbed {
  readonly bytes: Buffer;
  /** How many places were redacted. */
  readonly redacted: number;
}

export interface Scrubber {
  scrub(bytes: Buffer): Scrubbed;
}

/** Letters and digits alone, in lower case; whatever is no ASCII counts as a letter. Zero for all else. */
const folded = new Uint8Array(256);
for (let byte = 0; byte < 256; byte++) {
  const isUpper = byte >= 0x41 && byte <= 0x5a;
  const counts = isUpper || (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x30 && byte <= 0x39) || byte >= 0x80;
  folded[byte] = counts ? (isUpper ? byte + 0x20 : byte) : 0;
}

function fold(bytes: Uint8Array): { text: string; places: Uint32Array } {
  const kept = Buffer.allocUnsafe(bytes.length);
  const places = new Uint32Array(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = folded[bytes[at]!]!;
    if (byte === 0) continue;
    kept[length] = byte;
    places[length++] = at;
  }
  return { text: kept.toString('latin1', 0, length), places: places.subarray(0, length) };
}

/** Whether a value has enough letters and digits to be told from anything else. */
export function isRecognisable(value: string): boolean {
  return fold(Buffer.from(value, 'utf8')).text.length >= window;
}

export function scrubberOf(values: readonly string[]): Scrubber {
  const windows = new Map<number, Set<string>>();
  const starts = new Uint8Array(mostStarts);
  for (const value of values) {
    for (const { text, size } of formsOf(value)) addWindows(windows, starts, text, size);
  }
  const sizes = [...windows].sort(([one], [other]) => one - other);
  return { scrub: bytes => scrub(bytes, sizes, starts) };
}

function addWindows(windows: Map<number, Set<string>>, starts: Uint8Array, text: string, size: number): void {
  if (text.length < size) return;
  const known = windows.get(size) ?? new Set();
  windows.set(size, known);
  for (let at = 0; at + size <= text.length; at++) {
    known.add(text.slice(at, at + size));
    starts[startAt(text, at)] = 1;
  }
}

/** A mark of four characters, by which few places of an answer have to be looked at closely. */
function startAt(text: string, at: number): number {
  const pair = (text.charCodeAt(at) << 8) | text.charCodeAt(at + 1);
  const next = (text.charCodeAt(at + 2) << 8) | text.charCodeAt(at + 3);
  return Math.imul((pair << 16) | next, 0x9e3779b1) >>> 15;
}

type Run = [from: number, to: number];

function scrub(bytes: Buffer, sizes: readonly [number, Set<string>][], starts: Uint8Array): Scrubbed {
  const { text, places } = fold(bytes);
  const found = runsIn(text, sizes, starts);
  if (found.length === 0) return { bytes, redacted: 0 };
  const parts: Buffer[] = [];
  let next = 0;
  for (const [from, to] of found) {
    parts.push(bytes.subarray(next, places[from]!), mark);
    next = places[to - 1]! + 1;
  }
  parts.push(bytes.subarray(next));
  return { bytes: Buffer.concat(parts), redacted: found.length };
}

/** Where the value is, in whichever form: windows that overlap are one run. */
function runsIn(text: string, sizes: readonly [number, Set<string>][], starts: Uint8Array): Run[] {
  const found: Run[] = [];
  for (let at = 0; at + window <= text.length; at++) {
    if (starts[startAt(text, at)] === 0) continue;
    const size = sizes.findLast(([length, known]) => known.has(text.slice(at, at + length)))?.[0];
    if (size === undefined) continue;
    const last = found.at(-1);
    if (last !== undefined && at <= last[1]) last[1] = Math.max(last[1], at + size);
    else found.push([at, at + size]);
  }
  return found;
}

interface Form {
  readonly text: string;
  /** Of a window of it: as long as so many characters of the value are in this form. */
  readonly size: number;
}

/** The forms, folded. UTF-16, hex dumps, lists of characters and base64 for URLs come to the same once folded. */
function formsOf(value: string): Form[] {
  const bytes = Buffer.from(value, 'utf8');
  const each = (write: (byte: number) => string) => [...bytes].map(write).join('');
  const base64 = [0, 1, 2].map(lead => base64At(bytes, lead));
  const written: [text: string, width: number][] = [
    [value, 1],
    [[...value].reverse().join(''), 1],
    [JSON.stringify(value), 1],
    [JSON.stringify(JSON.stringify(value)), 1],
    [htmlEscaped(value), 1],
    [encodeURIComponent(value), 1],
    [encodeURIComponent(encodeURIComponent(value)), 1],
    [new URLSearchParams({ v: value }).toString().slice(2), 1],
    [bytes.toString('hex'), 2],
    [Buffer.from(bytes.toString('hex')).toString('base64'), 2],
    [each(byte => `x${byte.toString(16).padStart(2, '0')}`), 3],
    [each(byte => `0x${byte.toString(16).padStart(2, '0')}`), 4],
    [[...value].map(char => `x${char.codePointAt(0)!.toString(16)}`).join(''), 2],
    [[...value].map(char => `u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''), 5],
    [each(byte => String(byte)), 2],
    [each(byte => byte.toString(8).padStart(3, '0')), 3],
    [each(byte => byte.toString(2).padStart(8, '0')), 8],
    ...base64.map((text): [string, number] => [text, 4 / 3]),
    ...base64.map((text): [string, number] => [[...text].reverse().join(''), 4 / 3]),
    ...base64.map((text): [string, number] => [encodeURIComponent(text), 4 / 3]),
    ...[0, 1, 2].map((lead): [string, number] => [base64At(Buffer.from(base64[0]!), lead), 16 / 9]),
    ...utf16(value).flatMap(wide => [0, 1, 2].map((lead): [string, number] => [base64At(wide, lead), 8 / 3])),
    ...utf16(value).map((wide): [string, number] => [wide.toString('hex'), 4]),
  ];
  return written.map(([text, width]) => ({
    text: fold(Buffer.from(text, 'utf8')).text,
    size: Math.ceil(window * width),
  }));
}

/** As it stands in the base64 of something longer, behind so many other bytes; what it shares with them is left out. */
function base64At(bytes: Uint8Array, lead: number): string {
  const text = Buffer.concat([Buffer.alloc(lead), bytes])
    .toString('base64')
    .replaceAll('=', '');
  const from = lead === 0 ? 0 : lead + 1;
  const isWhole = (lead + bytes.length) % 3 === 0;
  return text.slice(from, isWhole ? undefined : -1);
}

function utf16(value: string): readonly [Buffer, Buffer] {
  const little = Buffer.from(value, 'utf16le');
  return [little, Buffer.from(little).swap16()];
}

function htmlEscaped(value: string): string {
  const names: Readonly<Record<string, string>> = {
    '&': 'amp',
    '<': 'lt',
    '>': 'gt',
    '"': 'quot',
    "'": '#39',
  };
  return value.replace(/[&<>"']/g, char => `&${names[char]};`);
}
