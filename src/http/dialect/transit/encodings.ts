/**
 * The fields of the transit engine: base64 with padding, numbers and truths that Vault's command sends as text, and
 * `vault:v1:…` in front of everything that a version of a key made. What is not understood is refused; nothing of it is
 * repeated.
 */
import { invalid } from '../../../contract/errors.ts';
import { longestInput } from '../../../contract/key-operations.ts';

export type Fields = Readonly<Record<string, unknown>>;

const standard = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const made = /^vault:v(\d{1,9}):([A-Za-z0-9+/_-]*={0,2})$/;
const longestReference = 1_024;

/** A text; undefined if it is absent, null or empty, which some clients send for what they don't set. */
export function textIn(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') throw invalid(name, 'must be a string');
  if (value.length > longestInput) throw invalid(name, 'must be at most 64 KiB');
  return value;
}

/** Bytes as base64url; undefined if they are absent. An empty text is no bytes. */
export function bytesIn(fields: Fields, name: string): string | undefined {
  if (fields[name] === '') return '';
  const text = textIn(fields, name);
  if (text === undefined) return undefined;
  if (!standard.test(text)) throw invalid(name, 'must be base64 with padding');
  return Buffer.from(text, 'base64').toString('base64url');
}

export function numberIn(fields: Fields, name: string, most: number): number | undefined {
  const value = fields[name];
  if (value === undefined || value === null || value === '') return undefined;
  const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
  if (typeof number === 'number' && Number.isInteger(number) && number >= 0 && number <= most) return number;
  throw invalid(name, `must be a whole number, at most ${most}`);
}

export function isSet(fields: Fields, name: string): boolean {
  const value = fields[name];
  if (value === undefined || value === null || value === '') return false;
  if (typeof value === 'boolean') return value;
  const text = String(value).toLowerCase();
  if (['1', 't', 'true'].includes(text)) return true;
  if (['0', 'f', 'false'].includes(text)) return false;
  throw invalid(name, 'must be true or false');
}

/** Refuses what would change the result if it were ignored. */
export function refuseSet(fields: Fields, names: Readonly<Record<string, string>>): void {
  for (const [name, reason] of Object.entries(names)) {
    const value = fields[name];
    const isAbsent = value === undefined || value === null || value === '' || value === false || value === 0;
    if (!isAbsent && !(typeof value === 'string' && /^(?:false|0s?)$/i.test(value)))
      throw invalid(name, reason);
  }
}

/** The version and the bytes, as base64url, of a ciphertext or signature. */
export function versionedIn(fields: Fields, name: string): { version: number; value: string } {
  const text = textIn(fields, name);
  if (text === undefined) throw invalid(name, 'is required');
  const [, version, value] = made.exec(text) ?? [];
  if (version === undefined) throw invalid(name, 'must begin with vault:v and the version of the key');
  return { version: Number(version), value: Buffer.from(value!, 'base64').toString('base64url') };
}

/** What a client sent to recognise its input by. */
export function referenceIn(fields: Fields): { readonly reference?: string } {
  const { reference } = fields;
  return typeof reference === 'string' && reference.length <= longestReference ? { reference } : {};
}

export function versioned(version: number, value: string, isUrlSafe = false): string {
  return `vault:v${version}:${isUrlSafe ? value : padded(value)}`;
}

export function padded(value: string): string {
  return Buffer.from(value, 'base64url').toString('base64');
}
