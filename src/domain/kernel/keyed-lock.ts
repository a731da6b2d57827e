/** Serializes operations on the same id within this process, so that they don't have to be retried. */
export class KeyedLock {
  readonly #last = new Map<string, Promise<unknown>>();

  async take<T>(id: string, run: () => Promise<T>): Promise<T> {
    const before = this.#last.get(id);
    const mine = (async () => {
      await before?.catch(() => {});
      return run();
    })();
    this.#last.set(id, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(id) === mine) this.#last.delete(id);
    }
  }
}
