/**
 * Copies of stored things, kept in memory and never trusted longer than they should be: an entry goes when a
 * change to its id is heard of, everything goes when changes may have been missed, and a load that a change
 * overtook is used once but not kept. Bounded; the oldest goes first.
 */
import type { Store } from '../../store/store.ts';

type Changes = Pick<Store, 'onChange' | 'hearsChanges'>;

export class RowCache<T> {
  readonly #changes: Changes;
  readonly #most: number;
  readonly #entries = new Map<string, T>();
  /** Counts what was heard, so that a load can tell whether anything changed while it ran. */
  #heard = 0;

  constructor(changes: Changes, most: number) {
    this.#changes = changes;
    this.#most = most;
    changes.onChange(touched => this.#drop(touched));
  }

  get(id: string): T | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined || !this.#changes.hearsChanges()) return undefined;
    return entry;
  }

  async load(id: string, read: () => Promise<T | undefined>): Promise<T | undefined> {
    const heard = this.#heard;
    const entry = await read();
    if (entry === undefined || heard !== this.#heard || !this.#changes.hearsChanges()) return entry;
    if (this.#entries.size >= this.#most) this.#entries.delete(this.#entries.keys().next().value!);
    this.#entries.set(id, entry);
    return entry;
  }

  /** For whoever found out by themselves that it is not as it was. */
  forget(id: string): void {
    this.#drop([id]);
  }

  #drop(touched: readonly string[] | 'all'): void {
    this.#heard++;
    if (touched === 'all') this.#entries.clear();
    else for (const id of touched) this.#entries.delete(id);
  }
}
