/** Schemas for operations with keys that never leave the service, one at a time or many at once. */
import { z } from 'zod';
import { type KeyAlgorithm, keyAlgorithms } from './key-abilities.ts';
import { arrayFrom, count, exampleId, oneOf } from './text.ts';
import type { KeyOperation } from './use-names.ts';

/** In characters of base64url: somewhat more than 64 KiB. */
export const longestInput = 90_000;
const longestText = 65_536;
/** An RSA-8192 signature has 1,366 characters, one of ML-DSA-87 6,170. */
const longestSignature = 16_384;
export const mostItems = 500;

const text = (most: number) =>
  z
    .string({ error: 'must be a string' })
    .max(most, { error: `must be at most ${most} characters` })
    .refine(sent => sent.isWellFormed(), { error: 'must not contain unpaired surrogates' });
const bytes = (most: number) =>
  text(most).refine(sent => /^[A-Za-z0-9_-]*$/.test(sent), { error: 'must be base64url without padding' });

const coordinate = bytes(128);
/** The ephemeral public key of ECDH-ES. */
const epk = z.union(
  [
    z.strictObject({
      kty: z.literal('EC'),
      crv: oneOf(['P-256', 'P-384', 'P-521']),
      x: coordinate,
      y: coordinate,
    }),
    z.strictObject({ kty: z.literal('OKP'), crv: z.literal('X25519'), x: coordinate }),
  ],
  { error: 'must be a public key of EC or X25519 as a JSON Web Key' },
);

const fields = {
  alg: oneOf(keyAlgorithms).optional().describe('By default, the first that the key supports.'),
  value: bytes(longestInput).optional().describe('The input, in base64url without padding.'),
  text: text(longestText).optional().describe('The input as text in UTF-8, in place of `value`.'),
  signature: bytes(longestSignature).optional().describe('The signature or code to verify.'),
  aad: bytes(longestInput)
    .optional()
    .describe('Data that an A256GCM ciphertext is bound to, in base64url; not contained in it.'),
  version: count(1, 1_000_000_000)
    .optional()
    .describe('The version of the key. By default the newest, or the one that the ciphertext names.'),
  epk: epk.optional().describe('With ECDH-ES: the ephemeral public key that wrapping returned.'),
  ek: bytes(longestSignature)
    .optional()
    .describe('With ML-KEM: the encapsulated key that wrapping returned.'),
};
const item = z.strictObject(fields);
export type KeyOperationItem = z.output<typeof item>;

/** How an input of another dialect is worked on. The API has no fields for these. */
export interface WorkForm {
  /** In place of `alg`: the first of these that the key can do the operation with. */
  readonly among?: readonly KeyAlgorithm[] | undefined;
  /** Whether signatures of EC keys are sequences in DER, as in X.509, instead of `r` and `s` joined. */
  readonly der?: boolean | undefined;
}
export type WorkItem = KeyOperationItem & WorkForm;

export const keyOperationCall = z
  .strictObject({
    ...fields,
    items: arrayFrom(1, mostItems, item)
      .optional()
      .describe(
        'Several inputs, in place of one. `alg`, `aad` and `version` apply to those without their own.',
      ),
  })
  .meta({ id: 'KeyOperationCall', example: { items: [{ text: 'first' }, { text: 'second' }] } });
export type KeyOperationCall = z.output<typeof keyOperationCall>;
/** A call of the API, or one of another dialect. */
export type WorkCall = Omit<KeyOperationCall, 'items'> &
  WorkForm & { readonly items?: readonly WorkItem[] | undefined };

const kid = z.string().describe('The key and its version, as in `jwks.json`.');
const head = { kid, version: z.int(), alg: z.enum(keyAlgorithms) };
const written = z.object({
  ...head,
  value: z.string().describe('The result, in base64url without padding.'),
  epk: epk.optional(),
  ek: z.string().optional(),
});
const verified = z.object({ ...head, valid: z.boolean() });
const refusedItem = z.object({
  error: z.object({ message: z.string(), details: z.object({ field: z.string(), reason: z.string() }) }),
});
const many = z.object({
  items: z.array(z.union([written, verified, refusedItem])).describe('In the order of the inputs.'),
});
export type KeyOperationResult = z.output<typeof written> | z.output<typeof verified>;
export type KeyOperationRefusal = z.output<typeof refusedItem>;

export const keyOperationAnswer = z.union([written, verified, many]).meta({
  id: 'KeyOperationAnswer',
  example: { kid: exampleId, version: 1, alg: 'ES256', value: 'MEUCIQ' },
});
export type KeyOperationAnswer = z.output<typeof keyOperationAnswer>;

/** What each operation does, for the reference and for the help of the command line. */
export const operationSummaries: Readonly<Record<KeyOperation, string>> = {
  sign: 'Sign with a key',
  verify: 'Verify signatures or authentication codes with a key',
  encrypt: 'Encrypt with a key',
  decrypt: 'Decrypt with a key',
  wrap: 'Wrap other keys with a key',
  unwrap: 'Unwrap keys with a key',
  mac: 'Create message authentication codes with a key',
  rewrap: 'Encrypt anew with the newest version of a key, without showing what is encrypted',
};

export const jwks = z.object({ keys: z.array(z.record(z.string(), z.unknown())) }).meta({
  id: 'JsonWebKeySet',
  description: 'The public keys of all versions that still verify, the newest first.',
  example: {
    keys: [{ kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', kid: exampleId }],
  },
});
