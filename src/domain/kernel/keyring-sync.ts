/**
 * Keeps this process's keyring as new as the stored one. What is sealed under a term that it has not heard of makes
 * it look; what it seals under the term in use is stored only while that is still the term in use. So a term
 * can be started, and a later one retired, while any number of processes run.
 */
import type { Sealed } from '../../base/bytes.ts';
import { Failure } from '../../contract/errors.ts';
import type { Keyring } from '../../keyring/keyring.ts';
import { factsOf, type KeyringWrapper } from '../../keyring/stored-keyring.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { Store } from '../../store/store.ts';

/** Whoever changes the stored keyring touches this. */
export const keyringTouch = 'keyring';

export interface KeyringSync {
  /** Resolves once the terms that these bytes name are known, if they can be. */
  ensureKeysFor(...sealed: readonly Sealed[]): Promise<void>;
  /** For whoever is about to seal: the term in use, and the statement that refuses the unit if it isn't any more. */
  requireCurrent(): Promise<Statement>;
  /** Looks whether the stored keyring is another by now. */
  refresh(): Promise<void>;
  /** Who provides the root key that wraps what is stored. */
  rootKeyProvider(): string;
}

export interface KeyringSyncParts {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly wrapper: KeyringWrapper;
  /** As it was stored when the keyring was opened. */
  readonly stored: Sealed;
}

export function keyringSyncWith({ store, keyring, wrapper, stored }: KeyringSyncParts): KeyringSync {
  let known = stored;
  let looking: Promise<void> | null = null;

  async function look(): Promise<void> {
    const found = await storedKeyring(store);
    if (Buffer.from(found).equals(known)) return;
    // Where another root key wraps the same term, what we have is still the whole truth.
    if (factsOf(found).term !== keyring.term) await adopt(found);
    known = found;
  }

  async function adopt(found: Sealed): Promise<void> {
    try {
      keyring.adopt(await wrapper.unwrap(found));
    } catch (cause) {
      throw new Failure('UNAVAILABLE', { cause, retryAfter: 5 });
    }
  }

  /** One at a time: behind a passphrase each costs its derivation. */
  function refresh(): Promise<void> {
    looking ??= look().finally(() => {
      looking = null;
    });
    return looking;
  }

  store.onChange(touched => {
    if (touched !== 'all' && !touched.includes(keyringTouch)) return;
    refresh().catch(() => {}); // Whoever needs what is new looks again, and is told.
  });

  return {
    refresh,

    ensureKeysFor: async (...sealed) => {
      // The look that we join may have begun before the term was stored: then one of our own finds it.
      for (let looks = 0; looks < 2 && !sealed.every(bytes => keyring.knows(bytes)); looks++) await refresh();
    },

    requireCurrent: async () => {
      await refresh();
      return store.keyring.requireCurrent(known);
    },

    rootKeyProvider: () => factsOf(known).provider,
  };
}

export async function storedKeyring(store: Store): Promise<Sealed> {
  const found = await store.keyring.read();
  if (found === undefined) {
    throw new Failure('INTERNAL_ERROR', { cause: new Error('the keyring is gone from the database') });
  }
  return found;
}
