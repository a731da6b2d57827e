/**
 * The keyring as it is stored: wrapped by the root key, and beside it, readable by all, who provides that key and
 * which term is in use. The root key stays at hand, so that what is stored next is wrapped by the key that was
 * proven to be right; where it no longer fits, the source is asked once more, for an operator may have changed it.
 */
import type { Sealed } from '../base/bytes.ts';
import { Keyring } from './keyring.ts';
import { KeyringDamaged, type RootKey, RootKeyError, type RootKeySource } from './root-key/root-key.ts';

interface Stored {
  readonly provider: string;
  /** Missing in what the first releases stored. */
  readonly term?: number;
  readonly wrapped: string;
}

export class KeyringWrapper {
  readonly #source: RootKeySource;
  #root: RootKey | null = null;

  constructor(source: RootKeySource) {
    this.#source = source;
  }

  /** Whether there is a root key already. */
  hasRootKey(): Promise<boolean> {
    return this.#source.exists();
  }

  /** Makes the root key where there is none yet. */
  async wrap(keyring: Keyring): Promise<Sealed> {
    this.#root ??= await this.#source.create();
    const wrapped = Buffer.from(await keyring.wrap(this.#root)).toString('base64');
    const stored: Stored = { provider: this.#source.provider, term: keyring.term, wrapped };
    return Buffer.from(JSON.stringify(stored), 'utf8') as Uint8Array as Sealed;
  }

  async unwrap(bytes: Uint8Array): Promise<Keyring> {
    const { provider, wrapped } = parse(bytes);
    if (provider !== this.#source.provider) {
      throw new RootKeyError(
        `this data is protected by a ${provider}, but a ${this.#source.provider} was given`,
      );
    }
    const keyring = this.#root && (await opened(this.#root, wrapped));
    if (keyring !== null) return keyring;
    const root = await this.#source.open();
    const found = await Keyring.unwrap(root, Buffer.from(wrapped, 'base64'));
    this.#root = root;
    return found;
  }

  /** Whether this root key is the one that wraps it. */
  async opens(bytes: Uint8Array): Promise<boolean> {
    return this.unwrap(bytes).then(
      () => true,
      error => {
        if (isAnotherKey(error)) return false;
        throw error;
      },
    );
  }
}

async function opened(root: RootKey, wrapped: string): Promise<Keyring | null> {
  try {
    return await Keyring.unwrap(root, Buffer.from(wrapped, 'base64'));
  } catch (error) {
    if (isAnotherKey(error)) return null;
    throw error;
  }
}

/** Damage is not the root key's fault: no other one is asked for. */
function isAnotherKey(error: unknown): boolean {
  return error instanceof RootKeyError && !(error instanceof KeyringDamaged);
}

/** What anyone can tell of a stored keyring. Proven only by unwrapping it. */
export function factsOf(bytes: Uint8Array): Pick<Stored, 'provider' | 'term'> {
  const { provider, term } = parse(bytes);
  return { provider, ...(term === undefined ? {} : { term }) };
}

function parse(bytes: Uint8Array): Stored {
  try {
    const { provider, term, wrapped } = JSON.parse(Buffer.from(bytes).toString('utf8'));
    if (typeof provider === 'string' && typeof wrapped === 'string') return { provider, term, wrapped };
  } catch (cause) {
    throw new KeyringDamaged(cause);
  }
  throw new KeyringDamaged();
}
