/**
 * Scrubs a text that is passed on while it arrives. The last part of what has arrived is held back until more follows,
 * so that nothing is passed on that could turn out to be the beginning of the value or of a part of it. A sequence that
 * reaches into that part is held back from where it begins. What `scrubbing.ts` says about complete texts applies.
 */
import type { Turn } from './known-value.ts';
import type { Passable, Scrubber } from './scrubbing.ts';

/** In bytes: longer than twelve characters in the longest encoding that is searched for, with separators. */
const held = 8 * 1024;
/** In bytes: a sequence that goes on for longer than any form of the longest value is not waited for. */
const mostHeld = 1024 * 1024;

/** It contains the value in a form that can't be redacted, or a part of it. */
export class ValueFound extends Error {
  readonly parts: number;

  constructor(parts: number) {
    super('the text contains the value in a form that can’t be redacted');
    this.parts = parts;
  }
}

export class ScrubbedStream {
  readonly #scrubber: Pick<Scrubber, 'passable'>;
  readonly #turn: Turn;
  #rest: Buffer = Buffer.alloc(0);
  /** How many places were redacted. */
  redacted = 0;

  constructor(scrubber: Pick<Scrubber, 'passable'>, turn: Turn) {
    this.#scrubber = scrubber;
    this.#turn = turn;
  }

  /** Adds what has arrived, and returns what may be passed on. Throws `ValueFound`. */
  add(bytes: Buffer): Promise<Buffer> {
    return this.#pass(bytes, held);
  }

  /** The same, but complete lines are not held back, because the sender pauses after them. */
  async addLines(bytes: Buffer): Promise<Buffer> {
    const all = Buffer.concat([this.#rest, bytes]);
    const end = all.lastIndexOf('\n') + 1;
    this.#rest = all.subarray(0, end);
    const passed = await this.#pass(Buffer.alloc(0), 0);
    this.#rest = Buffer.concat([this.#rest, all.subarray(end)]);
    return passed;
  }

  end(): Promise<Buffer> {
    return this.#pass(Buffer.alloc(0), 0);
  }

  async #pass(bytes: Buffer, hold: number): Promise<Buffer> {
    const all = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    const { clean, length, redacted, parts }: Passable = await this.#scrubber.passable(all, hold, this.#turn);
    if (parts !== null || all.length - length > mostHeld) throw new ValueFound(parts ?? 0);
    this.#rest = all.subarray(length);
    this.redacted += redacted;
    return clean;
  }
}
