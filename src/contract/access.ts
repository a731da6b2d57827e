/** Request and response schemas for credentials and organizations. */
import { z } from 'zod';
import { recordTimes, searchQuery } from './common.ts';
import { grantedRoleNames, planNames, roleNames, scopeNames } from './names.ts';
import { exampleKeyId, exampleTimes, exampleVaultId } from './resource-fields.ts';
import { arrayUpTo, count, exampleId, flag, id, line, moment, name, oneOf, timestamp } from './text.ts';
import { grantedOperations } from './use-names.ts';

export { type Plan, planNames, scopeNames } from './names.ts';

export const role = oneOf(grantedRoleNames).meta({ id: 'GrantedRole' });
const expiry = moment.nullable().optional();

export function listOfAtMost<T extends z.ZodType>(most: number, item: T) {
  return arrayUpTo(most, item).min(1, { error: 'must not be empty; omit it for no restriction' });
}

const token = z.string().describe('The credential itself, returned only when it is created.');

// API keys

const scopes = listOfAtMost(scopeNames.length, oneOf(scopeNames));
const vaultIds = listOfAtMost(100, id);

export const apiKeyCreate = z
  .strictObject({
    name,
    role,
    scopes: scopes.nullable().optional(),
    vault_ids: vaultIds.nullable().optional(),
    expiration_date: expiry,
  })
  .meta({
    id: 'ApiKeyCreate',
    example: { name: 'deployment', role: 'editor', scopes: ['secrets:read', 'secrets:write'] },
  });
export const apiKeyUpdate = z
  .strictObject({ name: name.optional(), expiration_date: expiry })
  .meta({ id: 'ApiKeyUpdate', example: { expiration_date: '2027-01-31T00:00:00Z' } });
export type ApiKeyCreate = z.output<typeof apiKeyCreate>;
export type ApiKeyUpdate = z.output<typeof apiKeyUpdate>;

const credential = {
  id,
  name: z.string(),
  expiration_date: timestamp.nullable(),
  last_used_at: timestamp.nullable(),
  created_by: z.string(),
  ...recordTimes,
};
const exampleCredential = {
  id: exampleId,
  expiration_date: null,
  last_used_at: null,
  created_by: '0199a3c4-2222-7abc-8def-0123456789ab',
  ...exampleTimes,
};

export const exampleApiKey = {
  ...exampleCredential,
  name: 'deployment',
  role: 'editor',
  scopes: ['secrets:read', 'secrets:write'],
  vault_ids: null,
  member_id: null,
};

export const apiKey = z
  .object({
    ...credential,
    role,
    scopes: z.array(z.string()).nullable(),
    vault_ids: z.array(id).nullable(),
    member_id: id
      .nullable()
      .describe(
        'The member it belongs to: the one who created it, directly or with another API key, or who is signed in with it on a command line. It never has more permissions than they have, and ends with their membership. Null if the operator created it.',
      ),
  })
  .meta({ id: 'ApiKey', example: exampleApiKey });
export type ApiKey = z.output<typeof apiKey>;
export const createdApiKey = apiKey.extend({ token }).meta({
  id: 'CreatedApiKey',
  example: { ...exampleApiKey, token: 'sr_api_…' },
});
export type CreatedApiKey = z.output<typeof createdApiKey>;

// Vault access keys

export const kinds = listOfAtMost(3, oneOf(['secret', 'key', 'certificate']));
export const namePatterns = listOfAtMost(50, line(1, 255)).meta({
  description: '`*` matches any number of characters; everything else matches literally.',
  example: ['DATABASE_*'],
});
export const cidrs = listOfAtMost(50, line(1, 64));
export const operations = listOfAtMost(grantedOperations.length, oneOf(grantedOperations));

/** The restrictions that an access key can have. */
export const accessKeyRestrictions = {
  kinds: kinds.nullable().optional(),
  names: namePatterns.nullable().optional(),
  names_only: flag.optional(),
  may_use: flag
    .optional()
    .describe(
      'Whether it may use secrets and keys through their use rules. With `names_only`, it can use what it can’t read.',
    ),
  operations: operations
    .nullable()
    .optional()
    .describe(
      'The operations that it may do with keys, without their leaving the service. By default it may verify and encrypt, if it is not names-only.',
    ),
  cidrs: cidrs
    .nullable()
    .optional()
    .meta({ example: ['10.0.0.0/8'] }),
  expiration_date: expiry,
  max_uses: count(1, 1_000_000_000).nullable().optional(),
  rate_limit: count(1, 1_000_000).nullable().optional().describe('Requests per minute.'),
};

export const accessKeyCreate = z.strictObject({ vault_id: id, name, ...accessKeyRestrictions }).meta({
  id: 'AccessKeyCreate',
  example: { vault_id: exampleVaultId, name: 'web server', kinds: ['secret'], names: ['WEB_*'] },
});
export const accessKeyUpdate = z
  .strictObject({ name: name.optional(), ...accessKeyRestrictions })
  .meta({ id: 'AccessKeyUpdate', example: { cidrs: ['10.0.0.0/8'] } });
export type AccessKeyCreate = z.output<typeof accessKeyCreate>;
export type AccessKeyUpdate = z.output<typeof accessKeyUpdate>;

