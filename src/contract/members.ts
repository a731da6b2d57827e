/** Request and response schemas for members, groups of members, and the roles granted to them. */
import { z } from 'zod';
import { role } from './access.ts';
import { email } from './auth.ts';
import { recordTimes, searchQuery } from './common.ts';
import { roleNames } from './names.ts';
import { exampleTimes, exampleVaultId } from './resource-fields.ts';
import { arrayUpTo, exampleId, flag, id, moment, name, oneOf, timestamp } from './text.ts';

const memberRole = oneOf(roleNames).meta({ id: 'Role' });

export const mostGrants = 500;
export const mostInGroup = 1_000;

const vaultGrant = z.object({ vault_id: id, role, until: timestamp.optional() }).meta({
  id: 'VaultGrant',
  description:
    'A role in a single vault, in addition to the role in the organization. It ends at `until`; without it, it has no end.',
  example: { vault_id: exampleVaultId, role: 'editor' },
});
export type VaultGrant = z.output<typeof vaultGrant>;

const until = moment.nullable().optional();
const wantedGrant = z.strictObject({ vault_id: id, role, until }).meta({
  id: 'WantedVaultGrant',
  description: 'A role in a single vault. With `until`, it ends at that time.',
  example: { vault_id: exampleVaultId, role: 'editor', until: '2027-01-31T00:00:00Z' },
});
/** So that a role with an end can be given to someone who keeps another one. */
const oncePerVault = <G extends z.ZodType<{ vault_id: string; until?: number | null | undefined }>>(
  grant: G,
) =>
  arrayUpTo(mostGrants, grant).refine(
    all => new Set(all.map(one => `${one?.vault_id} ${(one?.until ?? null) === null}`)).size === all.length,
    { error: 'must not name a vault more than once, except for one role with an end and one without' },
  );
const grants = oncePerVault(wantedGrant);
export type WantedGrant = z.output<typeof wantedGrant>;

const changedGrants = oncePerVault(z.strictObject({ vault_id: id, role: memberRole, until })).describe(
  'Replaces the roles in these vaults; `none` removes them. Roles in other vaults don’t change.',
);
export type ChangedGrant = z.output<typeof changedGrants>[number];
/**
 * Partial changes keep two people from undoing each other's edits. A request either replaces the whole list or
 * changes parts of it.
 */
const isOneOf = (body: { grants?: unknown; change_grants?: unknown }) =>
  body.grants === undefined || body.change_grants === undefined;
const notBoth = { error: 'can’t be given together with grants', path: ['change_grants'] };

export const memberCreate = z.strictObject({ email, role: memberRole, grants: grants.optional() }).meta({
  id: 'MemberCreate',
  example: {
    email: 'ada@example.com',
    role: 'none',
    grants: [{ vault_id: exampleVaultId, role: 'editor' }],
  },
});
export const memberUpdate = z
  .strictObject({
    role: memberRole.optional(),
    grants: grants.optional(),
    change_grants: changedGrants.optional(),
  })
  .refine(isOneOf, notBoth)
  .meta({ id: 'MemberUpdate', example: { role: 'viewer' } });
export type MemberCreate = z.output<typeof memberCreate>;
export type MemberUpdate = z.output<typeof memberUpdate>;

const exampleMember = {
  id: exampleId,
  name: 'ada@example.com',
  email: 'ada@example.com',
  role: 'none',
  grants: [{ vault_id: exampleVaultId, role: 'editor' }],
  group_ids: [],
  state: 'invited',
  ...exampleTimes,
};

export const member = z
  .object({
    id,
    name: z.string(),
    email: z.string(),
    role: memberRole,
    grants: z.array(vaultGrant),
    group_ids: z.array(id).describe('The groups that the member is in.'),
    state: z.enum(['invited', 'active']),
    ...recordTimes,
  })
  .meta({ id: 'Member', example: exampleMember });
