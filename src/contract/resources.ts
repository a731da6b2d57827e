/** Vaults, secrets, keys and certificates, as they are sent and answered. */
import { z } from 'zod';
import { recordTimes, searchQuery } from './common.ts';
import { description, flag, id, line, moment, name, oneOf, queryInteger, tags, timestamp } from './text.ts';

export const resourceTypes = ['vault', 'secret', 'key', 'certificate'] as const;
export type ResourceType = (typeof resourceTypes)[number];

const largestValue = 64 * 1024;
const largestPem = 256 * 1024;

const nullableMoment = moment.nullable().optional();

function datesInOrder(body: {
  activation_date?: number | null | undefined;
  expiration_date?: number | null | undefined;
}) {
  return (
    body.activation_date === undefined ||
    body.activation_date === null ||
    body.expiration_date === undefined ||
    body.expiration_date === null ||
    body.activation_date < body.expiration_date
  );
}
export const datesOutOfOrder = 'must be later than activation_date';
const orderError = { error: datesOutOfOrder, path: ['expiration_date'] };

const state = oneOf(['active', 'inactive', 'expired', 'disabled', 'deleted']).meta({
  description: '`inactive` is not yet active; `deleted` lists the trash.',
});

export const resourceQuery = searchQuery.extend({
  vault_id: id.optional(),
  tag: line(1, 400)
    .refine(text => text.includes('='), { error: 'must be of the form name=value' })
    .optional()
    .meta({ description: '`name=value`', example: 'team=payments' }),
  state: state.optional(),
});
export type ResourceQuery = z.output<typeof resourceQuery>;
export const mixedQuery = resourceQuery.extend({ type: oneOf(resourceTypes).optional() });
export type MixedQuery = z.output<typeof mixedQuery>;

// Vaults

export const vaultCreate = z.strictObject({
  name,
  description: description.optional(),
  tags: tags.optional(),
});
export const vaultUpdate = vaultCreate.partial();
export type VaultCreate = z.output<typeof vaultCreate>;
export type VaultUpdate = z.output<typeof vaultUpdate>;

const common = { id, name, tags, ...recordTimes };

export const vault = z
  .object({ ...common, type: z.literal('vault'), description: z.string() })
  .meta({ id: 'Vault' });
export type Vault = z.output<typeof vault>;

// Secrets

const value = z
  .string({ error: 'must be a string' })
  .refine(text => text.isWellFormed(), { error: 'must not hold unpaired surrogates' })
  .refine(text => Buffer.byteLength(text) <= largestValue, { error: 'must have 65536 bytes at most' })
  .meta({ description: 'At most 64 KiB. Binary goes as base64, with a content type that says so.' });

const contentType = line(1, 255).meta({ example: 'text/plain' });

const secretFields = {
  name,
  value,
  content_type: contentType.optional(),
  tags: tags.optional(),
  enabled: flag.optional(),
  activation_date: nullableMoment,
  expiration_date: nullableMoment,
};
export const secretCreate = z
  .strictObject({ vault_id: id, ...secretFields })
  .refine(datesInOrder, orderError);
export const secretUpdate = z
  .strictObject({ ...secretFields, name: name.optional(), value: value.optional() })
  .refine(datesInOrder, orderError);
export type SecretCreate = z.output<typeof secretCreate>;
export type SecretUpdate = z.output<typeof secretUpdate>;

export const secret = z
  .object({
    ...common,
    type: z.literal('secret'),
    vault_id: id,
    content_type: z.string(),
    enabled: z.boolean(),
    activation_date: timestamp.nullable(),
    expiration_date: timestamp.nullable(),
    version: z.int(),
  })
  .meta({ id: 'Secret', description: 'A secret without its value.' });
export type Secret = z.output<typeof secret>;

export const revealedSecret = secret.extend({ value: z.string() }).meta({ id: 'RevealedSecret' });
export type RevealedSecret = z.output<typeof revealedSecret>;

