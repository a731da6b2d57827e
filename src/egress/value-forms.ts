/**
 * How a value may be written: as it is, escaped for JSON, HTML or a URL, in hex, decimal, base32, base64 or UTF-16,
 * backwards. Each form comes with its window: the length of text that always stands for at least twelve characters of
 * the value, or for all of it. A part that anyone can know, such as `github_pat_` before a token, is no part of the value
 * here: otherwise guessing the first character behind it would be guessing a window.
 */

/** How many characters of a value in a row are taken for it. */
export const window = 12;

export interface Form {
  /** Folded. */
  readonly text: Buffer;
  /** The length of its windows. */
  readonly size: number;
  /** The characters beside it may contain bits of the value: its encoding doesn't begin and end with a byte. */
  readonly isRagged: boolean;
  /** It is a form of a piece of the value. */
  readonly isPiece: boolean;
}

/** What a byte counts as: letters and digits, in lower case. Zero for everything between them. */
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

/** Between the characters of a value that is ASCII, anything else is a separator. */
export function foldingFor(values: readonly string[]): Folding {
  return values.every(value => /^[\0-\x7f]*$/.test(value)) ? asciiOnly : withLetters;
}

/** Into a buffer that is as long; returns how much of it is taken. If a list is given, it gets the place of each. */
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

/** The beginnings that tokens of well-known services have in common. */
const knownBeginning =
  /^(?:github_pat_(?:11)?|gh[opsur]_|glpat-|gl[a-z]{2,5}-|sk-(?:ant-(?:api|sid|admin)\d\d-|proj-|svcacct-|or-v1-)?|[srp]k_(?:live|test)_|xox[a-z](?:-\d+)*-|xapp-\d-|npm_|pypi-AgEIcHlwaS5vcmc|SG\.|do[opr]_v1_|shp[a-z]{2}_|hv[sbr]\.|AKIA|ASIA|AIza(?:Sy)?|ya29\.|sr_[a-z]+_|[a-z]{2,10}_(?:live|test|prod)_|-----BEGIN [A-Z0-9 ]+-----\s*[\w+/]{0,64})/;
const webToken = /^(eyJ[\w-]+\.[\w-]+\.)[\w-]+$/;
const address = /^([a-z][a-z0-9+.-]*:\/\/[^/?#:@\s]*:)([^@\s]+)@/i;

export interface SecretPart {
  /** What everybody may know, and stands before it. */
  readonly known: string;
  readonly text: string;
}

/** The part of a value that only those can know who have it; all of it where that part would be too short. */
export function secretPartOf(value: string): SecretPart {
  const known =
    webToken.exec(value)?.[1] ?? address.exec(value)?.[1] ?? knownBeginning.exec(value)?.[0] ?? '';
  const end = address.exec(value)?.[2]?.length;
  const text = value.slice(known.length, end === undefined ? undefined : known.length + end);
  return isRecognisable(text) ? { known, text } : { known: '', text: value };
}

/** Whether a value has enough letters and digits to be told from anything else. */
export function isRecognisable(value: string): boolean {
  return fold(Buffer.from(value, 'utf8'), foldingFor([value])).length >= window;
}

/** In pieces, of which so many in a row stand for twelve characters. */
type Written = readonly [pieces: readonly (string | Buffer)[], count?: number, isRagged?: boolean];

/** In characters: of a longer value, unusual forms are known at both ends. Their tables would take too much. */
const longestInFull = 1024;
const pieceLength = 512;

/** The forms, folded. UTF-16, hex dumps, lists of characters and base64 for URLs come to the same once folded. */
/** `least`: how many characters of the value its windows stand for. */
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

/** Shorter ones say nothing: they could be anything. */
const shortest = 8;

/** As long as the longest text that this many pieces in a row make, so that no window has fewer. */
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

/** As those write it who escape only what is not ASCII, or write it in Latin-1. */
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

/** At every place of a longer text, in windows of so many of these bytes. */
function base64Of(bytes: Uint8Array, least: number, rewrite = (char: string) => char): Written[] {
  const count = Math.ceil((least * 4) / 3);
  return leads.map(lead => [[...base64At(bytes, lead)].map(rewrite), count, true]);
}

/** As it stands in the base64 of something longer, behind so many other bytes; what it shares with them is left out. */
function base64At(bytes: Uint8Array, lead: number): string {
  const text = Buffer.concat([Buffer.alloc(lead), bytes])
    .toString('base64')
    .replaceAll('=', '');
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

function htmlEscaped(char: string): string {
  const names: Readonly<Record<string, string>> = {
    '&': 'amp',
    '<': 'lt',
    '>': 'gt',
    '"': 'quot',
    "'": '#39',
  };
  return char in names ? `&${names[char]};` : char;
}
