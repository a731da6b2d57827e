/**
 * The declared secrets as they were last seen. A value is given out only while the vault has confirmed it within
 * `maxStale`, and for `grace` after the vault first refused the access key. One that goes missing, or stops
 * matching its schema, keeps its last good value until that is too old.
 */
import { StrongroomError } from './errors.ts';
import { parsed, type StandardSchema } from './standard-schema.ts';

export type Schemas = Readonly<Record<string, StandardSchema>>;

export interface Bounds {
  /** In milliseconds. */
  readonly maxStale: number;
  readonly grace: number;
}

interface Held {
  readonly raw: string;
  readonly value: unknown;
  confirmedAt: number;
}

/** What an answer of the vault means for the declared secrets; nothing is changed by it until it is taken over. */
export interface Candidates {
  readonly good: ReadonlyMap<string, { readonly raw: string; readonly value: unknown }>;
  readonly missing: readonly string[];
  readonly invalid: readonly string[];
}

export class HeldValues {
  readonly names: readonly string[];
  readonly #schemas: Schemas;
  readonly #bounds: Bounds;
  readonly #held = new Map<string, Held>();
  /** The names that the vault's latest answer had a good value for. */
  #inLatest: readonly string[] = [];
  #refusedAt: number | null = null;
  #confirmedAt: number | null = null;

  constructor(schemas: Schemas, bounds: Bounds) {
    this.names = Object.keys(schemas);
    this.#schemas = schemas;
    this.#bounds = bounds;
  }

  get areComplete(): boolean {
    return this.names.every(name => this.#held.has(name));
  }

  /** When the vault last confirmed what is held. */
  get confirmedAt(): number | null {
    return this.#confirmedAt;
  }

  async examine(values: ReadonlyMap<string, string>): Promise<Candidates> {
    const missing = this.names.filter(name => !values.has(name));
    const good = new Map<string, { readonly raw: string; readonly value: unknown }>();
    for (const name of this.names) {
      const raw = values.get(name);
      const found = raw === undefined ? null : await this.#parsed(name, raw);
      if (raw !== undefined && found !== null) good.set(name, { raw, value: found.value });
    }
    return { good, missing, invalid: this.names.filter(name => values.has(name) && !good.has(name)) };
  }

  /** A schema makes its object once for each value, and not at every answer. */
  async #parsed(name: string, raw: string): Promise<{ readonly value: unknown } | null> {
    const held = this.#held.get(name);
    return held?.raw === raw ? held : parsed(this.#schemas[name]!, raw);
  }

  /** All at once, so that a user name and its password change together. Returns the names whose values are new. */
  take({ good }: Candidates, at: number): string[] {
    const changed = [...good].filter(([name, { raw }]) => this.#held.get(name)?.raw !== raw);
    for (const [name, one] of good) this.#held.set(name, { ...one, confirmedAt: at });
    this.#inLatest = [...good.keys()];
    this.confirm(at);
    return changed.map(([name]) => name);
  }

  /** The vault says that its latest answer still stands. */
  confirm(at: number): void {
    for (const name of this.#inLatest) this.#held.get(name)!.confirmedAt = at;
    this.#refusedAt = null;
    this.#confirmedAt = at;
  }

  /** The vault refused the access key; only its next answer ends that, an outage does not. */
  refuse(at: number): void {
    this.#refusedAt ??= at;
  }

  read(name: string, now: number): unknown {
    const held = this.#held.get(name);
    if (held === undefined) throw missingError([name], []);
    if (this.#refusedAt !== null && now - this.#refusedAt > this.#bounds.grace) {
      throw new StrongroomError('UNAUTHORIZED', 'The vault refuses the access key.', {
        status: 401,
        names: [name],
      });
    }
    if (now - held.confirmedAt > this.#bounds.maxStale) {
      throw new StrongroomError('STALE', `The vault has not confirmed ${name} for too long.`, {
        names: [name],
      });
    }
    return held.value;
  }

  /** What a cache needs to start from, when all of it was in the vault's latest answer. */
  raws(): Record<string, string> | null {
    if (this.#inLatest.length < this.names.length) return null;
    return Object.fromEntries([...this.#held].map(([name, { raw }]) => [name, raw]));
  }
}

export function missingError(missing: readonly string[], invalid: readonly string[]): StrongroomError {
  const parts = [
    ...(missing.length === 0 ? [] : [`not in the vault: ${missing.join(', ')}`]),
    ...(invalid.length === 0 ? [] : [`not what the schema accepts: ${invalid.join(', ')}`]),
  ];
  const code = missing.length > 0 ? 'MISSING_SECRET' : 'INVALID_SECRET';
  return new StrongroomError(code, `Declared secrets are ${parts.join('; ')}.`, {
    names: [...missing, ...invalid],
  });
}
