/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The declared secrets of a vault, as an object with one property for each. Reading one is immediate: the values are
 * kept up to date in the background.
 */
import type { Changes } from './changes.ts';
import type { Clock } from './clock.ts';
import type { Derived } from './derived.ts';
import type { StrongroomError } from './errors.ts';
import type { HeldValues, Schemas } from './held-values.ts';
import { Secret } from './secret.ts';
import type { OutputOf } from './standard-schema.ts';

export interface Status {
  /** When the vault last confirmed the values. */
  readonly confirmedAt: Date | null;
  /** Whether the store started from its cache and has not reached the vault since. */
  readonly fromCache: boolean;
  /** The error of the latest exchange; null if it succeeded. */
  readonly lastError: StrongroomError | null;
}

export interface StoreMethods<S extends Schemas> {
  /** The same as the property, for names that are also methods of the store. */
  get<N extends keyof S & string>(name: N): Secret<OutputOf<S[N]>>;
  /** Calls the listener each time the value changes. Returns a function that removes it. */
  onChange<N extends keyof S & string>(
    name: N,
    listener: (secret: Secret<OutputOf<S[N]>>) => unknown,
  ): () => void;
  /** Builds an object from values, rebuilds it when one of them changes, and then disposes of the old one. */
  derived<const N extends readonly (keyof S & string)[], T>(
    names: N,
    build: (...values: ValuesOf<S, N>) => T | Promise<T>,
    dispose?: (old: T) => unknown,
  ): Promise<Derived<T>>;
  /** Asks the vault now. Joins a request in progress. */
  refresh(): Promise<void>;
  status(): Status;
  /** Stops polling and disposes of derived objects. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

type ValuesOf<S extends Schemas, N extends readonly (keyof S)[]> = {
  readonly [I in keyof N]: OutputOf<S[N[I]]>;
};

/** Properties of these names would hide a method, or make the store a thenable. */
type Reserved = keyof StoreMethods<Schemas> | keyof typeof Object.prototype | 'then';

export type Store<S extends Schemas> = StoreMethods<S> & {
  readonly [N in Exclude<keyof S & string, Reserved>]: Secret<OutputOf<S[N]>>;
};

/** The part of a source of values that the store needs. */
export interface SecretSource {
  refresh(): Promise<void>;
  status(): Status;
  close(): Promise<void>;
}

export interface StoreParts {
  readonly values: HeldValues;
  readonly changes: Changes;
  readonly clock: Clock;
  readonly source: SecretSource;
}

class SecretsStore {
  readonly #parts: StoreParts;
  readonly #secrets: ReadonlyMap<string, Secret<never>>;

  constructor(parts: StoreParts) {
    this.#parts = parts;
    const { values, clock } = parts;
    const secretOf = (name: string) => new Secret(name, () => values.read(name, clock.now()) as never);
    this.#secrets = new Map(values.names.map(name => [name, secretOf(name)]));
    for (const [name, value] of this.#secrets) {
      if (!(name in this) && name !== 'then') Object.defineProperty(this, name, { value, enumerable: true });
    }
  }

  get(name: string): Secret<never> {
    const secret = this.#secrets.get(name);
    if (secret === undefined) throw new TypeError('The secret is not declared.');
    return secret;
  }

  onChange(name: string, listener: (secret: Secret<never>) => unknown): () => void {
    const secret = this.get(name);
    return this.#parts.changes.listen(name, () => listener(secret));
  }

  async derived<T>(
    names: readonly string[],
    build: (...values: never[]) => T | Promise<T>,
    dispose: (old: T) => unknown = () => {},
  ): Promise<Derived<T>> {
    const secrets = names.map(name => this.get(name));
    const buildNow = () => build(...secrets.map(secret => secret.reveal()));
    return this.#parts.changes.derive({ names, build: buildNow, dispose });
  }

  refresh(): Promise<void> {
    return this.#parts.source.refresh();
  }

  status(): Status {
    return this.#parts.source.status();
  }

  async close(): Promise<void> {
    await this.#parts.source.close();
    await this.#parts.changes.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

export function storeOf<S extends Schemas>(parts: StoreParts): Store<S> {
  return new SecretsStore(parts) as unknown as Store<S>;
}
