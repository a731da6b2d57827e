/**
 * Request and response schemas for workload identities, their secret ids, and the login that gives a machine an
 * access key.
 */
import { z } from 'zod';
import { accessKeyRestrictions, createdAccessKey, listOfAtMost } from './access.ts';
import { recordTimes, searchQuery } from './common.ts';
import { identityPresets } from './identity-presets.ts';
import { exampleTimes, exampleVaultId, nullableMoment, pem } from './resource-fields.ts';
import { arrayUpTo, count, exactLine, exampleId, flag, id, name, oneOf, timestamp } from './text.ts';

const loginMethods = ['jwt', 'secret_id', 'certificate'] as const;
export type LoginMethod = (typeof loginMethods)[number];

/** In seconds. It bounds the harm of a late revocation. */
export const longestLifetime = 3_600;
export const defaultLifetime = 900;

const method = oneOf(loginMethods).describe(
  'How the machine proves its identity: `jwt` with an issuer’s token, `secret_id` with a secret id of its own, `certificate` with a TLS client certificate.',
);
const patterns = listOfAtMost(50, exactLine(1, 512)).describe(
  'At least one must match. `*` matches any number of characters; everything else matches literally.',
);
const claims = z
  .record(exactLine(1, 255), listOfAtMost(20, exactLine(1, 512)), { error: 'must be an object of arrays' })
  .refine(all => Object.keys(all).length <= 20, { error: 'must contain at most 20 claims' })
  .meta({
    maxProperties: 20,
    description:
      'Each must match: the claim, or one of its elements, matches one of the patterns. A name that begins with `/` is a JSON pointer, such as `/kubernetes.io/namespace`.',
    example: { repository_owner_id: ['9919'] },
  });
const jwks = z
  .object(
    { keys: listOfAtMost(100, z.record(z.string(), z.unknown(), { error: 'must be an object' })) },
    { error: 'must be an object with an array named keys' },
  )
  .describe(
    'The issuer’s public keys, for an issuer that the service can’t reach. If omitted, they are fetched through the issuer’s discovery document, and again when they change.',
  );

const trust = {
  issuer: exactLine(1, 512)
    .nullable()
    .optional()
    .describe(
      'Exactly as in the `iss` claim of its tokens. Null if `jwks` is given and the tokens have no `iss`.',
    ),
  jwks: jwks.nullable().optional(),
  audience: exactLine(1, 512)
    .nullable()
    .optional()
    .describe('Must be among the audiences of the token. Required for `jwt`.'),
  subjects: patterns.nullable().optional(),
  claims: claims.optional(),
  single_use: flag.optional().describe('Each token can be used for only one login. It must have a `jti`.'),
  ca_pem: pem
    .nullable()
    .optional()
    .describe('The authorities that issue the client certificates. Required for `certificate`.'),
};
const { expiration_date: _, ...narrowings } = accessKeyRestrictions;
const grant = {
  ...narrowings,
  lifetime: count(60, longestLifetime)
    .optional()
    .describe(`The lifetime of the access keys, in seconds. ${defaultLifetime} by default.`),
  expiration_date: nullableMoment.describe('When the identity ends.'),
};
const vaultIds = arrayUpTo(100, id)
  .min(1, { error: 'must not be empty' })
  .transform(ids => [...new Set(ids)])
  .describe('The vaults that it may read. A login that names none opens the first.');

const exampleTrust = {
  issuer: identityPresets[0].issuer,
  audience: 'strongroom',
  subjects: ['repo:acme/shop:ref:refs/heads/main'],
};
const presetText = identityPresets
  .map(({ title, issuer, subjects }) => `- ${title}: \`${issuer}\`, \`${subjects[0]}\``)
  .join('\n');

export const identityCreate = z.strictObject({ name, method, ...trust, vault_ids: vaultIds, ...grant }).meta({
  id: 'IdentityCreate',
  description: `Issuers and subjects of well-known platforms:\n\n${presetText}`,
  example: { name: 'deploy', method: 'jwt', ...exampleTrust, vault_ids: [exampleVaultId], kinds: ['secret'] },
});
export const identityUpdate = z
  .strictObject({ name: name.optional(), ...trust, vault_ids: vaultIds.optional(), ...grant })
  .meta({ id: 'IdentityUpdate', example: { lifetime: 600 } });
export type IdentityCreate = z.output<typeof identityCreate>;
export type IdentityUpdate = z.output<typeof identityUpdate>;