const exampleAccessKey = {
  ...exampleCredential,
  name: 'web server',
  vault_id: exampleVaultId,
  kinds: ['secret'],
  names: ['WEB_*'],
  names_only: false,
  may_use: false,
  operations: null,
  cidrs: null,
  max_uses: null,
  uses: 0,
  rate_limit: null,
  identity_id: null,
};

export const accessKey = z
  .object({
    ...credential,
    vault_id: id,
    kinds: z.array(z.string()).nullable(),
    names: z.array(z.string()).nullable(),
    names_only: z.boolean(),
    may_use: z.boolean(),
    operations: z.array(z.string()).nullable(),
    cidrs: z.array(z.string()).nullable(),
    max_uses: z.int().nullable(),
    uses: z.int(),
    rate_limit: z.int().nullable(),
    identity_id: id
      .nullable()
      .describe(
        'The identity whose login created it; any change to that identity ends it. Null for all others.',
      ),
  })
  .meta({ id: 'AccessKey', example: exampleAccessKey });
export type AccessKey = z.output<typeof accessKey>;
export const createdAccessKey = accessKey.extend({ token }).meta({
  id: 'CreatedAccessKey',
  example: { ...exampleAccessKey, token: 'sr_vault_…' },
});
export type CreatedAccessKey = z.output<typeof createdAccessKey>;

export const accessKeyQuery = searchQuery.extend({
  vault_id: id.optional(),
  identity_id: id.optional(),
});

// Public tokens

export const publicTokenCreate = z
  .strictObject({ key_id: id, name: name.optional(), expiration_date: expiry })
  .meta({ id: 'PublicTokenCreate', example: { key_id: exampleKeyId, name: 'partners' } });
export const publicTokenUpdate = z
  .strictObject({ name: name.optional(), expiration_date: expiry })
  .meta({ id: 'PublicTokenUpdate', example: { expiration_date: '2027-01-31T00:00:00Z' } });
export type PublicTokenCreate = z.output<typeof publicTokenCreate>;
export type PublicTokenUpdate = z.output<typeof publicTokenUpdate>;

const examplePublicToken = {
  ...exampleCredential,
  name: 'partners',
  key_id: exampleKeyId,
  vault_id: exampleVaultId,
};

export const publicToken = z.object({ ...credential, key_id: id, vault_id: id }).meta({
  id: 'PublicToken',
  description: 'Gives access to the public key of one key, and nothing else.',
  example: examplePublicToken,
});
export type PublicToken = z.output<typeof publicToken>;
export const createdPublicToken = publicToken.extend({ token }).meta({
  id: 'CreatedPublicToken',
  example: { ...examplePublicToken, token: 'sr_pub_…' },
});
export type CreatedPublicToken = z.output<typeof createdPublicToken>;
export const publicTokenQuery = searchQuery.extend({ vault_id: id.optional(), key_id: id.optional() });

// The organization

export const mostEnterpriseLimit = 100_000_000;
export const organizationUpdate = z
  .strictObject({
    name: name.optional(),
    plan: oneOf(planNames).optional().describe('Only a signed-in owner can change it, not an API key.'),
    enterprise_limit: count(0, mostEnterpriseLimit)
      .optional()
      .describe(
        'Requests per minute on the enterprise plan; 0 is unlimited. Only a signed-in owner can change it.',
      ),
  })
  .meta({ id: 'OrganizationUpdate', example: { name: 'Example Ltd' } });
export type OrganizationUpdate = z.output<typeof organizationUpdate>;
export const organization = z
  .object({
    id,
    name: z.string(),
    plan: z.enum(planNames),
    rate_limit: z.int().nullable().describe('Requests per minute; null if unlimited.'),
    ...recordTimes,
  })
  .meta({
    id: 'Organization',
    example: { id: exampleId, name: 'Example Ltd', plan: 'pro', rate_limit: 1000, ...exampleTimes },
  });
export type Organization = z.output<typeof organization>;

// The caller

export const whoami = z
  .object({
    kind: z.enum(['api-key', 'member']).describe('What the caller authenticated as.'),
    id,
    name: z.string(),
    organization: z.object({ id, name: z.string() }),
    member: z
      .object({ id, email: z.string() })
      .nullable()
      .describe(
        'The member who is signed in or to whom the API key belongs; null if it belongs to no member.',
      ),
    role: z.enum(roleNames),
    grants: z
      .array(z.object({ vault_id: id, role: z.enum(grantedRoleNames), until: timestamp.optional() }))
      .describe('The member’s roles in single vaults, granted directly or through groups.'),
    scopes: z.array(z.string()).nullable(),
    vault_ids: z.array(id).nullable(),
    expiration_date: timestamp.nullable(),
  })
  .meta({
    id: 'Whoami',
    example: {
      kind: 'api-key',
      id: exampleId,
      name: 'Command line on laptop',
      organization: { id: '0199a3c4-1111-7abc-8def-0123456789ab', name: 'Example Ltd' },
      member: { id: '0199a3c4-2222-7abc-8def-0123456789ab', email: 'ada@example.com' },
      role: 'editor',
      grants: [],
      scopes: null,
      vault_ids: null,
      expiration_date: '2026-11-15T21:30:00.000Z',
    },
  });
export type Whoami = z.output<typeof whoami>;