export const secretReveal = z.strictObject({
  version: z.int({ error: 'must be a whole number' }).min(1).optional(),
});
export const rollback = z.strictObject({ version: z.int({ error: 'must be a whole number' }).min(1) });

export const version = z
  .object({
    version: z.int(),
    created_at: timestamp,
    created_by: z.string(),
    content_type: z.string().nullable(),
    current: z.boolean(),
  })
  .meta({ id: 'Version' });
export type Version = z.output<typeof version>;

const bulkItem = z.union([secretCreate, secretUpdate.safeExtend({ id })]);
export type BulkItem = z.output<typeof bulkItem>;
/** Each item is judged by itself, so the request only says that there are items. */
export const bulkRequest = z.strictObject({
  items: z
    .array(z.unknown(), { error: 'must be an array' })
    .min(1, { error: 'must hold 1 to 100 items' })
    .max(100, { error: 'must hold 1 to 100 items' })
    .meta({
      description: 'Each a body of `POST /v1/secrets`, or one of `PUT /v1/secrets/{id}` with its `id`.',
    }),
});
export const bulkAnswer = z
  .object({
    results: z.array(
      z.object({
        index: z.int(),
        status: z.int(),
        secret: secret.optional(),
        error: z
          .object({
            code: z.string(),
            message: z.string(),
            details: z.object({ field: z.string(), reason: z.string() }),
          })
          .optional(),
      }),
    ),
  })
  .meta({ id: 'BulkAnswer' });
export type BulkAnswer = z.output<typeof bulkAnswer>;

// Keys

const rsaSizes = [2048, 3072, 4096] as const;
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
    ],
    { error: 'must name a key_type: RSA, EC, OKP, ML-DSA or ML-KEM' },
  )
  .meta({ id: 'KeySpecification', example: { key_type: 'EC', curve: 'P-256' } });

const pem = z
  .string({ error: 'must be a string' })
  .min(1, { error: 'must not be empty' })
  .max(largestPem, { error: 'must have 262144 characters at most' });
const passphrase = z
  .string({ error: 'must be a string' })
  .max(1024, { error: 'must have 1024 characters at most' });

const keyMaterial = { generate: generate.optional(), pem: pem.optional(), passphrase: passphrase.optional() };
const eitherSource = (body: { generate?: unknown; pem?: unknown }) =>
  (body.generate === undefined) !== (body.pem === undefined);
const eitherError = { error: 'must be given, or pem instead of it', path: ['generate'] };

export const keyCreate = z
  .strictObject({
    vault_id: id,
    name,
    ...keyMaterial,
    activation_date: nullableMoment,
    expiration_date: nullableMoment,
    tags: tags.optional(),
    exportable: flag.optional(),
  })
  .refine(eitherSource, eitherError)
  .refine(datesInOrder, orderError);
export const keyUpdate = z
  .strictObject({
    name: name.optional(),
    activation_date: nullableMoment,
    expiration_date: nullableMoment,
    tags: tags.optional(),
  })
  .refine(datesInOrder, orderError);
export const keyRotate = z
  .strictObject(keyMaterial)
  .refine(body => body.generate === undefined || body.pem === undefined, {
    error: 'must not come with pem',
    path: ['generate'],
  });
export type KeyCreate = z.output<typeof keyCreate>;
export type KeyUpdate = z.output<typeof keyUpdate>;
export type KeyRotate = z.output<typeof keyRotate>;
export type KeySpecification = z.output<typeof generate>;

export const keyTypes = ['RSA', 'EC', 'OKP', 'ML-DSA', 'ML-KEM'] as const;

export const key = z
  .object({
    ...common,
    type: z.enum(['private', 'public']).meta({ description: 'What the PEM holds.' }),
    vault_id: id,
    key_type: z.enum(keyTypes),
    key_size: z.int(),
    curve: z.string().nullable(),
    activation_date: timestamp.nullable(),
    expiration_date: timestamp.nullable(),
    exportable: z.boolean(),
    version: z.int(),
    public_pem: z.string().meta({ description: 'The public half, as SPKI.' }),
  })
  .meta({ id: 'Key', description: 'A key without its private half.' });
