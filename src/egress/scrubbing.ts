/**
 * Takes a value out of an answer, in whichever common form it is written there: as it is, escaped for JSON, HTML or a
 * URL, in hex, decimal, base64 or UTF-16, backwards, in either case, and with anything between its characters that is
 * neither letter nor digit. Twelve of its characters in a row are enough. What an upstream encodes in a way of its own
 * is not found: which upstreams are asked is for the rule to say. An answer takes time by its length alone, whatever is
 * in it: it is looked through once for each length of window, and windows are compared by two hashes that roll along.
 * Should two be equal by accident, too much is redacted.
 */
import { WindowSet } from './window-set.ts';

/** How many letters and digits in a row are taken for the value. */
const window = 12;
/** Of a value, in bytes: its forms take memory, and time to be worked out. */
const longest = 16 * 1024;
const mark = Buffer.from('[redacted]');

export interface Scrubbed {
  readonly bytes: Buffer;
  /** How many places were redacted. */
  readonly redacted: number;
}

export interface Scrubber {
  scrub(bytes: Buffer): Scrubbed;
  /** What it takes of memory, in bytes. */
  readonly size: number;
}

/** Letters and digits alone, in lower case; whatever is no ASCII counts as a letter. Zero for all else. */
const folded = new Uint8Array(256);
for (let byte = 0; byte < 256; byte++) {
  const isUpper = byte >= 0x41 && byte <= 0x5a;
  const counts = isUpper || (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x30 && byte <= 0x39) || byte >= 0x80;
  folded[byte] = counts ? (isUpper ? byte + 0x20 : byte) : 0;
}

/** Into a buffer that is as long; says how much of it is taken. Where a list is given, it gets the place of each. */
function foldInto(kept: Uint8Array, bytes: Uint8Array, places: Uint32Array | null = null): number {
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = folded[bytes[at]!]!;
    if (byte === 0) continue;
    kept[length] = byte;
    if (places !== null) places[length] = at;
    length++;
  }
  return length;
}

function fold(bytes: Uint8Array): Buffer {
  const kept = Buffer.allocUnsafe(bytes.length);
  return kept.subarray(0, foldInto(kept, bytes));
}

/** Whether a value has enough letters and digits to be told from anything else. */
export function isRecognisable(value: string): boolean {
  return fold(Buffer.from(value, 'utf8')).length >= window;
}

/** Whether a value is too long to be looked for. */
export function isTooLong(value: string): boolean {
  return Buffer.byteLength(value, 'utf8') > longest;
}

export function scrubberOf(values: readonly string[]): Scrubber {
  const texts = new Map<number, Map<string, Buffer>>();
  for (const { text, size } of values.flatMap(formsOf)) {
    const alike = texts.get(size) ?? new Map<string, Buffer>();
    texts.set(size, alike.set(text.toString('latin1'), text));
  }
  const windows = [...texts].map(([size, alike]) => new WindowSet(size, [...alike.values()]));
  const size = windows.reduce((sum, { bytes }) => sum + bytes, 0);
  if (size > smallScrubber) return { scrub: bytes => scrub(bytes, windows), size };
  // Whatever holds one of the windows holds the beginning of it: most answers are looked through once, and are clean.
  const beginnings = new WindowSet(
    window,
    [...texts.values()].flatMap(alike => [...alike.values()]),
  );
  return {
    scrub: bytes => (mayHold(bytes, beginnings) ? scrub(bytes, windows) : { bytes, redacted: 0 }),
    size: size + beginnings.bytes,
  };
}

/** In bytes: those of a token or a password, which are looked for most often. */
const smallScrubber = 512 * 1024;

/** Used again and again: most answers are short. */
const workplace = Buffer.alloc(64 * 1024);

function mayHold(bytes: Buffer, beginnings: WindowSet): boolean {
  const kept = bytes.length <= workplace.length ? workplace : Buffer.allocUnsafe(bytes.length);
  return beginnings.isIn(kept.subarray(0, foldInto(kept, bytes)));
}

type Run = [from: number, to: number];

function scrub(bytes: Buffer, windows: readonly WindowSet[]): Scrubbed {
  const kept = Buffer.allocUnsafe(bytes.length);
  const places = new Uint32Array(bytes.length);
  const found = runsIn(kept.subarray(0, foldInto(kept, bytes, places)), windows);
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
function runsIn(text: Buffer, windows: readonly WindowSet[]): Run[] {
  const longestAt = new Uint16Array(text.length);
  for (const known of windows) known.markIn(text, longestAt);
  const found: Run[] = [];
  for (let at = 0; at < longestAt.length; at++) {
    const size = longestAt[at]!;
    if (size === 0) continue;
    const last = found.at(-1);
    if (last !== undefined && at <= last[1]) last[1] = Math.max(last[1], at + size);
    else found.push([at, at + size]);
  }
  return found;
}

interface Form {
  readonly text: Buffer;
  /** Of a window of it: as long as so many characters of the value are in this form. */
  readonly size: number;
}

/** The forms, folded. UTF-16, hex dumps, lists of characters and base64 for URLs come to the same once folded. */
function formsOf(value: string): Form[] {
  const bytes = Buffer.from(value, 'utf8');
  const each = (write: (byte: number) => string) => [...bytes].map(write).join('');
  const base64 = [0, 1, 2].map(lead => base64At(bytes, lead));
  const written: [text: string | Buffer, width: number][] = [
    [value, 1],
    ...(/^[ -~]*$/.test(value) ? [] : beyondAscii(value)).map((text): [string | Buffer, number] => [text, 1]),
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
    text: fold(typeof text === 'string' ? Buffer.from(text, 'utf8') : text),
    size: Math.ceil(window * width),
  }));
}

/** As those write it who escape only what is not ASCII, or write it in Latin-1. */
function beyondAscii(value: string): (string | Buffer)[] {
  const escaped = (write: (char: string) => string) =>
    [...value].map(one => (one > '~' ? write(one) : one)).join('');
  const units = (char: string) =>
    [...char.split('')].map(unit => `u${hexOf(unit.charCodeAt(0), 4)}`).join('');
  return [
    escaped(units),
    escaped(char => String(char.codePointAt(0)!)),
    escaped(char => `x${hexOf(char.codePointAt(0)!, 1)}`),
    escaped(char => hexOf(char.codePointAt(0)!, 2)),
    Buffer.from(value, 'latin1'),
  ];
}

function hexOf(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
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