export const identity = z
  .object({
    id,
    name: z.string(),
    method,
    issuer: z.string().nullable(),
    jwks: jwks.nullable(),
    audience: z.string().nullable(),
    subjects: z.array(z.string()).nullable(),
    claims: z.record(z.string(), z.array(z.string())),
    single_use: z.boolean(),
    ca_pem: z.string().nullable(),
    vault_ids: z.array(id),
    kinds: z.array(z.string()).nullable(),
    names: z.array(z.string()).nullable(),
    names_only: z.boolean(),
    may_use: z.boolean(),
    operations: z.array(z.string()).nullable(),
    cidrs: z.array(z.string()).nullable(),
    max_uses: z.int().nullable(),
    rate_limit: z.int().nullable(),
    lifetime: z.int(),
    expiration_date: timestamp.nullable(),
    last_login_at: timestamp.nullable(),
    created_by: z.string(),
    ...recordTimes,
  })
  .meta({
    id: 'Identity',
    example: {
      id: exampleId,
      name: 'deploy',
      method: 'jwt',
      ...exampleTrust,
      jwks: null,
      claims: {},
      single_use: false,
      ca_pem: null,
      vault_ids: [exampleVaultId],
      kinds: ['secret'],
      names: null,
      names_only: false,
      may_use: false,
      operations: null,
      cidrs: null,
      max_uses: null,
      rate_limit: null,
      lifetime: defaultLifetime,
      expiration_date: null,
      last_login_at: null,
      created_by: '0199a3c4-2222-7abc-8def-0123456789ab',
      ...exampleTimes,
    },
  });
export type Identity = z.output<typeof identity>;

// Secret ids

const uses = count(1, 1_000_000_000).nullable().optional();
const expiry = nullableMoment.describe('30 days from now by default, at most one year.');

export const secretIdCreate = z
  .strictObject({ identity_id: id, name: name.optional(), expiration_date: expiry, max_uses: uses })
  .meta({ id: 'SecretIdCreate', example: { identity_id: exampleId, name: 'build server', max_uses: 1 } });
export const secretIdUpdate = z
  .strictObject({ name: name.optional(), expiration_date: expiry, max_uses: uses })
  .meta({ id: 'SecretIdUpdate', example: { name: 'build server' } });
export type SecretIdCreate = z.output<typeof secretIdCreate>;
export type SecretIdUpdate = z.output<typeof secretIdUpdate>;

export const secretIdQuery = searchQuery.extend({ identity_id: id.optional() });
export type SecretIdQuery = z.output<typeof secretIdQuery>;

const exampleSecretId = {
  id: '0199a3c4-5555-7abc-8def-0123456789ab',
  identity_id: exampleId,
  name: 'build server',
  expiration_date: '2026-12-15T09:30:00.000Z',
  max_uses: 1,
  uses: 0,
  last_used_at: null,
  created_by: '0199a3c4-2222-7abc-8def-0123456789ab',
  ...exampleTimes,
};
export const secretId = z
  .object({
    id,
    identity_id: id,
    name: z.string(),
    expiration_date: timestamp.nullable(),
    max_uses: z.int().nullable(),
    uses: z.int(),
    last_used_at: timestamp.nullable(),
    created_by: z.string(),
    ...recordTimes,
  })
  .meta({ id: 'SecretId', example: exampleSecretId });
export type SecretId = z.output<typeof secretId>;
export const createdSecretId = secretId
  .extend({
    token: z.string().describe('The secret id itself, returned only when it is created.'),
  })
  .meta({ id: 'CreatedSecretId', example: { ...exampleSecretId, token: 'sr_login_…' } });
export type CreatedSecretId = z.output<typeof createdSecretId>;

// The login

const proof = (what: string) =>
  z
    .string({ error: 'must be a string' })
    .min(1, { error: 'must not be empty' })
    .optional()
    .meta({ description: what });

export const loginBody = z
  .strictObject({
    identity_id: id.describe('The id of the identity; other products call it the role id.'),
    jwt: proof('A token from the identity’s issuer.'),
    secret_id: proof('One of the identity’s secret ids.'),
    vault_id: id.optional().describe('Which of the identity’s vaults to open; the first by default.'),
  })
  .refine(({ jwt, secret_id }) => jwt === undefined || secret_id === undefined, {
    error: 'can’t be combined with jwt',
    path: ['secret_id'],
  })
  .meta({
    id: 'Login',
    description: 'Without a token or a secret id, the TLS client certificate is the proof.',
    example: { identity_id: exampleId, jwt: 'eyJhbGciOiJSUzI1NiIsImtpZCI6…' },
  });
export type LoginBody = z.output<typeof loginBody>;
export const loggedIn = createdAccessKey;
