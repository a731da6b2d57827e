/**
 * Scrubbers that are kept for the next call with the same value: to work one out takes longer than to use it. Bounded in
 * bytes; whichever was not used for longest goes first.
 */
import { type Scrubber, scrubberOf } from './scrubbing.ts';

/** In bytes. */
const most = 64 * 1024 * 1024;

export class Scrubbers {
  /** The one that was used last is the last. */
  readonly #kept = new Map<string, Scrubber>();
  #size = 0;

  of(values: readonly string[]): Scrubber {
    const key = JSON.stringify(values);
    const scrubber = this.#kept.get(key) ?? this.#made(values);
    this.#kept.delete(key);
    this.#kept.set(key, scrubber);
    for (const [oldest, { size }] of this.#kept) {
      if (this.#size <= most || oldest === key) break;
      this.#kept.delete(oldest);
      this.#size -= size;
    }
    return scrubber;
  }

  #made(values: readonly string[]): Scrubber {
    const scrubber = scrubberOf(values);
    this.#size += scrubber.size;
    return scrubber;
  }
}
