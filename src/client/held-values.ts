/**
 * The last known values of the declared secrets. A value is returned only if the vault has confirmed it within
 * `maxStale`, and for at most `grace` after the vault first refused the access key. A secret that disappears, or no
 * longer matches its schema, keeps its last valid value until that is too old.
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

/** The result of checking a vault's answer against the declared secrets; nothing changes until `take` is called. */
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
  /** The names with a valid value in the vault's latest answer. */
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

  /** When the vault last confirmed the values. */
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

  /** Each value is parsed once, and not again for every answer. */
  async #parsed(name: string, raw: string): Promise<{ readonly value: unknown } | null> {
    const held = this.#held.get(name);
    return held?.raw === raw ? held : parsed(this.#schemas[name]!, raw);
  }

  /** Replaces all values together, so that a user name and its password stay consistent. Returns the changed names. */
  take({ good }: Candidates, at: number): string[] {
    const changed = [...good].filter(([name, { raw }]) => this.#held.get(name)?.raw !== raw);
    for (const [name, one] of good) this.#held.set(name, { ...one, confirmedAt: at });
    this.#inLatest = [...good.keys()];
    this.confirm(at);
    return changed.map(([name]) => name);
  }

  /** The vault confirmed that its latest answer is still current. */
  confirm(at: number): void {
    for (const name of this.#inLatest) this.#held.get(name)!.confirmedAt = at;
    this.#refusedAt = null;
    this.#confirmedAt = at;
  }

  /** The vault refused the access key. Only a later successful answer ends this state; an outage does not. */
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

  /** The values for the cache; null unless all of them were in the vault's latest answer. */
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
