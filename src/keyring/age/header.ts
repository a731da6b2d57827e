/**
 * The header of an age file, which names its recipients. Parsed strictly, as the format requires: each header has one
 * encoding, so that exactly what was read is authenticated.
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** The file key, wrapped for one recipient. */
export interface Stanza {
  readonly type: string;
  readonly args: readonly string[];
  readonly body: Buffer;
}

/** `damaged`: not as written, or incomplete. `locked`: none of the given keys opens it. */
export class AgeError extends Error {
  readonly why: 'damaged' | 'locked';

  constructor(why: 'damaged' | 'locked', message: string) {
    super(message);
    this.why = why;
  }
}

export const damaged = (what: string): AgeError => new AgeError('damaged', what);

const version = 'age-encryption.org/v1';
const lineLength = 64;
export const scryptType = 'scrypt';

export function writeHeader(stanzas: readonly Stanza[], fileKey: Buffer): Buffer {
  const lines = stanzas.flatMap(({ type, args, body }) => [
    `-> ${[type, ...args].join(' ')}`,
    ...bodyLines(body),
  ]);
  const text = [version, ...lines, '---'].join('\n');
  return Buffer.from(`${text} ${base64(macOf(fileKey, text))}\n`);
}

/** A body ends with a line that is not full, even if that line is empty. */
function bodyLines(body: Buffer): string[] {
  const text = base64(body);
  const count = Math.floor(text.length / lineLength) + 1;
  return Array.from({ length: count }, (_, at) => text.slice(at * lineLength, (at + 1) * lineLength));
}

/** `line` returns the header line by line, without newlines. */
export async function readHeader(line: () => Promise<string>) {
  const first = await line();
  if (first !== version) throw damaged('it is not a backup, or was made by a newer version');
  const seen = [first];
  const next = async () => {
    seen.push(await line());
    return seen.at(-1)!;
  };
  const stanzas: Stanza[] = [];
  let head = await next();
  for (; head.startsWith('-> '); head = await next()) stanzas.push(await stanzaAfter(head, next));
  const [, mac] = /^--- ([A-Za-z0-9+/]{43})$/.exec(head) ?? [];
  if (mac === undefined || stanzas.length === 0) throw malformed();
  // A passphrase must be the only recipient: otherwise its holder could not tell who wrote the file.
  if (stanzas.length > 1 && stanzas.some(({ type }) => type === scryptType)) throw malformed();
  const text = [...seen.slice(0, -1), '---'].join('\n');
  const written = fromBase64(mac);
  return { stanzas, isWrittenWith: (key: Buffer) => timingSafeEqual(macOf(key, text), written) };
}

async function stanzaAfter(head: string, next: () => Promise<string>): Promise<Stanza> {
  const words = head.slice(3).split(' ');
  if (!words.every(word => /^[\x21-\x7e]+$/.test(word))) throw malformed();
  const [type, ...args] = words as [string, ...string[]];
  let text = '';
  for (let part = await next(); ; part = await next()) {
    if (part.length > lineLength) throw malformed();
    text += part;
    if (part.length < lineLength) return { type, args, body: fromBase64(text) };
  }
}

const malformed = () => damaged('its header is damaged');

function macOf(fileKey: Buffer, text: string): Buffer {
  const key = Buffer.from(hkdfSync('sha256', fileKey, Buffer.alloc(0), 'header', 32));
  return createHmac('sha256', key).update(text).digest();
}

export const base64 = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '');

/** Accepts only the canonical encoding. */
export function fromBase64(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64');
  if (base64(bytes) !== text) throw malformed();
  return bytes;
}
