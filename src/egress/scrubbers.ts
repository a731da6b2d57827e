/**
 * A cache of scrubbers for the next call with the same value, because creating one takes longer than using it. It is
 * limited in bytes; the least recently used is dropped first.
 */
import { type Scrubber, scrubberOf } from './scrubbing.ts';

/** In bytes. */
const most = 64 * 1024 * 1024;

export class Scrubbers {
  /** The most recently used comes last. */
  readonly #kept = new Map<string, Scrubber>();
  #size = 0;

  of(values: readonly string[]): Scrubber {
    const key = JSON.stringify(values);
    const known = this.#kept.get(key);
    const scrubber = known ?? scrubberOf(values);
    if (known === undefined) this.#size += scrubber.size;
    this.#kept.delete(key);
    this.#kept.set(key, scrubber);
    for (const [oldest, { size }] of this.#kept) {
      if (this.#size <= most || oldest === key) break;
      this.#kept.delete(oldest);
      this.#size -= size;
    }
    return scrubber;
  }
}
