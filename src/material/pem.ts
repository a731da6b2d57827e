/**
 * Reads and writes PEM (RFC 7468).
 *
 * Guarantees: each returned block had matching BEGIN and END lines and canonical base64.
 * Refuses: anything over the caller's limit (before reading it), control characters, nested blocks, unfinished blocks,
 * empty blocks, headers other than the two of legacy encryption, and, unless the caller allows it, any text outside the
 * blocks.
 */
import { invalid } from '../contract/errors.ts';

export interface PemBlock {
  readonly label: string;
  /** `Proc-Type` and `DEK-Info` of an RFC 1421 block; empty otherwise. */
  readonly headers: ReadonlyMap<string, string>;
  readonly bytes: Buffer;
}

interface PemLimits {
  /** The request field to name in a refusal. */
  readonly field: string;
  readonly maxBytes: number;
  readonly maxBlocks: number;
  /** Certificate bundles often contain notes between their blocks; a key file doesn't need them. */
  readonly allowNotes: boolean;
}

const begin = /^-----BEGIN ([A-Z0-9][A-Z0-9 ]{0,40})-----$/;
const base64 = /^[A-Za-z0-9+/]+={0,2}$/;
const knownHeaders = new Set(['Proc-Type', 'DEK-Info']);

export function readPem(text: string, limits: PemLimits): PemBlock[] {
  const { field } = limits;
  const lines = splitLines(text, limits);
  const blocks: PemBlock[] = [];
  for (let at = 0; at < lines.length; ) {
    const label = begin.exec(lines[at]!)?.[1];
    if (label === undefined) {
      refuseStray(lines[at]!, limits);
      at += 1;
      continue;
    }
    const end = findEnd(lines, at, label, field);
    blocks.push(readBlock(label, lines.slice(at + 1, end), field));
    if (blocks.length > limits.maxBlocks)
      throw invalid(field, `contains more than ${limits.maxBlocks} PEM blocks`);
    at = end + 1;
  }
  if (blocks.length === 0) throw invalid(field, 'contains no PEM: a BEGIN line and an END line are required');
  return blocks;
}

function splitLines(text: string, { field, maxBytes }: PemLimits): string[] {
  if (text.length > maxBytes || Buffer.byteLength(text) > maxBytes)
    throw invalid(field, `is larger than ${maxBytes} bytes`);
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are matched deliberately
  if (lines.some(line => /[\x00-\x08\x0b-\x1f\x7f]/.test(line)))
    throw invalid(field, 'contains control characters');
  return lines.map(line => line.replace(/^[ \t]+/, '').trimEnd());
}

function refuseStray(line: string, { field, allowNotes }: PemLimits): void {
  if (line === '') return;
  if (line.includes('-----')) throw invalid(field, 'has a broken BEGIN or END line');
  if (!allowNotes) throw invalid(field, 'has text outside its BEGIN and END lines');
}

function findEnd(lines: readonly string[], start: number, label: string, field: string): number {
  for (let at = start + 1; at < lines.length; at++) {
    const line = lines[at]!;
    if (line === `-----END ${label}-----`) return at;
    if (line.includes('-----')) throw invalid(field, 'has an END line that does not match its BEGIN line');
  }
  throw invalid(field, 'has a BEGIN line without its END line');
}

function readBlock(label: string, lines: readonly string[], field: string): PemBlock {
  const headers = readHeaders(lines, field);
  // RFC 1421 separates headers from the body with one empty line.
  const body = lines.slice(headers.size === 0 ? 0 : headers.size + 1).join('');
  return { label, headers, bytes: decode(body, field) };
}

function readHeaders(lines: readonly string[], field: string): Map<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon < 0) break;
    const name = line.slice(0, colon);
    if (!knownHeaders.has(name) || headers.has(name))
      throw invalid(field, 'has a PEM header that is not known');
    headers.set(name, line.slice(colon + 1).trim());
  }
  if (headers.size > 0 && lines[headers.size] !== '')
    throw invalid(field, 'has PEM headers without the empty line after them');
  return headers;
}

function decode(text: string, field: string): Buffer {
  if (text === '') throw invalid(field, 'has an empty PEM block');
  if (!base64.test(text) || text.length % 4 !== 0) throw invalid(field, 'has a PEM block that is not base64');
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text) throw invalid(field, 'has a PEM block that is not canonical base64');
  return bytes;
}

export function toPem(label: string, bytes: Uint8Array): string {
  const body = Buffer.from(bytes)
    .toString('base64')
    .replace(/.{64}(?=.)/g, '$&\n');
  return `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----\n`;
}
