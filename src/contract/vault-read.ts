/** Schemas for the vault endpoint: its parameters and its responses. */
import { z } from 'zod';
import { keyTypes } from './resources.ts';
import { id, line, tags, timestamp } from './text.ts';

const once = 'must be given once, with an allowed value';

export const vaultReadQuery = z.strictObject({
  secrets: z
    .literal('names', { error: `${once}: names` })
    .optional()
    .describe('Returns only the ids and names of secrets.'),
  include: z
    .enum(['keys', 'certificates', 'keys,certificates', 'certificates,keys'], {
      error: `${once}: keys, certificates, or both with a comma between them`,
    })
    .optional()
    .describe('Adds the arrays `keys` and `certificates`. White space around the values is ignored.'),
  resource: z
    .string({ error: 'must be given once' })
    .max(64, { error: 'must be the id of a resource' })
    .optional()
    .describe(
      'Returns the one secret, certificate or key with this id. Takes precedence over the other parameters.',
    ),
  name: line(1, 255)
    .optional()
    .describe(
      'Returns the one active secret with exactly this name. Takes precedence over the other parameters except `resource`.',
    ),
  as: z
    .literal('otp', { error: `${once}: otp` })
    .optional()
    .describe(
      'With `name`: returns the current one-time code of a secret whose value is an `otpauth://totp/` address, instead of the value.',
    ),
  format: z
    .enum(['map', 'env'], { error: `${once}: map, env` })
    .optional()
    .describe(
      'Returns only the names and values of secrets: `map` as one JSON object, `env` as lines that `node --env-file`, bash and docker all read.',
    ),
});
export type VaultReadQuery = z.output<typeof vaultReadQuery>;

const expired = z.object({ id, message: z.literal('Resource expired') }).meta({ id: 'ExpiredResource' });

export const readSecret = z
  .object({ id, name: z.string(), value: z.string(), content_type: z.string(), tags })
  .meta({ id: 'VaultReadSecret', description: 'A secret with its value.' });
export type ReadSecret = z.output<typeof readSecret>;

const namedSecret = z.object({ id, name: z.string() }).meta({ id: 'NamedSecret' });

const named = z
  .object({ id, name: z.string() })
  .meta({ id: 'NamedResource', description: 'A resource as a names-only access key sees it.' });

export const readKey = z
  .object({
    id,
    name: z.string(),
    type: z.enum(['private', 'public', 'symmetric']),
    key_type: z.enum(keyTypes),
    key_size: z.int(),
    activation_date: timestamp.nullable(),
    expiration_date: timestamp.nullable(),
    tags,
  })
  .meta({ id: 'VaultReadKey' });
export type ReadKey = z.output<typeof readKey>;

const readCertificate = z
  .object({ id, name: z.string(), type: z.literal('x509'), expires_at: timestamp, tags })
  .meta({ id: 'VaultReadCertificate' });
export type ReadCertificate = z.output<typeof readCertificate>;

const vault = { id, name: z.string() };

export const vaultRead = z
  .object({
    ...vault,
    secrets: z.array(readSecret),
    unresolved: z
      .array(z.string())
      .optional()
      .describe('The names of templates that were left out because a reference can’t be resolved.'),
    keys: z
      .array(z.union([readKey, expired]))
      .optional()
      .describe('With `include=keys`.'),
    certificates: z
      .array(z.union([readCertificate, expired]))
      .optional()
      .describe('With `include=certificates`.'),
  })
  .meta({ id: 'VaultRead', description: 'The vault with its active secrets.' });

export const vaultReadNames = z
  .object({
    ...vault,
    secrets: z.array(namedSecret),
    keys: z.array(z.union([readKey, named, expired])).optional(),
    certificates: z.array(z.union([readCertificate, named, expired])).optional(),
  })
  .meta({
    id: 'VaultReadNames',
    description: 'With `secrets=names`, or for a names-only access key: the secrets have no values.',
  });

export const vaultReadMap = z
  .record(z.string(), z.string())
  .meta({ id: 'VaultReadMap', description: 'With `format=map`: names and values.' });

export const oneTimeCode = z
  .object({
    code: z.string(),
    expires_in: z.int().describe('Seconds until the next code.'),
  })
  .meta({
    id: 'SecretCode',
    description: 'The current one-time code of a secret.',
    example: { code: '123456', expires_in: 17 },
  });
export type OneTimeCode = z.output<typeof oneTimeCode>;

export const message = z.object({ message: z.string() }).meta({ id: 'Message' });
