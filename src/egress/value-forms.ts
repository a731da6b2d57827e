/**
 * The forms in which a value may be written: as it is, escaped for JSON, HTML or a URL, in hexadecimal, decimal,
 * base32, base64 or UTF-16, or reversed. Each form has a window: a length of text that always represents at least
 * twelve characters of the value, or all of it. A part that is publicly known, such as `github_pat_` before a token,
 * does not count: otherwise guessing the first character after it would complete a window.
 */

/** How many consecutive characters of a value count as a match. */
export const window = 12;

export interface Form {
  /** Folded. */
  readonly text: Buffer;
  /** The length of its windows. */
  readonly size: number;
  /** The characters next to it may contain bits of the value, because its encoding is not aligned to bytes. */
  readonly isRagged: boolean;
  /** It is a form of only a piece of the value. */
  readonly isPiece: boolean;
}

/** Maps each byte to its lower-case letter or digit, or to zero for anything else. */
export type Folding = Uint8Array;

function foldingOf(beyondAscii: boolean): Folding {
  const folding = new Uint8Array(256);
  for (let byte = 0; byte < 256; byte++) {
    const isUpper = byte >= 0x41 && byte <= 0x5a;
    const isPlain = (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x30 && byte <= 0x39);
    if (isUpper) folding[byte] = byte + 0x20;
    else if (isPlain || (byte >= 0x80 && beyondAscii)) folding[byte] = byte;
  }
  return folding;
}

const asciiOnly = foldingOf(false);
const withLetters = foldingOf(true);

/** For an ASCII value, all non-ASCII bytes count as separators. */
export function foldingFor(values: readonly string[]): Folding {
  return values.every(value => /^[\0-\x7f]*$/.test(value)) ? asciiOnly : withLetters;
}

/**
 * Folds into a buffer of the same length. Returns how much of it is used. `places` receives the original position of
 * each byte.
 */
export function foldInto(
  kept: Uint8Array,
  bytes: Uint8Array,
  folding: Folding,
  places: Uint32Array | null = null,
): number {
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = folding[bytes[at]!]!;
    if (byte === 0) continue;
    kept[length] = byte;
    if (places !== null) places[length] = at;
    length++;
  }
  return length;
}

export function fold(bytes: Uint8Array, folding: Folding): Buffer {
  const kept = Buffer.allocUnsafe(bytes.length);
  return kept.subarray(0, foldInto(kept, bytes, folding));
}

/** Common prefixes of well-known services' tokens. */
const knownBeginning =
  /^(?:github_pat_(?:11)?|gh[opsur]_|glpat-|gl[a-z]{2,5}-|sk-(?:ant-(?:api|sid|admin)\d\d-|proj-|svcacct-|or-v1-)?|[srp]k_(?:live|test)_|xox[a-z](?:-\d+)*-|xapp-\d-|npm_|pypi-AgEIcHlwaS5vcmc|SG\.|do[opr]_v1_|shp[a-z]{2}_|hv[sbr]\.|AKIA|ASIA|AIza(?:Sy)?|ya29\.|sr_[a-z]+_|[a-z]{2,10}_(?:live|test|prod)_|-----BEGIN [A-Z0-9 ]+-----\s*[\w+/]{0,64})/;
