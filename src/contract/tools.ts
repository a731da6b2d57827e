/**
 * Schemas for the arguments and results of the tools. The descriptions are read by a model: they say what a tool
 * does, what it leaves out, and where not to put a credential.
 */
import { z } from 'zod';
import { keyTypes } from './resources.ts';
import { longestCredential } from './restrictions.ts';
import { isSafeText, line } from './text.ts';
import {
  approvalNotice,
  decryptFields,
  decryption,
  signature,
  signFields,
  useAnswer,
  useFields,
  verdict,
  verification,
  verifyFields,
} from './uses.ts';

const text = (most: number, what: string) =>
  z
    .string({ error: 'must be a string' })
    .min(1, { error: 'must not be empty' })
    .max(most, { error: `must be at most ${most} characters` })
    .meta({ description: what });

const flag = (what: string) =>
  z.boolean({ error: 'must be true or false' }).optional().meta({ description: what });

const connection = {
  vaultId: text(64, 'The vault’s id. Optional: the access key opens one vault only.').optional(),
  accessKey: text(
    longestCredential,
    'A vault access key. Omit it if the connection already carries one, which is safer.',
  ).optional(),
  baseUrl: text(2048, 'The address of the service. It must be this service; it is compared, never fetched.')
    .refine(isSafeText, { error: 'must be a URL' })
    .optional(),
};

/** How a tool reaches its vault if the request has no credential in its header. */
const vaultConnection = z
  .strictObject(
    { id: text(64, 'The same as vaultId.').optional(), ...connection },
    { error: 'must be an object' },
  )
  .optional()
  .describe('Which vault to read, and with which access key. Usually not needed.');
const credentialsConnection = z
  .strictObject(connection, { error: 'must be an object' })
  .optional()
  .describe('Another name for vault.');
export type Connection = z.output<typeof vaultConnection> & {};

const connections = { vault: vaultConnection, credentials: credentialsConnection };

const resourceId = (what: string) => text(64, what).meta({ description: what, format: 'uuid' });
const name = (what: string) => line(1, 255).meta({ description: what, type: 'string', minLength: 1 });

export const useSecret = z.strictObject({ ...useFields, ...connections });
export const signWithKey = z.strictObject({ ...signFields, ...connections });
export const verifyWithKey = z.strictObject({ ...verifyFields, ...connections });
export const decryptWithKey = z.strictObject({ ...decryptFields, ...connections });
export const listSecrets = z.strictObject({
  namesOnly: flag('Default true. false: values too, in plain text.'),
  ...connections,
});
export const getSecret = z.strictObject({
  name: name('The exact name of the secret.'),
  includeValue: flag('true: the value too, in plain text.'),
  ...connections,
});
export const searchSecrets = z.strictObject({
  name: name('Part of the name, case-insensitive.').optional(),
  tag: name('A tag’s name, or name=value, such as team=payments.').optional(),
  ...connections,
});
export const getKey = z.strictObject({
  id: resourceId('The id of the key, a UUID.').optional(),
  preferPublic: flag('true: only the public key.'),
  code: text(512, 'A public token of the key, in place of an access key.').optional(),
  ...connections,
});
export const getCertificate = z.strictObject({
  id: resourceId('The id of the certificate, a UUID.'),
  ...connections,
});
export const onlyConnections = z.strictObject(connections);

// Results. These are open objects: a later release may add fields.

const tags = z.record(z.string(), z.string());
const vault = z.object({ id: z.string(), name: z.string() });
const expired = z.object({ id: z.string(), message: z.literal('Resource expired') });
const time = z.string().nullable();
/** All that a names-only access key can see. */
const nameOnly = z.strictObject({ id: z.string(), name: z.string() });

const secret = z.object({
  id: z.string(),
  name: z.string(),
  value: z.string().optional(),
  content_type: z.string().optional(),
  tags: tags.optional(),
});
const key = z.object({
  id: z.string(),
  name: z.string(),
  type: z
    .enum(['private', 'public', 'symmetric'])
    .describe('Whether the PEM contains a private or a public key.'),
  key_type: z.enum(keyTypes),
  key_size: z.int(),
  activation_date: time,
  expiration_date: time,
  tags: tags.optional(),
});
const certificate = z.object({
  id: z.string(),
  name: z.string(),
  type: z.literal('x509'),
  expires_at: z.string(),
  tags,
});

export { decryption, signature, verification };
export const secretUse = z.union([useAnswer, verdict]);
export const secretList = z.object({
  vault,
  secrets: z.array(secret),
  unresolved: z.array(z.string()).optional(),
});
export const oneSecret = secret;
export const keyList = z.object({ vault, keys: z.array(z.union([key, nameOnly, expired])) });
export const oneKey = key.extend({ pem: z.string() });
export const certificateList = z.object({
  vault,
  certificates: z.array(z.union([certificate, nameOnly, expired])),
});
export const oneCertificate = certificate.extend({ pem: z.string() });
export const vaultDescription = z.object({
  vault,
  access_key: z.object({
    id: z.string(),
    name: z.string(),
    kinds: z.array(z.enum(['secret', 'key', 'certificate'])),
    names: z
      .array(z.string())
      .describe('Patterns of the names it can see; * matches any number of characters.'),
    names_only: z.boolean().describe('Whether it can see names but no values.'),
    may_use: z.boolean().describe('Whether it can use secrets through their use rules.'),
    operations: z.array(z.string()).nullable().describe('The operations with keys that it may do.'),
    cidrs: z.array(z.string()).nullable(),
    rate_limit: z.int().nullable().describe('Requests per minute; null if unlimited.'),
    max_uses: z.int().nullable(),
    expiration_date: time,
    restrictions: z
      .array(z.record(z.string(), z.unknown()))
      .optional()
      .describe('Further restrictions that its holder added. All of them apply.'),
  }),
});

/** Returned in place of a result, with `isError`. */
export const refusal = z.object({
  status: z.int(),
  message: z.string(),
  approval: approvalNotice.optional().describe('Where a person can approve the call.'),
});
