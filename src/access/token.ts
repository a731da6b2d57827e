/**
 * Credentials as text: `sr_<kind>_` + id + 256 random bits + checksum, in letters and digits only, so that a double
 * click selects all of it and a scanner recognizes a leaked one. The checksum rejects typing errors before any lookup;
 * it protects nothing else. Only a keyed digest of a token is ever stored.
 */
import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

export const tokenKinds = [
  'api',
  'vault',
  'pub',
  'login',
  'mcp',
  'session',
  'invite',
  'setup',
  'device',
  'code',
  'refresh',
] as const;
type TokenKind = (typeof tokenKinds)[number];

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const values = new Map([...digits].map((digit, value) => [digit, BigInt(value)]));
export const idLength = 22;
export const secretLength = 43;
export const checksumLength = 6;
const bodyLength = idLength + secretLength + checksumLength;
const shape = new RegExp(`^sr_(${tokenKinds.join('|')})_([0-9A-Za-z]+)$`);

export function mintToken(
  kind: TokenKind,
  id: string,
  random: (size: number) => Uint8Array = randomBytes,
): string {
  const idText = base62(Buffer.from(id.replaceAll('-', ''), 'hex'), idLength);
  const unchecked = `sr_${kind}_${idText}${base62(random(32), secretLength)}`;
  return unchecked + checksum(unchecked);
}

/** The kind of a token, and the id of its record; null if it is not one of ours. It proves nothing yet. */
export function parseToken(text: string): { readonly kind: TokenKind; readonly id: string } | null {
  const match = shape.exec(text);
  if (match === null) return null;
  const [, kind, body] = match as unknown as [string, TokenKind, string];
  if (body.length !== bodyLength) return null;
  if (!endsInItsChecksum(text)) return null;
  const id = uuidFrom(body.slice(0, idLength));
  return id === null ? null : { kind, id };
}

export function endsInItsChecksum(text: string): boolean {
  return checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength);
}

function checksum(text: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(text));
  return base62(bytes, checksumLength);
}

function base62(bytes: Uint8Array, length: number): string {
  let value = BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  let text = '';
  for (let place = 0; place < length; place++) {
    text = digits[Number(value % 62n)]! + text;
    value /= 62n;
  }
  return text;
}

/** Decodes the digits into this many bytes; null if the number is larger. */
export function bytesFrom(text: string, size: number): Buffer | null {
  let value = 0n;
  for (const digit of text) value = value * 62n + values.get(digit)!;
  const hex = value.toString(16).padStart(2 * size, '0');
  return hex.length === 2 * size ? Buffer.from(hex, 'hex') : null;
}

export function uuidFrom(text: string): string | null {
  const hex = bytesFrom(text, 16)?.toString('hex');
  return hex === undefined ? null : uuidOf(hex);
}

export function uuidOf(hex: string): string {
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
