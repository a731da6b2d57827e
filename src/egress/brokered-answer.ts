/**
 * The answer to a brokered call: decoded, limited in size and scrubbed of the value that the call was made with. An
 * answer for which this is not possible is withheld, never shown in part.
 */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import {
  brotliDecompress,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
  gunzip,
  inflate,
  inflateRaw,
  zstdDecompress,
} from 'node:zlib';
import type { Lane } from '../base/fair-line.ts';
import { BodyTooLong, bodyOf } from '../base/message-body.ts';
import type { Scrubbed } from './scrubbing.ts';

export interface BrokeredCall {
  /** Identifies the connections that may be used: they are never shared with another secret's calls. */
  readonly secret: string;
  /** Whose turn it uses while its answer is scanned. */
  readonly lane: Lane;
  /** It must not be sent a second time, whatever happens. */
  readonly isOnce: boolean;
  readonly method: string;
  /** Includes the value, if the rule puts it there. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
  /** Values that must not be in the answer. */
  readonly values: readonly string[];
  /** Names in lower case; one may end with an asterisk. */
  readonly responseHeaders: readonly string[];
  /** The limit of the decoded body, in bytes. */
  readonly maxResponse: number;
  readonly binary: boolean;
  readonly response: 'full' | 'status-only' | 'store';
  /** The field to store. */
  readonly pointer: string | null;
  /** A field beside it that identifies what is stored: a text or a whole number. */
  readonly pointerBeside?: string | null;
  /** Milliseconds for the whole call. */
  readonly patience: number;
}

export interface BrokeredResult {
  readonly outcome: 'answered' | 'failed' | 'withheld';
  readonly reason: string | null;
  readonly status: number | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly bodyBase64: string | null;
  /** How many places in the answer were redacted: for the log, never for the caller, who chose the request. */
  readonly redacted: number;
  /** How many parts of the value seem to be in it, if it was withheld for that reason. */
  readonly parts: number;
  /** The size of the answer as received. */
  readonly bytes: number;
  /** The value to store, which is not shown to anyone. */
  readonly minted: string | null;
  readonly mintedBeside?: string | null;
}

/** Thrown if an answer must not be shown, with the reason. */
export class Withheld extends Error {
  readonly status: number;
  readonly bytes: number;
  /** How many parts of the value seem to be in the answer. */
  parts = 0;

  constructor(reason: string, { statusCode }: IncomingMessage, bytes = 0) {
    super(reason);
    this.status = statusCode!;
    this.bytes = bytes;
  }
}

/** An empty result. */
export const nothing = {
  reason: null,
  status: null,
  headers: {},
  body: null,
  bodyBase64: null,
  redacted: 0,
  parts: 0,
  bytes: 0,
  minted: null,
};

/** Scans a text for the value. */
export type Scrub = (bytes: Buffer) => Promise<Scrubbed>;

export async function resultOf(
  response: IncomingMessage,
  order: BrokeredCall,
  scrub: Scrub,
): Promise<BrokeredResult> {
  const status = response.statusCode!;
  const answered = { ...nothing, outcome: 'answered' as const, status };
  if (order.response === 'status-only') return answered;
  if (status === 206 || response.headers['content-range'] !== undefined) {
    throw new Withheld('the answer is incomplete', response);
  }
  const { bytes, received } = await receivedIn(response, order);
  if (order.response === 'store')
    return { ...answered, bytes: received, ...mintedIn(bytes, order, response) };
  const headers = await headersOf(response, order, scrub);
  const scrubbed = shown(await scrub(bytes), response, received);
  const isText = isTextual(response, scrubbed.bytes);
  if (!isText && !order.binary) throw new Withheld('the answer is not text', response, received);
  return {
    ...answered,
    headers: headers.shown,
    body: isText ? scrubbed.bytes.toString('utf8') : null,
    bodyBase64: isText ? null : scrubbed.bytes.toString('base64'),
    redacted: scrubbed.redacted + headers.redacted,
    bytes: received,
  };
}

