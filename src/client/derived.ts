/**
 * An object built from secrets (a pool, a client) that is rebuilt when they change. The old one stays in use until the
 * new one is ready, even if building it fails; then the old one is disposed of.
 */

export interface Derived<T> {
  /** The newest object. Get it for each use, and don't keep it. */
  readonly current: T;
}

export interface DerivedParts<T> {
  readonly names: readonly string[];
  readonly build: () => T | Promise<T>;
  readonly dispose: (old: T) => unknown;
  /** Called with errors that `build` and `dispose` throw. */
  readonly onFailure: (error: unknown) => void;
}

export class DerivedObject<T> implements Derived<T> {
  readonly #parts: DerivedParts<T>;
  #built: { readonly object: T } | null = null;
  #building: Promise<void> | null = null;
  /** Whether the values have changed since the last build began, or that build failed. */
  #isOld = false;

  constructor(parts: DerivedParts<T>) {
    this.#parts = parts;
  }

  get current(): T {
    return this.#built!.object;
  }

  /** Joins a build in progress, which continues until it has used the newest values. */
  build(): Promise<void> {
    this.#building ??= this.#buildNewest().finally(() => {
      this.#building = null;
    });
    return this.#building;
  }

  async #buildNewest(): Promise<void> {
    do {
      this.#isOld = false;
      const object = await this.#buildOnce();
      const old = this.#built;
      this.#built = { object };
      if (old !== null) await this.#disposeOf(old.object);
    } while (this.#isOld);
  }

  async #buildOnce(): Promise<T> {
    try {
      return await this.#parts.build();
    } catch (error) {
      this.#isOld = true;
      throw error;
    }
  }

  /** Called after each exchange. A failed build is tried again, even if nothing has changed since. */
  async keepUp(changed: readonly string[]): Promise<void> {
    if (changed.some(name => this.#parts.names.includes(name))) this.#isOld = true;
    if (this.#isOld) await this.build().catch(this.#parts.onFailure);
  }

  async close(): Promise<void> {
    await this.#building?.catch(() => {});
    if (this.#built !== null) await this.#disposeOf(this.#built.object);
    this.#built = null;
  }

  async #disposeOf(object: T): Promise<void> {
    try {
      await this.#parts.dispose(object);
    } catch (error) {
      this.#parts.onFailure(error);
    }
  }
}
