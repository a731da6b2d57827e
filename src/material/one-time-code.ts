/**
 * One-time codes (RFC 6238), for signing in and for secrets that are `otpauth://totp/` addresses.
 *
 * Guarantees: an address is read strictly; what it omits has the values that all authenticator apps assume (SHA1, six
 * digits, 30 seconds). Errors say what is wrong with an address and never repeat any of it.
 * Refuses: counter-based codes (`hotp`), repeated parameters, other algorithms, other numbers of digits.
 */
import { createHmac } from 'node:crypto';

type CodeAlgorithm = 'sha1' | 'sha256' | 'sha512';

export interface CodeSource {
  readonly seed: Uint8Array;
  readonly algorithm: CodeAlgorithm;
  readonly digits: number;
  /** In seconds. */
  readonly period: number;
}

export interface CurrentCode {
  readonly code: string;
  /** In seconds, from 1 to the period. */
  readonly expires_in: number;
}

/** Says what is wrong with an address, as the end of a sentence. */
export class AddressError extends Error {}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const algorithms: ReadonlyMap<string, CodeAlgorithm> = new Map([
  ['SHA1', 'sha1'],
  ['SHA256', 'sha256'],
  ['SHA512', 'sha512'],
]);
const longestAddress = 4_096;
const longestPeriod = 3_600;

export function codeAt(
  seed: Uint8Array,
  step: number,
  algorithm: CodeAlgorithm = 'sha1',
  digits = 6,
): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac(algorithm, seed).update(counter).digest();
  const number = mac.readUInt32BE(mac.at(-1)! & 0xf) & 0x7fff_ffff;
  return String(number % 10 ** digits).padStart(digits, '0');
}

export function currentCode({ seed, algorithm, digits, period }: CodeSource, now: number): CurrentCode {
  const seconds = Math.floor(now / 1_000);
  const step = Math.floor(seconds / period);
  return { code: codeAt(seed, step, algorithm, digits), expires_in: period - (seconds % period) };
}

/** Reads an `otpauth://totp/` address. White space around it is ignored. */
export function readCodeAddress(text: string): CodeSource {
  const address = text.trim();
  if (address.length > longestAddress || !/^otpauth:\/\/totp\/[^\s]*$/i.test(address))
    throw new AddressError('the value is not an otpauth://totp/ address');
  const parameters = parametersOf(address);
  return {
    seed: seedOf(parameters.get('secret')),
    algorithm: algorithmOf(parameters.get('algorithm')),
    digits: numberIn(parameters.get('digits'), 6, 6, 8, 'digits must be 6, 7 or 8'),
    period: numberIn(
      parameters.get('period'),
      30,
      1,
      longestPeriod,
      `period must be 1 to ${longestPeriod} seconds`,
    ),
  };
}

function parametersOf(address: string): URLSearchParams {
  const { searchParams } = new URL(address);
  for (const name of ['secret', 'algorithm', 'digits', 'period'])
    if (searchParams.getAll(name).length > 1) throw new AddressError(`the address has more than one ${name}`);
  return searchParams;
}

function seedOf(text: string | null): Uint8Array {
  const seed = text === null ? null : fromBase32(text);
  if (seed === null || seed.length === 0) throw new AddressError('the address has no secret in base32');
  return seed;
}

function algorithmOf(text: string | null): CodeAlgorithm {
  const algorithm = algorithms.get((text ?? 'SHA1').toUpperCase());
  if (algorithm === undefined) throw new AddressError('algorithm must be SHA1, SHA256 or SHA512');
  return algorithm;
}

function numberIn(text: string | null, otherwise: number, least: number, most: number, rule: string): number {
  if (text === null) return otherwise;
  const number = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(number >= least && number <= most)) throw new AddressError(`the address is not valid: ${rule}`);
  return number;
}

export function base32(bytes: Uint8Array): string {
  let bits = '';
  for (const byte of bytes) bits += byte.toString(2).padStart(8, '0');
  return bits.replace(/.{1,5}/g, five => alphabet[Number.parseInt(five.padEnd(5, '0'), 2)]!);
}

/** Services print it with spaces or hyphens, in small letters, or padded. Null if it is not base32. */
export function fromBase32(text: string): Uint8Array | null {
  const letters = text.toUpperCase().replace(/[ -]/g, '').replace(/=+$/, '');
  // No whole number of bytes has these lengths.
  if (!/^[A-Z2-7]*$/.test(letters) || [1, 3, 6].includes(letters.length % 8)) return null;
  let bits = '';
  for (const letter of letters) bits += alphabet.indexOf(letter).toString(2).padStart(5, '0');
  return Uint8Array.from(bits.match(/.{8}/g) ?? [], byte => Number.parseInt(byte, 2));
}
