/**
 * A root key wraps the keyring and nothing else. A provider may hold it here (a file, a passphrase) or
 * keep it where we never see it (a key service, a token): wrapping and unwrapping is all we ask of it.
 */
export interface RootKey {
  /** The provider's name, stored beside the wrapped keyring and shown to operators. */
  readonly provider: string;
  wrap(context: Uint8Array, plain: Uint8Array): Promise<Uint8Array>;
  /** Throws `RootKeyError` where this is not the key that wrapped the bytes. */
  unwrap(context: Uint8Array, wrapped: Uint8Array): Promise<Uint8Array>;
}

/** How to come by a root key: `open` the one that exists, or `create` it at the very first start. */
export interface RootKeySource {
  readonly provider: string;
  open(): Promise<RootKey>;
  create(): Promise<RootKey>;
}

/** The root key can't be had, or is not the right one. Its message is one line for an operator. */
export class RootKeyError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'RootKeyError';
  }
}
