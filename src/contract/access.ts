/** Credentials, members and organizations, as they are sent and answered. */
import { z } from 'zod';
import { recordTimes, searchQuery } from './common.ts';
import { exampleKeyId, exampleTimes, exampleVaultId } from './resource-fields.ts';
import { count, exampleId, flag, id, line, moment, name, oneOf, timestamp } from './text.ts';

export const roleNames = ['owner', 'admin', 'editor', 'viewer', 'auditor'] as const;
export const planNames = ['free', 'pro', 'enterprise'] as const;
export type Plan = (typeof planNames)[number];

const role = oneOf(roleNames).meta({ id: 'Role' });
const expiry = moment.nullable().optional();

function listOfAtMost<T extends z.ZodType>(most: number, item: T) {
  return z
    .array(item, { error: 'must be an array' })
    .min(1, { error: 'must not be empty; leave it out to narrow nothing' })
    .max(most, { error: `must hold ${most} at most` });
}

const token = z
  .string()
  .optional()
  .meta({ description: 'The credential itself: in the answer that creates it, and never again.' });

// API keys

export const scopeNames = [
  'vaults:read',
  'vaults:write',
  'secrets:read',
  'secrets:write',
  'secrets:reveal',
  'keys:read',
  'keys:write',
  'keys:reveal',
  'certificates:read',
  'certificates:write',
  'access-keys:read',
  'access-keys:write',
  'public-tokens:read',
  'public-tokens:write',
  'webhooks:read',
  'webhooks:write',
  'api-keys:read',
  'api-keys:write',
  'members:read',
  'members:write',
  'logs:read',
  'organization:read',
  'organization:write',
] as const;

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
  .meta({ example: { name: 'deployment', role: 'editor', scopes: ['secrets:read', 'secrets:write'] } });
export const apiKeyUpdate = z
  .strictObject({ name: name.optional(), expiration_date: expiry })
  .meta({ example: { expiration_date: '2027-01-31T00:00:00Z' } });
export type ApiKeyCreate = z.output<typeof apiKeyCreate>;
export type ApiKeyUpdate = z.output<typeof apiKeyUpdate>;

const credential = {
  id,
  name: z.string(),
  expiration_date: timestamp.nullable(),
  last_used_at: timestamp.nullable(),
  created_by: z.string(),
  ...recordTimes,
  token,
};
const exampleCredential = {
  id: exampleId,
  expiration_date: null,
  last_used_at: null,
  created_by: '0199a3c4-2222-7abc-8def-0123456789ab',
  ...exampleTimes,
};

export const apiKey = z
  .object({
    ...credential,
    role,
    scopes: z.array(z.string()).nullable(),
    vault_ids: z.array(id).nullable(),
  })
  .meta({
    id: 'ApiKey',
    example: {
      ...exampleCredential,
      name: 'deployment',
      role: 'editor',
      scopes: ['secrets:read', 'secrets:write'],
      vault_ids: null,
    },
  });
export type ApiKey = z.output<typeof apiKey>;

// Vault access keys

const kinds = listOfAtMost(3, oneOf(['secret', 'key', 'certificate']));
const namePatterns = listOfAtMost(50, line(1, 255)).meta({
  description: '`*` stands for any run of characters, everything else for itself.',
  example: ['DATABASE_*'],
});
const cidrs = listOfAtMost(50, line(1, 64));

const narrowings = {
  kinds: kinds.nullable().optional(),
  names: namePatterns.nullable().optional(),
  names_only: flag.optional(),
  cidrs: cidrs
    .nullable()
    .optional()
    .meta({ example: ['10.0.0.0/8'] }),
  expiration_date: expiry,
  max_uses: count(1, 1_000_000_000).nullable().optional(),
  rate_limit: count(1, 1_000_000).nullable().optional().meta({ description: 'Requests a minute.' }),
};

export const accessKeyCreate = z
  .strictObject({ vault_id: id, name, ...narrowings })
  .meta({ example: { vault_id: exampleVaultId, name: 'web server', kinds: ['secret'], names: ['WEB_*'] } });
export const accessKeyUpdate = z
  .strictObject({ name: name.optional(), ...narrowings })
  .meta({ example: { cidrs: ['10.0.0.0/8'] } });
