/**
 * The kinds of bytes that may be stored, told apart by the compiler from each other and from all others: open bytes
 * fit no column of the database. Keyring and store share these types, and nothing else.
 */
declare const kind: unique symbol;

type BytesOf<Kind extends string> = Uint8Array & { readonly [kind]: Kind };

/** Opens with a key alone. May be stored, copied and logged by size. */
export type Sealed = BytesOf<'sealed'>;

/** A keyed hash of a credential: recognises it, and gives nothing of it back. */
export type Digest = BytesOf<'digest'>;

/** A keyed hash over the columns of a row. */
export type Stamp = BytesOf<'stamp'>;

/** No secret of anyone: public keys, signatures, marks that something was done. */
export type PublicBytes = BytesOf<'public'>;

/** Said of bytes that everybody may see, where they are made. */
export const publicBytes = (bytes: Uint8Array): PublicBytes => bytes as PublicBytes;
