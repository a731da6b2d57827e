/**
 * Fills a store with a vault's values and keeps them up to date: from the vault or, at the start, from the cache if the
 * vault is unavailable. If the vault refuses the access key, the cache is cleared immediately, and the store stops
 * returning values after the grace period.
 */
import { type Cached, type CacheStorage, openCache, sealCache } from './cache.ts';
import type { Changes } from './changes.ts';
import { sleep } from './clock.ts';
import { asError, isPassing, StrongroomError } from './errors.ts';
import { type Candidates, type HeldValues, missingError } from './held-values.ts';
import { Poller } from './poller.ts';
import type { Connection } from './request.ts';
import type { SecretSource, Status } from './store.ts';
import { pathOf, readIfChanged } from './vault.ts';

export interface VaultSourceParts {
  readonly connection: Connection;
  readonly vault: string;
  readonly values: HeldValues;
  readonly changes: Changes;
  readonly cache: CacheStorage | null;
  readonly onError: (error: StrongroomError) => void;
  readonly random: () => number;
  /** In milliseconds. */
  readonly interval: number;
  readonly maxStale: number;
}

/** The delay before the vault is asked again for a missing secret. */
const lackDelay = 1000;

/** A smaller difference between two clocks is ignored. */
const clockSlack = 60_000;

export class VaultSource implements SecretSource {
  readonly #parts: VaultSourceParts;
  readonly #poller: Poller;
  #etag: string | null = null;
  #fromCache = false;
  #lastError: StrongroomError | null = null;
  /** The error for missing or invalid secrets in the latest answer. */
  #lack: StrongroomError | null = null;
  /** When the cached values were confirmed. */
  #cachedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: VaultSourceParts) {
    this.#parts = parts;
    const { random, interval } = parts;
    const { clock } = parts.connection;
    this.#poller = new Poller({ exchange: () => this.#exchange(), clock, random, interval });
  }

  /** Waits until every declared secret has a value. Errors that waiting can't resolve fail immediately. */
  async fill(wait: number): Promise<void> {
    const { connection, values } = this.#parts;
    const end = connection.clock.now() + wait;
    for (;;) {
      const failure = await this.#poller.run().then(() => this.#lack, asError);
      if (failure === null || values.areComplete || (await this.#isHelped(failure))) return;
      const delay = failure === this.#lack ? lackDelay : this.#poller.delay();
      if (connection.clock.now() + delay > end) throw failure;
      await sleep(connection.clock, delay);
    }
  }

  /** Tries the cache, unless the vault has answered: a secret missing there must not come back from an older answer. */
  async #isHelped(failure: StrongroomError): Promise<boolean> {
    if (failure === this.#lack) return false;
    if (!isPassing(failure)) throw failure;
    return this.#lack === null && (await this.#fillFromCache());
  }

  startPolling(): void {
    this.#poller.start();
  }

  refresh(): Promise<void> {
    return this.#poller.run();
  }

  status(): Status {
    const { confirmedAt } = this.#parts.values;
    return {
      confirmedAt: confirmedAt === null ? null : new Date(confirmedAt),
      fromCache: this.#fromCache,
      lastError: this.#lastError,
    };
  }

  async close(): Promise<void> {
    this.#poller.stop();
    this.#parts.connection.closing.abort();
  }

  async #exchange(): Promise<void> {
    const { connection, vault, changes } = this.#parts;
    const at = connection.clock.now(); // Taken before sending, so that values never seem newer than they are.
    const answer = await readIfChanged(connection, pathOf(vault), this.#etag).catch(error =>
      this.#failed(error),
    );
    const changed =
      answer.values === null ? this.#confirm(at) : await this.#take(answer.values, answer.etag, at);
    this.#fromCache = false;
    this.#lastError = null;
    await this.#saveToCache(changed.length > 0, at);
    await changes.tell(changed);
  }

  #confirm(at: number): string[] {
    this.#parts.values.confirm(at);
    return [];
  }

  async #take(found: ReadonlyMap<string, string>, etag: string | null, at: number): Promise<string[]> {
    const { values } = this.#parts;
    const candidates = await values.examine(found);
    this.#noteLack(candidates);
    // A schema may accept the same value later; a missing one can't come back without a new ETag.
    this.#etag = candidates.invalid.length === 0 ? etag : null;
    return values.take(candidates, at);
  }

  #noteLack({ missing, invalid }: Candidates): void {
    this.#lack = missing.length + invalid.length === 0 ? null : missingError(missing, invalid);
    if (this.#lack !== null) this.#parts.onError(this.#lack);
  }

  async #failed(thrown: unknown): Promise<never> {
    const { connection, values, onError } = this.#parts;
    const error = asError(thrown);
    if (connection.closing.signal.aborted) throw error;
    this.#lastError = error;
    onError(error);
    if (error.code === 'UNAUTHORIZED' || error.code === 'FORBIDDEN') {
      values.refuse(connection.clock.now());
      await this.#clearCache();
    }
    throw error;
  }

  async #fillFromCache(): Promise<boolean> {
    const { cache, values } = this.#parts;
    const cached = cache === null ? null : await this.#guarded(() => this.#readCache(cache));
    if (cached == null || !this.#isUsable(cached)) return false;
    const candidates = await values.examine(new Map(Object.entries(cached.values)));
    if (candidates.good.size < values.names.length) return false;
    values.take(candidates, cached.confirmedAt);
    this.#fromCache = true;
    this.#cachedAt = cached.confirmedAt;
    return true;
  }

  #isUsable({ confirmedAt }: Cached): boolean {
    const age = this.#parts.connection.clock.now() - confirmedAt;
    return age <= this.#parts.maxStale && age >= -clockSlack;
  }

  async #readCache(cache: CacheStorage): Promise<Cached | null> {
    const bytes = await cache.load();
    return bytes === null ? null : openCache(bytes, this.#binding());
  }

  /** Saves when something has changed, and otherwise at times, so that the cache doesn't become too old. */
  async #saveToCache(hasChanged: boolean, confirmedAt: number): Promise<void> {
    const { cache, values, maxStale } = this.#parts;
    const raws = values.raws();
    if (cache === null || raws === null) return;
    if (!hasChanged && confirmedAt - this.#cachedAt < maxStale / 10) return;
    await this.#guarded(async () => {
      await cache.save(await sealCache({ confirmedAt, values: raws }, this.#binding()));
      this.#cachedAt = confirmedAt;
    });
  }

  async #clearCache(): Promise<void> {
    this.#cachedAt = Number.NEGATIVE_INFINITY;
    await this.#guarded(async () => this.#parts.cache?.clear());
  }

  #binding() {
    const { connection, vault } = this.#parts;
    return { url: connection.url, vault, key: connection.key };
  }

  /** A failing cache is reported, but does not affect the current values. */
  async #guarded<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (cause) {
      this.#parts.onError(new StrongroomError('CACHE_FAILED', 'The cache can’t be used.', { cause }));
      return undefined;
    }
  }
}
