/**
 * Passes the answer to a brokered call on while it arrives, scrubbed. Nothing is passed on before enough of the answer
 * was searched to know that it may be shown, so a short answer is withheld as a whole, like one that is not passed on.
 * A longer one ends early if the value is found in it. The end of the answer is left to the caller.
 */
import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream';
import {
  type BrokeredCall,
  decodersFor,
  headersOf,
  isPacked,
  isTextual,
  nothing,
  type Scrub,
  Withheld,
} from './brokered-answer.ts';
import { type ScrubbedStream, ValueFound } from './streamed-scrubbing.ts';

export type Pieces = AsyncIterable<Buffer>;

/** A call whose body and answer are passed on while they arrive. */
export interface PassedCall extends BrokeredCall {
  /** What follows the beginning of the body; null if the body is complete. */
  readonly rest: Pieces | null;
  /** The declared length of the body with its rest; null if it is not known. */
  readonly length: number | null;
  readonly maxRequest: number;
  /** Whether the answer is passed on only once it is complete. */
  readonly isWhole: boolean;
  /** Asked every second: whether the call may go on. */
  readonly isStill: () => Promise<boolean>;
}

/** Where an answer is passed on to. */
export interface Outlet {
  /** Whether the client is still there. */
  isOpen(): boolean;
  head(status: number, headers: Readonly<Record<string, string>>): void;
  /** Resolves once there is room for more. */
  write(bytes: Buffer): Promise<void>;
}

export interface PassedOn {
  /** `refused` if the body contains a part of the value, or for the reason given; `cut` if the answer ended after some of it was passed on. */
  readonly outcome: 'answered' | 'failed' | 'withheld' | 'refused' | 'cut';
  readonly reason: string | null;
  readonly status: number | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Bytes of the answer as received. */
  readonly bytes: number;
  readonly redacted: number;
  readonly parts: number;
  /** The end of the answer, which was not passed on yet. */
  readonly last: Buffer;
}

export const noAnswer = { ...nothing, last: Buffer.alloc(0) };

/** In bytes: how much of an answer is searched at a time. */
const block = 64 * 1024;
/** In milliseconds: when complete lines are passed on although more may follow. */
const pause = 20;

export async function passedOn(
  response: IncomingMessage,
  order: PassedCall,
  outlet: Outlet,
  scrub: Scrub,
  stream: ScrubbedStream,
): Promise<PassedOn> {
  const status = response.statusCode!;
  const answered = { ...noAnswer, outcome: 'answered' as const, status };
  if (order.response === 'status-only') return answered;
  if (status === 206 || response.headers['content-range'] !== undefined)
    throw new Withheld('the answer is incomplete', response);
  const { shown: headers, redacted } = await headersOf(response, order, scrub);
  const passage = new Passage(response, order, headers, outlet, stream);
  const last = await passage.run();
  return { ...answered, headers, bytes: passage.bytes, redacted: redacted + stream.redacted, last };
}

/** One answer on its way to the client. */
class Passage {
  readonly #response: IncomingMessage;
  readonly #order: PassedCall;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #outlet: Outlet;
  readonly #stream: ScrubbedStream;
  /** Whether it is passed on only once it is complete. */
  readonly #isWhole: boolean;
  #isText = true;
  #hasBegun = false;
  /** Its length so far, decoded. */
  bytes = 0;

  constructor(
    response: IncomingMessage,
    order: PassedCall,
    headers: Readonly<Record<string, string>>,
    outlet: Outlet,
    stream: ScrubbedStream,
  ) {
    this.#response = response;
    this.#order = order;
    this.#headers = headers;
    this.#outlet = outlet;
    this.#stream = stream;
    this.#isWhole = order.isWhole || Number(response.headers['content-length'] ?? Infinity) <= block;
  }

