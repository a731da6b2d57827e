/**
 * Keeps this process's keyring up to date with the stored one. Data sealed under an unknown term makes it look up the
 * stored keyring; data that it seals under the current term is stored only if that is still the current term. So a
 * term can be started, and a later one retired, while any number of processes run.
 */
import type { Sealed } from '../../base/bytes.ts';
import { Failure } from '../../contract/errors.ts';
import type { Keyring } from '../../keyring/keyring.ts';
import { factsOf, type KeyringWrapper } from '../../keyring/stored-keyring.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { Store } from '../../store/store.ts';

/** Every change to the stored keyring touches this id. */
export const keyringTouch = 'keyring';

export type KeyringSync = ReturnType<typeof keyringSyncWith>;

interface KeyringSyncParts {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly wrapper: KeyringWrapper;
  /** The stored bytes from which the keyring was opened. */
  readonly stored: Sealed;
}

export function keyringSyncWith({ store, keyring, wrapper, stored }: KeyringSyncParts) {
  let known = stored;
  let looking: Promise<void> | null = null;

  async function look(): Promise<void> {
    const found = await storedKeyring(store);
    if (Buffer.from(found).equals(known)) return;
    // If another root key wraps the same term, our keyring is still complete.
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

  /** One at a time, because with a passphrase each unwrapping costs a key derivation. */
  function refresh(): Promise<void> {
    looking ??= look().finally(() => {
      looking = null;
    });
    return looking;
  }

  store.onChange(touched => {
    if (touched !== 'all' && !touched.includes(keyringTouch)) return;
    refresh().catch(() => {}); // A caller that needs the new keyring looks again and gets the error.
  });

  return {
    /** Checks whether the stored keyring has changed. */
    refresh,

    /** Resolves once the terms named by these bytes are known, if they can be. */
    ensureKeysFor: async (...sealed: readonly Sealed[]): Promise<void> => {
      // The look-up that we join may have begun before the term was stored; then a second one finds it.
      for (let looks = 0; looks < 2 && !sealed.every(bytes => keyring.knows(bytes)); looks++) await refresh();
    },

    /** Call it before sealing. The statement refuses the transaction if the term is no longer current. */
    requireCurrent: async (): Promise<Statement> => {
      await refresh();
      return store.keyring.requireCurrent(known);
    },

    rootKeyProvider: (): string => factsOf(known).provider,
  };
}

export async function storedKeyring(store: Store): Promise<Sealed> {
  const found = await store.keyring.read();
  if (found === undefined) {
    throw new Failure('INTERNAL_ERROR', { cause: new Error('the keyring is gone from the database') });
  }
  return found;
}
