/**
 * A root key wraps the keyring and nothing else. A provider may hold it here (a file, a passphrase) or
 * keep it where we never see it (a key service, a token): wrapping and unwrapping is all we ask of it.
 */
export interface RootKey {
  /** The provider's name, stored beside the wrapped keyring and shown to operators. */
  readonly provider: string;
  wrap(context: Uint8Array, plain: Uint8Array): Promise<Uint8Array>;
  /** Throws `KeyringDamaged` where the bytes show damage, `RootKeyError` where another key wrapped them. */
  unwrap(context: Uint8Array, wrapped: Uint8Array): Promise<Uint8Array>;
}

/** How to get a root key: `open` an existing one, or `create` it at the very first start. */
export interface RootKeySource {
  readonly provider: string;
  /** Whether there is one already, as far as that can be known: a passphrase leaves no trace. */
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

/** What the root key wrapped is not what was stored: no other root key would help. */
export class KeyringDamaged extends RootKeyError {
  constructor(cause?: unknown) {
    super('the stored keyring is damaged: restore it from a backup', cause);
    this.name = 'KeyringDamaged';
  }
}