  /** Returns what is left to pass on. */
  async run(): Promise<Buffer> {
    const size = this.#isWhole ? this.#order.maxResponse + 1 : block;
    try {
      let passed: Buffer = Buffer.alloc(0);
      for await (const next of blocksOf(decodedPieces(this.#response), size, !this.#isWhole)) {
        await this.#write(passed);
        passed = await this.#search(next);
      }
      if (!this.#response.complete) throw this.#withheld('the answer was cut off');
      return Buffer.concat([passed, await this.#stream.end()]);
    } catch (error) {
      throw this.#refusal(error as Error);
    }
  }

  async #search({ piece, isQuiet }: Block): Promise<Buffer> {
    if (this.bytes === 0) await this.#judge(piece);
    this.bytes += piece.length;
    if (this.bytes > this.#order.maxResponse) throw this.#withheld('the answer is too long');
    const passed = await (isQuiet && this.#isText ? this.#stream.addLines(piece) : this.#stream.add(piece));
    if (!isQuiet) return passed;
    await this.#write(passed);
    return Buffer.alloc(0);
  }

  /** By its beginning. Archives and images may be passed on, which are not searched inside. */
  async #judge(piece: Buffer): Promise<void> {
    const { binary, isWhole } = this.#order;
    this.#isText = isTextual(this.#response, piece);
    if (!this.#isText && !binary) throw this.#withheld('the answer is not text');
    if ((isWhole || this.#isText) && (await isPacked(piece)))
      throw this.#withheld('the answer is compressed');
  }

  async #write(bytes: Buffer): Promise<void> {
    if (bytes.length === 0) return;
    if (!this.#hasBegun) this.#outlet.head(this.#response.statusCode!, this.#headers);
    this.#hasBegun = true;
    await this.#outlet.write(bytes);
  }

  #withheld(reason: string): Withheld {
    return new Withheld(reason, this.#response, this.bytes);
  }

  #refusal(error: Error): Error {
    const known = error instanceof ValueFound ? this.#withheld(error.message) : error;
    if (error instanceof ValueFound) (known as Withheld).parts = error.parts;
    return this.#hasBegun ? new Cut(known, this.#response.statusCode!, this.bytes) : known;
  }
}

/** The answer ended after some of it was passed on. */
export class Cut extends Error {
  readonly status: number;
  readonly bytes: number;
  readonly parts: number;

  constructor(cause: Error, status: number, bytes: number) {
    super(cause.message, { cause });
    this.status = status;
    this.bytes = bytes;
    this.parts = cause instanceof Withheld ? cause.parts : 0;
  }
}

function decodedPieces(response: IncomingMessage): Pieces {
  const decoders = decodersFor(response);
  if (decoders.length === 0) return response;
  const streams = [response, ...decoders.map(make => make())];
  return pipeline(streams, () => {}) as unknown as Pieces;
}

interface Block {
  readonly piece: Buffer;
  /** Nothing has followed it for a while. */
  readonly isQuiet: boolean;
}

/** Gathers pieces into blocks, which may be smaller where the sender pauses. The last one may be empty. */
async function* blocksOf(pieces: Pieces, size: number, mayPause: boolean): AsyncGenerator<Block> {
  const source = pieces[Symbol.asyncIterator]();
  let gathered: Buffer[] = [];
  let length = 0;
  const taken = (isQuiet: boolean): Block => {
    const piece = gathered.length === 1 ? gathered[0]! : Buffer.concat(gathered);
    [gathered, length] = [[], 0];
    return { piece, isQuiet };
  };
  try {
    for (let next = source.next(); ; ) {
      const got = await (length === 0 || !mayPause ? next : unlessQuiet(next));
      if (got === null) {
        yield taken(true);
        continue;
      }
      if (got.done) break;
      gathered.push(got.value);
      length += got.value.length;
      next = source.next();
      if (length >= size) yield taken(false);
    }
    yield taken(false);
  } finally {
    await source.return?.();
  }
}

async function unlessQuiet<T>(next: Promise<T>): Promise<T | null> {
  const quiet = Promise.withResolvers<null>();
  const timer = setTimeout(() => quiet.resolve(null), pause);
  try {
    return await Promise.race([next, quiet.promise]);
  } finally {
    clearTimeout(timer);
  }
}
