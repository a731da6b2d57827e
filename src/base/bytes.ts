/**
 * Types for the kinds of bytes that may be stored. The compiler distinguishes them from each other and from plain byte
 * arrays, so unencrypted bytes can't be assigned to a database column. These types are all that keyring and store
 * share.
 */
declare const kind: unique symbol;

type BytesOf<Kind extends string> = Uint8Array & { readonly [kind]: Kind };

/** Ciphertext that only its key opens. May be stored, copied and logged by size. */
export type Sealed = BytesOf<'sealed'>;

/** A keyed hash of a credential. It identifies the credential but reveals nothing about it. */
export type Digest = BytesOf<'digest'>;

/** A keyed hash over the columns of a row. */
export type Stamp = BytesOf<'stamp'>;

/** Bytes that are not secret: public keys, signatures, markers. */
export type PublicBytes = BytesOf<'public'>;

/** Marks bytes as public, at the place where they are created. */
export const publicBytes = (bytes: Uint8Array): PublicBytes => bytes as PublicBytes;
