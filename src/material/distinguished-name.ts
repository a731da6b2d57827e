/**
 * Parses and formats distinguished names (RFC 2253: the most specific part first, `CN=…,O=…,C=…`).
 *
 * Guarantees: `formatName` reproduces what `parseName` accepts. Values are data: nothing in one can start another
 * attribute, and control characters are escaped.
 * Refuses: unknown attributes, empty values, values longer than RFC 5280 allows, unescaped special characters.
 */
import { invalid } from '../contract/errors.ts';
import { type Der, DerError, oid, sequence, tags } from './der.ts';

const attributes: Readonly<Record<string, string>> = {
  CN: '2.5.4.3',
  SN: '2.5.4.4',
  serialNumber: '2.5.4.5',
  C: '2.5.4.6',
  L: '2.5.4.7',
  ST: '2.5.4.8',
  street: '2.5.4.9',
  O: '2.5.4.10',
  OU: '2.5.4.11',
  title: '2.5.4.12',
  GN: '2.5.4.42',
  UID: '0.9.2342.19200300.100.1.1',
  DC: '0.9.2342.19200300.100.1.25',
  E: '1.2.840.113549.1.9.1',
};
const attributeNames = new Map(Object.entries(attributes).map(([name, id]) => [id, name]));

const maxName = 1024;
const maxParts = 16;
/** RFC 5280's upper bounds; the others get the largest of them. */
const maxLengths: Readonly<Record<string, number>> = { CN: 64, O: 64, OU: 64, C: 2, serialNumber: 64 };
const maxLength = 128;

export interface NamePart {
  readonly type: string;
  readonly value: string;
  /** The string type that RFC 5280 requires. */
  readonly encoding: 'utf8String' | 'printableString' | 'ia5String';
}

/** Parses a name. Returns its parts in the order of the encoding, the least specific first. */
export function parseName(text: string, field: string): NamePart[] {
  if (text.length > maxName) throw invalid(field, `is longer than ${maxName} characters`);
  const parts = splitUnescaped(text);
  if (parts.length > maxParts) throw invalid(field, `has more than ${maxParts} parts`);
  return parts.map(part => parsePart(part, field)).reverse();
}

/** Splits at each comma that is not preceded by a backslash. */
function splitUnescaped(text: string): string[] {
  const parts = [''];
  for (const token of text.match(/\\[\s\S]|[\s\S]/gu) ?? []) {
    if (token === ',') parts.push('');
    else parts[parts.length - 1] += token;
  }
  return parts;
}

function parsePart(part: string, field: string): NamePart {
  const [, name, escaped] = /^\s*([A-Za-z]+)=([\s\S]*)$/u.exec(part) ?? [];
  const type = name !== undefined && Object.hasOwn(attributes, name) ? attributes[name] : undefined;
  if (type === undefined || name === undefined || escaped === undefined)
    throw invalid(
      field,
      'is not a name like CN=example.org,O=Example (known are CN, O, OU, C, ST, L, DC, E, UID, …)',
    );
  const value = unescapeValue(escaped, field);
  if (value.length === 0 || value.length > (maxLengths[name] ?? maxLength))
    throw invalid(field, `has a part ${name} that is empty or too long`);
  return { type, value, encoding: encodingOf(name, value, field) };
}

function unescapeValue(escaped: string, field: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are matched deliberately
  if (/^[#\s]|[\x00-\x1f\x7f]|(?<!\\)\s$/u.test(escaped) || !escaped.isWellFormed())
    throw invalid(field, 'has control characters, or spaces or # around a value');
  if (!/^(?:[^\\+"<>;]|\\[\\,+"<>;=# ])*$/u.test(escaped))
    throw invalid(field, 'has a special character without a backslash before it');
  return escaped.replace(/\\([\s\S])/gu, '$1');
}

function encodingOf(name: string, value: string, field: string): NamePart['encoding'] {
  if (name === 'C' && !/^[A-Z]{2}$/.test(value))
    throw invalid(field, 'has a part C that is not a country code');
  if (name === 'C' || name === 'serialNumber') return 'printableString';
  if (name !== 'E' && name !== 'DC') return 'utf8String';
  if (!/^[\x20-\x7e]*$/.test(value)) throw invalid(field, `has a part ${name} that is not ASCII`);
  return 'ia5String';
}

/** A Name as text. Several values on one level are joined by `+`. */
export function formatName(name: Der): string {
  const levels = sequence(name).map(level => {
    if (level.tag !== tags.set) throw new DerError('a name without sets');
    return level.children.map(formatAttribute).join('+');
  });
  return levels.reverse().join(',');
}

function formatAttribute(pair: Der): string {
  const [type, value] = sequence(pair, 2, 2);
  const id = oid(type);
  const text = textOf(value!);
  return `${attributeNames.get(id) ?? id}=${text === undefined ? `#${value!.raw.toString('hex')}` : escapeValue(text)}`;
}

/** UTF8String, NumericString, PrintableString, T61String, IA5String and BMPString; undefined for the rest. */
function textOf({ tag, body }: Der): string | undefined {
  if (tag === 0x0c || tag === 0x12 || tag === 0x13 || tag === 0x16) return body.toString('utf8');
  if (tag === 0x14) return body.toString('latin1');
  if (tag === 0x1e && body.length % 2 === 0)
    return Buffer.from(body).swap16().toString('utf16le').toWellFormed();
  return undefined;
}

function escapeValue(text: string): string {
  const escaped = text.replace(/[\\,+"<>;]/g, '\\$&').replace(/^[ #]|(?<=.) $/g, '\\$&');
  // Invisible characters, or those that change the writing direction, could make one name look like another.
  return escaped.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, character =>
    Buffer.from(character).toString('hex').replace(/../g, '\\$&'),
  );
}
