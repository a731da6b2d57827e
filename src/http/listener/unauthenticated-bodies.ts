/**
 * Limits request bodies from unauthenticated clients. Before any byte of such a body is read, memory for all of it is
 * reserved from a total for all such clients and a share for each address; a longer body is refused, whatever reads it.
 * The body must arrive within a time limit. An
 * address that keeps sending malformed bodies is refused, unread, for the rest of the minute.
 *
 * A body whose request has a valid credential in its headers is never counted here.
 */
import type { IncomingMessage } from 'node:http';
import { type Readable, Transform } from 'node:stream';
import { errorCodes } from 'fastify';
import { Failure } from '../../contract/errors.ts';
import { MinuteCounter, networkOf } from '../../domain/kernel/minute-counter.ts';

const most = 16 * 1024 * 1024;
const mostOfOne = 4 * 1024 * 1024;
const mostGarbled = 60;

export interface UnauthenticatedBodiesParts {
  readonly now: () => number;
  /** The time limit for a whole body, in milliseconds. */
  readonly patience: number;
  /** Ends the connection of a request whose body did not arrive in time. */
  readonly onLate: (request: IncomingMessage) => void;
}

export class UnauthenticatedBodies {
  readonly #garbled: MinuteCounter;
  readonly #patience: number;
  readonly #onLate: UnauthenticatedBodiesParts['onLate'];
  readonly #held = new Map<string, number>();
  /** The address of each admitted request, and the most that its body may have. */
  readonly #known = new WeakMap<IncomingMessage, { readonly address: string; readonly largest: number }>();
  #all = 0;

  constructor({ now, patience, onLate }: UnauthenticatedBodiesParts) {
    this.#garbled = new MinuteCounter(now, mostGarbled);
    this.#patience = patience;
    this.#onLate = onLate;
  }

  /** Reserves memory for the body, of at most `largest` bytes, or refuses it unread. */
  admit(request: IncomingMessage, address: string, largest: number): void {
    const wait = this.#garbled.blockedFor(address);
    if (wait > 0) throw new Failure('RATE_LIMITED', { retryAfter: wait });
    this.#known.set(request, { address, largest });
    const size = Number(request.headers['content-length'] ?? largest);
    if (size > largest) throw new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE();
    if (request.complete || request.readableEnded) return;
    const network = networkOf(address);
    const held = this.#held.get(network) ?? 0;
    if (this.#all + size > most || held + size > mostOfOne)
      throw new Failure('UNAVAILABLE', { retryAfter: 1 });
    this.#hold(network, size);
    this.#letGoAfter(request, network, size);
  }

  /** The body of a request that was admitted here, which fails where it gets too long; null for another request. */
  bodyOf(request: IncomingMessage, body: Readable): Readable | null {
    const known = this.#known.get(request);
    if (known === undefined) return null;
    return request.headers['transfer-encoding'] === undefined ? body : body.pipe(atMost(known.largest));
  }

  /** The body was malformed. This counts only against clients without a valid credential. */
  garbled(request: IncomingMessage): void {
    const known = this.#known.get(request);
    if (known !== undefined) this.#garbled.add(known.address);
  }

  #letGoAfter(request: IncomingMessage, network: string, size: number): void {
    const { socket } = request;
    const late = setTimeout(() => this.#onLate(request), this.#patience);
    let isOver = false;
    const over = () => {
      if (isOver) return;
      isOver = true;
      clearTimeout(late);
      socket.off('close', over);
      this.#hold(network, -size);
    };
    request.once('end', over);
    // If the request is answered before its body has arrived, it emits no `end`.
    socket.once('close', over);
  }

  #hold(network: string, size: number): void {
    this.#all += size;
    const held = (this.#held.get(network) ?? 0) + size;
    if (held === 0) this.#held.delete(network);
    else this.#held.set(network, held);
  }
}

function atMost(largest: number): Transform {
  let size = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      if (size > largest) done(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE());
      else done(null, chunk);
    },
  });
}
