/**
 * What those who have proven nothing may make us hold and read. Before a byte of such a body is taken, room is set
 * aside for all of it: so much for all strangers together, so much of that for one address. It has to arrive soon.
 * An address that keeps sending what can't be understood is turned away unread for the rest of the minute.
 *
 * A body that comes with a good credential in its head is no stranger's, and never counted here.
 */
import type { IncomingMessage } from 'node:http';
import { Failure } from '../../contract/errors.ts';
import { FailedAttempts, networkOf } from '../../domain/kernel/failed-attempts.ts';

const most = 16 * 1024 * 1024;
const mostOfOne = 4 * 1024 * 1024;
const mostGarbled = 60;

export interface UnauthenticatedBodiesParts {
  readonly now: () => number;
  /** In milliseconds, for a whole body. */
  readonly patience: number;
  /** Ends the connection of a request whose body did not come in time. */
  readonly onLate: (request: IncomingMessage) => void;
}

export class UnauthenticatedBodies {
  readonly #garbled: FailedAttempts;
  readonly #patience: number;
  readonly #onLate: UnauthenticatedBodiesParts['onLate'];
  readonly #held = new Map<string, number>();
  /** The address that each of them came from. */
  readonly #known = new WeakMap<IncomingMessage, string>();
  #all = 0;

  constructor({ now, patience, onLate }: UnauthenticatedBodiesParts) {
    this.#garbled = new FailedAttempts(now, mostGarbled);
    this.#patience = patience;
    this.#onLate = onLate;
  }

  /** Allows the body, of at most `largest` bytes, to be read, or refuses it unread. */
  admit(request: IncomingMessage, address: string, largest: number): void {
    const wait = this.#garbled.blockedFor(address);
    if (wait > 0) throw new Failure('RATE_LIMITED', { retryAfter: wait });
    this.#known.set(request, address);
    if (request.complete || request.readableEnded) return;
    const network = networkOf(address);
    const size = sizeOf(request, largest);
    const held = this.#held.get(network) ?? 0;
    if (this.#all + size > most || held + size > mostOfOne)
      throw new Failure('UNAVAILABLE', { retryAfter: 1 });
    this.#hold(network, size);
    this.#letGoAfter(request, network, size);
  }

  /** Whether room was set aside for it. */
  holds(request: IncomingMessage): boolean {
    return this.#known.has(request);
  }

  /** The body was malformed. This counts only against clients without a valid credential. */
  garbled(request: IncomingMessage): void {
    const address = this.#known.get(request);
    if (address !== undefined) this.#garbled.failed(address);
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
    // Of one that was answered before it had come the request itself says no more.
    socket.once('close', over);
  }

  #hold(network: string, size: number): void {
    this.#all += size;
    const held = (this.#held.get(network) ?? 0) + size;
    if (held === 0) this.#held.delete(network);
    else this.#held.set(network, held);
  }
}

/** As it says itself, where that can be; what is larger than it may be is refused by its reader, unread. */
function sizeOf({ headers }: IncomingMessage, largest: number): number {
  const said = headers['content-length'];
  return said === undefined ? largest : Math.min(Number(said), largest);
}
