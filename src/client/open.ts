/** `open({ url, key, secrets })`: a store of declared secrets; it resolves when all of them have a value. */
import type { CacheStorage } from './cache.ts';
import { Changes } from './changes.ts';
import { asError, callSafely, type StrongroomError } from './errors.ts';
import { file } from './file-cache.ts';
import { HeldValues, type Schemas } from './held-values.ts';
import { type ConnectionOptions, connect, type Receipt, wrong } from './request.ts';
import { type Store, storeOf } from './store.ts';
import { VaultSource } from './vault-source.ts';

export interface OpenOptions<S extends Schemas> extends ConnectionOptions {
  /** The secrets that the program needs, each with a schema. */
  readonly secrets: S;
  /** The vault's id. Optional, because an access key belongs to one vault. */
  readonly vault?: string | undefined;
  /** A file, or your own storage, so that the program can start without the vault. It only sees encrypted values. */
  readonly cache?: string | CacheStorage | undefined;
  /** The time between two polls, plus or minus a fifth. 30 by default. Each poll is an entry in the request log. */
  readonly pollSeconds?: number | undefined;
  /** How long a value is returned without confirmation by the vault. A day by default. */
  readonly maxStaleSeconds?: number | undefined;
  /** How long values are returned after the vault refuses the access key. 300 by default. */
  readonly graceSeconds?: number | undefined;
  /** How long to wait until all secrets have a value. 30 by default. */
  readonly waitSeconds?: number | undefined;
  /** Called for every error in the background; the store keeps working. */
  readonly onError?: ((error: StrongroomError) => void) | undefined;
  /** Called with the receipt of every answer. */
  readonly onReceipt?: ((receipt: Receipt) => void) | undefined;
  /** Returns a number between 0 and 1, to spread the polls. */
  readonly random?: (() => number) | undefined;
}

export async function open<const S extends Schemas>(options: OpenOptions<S>): Promise<Store<S>> {
  const { onError, onReceipt } = callbacksOf(options);
  const { wait, grace, ...settings } = settingsOf(options);
  const connection = connect({ ...options, onReceipt });
  const values = new HeldValues(checked(options.secrets), { maxStale: settings.maxStale, grace });
  const changes = new Changes(onError);
  const source = new VaultSource({ ...settings, connection, values, changes, onError });
  await source.fill(wait);
  source.startPolling();
  return storeOf<S>({ values, changes, clock: connection.clock, source });
}

/** The settings with their defaults, in milliseconds. */
function settingsOf(options: OpenOptions<Schemas>) {
  const { vault = 'self', random = Math.random, cache = null, maxStaleSeconds = 86_400 } = options;
  if (maxStaleSeconds === Number.POSITIVE_INFINITY) throw wrong('maxStaleSeconds must be finite');
  return {
    vault,
    random,
    cache: typeof cache === 'string' ? file(cache) : cache,
    interval: atLeast(1, 'pollSeconds', options.pollSeconds ?? 30) * 1000,
    maxStale: atLeast(1, 'maxStaleSeconds', maxStaleSeconds) * 1000,
    grace: atLeast(0, 'graceSeconds', options.graceSeconds ?? 300) * 1000,
    wait: atLeast(0, 'waitSeconds', options.waitSeconds ?? 30) * 1000,
  };
}

function atLeast(least: number, name: string, value: number): number {
  if (!(value >= least)) throw wrong(`${name} must be a number of at least ${least}`);
  return value;
}

/** Errors of callbacks go to `onError`; errors of `onError` itself are ignored. */
function callbacksOf({ onError, onReceipt }: Pick<OpenOptions<Schemas>, 'onError' | 'onReceipt'>) {
  const report = (error: unknown) =>
    callSafely(
      () => onError?.(asError(error)),
      () => {},
    );
  return {
    onError: report,
    onReceipt: (receipt: Receipt) => callSafely(() => onReceipt?.(receipt), report),
  };
}

function checked<S extends Schemas>(secrets: S): S {
  for (const [name, schema] of Object.entries(secrets)) {
    if (typeof schema?.['~standard']?.validate !== 'function') {
      throw wrong(`secrets.${name} must be a Standard Schema, such as text`);
    }
  }
  return secrets;
}
