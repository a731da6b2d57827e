/** Request and response schemas for keys. Only the schema of a revealed key contains the private key. */
import { z } from 'zod';
import { keyAlgorithms } from './key-abilities.ts';
import { keyTypes } from './names.ts';
import {
  commonFields,
  datesInOrder,
  exampleCommon,
  exampleVaultId,
  nullableMoment,
  orderError,
  passphrase,
  pem,
} from './resource-fields.ts';
import { sshProfile } from './ssh.ts';
import { count, flag, id, line, name, oneOf, tags, timestamp } from './text.ts';

export { keyTypes } from './names.ts';

export const rsaSizes = [2048, 3072, 4096] as const;
const generate = z
  .discriminatedUnion(
    'key_type',
    [
      z.strictObject({
        key_type: z.literal('RSA'),
        key_size: z.literal(rsaSizes, { error: 'must be 2048, 3072 or 4096' }).default(3072),
      }),
      z.strictObject({ key_type: z.literal('EC'), curve: oneOf(['P-256', 'P-384', 'P-521', 'secp256k1']) }),
      z.strictObject({ key_type: z.literal('OKP'), curve: oneOf(['Ed25519', 'X25519']) }),
      z.strictObject({
        key_type: z.literal('ML-DSA'),
        key_size: z.literal([44, 65, 87], { error: 'must be 44, 65 or 87' }),
      }),
      z.strictObject({
        key_type: z.literal('ML-KEM'),
        key_size: z.literal([512, 768, 1024], { error: 'must be 512, 768 or 1024' }),
      }),
      z.strictObject({
        key_type: z.literal('AES'),
        key_size: z.literal(256, { error: 'must be 256' }).default(256),
      }),
      z.strictObject({
        key_type: z.literal('HMAC'),
        key_size: z.literal([256, 384, 512], { error: 'must be 256, 384 or 512' }).default(256),
      }),
    ],
    { error: 'must name a key_type: RSA, EC, OKP, ML-DSA, ML-KEM, AES or HMAC' },
  )
  .meta({ id: 'KeySpecification', example: { key_type: 'EC', curve: 'P-256' } });
export type KeySpecification = z.output<typeof generate>;

/** A symmetric key, as in a JSON Web Key of the type `oct`. */
const oct = z
  .strictObject({
    key_type: oneOf(['AES', 'HMAC']),
    k: line(1, 1024).describe('The bytes, in base64url: 32 for AES, 32 to 512 for HMAC.'),
  })
  .meta({ id: 'SymmetricKey', example: { key_type: 'HMAC', k: 'c3VmZmljaWVudGx5IGxvbmcga2V5IG1hdGVyaWFs' } });

const keyMaterial = {
  generate: generate.optional(),
  pem: pem.optional().describe('PKCS#8, PKCS#1, SEC1 or SPKI.'),
  passphrase: passphrase.optional().describe('The passphrase of the PEM, if it has one.'),
  oct: oct.optional().describe('An AES or HMAC key to import. It can be used, and never be revealed.'),
};

type Source = Partial<Record<keyof typeof keyMaterial, unknown>>;

const sourcesIn = (body: Source) =>
  [body.generate, body.pem, body.oct].filter(source => source !== undefined).length;
const oneSource = (body: Source) => sourcesIn(body) === 1;
const oneSourceError = {
  error: 'is required without pem or oct, and not allowed with them',
  path: ['generate'],
};
const passphraseOfPem = (body: Source) => body.passphrase === undefined || body.pem !== undefined;
const passphraseError = { error: 'is only allowed with pem', path: ['passphrase'] };

export const keyCreate = z
  .strictObject({
    vault_id: id,
    name,
    ...keyMaterial,
    activation_date: nullableMoment,
    expiration_date: nullableMoment,
    tags: tags.optional(),
    exportable: flag
      .optional()
      .describe('If false, the private key can never be revealed. AES and HMAC keys never can.'),
  })
  .refine(oneSource, oneSourceError)
  .refine(passphraseOfPem, passphraseError)
  .refine(datesInOrder, orderError)
  .meta({
    id: 'KeyCreate',
    example: {
      vault_id: exampleVaultId,
      name: 'signing',
      generate: { key_type: 'EC', curve: 'P-256' },
      tags: { team: 'payments' },
    },
  });
export const keyUpdate = z
  .strictObject({
    name: name.optional(),
    activation_date: nullableMoment,
    expiration_date: nullableMoment,
    tags: tags.optional(),
    min_version: count(1, 1_000_000_000)
      .optional()
      .describe('The oldest version that still verifies and decrypts.'),
    ssh: sshProfile
      .nullable()
      .optional()
      .describe(
        'Within these bounds the key signs SSH certificates, and nothing else. It must not be exportable. Requires `keys:use` too.',
      ),
  })
  .refine(datesInOrder, orderError)
  .meta({ id: 'KeyUpdate', example: { expiration_date: '2027-01-31T00:00:00Z' } });
export const keyRotate = z
  .strictObject(keyMaterial)
  .refine(body => sourcesIn(body) <= 1, {
    error: 'can’t be combined with pem or oct',
    path: ['generate'],
  })
  .refine(passphraseOfPem, passphraseError)
  .meta({
    id: 'KeyRotation',
    description: 'Without a body, a new key of the same type is generated.',
    example: { generate: { key_type: 'EC', curve: 'P-384' } },
  });
export type KeyCreate = z.output<typeof keyCreate>;
export type KeyUpdate = z.output<typeof keyUpdate>;
export type KeyRotate = z.output<typeof keyRotate>;

const exampleKey = {
  ...exampleCommon,
  type: 'private',
  name: 'signing',
  vault_id: exampleVaultId,
  key_type: 'EC',
  key_size: 256,
  curve: 'P-256',
  activation_date: null,
  expiration_date: null,
  exportable: true,
  has_private_key: true,
  version: 1,
  min_version: 1,
  operations: { sign: ['ES256'], verify: ['ES256'] },
  ssh: null,
  public_pem: '-----BEGIN PUBLIC KEY-----\n…\n-----END PUBLIC KEY-----\n',
};

export const key = z
  .object({
    ...commonFields,
    type: z
      .enum(['private', 'public', 'symmetric'])
      .describe('Whether the PEM contains a private or a public key. A symmetric key has no PEM.'),
    vault_id: id,
    key_type: z.enum(keyTypes),
    key_size: z.int(),
    curve: z.string().nullable(),
    activation_date: timestamp.nullable(),
    expiration_date: timestamp.nullable(),
    exportable: z.boolean(),
    has_private_key: z
      .boolean()
      .describe('Whether the private or symmetric key is stored, exportable or not.'),
    version: z.int(),
    min_version: z.int().describe('The oldest version that still verifies and decrypts.'),
    operations: z
      .record(z.string(), z.array(z.enum(keyAlgorithms)))
      .describe('What the key can do without leaving the service, and with which algorithms.'),
    ssh: sshProfile
      .nullable()
      .describe('The bounds within which it signs SSH certificates; null if it signs none.'),
    public_pem: z.string().describe('The public key, as SPKI; empty for a symmetric key.'),
  })
  .meta({ id: 'Key', description: 'A key without its private key material.', example: exampleKey });
export type Key = z.output<typeof key>;

export const revealedKey = key.extend({ pem: z.string() }).meta({
  id: 'RevealedKey',
  description: 'A key with its PEM: PKCS#8, or SPKI if only the public key is stored.',
  example: { ...exampleKey, pem: '-----BEGIN PRIVATE KEY-----\n…\n-----END PRIVATE KEY-----\n' },
});
export type RevealedKey = z.output<typeof revealedKey>;
