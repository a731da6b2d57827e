/**
 * Caches stored rows in memory without trusting them too long: an entry is dropped when a change to its id arrives,
 * everything is dropped when changes may have been missed, and a row that changed while it was loaded is used once
 * but not kept. Bounded; the oldest entry is dropped first.
 */
import type { Store } from '../../store/store.ts';

type Changes = Pick<Store, 'onChange' | 'hearsChanges'>;

export class RowCache<T> {
  readonly #changes: Changes;
  readonly #most: number;
  readonly #entries = new Map<string, T>();
  /** Counts the notifications, so that a load can detect changes while it ran. */
  #heard = 0;

  constructor(changes: Changes, most: number) {
    this.#changes = changes;
    this.#most = most;
    changes.onChange(touched => this.#drop(touched));
  }

  get(id: string): T | undefined {
    // First, because it may bring the news that the entry has changed.
    return this.#changes.hearsChanges() ? this.#entries.get(id) : undefined;
  }

  async load(id: string, read: () => Promise<T | undefined>): Promise<T | undefined> {
    const heard = this.#heard;
    const entry = await read();
    if (!this.#changes.hearsChanges() || entry === undefined || heard !== this.#heard) return entry;
    if (this.#entries.size >= this.#most) this.#entries.delete(this.#entries.keys().next().value!);
    this.#entries.set(id, entry);
    return entry;
  }

  /** For a caller that found out by itself that the row has changed. */
  forget(id: string): void {
    this.#drop([id]);
  }

  #drop(touched: readonly string[] | 'all'): void {
    this.#heard++;
    if (touched === 'all') this.#entries.clear();
    else for (const id of touched) this.#entries.delete(id);
  }
}