/** Withholds an answer that can't be redacted: removing only a part of the value would reveal which part it is. */
function shown(scrubbed: Scrubbed, response: IncomingMessage, received: number): Scrubbed {
  if (scrubbed.kept === null) return scrubbed;
  const withheld = new Withheld(
    'the answer contains the value in a form that can’t be redacted',
    response,
    received,
  );
  withheld.parts = scrubbed.parts;
  throw withheld;
}

async function receivedIn(response: IncomingMessage, { maxResponse, method }: BrokeredCall) {
  const bytes = await bodyOf(response, maxResponse).catch(error => {
    throw error instanceof BodyTooLong ? new Withheld('the answer is too long', response, error.size) : error;
  });
  const size = bytes.length;
  if (!response.complete) throw new Withheld('the answer was cut off', response, size);
  const isEmpty = method === 'HEAD' || size === 0;
  return { bytes: isEmpty ? bytes : await decoded(bytes, response, maxResponse), received: size };
}

type Decode = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;
const decoders: Readonly<Record<string, Decode>> = {
  gzip: promisify(gunzip) as Decode,
  'x-gzip': promisify(gunzip) as Decode,
  deflate: promisify(inflate) as Decode,
  br: promisify(brotliDecompress) as Decode,
  zstd: promisify(zstdDecompress) as Decode,
};
const mostEncodings = 3;

const streamDecoders: Readonly<Record<string, () => NodeJS.ReadWriteStream>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

/** The decoders of an answer's encodings, in the order in which they apply. */
function decodersIn<Decoder>(
  response: IncomingMessage,
  known: Readonly<Record<string, Decoder>>,
  received = 0,
): Decoder[] {
  const named = (response.headers['content-encoding'] ?? '').toLowerCase().split(',');
  const encodings = named.map(name => name.trim()).filter(name => name !== '' && name !== 'identity');
  if (encodings.length > mostEncodings) throw new Withheld('the answer has too many encodings', response);
  return encodings.reverse().map(name => {
    if (!Object.hasOwn(known, name))
      throw new Withheld('the answer has an unknown encoding', response, received);
    return known[name]!;
  });
}

/** Decoders for an answer that is decoded while it arrives. */
export function decodersFor(response: IncomingMessage): (() => NodeJS.ReadWriteStream)[] {
  return decodersIn(response, streamDecoders);
}

async function decoded(bytes: Buffer, response: IncomingMessage, most: number): Promise<Buffer> {
  let plain = bytes;
  for (const decode of decodersIn(response, decoders, bytes.length)) {
    try {
      plain = await decode(plain, { maxOutputLength: Math.max(most, 1) });
    } catch {
      throw new Withheld('the answer can’t be decoded, or is too long', response, bytes.length);
    }
  }
  // Content that is compressed again without declaring it could contain anything.
  if (await isPacked(plain)) throw new Withheld('the answer is compressed', response, bytes.length);
  return plain;
}

const compressed = /^(?:1f8b|28b52ffd|504b0304|425a68|fd377a58|789c|78da|7801|785e|377abcaf)/;

/** Whether it is compressed without declaring it. */
export async function isPacked(bytes: Buffer): Promise<boolean> {
  const head = bytes.subarray(0, 4).toString('hex');
  return compressed.test(head) || (!isUtf8(bytes) && (await isDeflated(bytes)));
}