export type Key = z.output<typeof key>;
export const revealedKey = key.extend({ pem: z.string() }).meta({ id: 'RevealedKey' });
export type RevealedKey = z.output<typeof revealedKey>;

// Certificates

const subjectAlternative = line(1, 255)
  .refine(text => /^(dns|ip|email|uri):./.test(text), { error: 'must begin with dns:, ip:, email: or uri:' })
  .meta({ example: 'dns:example.com' });
const subject = line(1, 1024).meta({ example: 'CN=example.com,O=Example' });

const selfSigned = z
  .strictObject({
    subject,
    sans: z.array(subjectAlternative).max(100, { error: 'must hold 100 at most' }).optional(),
    days: z
      .int({ error: 'must be a whole number' })
      .min(1)
      .max(3650, { error: 'must be 3650 at most' })
      .default(365),
  })
  .meta({ id: 'SelfSigned', description: 'Makes a certificate signed by the key that `key_id` names.' });

export const certificateCreate = z
  .strictObject({
    vault_id: id,
    name,
    pem: pem.optional(),
    pkcs12: pem.optional().meta({ description: 'Base64.' }),
    self_signed: selfSigned.optional(),
    passphrase: passphrase.optional(),
    key_id: id.optional(),
    tags: tags.optional(),
  })
  .refine(body => [body.pem, body.pkcs12, body.self_signed].filter(part => part !== undefined).length === 1, {
    error: 'exactly one of pem, pkcs12 and self_signed must be given',
    path: ['pem'],
  })
  .refine(body => body.self_signed === undefined || body.key_id !== undefined, {
    error: 'must name the key that signs',
    path: ['key_id'],
  });
export const certificateUpdate = z.strictObject({
  name: name.optional(),
  tags: tags.optional(),
  key_id: id.nullable().optional(),
});
export const signingRequest = z.strictObject({
  subject,
  sans: z.array(subjectAlternative).max(100, { error: 'must hold 100 at most' }).optional(),
});
export const signingRequestAnswer = z.object({ pem: z.string() }).meta({ id: 'SigningRequest' });
export type CertificateCreate = z.output<typeof certificateCreate>;
export type CertificateUpdate = z.output<typeof certificateUpdate>;

export const certificate = z
  .object({
    ...common,
    type: z.literal('x509'),
    vault_id: id,
    key_id: id.nullable(),
    subject: z.string(),
    issuer: z.string(),
    sans: z.array(z.string()),
    serial: z.string(),
    fingerprint: z.string().meta({ description: 'SHA-256 of the leaf, in hex.' }),
    not_before: timestamp,
    expires_at: timestamp,
    version: z.int(),
    pem: z
      .string()
      .optional()
      .meta({ description: 'Leaf first. In the answer for one certificate, not in lists.' }),
  })
  .meta({ id: 'Certificate' });
export type Certificate = z.output<typeof certificate>;

// All four together

export const genericResource = z
  .object({
    ...common,
    type: z.enum(resourceTypes),
    vault_id: id.nullable().meta({ description: 'Null for a vault.' }),
    deleted_at: timestamp.nullable(),
  })
  .meta({ id: 'Resource' });
export type GenericResource = z.output<typeof genericResource>;

export const resourceCreate = z.looseObject({ type: oneOf(resourceTypes).optional() }).meta({
  description: 'The body of the named type; without `type` a vault is made.',
  example: { name: 'production' },
});
export const resourceUpdate = z.looseObject({}).meta({ description: 'The body of the resource’s own type.' });

export const versionQuery = z.strictObject({
  page: queryInteger(1, 999_999_999).default(1),
  limit: queryInteger(1, 100).default(20),
});