export type Member = z.output<typeof member>;
export const invitedMember = member
  .extend({
    token: z
      .string()
      .describe(
        'The invitation token, returned only when it is created. The link is {base_url}/invite#TOKEN.',
      ),
    mailed: z.boolean().describe('Whether the invitation is also sent by mail.'),
  })
  .meta({ id: 'InvitedMember', example: { ...exampleMember, token: 'sr_invite_…', mailed: false } });
export type InvitedMember = z.output<typeof invitedMember>;

/** `vault_id` returns only those that are granted a role in this vault directly. */
export const grantQuery = searchQuery.extend({ vault_id: id.optional() });
export type GrantQuery = z.output<typeof grantQuery>;

// People with access to a vault

export const accessSources = ['organization', 'vault', 'group'] as const;

export const vaultPerson = z
  .object({
    id,
    email: z.string(),
    state: z.enum(['invited', 'active']),
    access: z
      .array(
        z.object({
          by: z.enum(accessSources),
          role: z.string(),
          until: timestamp.optional(),
          group: z.object({ id, name: z.string() }).optional(),
        }),
      )
      .describe(
        'Where their access comes from: a role in the organization, a role in this vault, or a group that has one.',
      ),
  })
  .meta({
    id: 'VaultPerson',
    description: 'A member with access to a vault.',
    example: {
      id: exampleId,
      email: 'ada@example.com',
      state: 'active',
      access: [{ by: 'vault', role: 'reader', until: '2027-01-31T00:00:00.000Z' }],
    },
  });
export type VaultPerson = z.output<typeof vaultPerson>;

// Groups

const memberIds = arrayUpTo(mostInGroup, id).refine(all => new Set(all).size === all.length, {
  error: 'must not name a member more than once',
});
const singleSignOn = flag
  .optional()
  .describe(
    'Whether a member also belongs to the group while the single sign-on issuer lists its name in the member’s groups claim.',
  );

export const groupCreate = z
  .strictObject({
    name,
    grants: grants.optional(),
    member_ids: memberIds.optional(),
    single_sign_on: singleSignOn,
  })
  .meta({
    id: 'GroupCreate',
    example: { name: 'payments', grants: [{ vault_id: exampleVaultId, role: 'editor' }] },
  });
export const groupUpdate = z
  .strictObject({
    name: name.optional(),
    grants: grants.optional(),
    change_grants: changedGrants.optional(),
    member_ids: memberIds.optional(),
    add_member_ids: memberIds.optional().describe('Members to add to the group.'),
    remove_member_ids: memberIds.optional().describe('Members to remove from the group.'),
    single_sign_on: singleSignOn,
  })
  .refine(isOneOf, notBoth)
  .refine(
    body => body.member_ids === undefined || (body.add_member_ids ?? body.remove_member_ids) === undefined,
    {
      error: 'can’t be given together with add_member_ids or remove_member_ids',
      path: ['member_ids'],
    },
  )
  .meta({ id: 'GroupUpdate', example: { name: 'payments and billing' } });
export type GroupCreate = z.output<typeof groupCreate>;
export type GroupUpdate = z.output<typeof groupUpdate>;

export const group = z
  .object({
    id,
    name: z.string(),
    grants: z.array(vaultGrant),
    member_ids: z.array(id),
    single_sign_on: z.boolean(),
    signed_on_member_ids: z
      .array(id)
      .describe(
        'The members for whom the issuer listed the group when they last signed in through single sign-on.',
      ),
    ...recordTimes,
  })
  .meta({
    id: 'Group',
    description: 'Members who have the same roles in the same vaults.',
    example: {
      id: exampleId,
      name: 'payments',
      grants: [{ vault_id: exampleVaultId, role: 'editor' }],
      member_ids: ['0199a3c4-2222-7abc-8def-0123456789ab'],
      single_sign_on: false,
      signed_on_member_ids: [],
      ...exampleTimes,
    },
  });
export type Group = z.output<typeof group>;
