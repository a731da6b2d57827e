/** Notifies of changed values: first listeners, then objects built from the values. Their errors go to `onError`. */
import { DerivedObject, type DerivedParts } from './derived.ts';
import { asError, callSafely, type StrongroomError } from './errors.ts';

export class Changes {
  readonly #onError: (error: StrongroomError) => void;
  readonly #listeners = new Set<{ readonly name: string; readonly run: () => unknown }>();
  readonly #derived = new Set<DerivedObject<unknown>>();

  constructor(onError: (error: StrongroomError) => void) {
    this.#onError = onError;
  }

  /** Returns a function that removes the listener. */
  listen(name: string, run: () => unknown): () => void {
    const listener = { name, run };
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async derive<T>(parts: Omit<DerivedParts<T>, 'onFailure'>): Promise<DerivedObject<T>> {
    const derived = new DerivedObject<T>({ ...parts, onFailure: this.#failed });
    // Registered before it is built, so that a change in the meantime is not missed.
    this.#derived.add(derived as DerivedObject<unknown>);
    try {
      await derived.build();
    } catch (error) {
      this.#derived.delete(derived as DerivedObject<unknown>);
      throw error;
    }
    return derived;
  }

  async tell(changed: readonly string[]): Promise<void> {
    for (const { name, run } of [...this.#listeners]) {
      if (changed.includes(name)) callSafely(run, this.#failed);
    }
    for (const derived of this.#derived) await derived.keepUp(changed);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    for (const derived of this.#derived) await derived.close();
    this.#derived.clear();
  }

  readonly #failed = (error: unknown): void => this.#onError(asError(error));
}
