/**
 * The keyring as it is stored: wrapped with the root key, together with the unencrypted name of the key's provider and
 * the current version. The root key is kept in memory, so that the next stored keyring is wrapped with the key that was
 * proven right. If it no longer fits, the source is read again, because an operator may have changed it.
 */
import type { Sealed } from '../base/bytes.ts';
import { Keyring } from './keyring.ts';
import { KeyringDamaged, type RootKey, RootKeyError, type RootKeySource } from './root-key/root-key.ts';

interface Stored {
  readonly provider: string;
  /** Missing in keyrings stored by the first releases. */
  readonly term?: number;
  readonly wrapped: string;
}

export class KeyringWrapper {
  readonly #source: RootKeySource;
  #root: RootKey | null = null;

  constructor(source: RootKeySource) {
    this.#source = source;
  }

  /** Whether a root key already exists. */
  hasRootKey(): Promise<boolean> {
    return this.#source.exists();
  }

  /** Creates the root key if there is none yet. */
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

/** A damaged keyring is not the root key's fault, so the source is not read again. */
function isAnotherKey(error: unknown): boolean {
  return error instanceof RootKeyError && !(error instanceof KeyringDamaged);
}

/** The unencrypted facts about a stored keyring. Only unwrapping proves them. */
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
