/**
 * A root key wraps only the keyring. A provider may hold it here (a file, a passphrase) or keep it where we never see
 * it (a key service, a token): it only has to wrap and unwrap.
 */
export interface RootKey {
  /** The provider's name, stored with the wrapped keyring and shown to operators. */
  readonly provider: string;
  wrap(context: Uint8Array, plain: Uint8Array): Promise<Uint8Array>;
  /** Throws `KeyringDamaged` if the bytes are damaged, `RootKeyError` if another key wrapped them. */
  unwrap(context: Uint8Array, wrapped: Uint8Array): Promise<Uint8Array>;
}

/** Provides a root key: `open` reads an existing one, `create` creates it at the first start. */
export interface RootKeySource {
  readonly provider: string;
  /** Whether one already exists, as far as that can be known: a passphrase leaves no trace. */
  exists(): Promise<boolean>;
  open(): Promise<RootKey>;
  create(): Promise<RootKey>;
}

/** The root key is not available, or is not the right one. The message is one line for the operator. */
export class RootKeyError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'RootKeyError';
  }
}

/** The wrapped keyring is not as it was stored. Another root key would not help. */
export class KeyringDamaged extends RootKeyError {
  constructor(cause?: unknown) {
    super('the stored keyring is damaged: restore it from a backup', cause);
    this.name = 'KeyringDamaged';
  }
}