const webToken = /^(eyJ[\w-]+\.[\w-]+\.)[\w-]+$/;
const address = /^([a-z][a-z0-9+.-]*:\/\/[^/?#:@\s]*:)([^@\s]+)@/i;

/** The publicly known text before a value's secret part, and that part; all of it if it would be too short. */
export function secretPartOf(value: string) {
  const known =
    webToken.exec(value)?.[1] ?? address.exec(value)?.[1] ?? knownBeginning.exec(value)?.[0] ?? '';
  const end = address.exec(value)?.[2]?.length;
  const text = value.slice(known.length, end === undefined ? undefined : known.length + end);
  return isRecognisable(text) ? { known, text } : { known: '', text: value };
}

/** Whether a value has enough letters and digits to be recognized. */
export function isRecognisable(value: string): boolean {
  return fold(Buffer.from(value, 'utf8'), foldingFor([value])).length >= window;
}

/** A form in pieces, of which `count` in a row represent twelve characters. */
type Written = readonly [pieces: readonly (string | Buffer)[], count?: number, isRagged?: boolean];

/**
 * In characters. For a longer value, unusual forms are only searched for at both ends, because their tables would be
 * too large.
 */
const longestInFull = 1024;
const pieceLength = 512;

/**
 * The forms, folded. UTF-16, hex dumps, lists of characters and URL-safe base64 are the same after folding. `least`:
 * how many characters of the value a window represents.
 */
export function formsOf(value: string, folding: Folding, least = window): Form[] {
  const usual = usualForms(value, least).map(one => formOf(one, folding, least));
  const isLong = value.length > longestInFull;
  const pieces = isLong ? [value.slice(0, pieceLength), value.slice(-pieceLength)] : [value];
  const unusual = pieces
    .flatMap(piece => unusualForms(piece, least))
    .map(one => ({ ...formOf(one, folding, least), isPiece: isLong }));
  return [...usual, ...unusual].filter(({ text }) => text.length >= shortest);
}

function usualForms(value: string, least: number): Written[] {
  const chars = [...value];
  const plain = Buffer.from(value, 'utf8');
  const each = (write: (char: string) => string): Written => [chars.map(write)];
  return [
    each(char => char),
    ...(/^[ -~]*$/.test(value) ? [] : beyondAscii(chars)),
    [[...chars].reverse()],
    each(char => JSON.stringify(char)),
    each(char => JSON.stringify(JSON.stringify(char).slice(1, -1))),
    each(htmlEscaped),
    each(percent),
    each(char => encodeURIComponent(percent(char))),
    each(char => new URLSearchParams({ v: char }).toString().slice(2)),
    [[...plain].map(byte => hexOf(byte, 2))],
    ...base64Of(plain, least),
    ...base64Of(plain, least, encodeURIComponent),
  ];
}

function unusualForms(value: string, least: number): Written[] {
  const chars = [...value];
  const plain = Buffer.from(value, 'utf8');
  const each = (write: (char: string) => string): Written => [chars.map(write)];
  const eachByte = (write: (byte: number) => string): Written => [[...plain].map(write)];
  const wide = [Buffer.from(value, 'utf16le'), Buffer.from(value, 'utf16le').swap16()];
  const digits = plain.toString('hex');
  return [
    eachByte(byte => `x${hexOf(byte, 2)}`),
    eachByte(byte => `0x${hexOf(byte, 2)}`),
    each(char => `x${hexOf(char.codePointAt(0)!, 1)}`),
    each(units),
    eachByte(byte => String(byte)),
    eachByte(byte => byte.toString(8).padStart(3, '0')),
    eachByte(byte => byte.toString(2).padStart(8, '0')),
    ...wide.map((text): Written => [pairsOf(text).map(pair => pair.toString('hex'))]),
    ...base64Of(plain, least).map(([pieces, ...rest]): Written => [[...pieces].reverse(), ...rest]),
    ...base64Of(plain, least, char => hexOf(char.charCodeAt(0), 2)),
    ...leads.flatMap(lead => base64Of(Buffer.from(base64At(plain, lead)), (least * 4) / 3)),
    ...base64Of(Buffer.from(digits), least * 2),
    ...base64Of(Buffer.from(digits.toUpperCase()), least * 2),
    ...wide.flatMap(text => base64Of(text, least * 2)),
    ...[0, 1, 2, 3, 4].map((lead): Written => [[...base32At(plain, lead)], Math.ceil((least * 8) / 5), true]),
  ];
}

/** Shorter forms could be anything. */
const shortest = 8;

/** The window is as long as the longest text of `count` pieces in a row, so that no window contains fewer. */
function formOf(written: Written, folding: Folding, least: number): Form {
  const [pieces, count = least, isRagged = false] = written;
  const bytes = Buffer.concat(pieces.map(piece => Buffer.from(piece as string, 'utf8')));
  const text = fold(bytes, folding);
  const lengths = new Uint32Array(pieces.length);
  let [size, sum, at] = [least, 0, 0];
  for (const [number, piece] of pieces.entries()) {
    for (const end = at + Buffer.byteLength(piece); at < end; at++)
      if (folding[bytes[at]!] !== 0) lengths[number]!++;
    sum += lengths[number]! - (lengths[number - count] ?? 0);
    size = Math.max(size, sum);
  }
  return { text, size: Math.min(size, text.length), isRagged, isPiece: false };
}

/** Forms in which only non-ASCII characters are escaped, or which are in Latin-1. */
function beyondAscii(chars: readonly string[]): Written[] {
  const escaped = (write: (char: string) => string | Buffer): Written => [
    chars.map(one => (one > '~' ? write(one) : one)),
  ];
  return [
    escaped(units),
    escaped(char => String(char.codePointAt(0)!)),
    escaped(char => `x${hexOf(char.codePointAt(0)!, 1)}`),
    escaped(char => hexOf(char.codePointAt(0)!, 2)),
    escaped(char => Buffer.from(char, 'latin1')),
  ];
}

const leads = [0, 1, 2] as const;

/** At each alignment within a longer text, with windows of `least` bytes. */
function base64Of(bytes: Uint8Array, least: number, rewrite = (char: string) => char): Written[] {
  const count = Math.ceil((least * 4) / 3);
  return leads.map(lead => [[...base64At(bytes, lead)].map(rewrite), count, true]);
}

/**
 * As it appears in the base64 of a longer text, after `lead` other bytes. Characters shared with other bytes are left
 * out.
 */
function base64At(bytes: Uint8Array, lead: number): string {
  const padded = Buffer.concat([Buffer.alloc(lead), bytes]).toString('base64');
  const text = padded.replaceAll('=', '');
  return text.slice(lead === 0 ? 0 : lead + 1, (lead + bytes.length) % 3 === 0 ? undefined : -1);
}

const base32 = 'abcdefghijklmnopqrstuvwxyz234567';

function base32At(bytes: Uint8Array, lead: number): string {
  const bits = [...Buffer.concat([Buffer.alloc(lead), bytes])]
    .map(byte => byte.toString(2).padStart(8, '0'))
    .join('');
  const from = Math.ceil((lead * 8) / 5);
  let text = '';
  for (let at = from * 5; at + 5 <= bits.length; at += 5)
    text += base32[Number.parseInt(bits.slice(at, at + 5), 2)];
  return text;
}

function pairsOf(bytes: Buffer): Buffer[] {
  return Array.from({ length: bytes.length / 2 }, (_, at) => bytes.subarray(2 * at, 2 * at + 2));
}

function hexOf(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}

function units(char: string): string {
  return char.replace(/[\s\S]/g, unit => `u${hexOf(unit.charCodeAt(0), 4)}`);
}

function percent(char: string): string {
  return encodeURIComponent(char.isWellFormed() ? char : '\ufffd');
}

const html: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' };

function htmlEscaped(char: string): string {
  return char in html ? `&${html[char]};` : char;
}
