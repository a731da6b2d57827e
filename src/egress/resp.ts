/**
 * The protocol of Redis (RESP 2): commands as arrays of texts with their lengths, so that no text can become another
 * command; replies, bounded in size and depth. What is malformed is an error, and ends the connection.
 */

export type Reply = string | number | null | RespError | readonly Reply[];

/** The server's own refusal, such as `NOPERM this user has no permissions`. */
export class RespError {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export class Malformed extends Error {
  constructor() {
    super('the server does not answer like Redis');
  }
}

const deepest = 8;
const mostBytes = 1024 * 1024;
const lineEnd = '\r\n';

export function commandBytes(args: readonly string[]): Buffer {
  const parts = args.map(arg => `$${Buffer.byteLength(arg)}${lineEnd}${arg}${lineEnd}`);
  return Buffer.from(`*${args.length}${lineEnd}${parts.join('')}`);
}

/** A reply from the beginning of the bytes and where it ends; null until all of it has arrived. */
export function replyIn(bytes: Buffer): { readonly reply: Reply; readonly end: number } | null {
  const found = read(bytes, 0, 0);
  if (found === null && bytes.length > mostBytes) throw new Malformed();
  return found;
}

type Read = { readonly reply: Reply; readonly end: number } | null;

function read(bytes: Buffer, at: number, depth: number): Read {
  const lineStop = bytes.indexOf(lineEnd, at, 'latin1');
  if (lineStop < 0) return null;
  const line = bytes.toString('utf8', at + 1, lineStop);
  const end = lineStop + lineEnd.length;
  switch (bytes[at]) {
    case 0x2b: // +
      return { reply: line, end };
    case 0x2d: // -
      return { reply: new RespError(line), end };
    case 0x3a: // :
      return { reply: numberIn(line), end };
    case 0x24: // $
      return text(bytes, numberIn(line), end);
    case 0x2a: // *
      return array({ bytes, count: numberIn(line), depth }, end);
    default:
      throw new Malformed();
  }
}

function text(bytes: Buffer, length: number, at: number): Read {
  if (length === -1) return { reply: null, end: at };
  if (length < 0 || length > mostBytes) throw new Malformed();
  const end = at + length;
  if (bytes.length < end + lineEnd.length) return null;
  if (bytes.toString('latin1', end, end + lineEnd.length) !== lineEnd) throw new Malformed();
  return { reply: bytes.toString('utf8', at, end), end: end + lineEnd.length };
}

interface Elements {
  readonly bytes: Buffer;
  readonly count: number;
  readonly depth: number;
}

function array({ bytes, count, depth }: Elements, at: number): Read {
  if (count === -1) return { reply: null, end: at };
  if (count < 0 || count > mostBytes || depth === deepest) throw new Malformed();
  const reply: Reply[] = [];
  let end = at;
  while (reply.length < count) {
    const next = read(bytes, end, depth + 1);
    if (next === null) return null;
    reply.push(next.reply);
    end = next.end;
  }
  return { reply, end };
}

function numberIn(line: string): number {
  if (!/^-?\d{1,15}$/.test(line)) throw new Malformed();
  return Number(line);
}
