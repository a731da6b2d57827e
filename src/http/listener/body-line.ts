/**
 * Bodies of those who have proven who they are: read and handled so many bytes at a time. Whatever does not fit waits
 * in line, unread, where it costs next to nothing; whoever finds the line full is told to come back. A small body
 * never waits for large ones.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Failure } from '../../contract/errors.ts';

/** In bytes: what is handled at once, and what always is. */
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
   * Resolves once the body, of at most `largest` bytes, may be read; null where that is at once. Its room is given back
   * with the end of the answer.
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
