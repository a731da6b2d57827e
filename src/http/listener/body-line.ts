/**
 * Limits how many bytes of authenticated request bodies are read and handled at the same time. A body beyond the limit
 * waits in a queue, unread, at almost no cost; when the queue is full, the client gets UNAVAILABLE and may retry. A
 * small body never waits for large ones.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Failure } from '../../contract/errors.ts';

/** In bytes: the most that is handled at the same time, and the size up to which a body never waits. */
const mostAtOnce = 4 * 1024 * 1024;
const small = 64 * 1024;
const longestLine = 200;
const longestWait = 20_000;

interface Waiting {
  readonly size: number;
  readonly admit: () => void;
}

export class BodyLine {
  readonly #line: Waiting[] = [];
  #held = 0;

  /**
   * Resolves once the body, of at most `largest` bytes, may be read; null if it may be read immediately. Its bytes are
   * released when the answer ends.
   */
  enter(request: IncomingMessage, response: ServerResponse, largest: number): Promise<void> | null {
    const size = sizeOf(request, largest);
    return size <= small ? null : this.#enter(size, response);
  }

  async #enter(size: number, response: ServerResponse): Promise<void> {
    if (this.#held + size > mostAtOnce || this.#line.length > 0) await this.#wait(size, response);
    else this.#held += size;
    if (response.destroyed) this.#leave(size);
    else response.once('close', () => this.#leave(size));
  }

  #wait(size: number, response: ServerResponse): Promise<void> {
    if (this.#line.length >= longestLine) throw new Failure('UNAVAILABLE', { retryAfter: 1 });
    return new Promise((resolve, reject) => {
      const waiting = { size, admit: () => settle(resolve) };
      const giveUp = () => {
        const place = this.#line.indexOf(waiting);
        if (place >= 0) this.#line.splice(place, 1);
        settle(() => reject(new Failure('UNAVAILABLE', { retryAfter: 1 })));
      };
      const late = setTimeout(giveUp, longestWait);
      const settle = (then: () => void) => {
        clearTimeout(late);
        response.off('close', giveUp);
        then();
      };
      response.once('close', giveUp);
      this.#line.push(waiting);
    });
  }

  #leave(size: number): void {
    this.#held -= size;
    while (this.#line.length > 0 && this.#held + this.#line[0]!.size <= mostAtOnce) {
      const next = this.#line.shift()!;
      this.#held += next.size;
      next.admit();
    }
  }
}

function sizeOf({ headers, complete }: IncomingMessage, largest: number): number {
  if (complete) return 0;
  const said = headers['content-length'];
  if (said !== undefined) return Math.min(Number(said), largest);
  return headers['transfer-encoding'] === undefined ? 0 : largest;
}
