/**
 * Operations with the versions of one key that never leaves the service. Any number of them are done together; each has
 * its own result, in order. All input and output is base64url. It blocks its thread, so it belongs in the worker pool.
 */
import type { webcrypto } from 'node:crypto';
import { once } from '../../base/memo.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import type { KeyOperation } from '../../contract/use-names.ts';
import { decryptWithAes, decryptWithRsa, encryptWithAes, encryptWithRsa } from './encryption.ts';
import { algorithmMismatch } from './refusals.ts';
import { isMacOf, macWith, signerOf, verifierOf } from './signatures.ts';
import { symmetricBytes } from './stored-symmetric.ts';
import {
  unwrapByAgreement,
  unwrapByKem,
  unwrapWithAes,
  type Wrapped,
  wrapForAgreement,
  wrapForKem,
  wrapWithAes,
} from './wrapping.ts';

export interface KeyVersion {
  readonly version: number;
  readonly keyType: string;
  /** As stored: PKCS#8, or a symmetric key; null if the operation doesn't need it. */
  readonly value: string | null;
  readonly publicPem: string;
}

export interface KeyInput {
  readonly alg: string;
  readonly version: number;
  readonly value: string;
  readonly signature?: string | undefined;
  readonly aad?: string | undefined;
  readonly epk?: webcrypto.JsonWebKey | undefined;
  readonly ek?: string | undefined;
  /** Whether a signature of an EC key is a sequence in DER. */
  readonly der?: boolean | undefined;
}

export interface KeyJob {
  readonly operation: KeyOperation;
  readonly keyId: string;
  /** The newest first. */
  readonly versions: readonly [KeyVersion, ...KeyVersion[]];
  readonly inputs: readonly KeyInput[];
}

export type KeyOutput =
  | {
      readonly version: number;
      readonly value: string;
      readonly epk?: webcrypto.JsonWebKey;
      readonly ek?: string;
    }
  | { readonly version: number; readonly valid: boolean }
  | { readonly refused: { readonly field: string; readonly reason: string } };

export async function operateKey({ operation, keyId, versions, inputs }: KeyJob): Promise<KeyOutput[]> {
  const keys = new Map(versions.map(version => [version.version, keyOf(version, keyId)]));
  const newest = keys.get(versions[0].version)!;
  return inputs.map(input => {
    try {
      return outputFor(operation, keys.get(input.version)!, newest, input);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return { refused: { field: error.field, reason: error.reason } };
    }
  });
}

type Key = ReturnType<typeof keyOf>;

function outputFor(operation: KeyOperation, key: Key, newest: Key, input: KeyInput): KeyOutput {
  const value = bytesOf(input.value);
  if (operation === 'verify')
    return { version: key.version, valid: key.verify(input, value, bytesOf(input.signature)) };
  if (operation === 'rewrap') return written(newest, newest.seal(input, key.open(input, value)));
  return written(key, key[operation](input, value));
}

function written({ version }: Key, made: Buffer | Wrapped): KeyOutput {
  if (Buffer.isBuffer(made)) return { version, value: made.toString('base64url') };
  const { value, epk, ek } = made;
  return {
    version,
    value: value.toString('base64url'),
    ...(epk && { epk }),
    ...(ek && { ek: ek.toString('base64url') }),
  };
}

/** The operations of one version. Keys are parsed when they are first needed, and only once. */
function keyOf({ version, keyType, value, publicPem }: KeyVersion, keyId: string) {
  const binding = { keyId, version };
  const secret = () => {
    if (value === null) throw invalid('key', 'has no private key');
    return value;
  };
  const symmetric = once(() => symmetricBytes(secret()));
  const signer = once(() => signerOf(secret()));
  const verifier = once(() => verifierOf(publicPem));
  const isSymmetric = keyType === 'AES' || keyType === 'HMAC';

  function encrypt({ alg, aad }: KeyInput, plaintext: Buffer): Buffer {
    if (alg === 'A256GCM' && keyType === 'AES')
      return encryptWithAes(symmetric(), binding, plaintext, bytesOf(aad));
    if (isSymmetric) throw algorithmMismatch();
    refuseAad(aad);
    return encryptWithRsa(publicPem, alg, plaintext);
  }

  function decrypt({ alg, aad }: KeyInput, ciphertext: Buffer): Buffer {
    if (alg === 'A256GCM' && keyType === 'AES')
      return decryptWithAes(symmetric(), binding, ciphertext, bytesOf(aad));
    if (isSymmetric) throw algorithmMismatch();
    refuseAad(aad);
    return decryptWithRsa(secret(), alg, ciphertext);
  }

  function wrap({ alg, aad }: KeyInput, plain: Buffer): Buffer | Wrapped {
    refuseAad(aad);
    if (alg === 'A256KW' && keyType === 'AES') return wrapWithAes(symmetric(), plain);
    if (isSymmetric) throw algorithmMismatch();
    if (alg.startsWith('RSA-OAEP')) return encryptWithRsa(publicPem, alg, plain);
    return keyType === 'ML-KEM' ? wrapForKem(publicPem, alg, plain) : wrapForAgreement(publicPem, alg, plain);
  }

  function unwrap({ alg, aad, epk, ek }: KeyInput, wrapped: Buffer): Buffer {
    refuseAad(aad);
    if (alg === 'A256KW' && keyType === 'AES') return unwrapWithAes(symmetric(), wrapped);
    if (isSymmetric) throw algorithmMismatch();
    if (alg.startsWith('RSA-OAEP')) return decryptWithRsa(secret(), alg, wrapped);
    return keyType === 'ML-KEM'
      ? unwrapByKem(secret(), alg, wrapped, ek === undefined ? undefined : bytesOf(ek))
      : unwrapByAgreement(secret(), alg, wrapped, epk);
  }

  const isWrapping = (alg: string) => alg.endsWith('KW');
  return {
    version,
    encrypt,
    decrypt,
    wrap,
    unwrap,
    /** To rewrap: encryption or key wrapping, as the algorithm says. */
    seal: (input: KeyInput, plain: Buffer) => (isWrapping(input.alg) ? wrap : encrypt)(input, plain),
    open: (input: KeyInput, sealed: Buffer) => (isWrapping(input.alg) ? unwrap : decrypt)(input, sealed),
    sign: ({ alg, der }: KeyInput, message: Buffer) => signer()(alg, message, der),
    mac({ alg }: KeyInput, message: Buffer) {
      if (keyType !== 'HMAC') throw algorithmMismatch();
      return macWith(symmetric(), alg, message);
    },
    verify: ({ alg, der }: KeyInput, message: Buffer, signature: Buffer) =>
      isSymmetric ? isMacOf(symmetric(), alg, message, signature) : verifier()(alg, message, signature, der),
  };
}

function refuseAad(aad: string | undefined): void {
  if (aad !== undefined) throw invalid('aad', 'is only used with A256GCM');
}

const bytesOf = (text = ''): Buffer => Buffer.from(text, 'base64url');