/** Raw deflate data has no header; it is recognized only by whether all of it can be inflated. */
function isDeflated(bytes: Buffer): Promise<boolean> {
  return new Promise(resolve => {
    const options = { maxOutputLength: largestInflated, info: true } as const;
    inflateRaw(bytes, options, (error, result) => {
      if (error !== null) return resolve((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE');
      const { engine } = result as unknown as { engine: { bytesWritten: number } };
      resolve(engine.bytesWritten >= bytes.length - mostPadding);
    });
  });
}

const largestInflated = 4 * 1024 * 1024;
/** Bytes after the end, such as a checksum. */
const mostPadding = 8;

const textual =
  /^(?:text\/[a-z0-9.+-]+|application\/(?:[a-z0-9.+-]+\+)?(?:json|xml|yaml|x-yaml|javascript|x-ndjson|graphql|toml)|application\/x-www-form-urlencoded)$/;
const readable = /^(?:utf-?8|us-ascii|ascii|iso-8859-1|latin1)$/;

/** Without a content type, an answer counts as plain text. */
export function isTextual(response: IncomingMessage, bytes: Buffer): boolean {
  if (bytes.length === 0) return true;
  const [type, ...parameters] = (response.headers['content-type'] ?? 'text/plain').toLowerCase().split(';');
  if (!textual.test(type!.trim())) return false;
  const charset = parameters.map(one => /^\s*charset\s*=\s*"?([^"\s]+)"?\s*$/.exec(one)?.[1]).find(Boolean);
  if (charset !== undefined && !readable.test(charset)) {
    throw new Withheld('the answer is not in UTF-8', response, bytes.length);
  }
  return true;
}

export async function headersOf(
  response: IncomingMessage,
  { responseHeaders }: Pick<BrokeredCall, 'responseHeaders'>,
  scrub: Scrub,
) {
  const all: Record<string, string> = {};
  let redacted = 0;
  for (const [name, value] of Object.entries(response.headers)) {
    const isAllowed = responseHeaders.some(one =>
      one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : name === one,
    );
    if (!isAllowed || value === undefined || neverShown.test(name)) continue;
    const [named, clean] = [Buffer.from(name, 'latin1'), Buffer.from([value].flat().join(', '), 'latin1')];
    const [own, text] = [shown(await scrub(named), response, 0), shown(await scrub(clean), response, 0)];
    all[own.bytes.toString('latin1')] = text.bytes.toString('latin1');
    redacted += own.redacted + text.redacted;
  }
  return { shown: all, redacted };
}

/** Never shown, whatever a rule says: session headers, and those that reveal the content before it was redacted. */
const neverShown =
  /^(?:set-cookie2?|cookie|authorization|proxy-.*|www-authenticate|content-length|content-encoding|content-md5|digest|repr-digest|content-digest|transfer-encoding|connection|trailer)$/;

const largestStored = 65_536;

/** Returns null if the call was refused, so that nothing was minted. */
function mintedIn(
  bytes: Buffer,
  { pointer, pointerBeside = null }: BrokeredCall,
  response: IncomingMessage,
): Pick<BrokeredResult, 'minted' | 'mintedBeside'> {
  if (response.statusCode! >= 300) return { minted: null };
  try {
    const document = JSON.parse(bytes.toString('utf8'));
    const value = valueAt(document, pointer ?? '');
    const beside = pointerBeside === null ? null : identifierIn(valueAt(document, pointerBeside));
    if (typeof value === 'string' && isStorable(value) && beside !== undefined)
      return beside === null ? { minted: value } : { minted: value, mintedBeside: beside };
  } catch {
    // Treated as missing.
  }
  throw new Withheld('the answer does not contain the field to store', response, bytes.length);
}

const longestIdentifier = 255;

/** Undefined for what can't be one. */
function identifierIn(value: unknown): string | undefined {
  const text = Number.isSafeInteger(value) ? String(value) : value;
  const isShort = typeof text === 'string' && text !== '' && text.length <= longestIdentifier;
  return isShort && text.isWellFormed() ? text : undefined;
}

/** The same requirements as for a secret's value that a caller writes. */
function isStorable(value: string): boolean {
  return value !== '' && value.isWellFormed() && Buffer.byteLength(value, 'utf8') <= largestStored;
}

function valueAt(document: unknown, pointer: string): unknown {
  let value = document;
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || !Object.hasOwn(value!, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}