export type AccessKeyCreate = z.output<typeof accessKeyCreate>;
export type AccessKeyUpdate = z.output<typeof accessKeyUpdate>;

export const accessKey = z
  .object({
    ...credential,
    vault_id: id,
    kinds: z.array(z.string()).nullable(),
    names: z.array(z.string()).nullable(),
    names_only: z.boolean(),
    cidrs: z.array(z.string()).nullable(),
    max_uses: z.int().nullable(),
    uses: z.int(),
    rate_limit: z.int().nullable(),
  })
  .meta({
    id: 'AccessKey',
    example: {
      ...exampleCredential,
      name: 'web server',
      vault_id: exampleVaultId,
      kinds: ['secret'],
      names: ['WEB_*'],
      names_only: false,
      cidrs: null,
      max_uses: null,
      uses: 0,
      rate_limit: null,
    },
  });
export type AccessKey = z.output<typeof accessKey>;

export const accessKeyQuery = searchQuery.extend({ vault_id: id.optional() });

// Public tokens

export const publicTokenCreate = z
  .strictObject({ key_id: id, name: name.optional(), expiration_date: expiry })
  .meta({ example: { key_id: exampleKeyId, name: 'partners' } });
export const publicTokenUpdate = z
  .strictObject({ name: name.optional(), expiration_date: expiry })
  .meta({ example: { expiration_date: '2027-01-31T00:00:00Z' } });
export type PublicTokenCreate = z.output<typeof publicTokenCreate>;
export type PublicTokenUpdate = z.output<typeof publicTokenUpdate>;
export const publicToken = z.object({ ...credential, key_id: id, vault_id: id }).meta({
  id: 'PublicToken',
  description: 'Gives the public half of one key, and nothing else.',
  example: { ...exampleCredential, name: 'partners', key_id: exampleKeyId, vault_id: exampleVaultId },
});
export type PublicToken = z.output<typeof publicToken>;
export const publicTokenQuery = searchQuery.extend({ vault_id: id.optional(), key_id: id.optional() });

// Members

const email = line(3, 254).refine(text => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text), {
  error: 'must be an email address',
});

export const memberCreate = z
  .strictObject({ email, role })
  .meta({ example: { email: 'ada@example.com', role: 'editor' } });
export const memberUpdate = z.strictObject({ role: role.optional() }).meta({ example: { role: 'viewer' } });
export type MemberCreate = z.output<typeof memberCreate>;
export type MemberUpdate = z.output<typeof memberUpdate>;
export const member = z
  .object({
    id,
    name: z.string(),
    email: z.string(),
    role,
    state: z.enum(['invited', 'active']),
    token: token.meta({
      description: 'The invitation, in the answer that makes it and never again: {base_url}/invite#TOKEN.',
    }),
    ...recordTimes,
  })
  .meta({
    id: 'Member',
    example: {
      id: exampleId,
      name: 'ada@example.com',
      email: 'ada@example.com',
      role: 'editor',
      state: 'invited',
      ...exampleTimes,
    },
  });
export type Member = z.output<typeof member>;

// The organization

export const mostEnterpriseLimit = 100_000_000;
export const organizationUpdate = z
  .strictObject({
    name: name.optional(),
    plan: oneOf(planNames).optional().meta({ description: 'By an owner who is signed in; not by a key.' }),
    enterprise_limit: count(0, mostEnterpriseLimit).optional().meta({
      description: 'Requests a minute on the enterprise plan; 0 is unlimited. By whom, as the plan.',
    }),
  })
  .meta({ example: { name: 'Example Ltd' } });
export type OrganizationUpdate = z.output<typeof organizationUpdate>;
export const organization = z
  .object({
    id,
    name: z.string(),
    plan: z.enum(planNames),
    rate_limit: z.int().nullable().meta({ description: 'Requests a minute; null where unlimited.' }),
    ...recordTimes,
  })
  .meta({
    id: 'Organization',
    example: { id: exampleId, name: 'Example Ltd', plan: 'pro', rate_limit: 1000, ...exampleTimes },
  });
export type Organization = z.output<typeof organization>;
