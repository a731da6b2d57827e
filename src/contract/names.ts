/**
 * The lists of names that the wire speaks in, plain: the schemas are made of them, and the dashboard shows them
 * without taking the schemas along.
 */

/** What a member can be in a single vault, and an API key in the organization. */
export const grantedRoleNames = ['owner', 'admin', 'editor', 'viewer', 'auditor'] as const;
export type GrantedRole = (typeof grantedRoleNames)[number];

/** `none`: a member who has what they are given in single vaults, and nothing else. */
export const roleNames = [...grantedRoleNames, 'none'] as const;
export type RoleName = (typeof roleNames)[number];

export const planNames = ['free', 'pro', 'enterprise'] as const;
export type Plan = (typeof planNames)[number];

const everyone = grantedRoleNames;
const anyMember = roleNames;
const managers = ['owner', 'admin'] as const;
const overseers = [...managers, 'auditor'] as const;
const writers = [...managers, 'editor'] as const;
/** Managing is not reading: an admin runs the service without seeing a value. */
const readersOfValues = ['owner', 'editor'] as const;

type RolesByName = Readonly<Record<string, readonly RoleName[]>>;

/** What a role gives wherever it is given: in the whole organization, or in a single vault. */
export const vaultPermissions = {
  'vaults:read': everyone,
  'vaults:write': writers,
  'secrets:read': everyone,
  'secrets:write': writers,
  'secrets:reveal': readersOfValues,
  'keys:read': everyone,
  'keys:write': writers,
  'keys:reveal': readersOfValues,
  'certificates:read': everyone,
  'certificates:write': writers,
  'access-keys:read': everyone,
  'access-keys:write': writers,
  'public-tokens:read': everyone,
  'public-tokens:write': writers,
  'use-rules:read': everyone,
  'use-rules:write': readersOfValues,
  'approvals:read': [...overseers, 'editor'],
  'approvals:write': readersOfValues,
  'logs:read': overseers,
} as const satisfies RolesByName;

/** What only the role in the organization gives: these belong to no vault. */
const organizationPermissions = {
  'identities:read': everyone,
  'identities:write': writers,
  'webhooks:read': overseers,
  'webhooks:write': managers,
  'api-keys:read': overseers,
  'api-keys:write': managers,
  'members:read': overseers,
  'members:write': managers,
  'organization:read': anyMember,
  'organization:write': managers,
} as const satisfies RolesByName;

/** The one list of permissions, with the roles that hold each. A scope has the name of what it allows. */
export const permissions = { ...vaultPermissions, ...organizationPermissions };
export type Permission = keyof typeof permissions;

/** The scopes that an API key may be narrowed to. */
export const scopeNames = Object.keys(permissions) as [Permission, ...Permission[]];

/** What a client of the tool endpoint can ask a person for. Names come with any of the others. */
export const oauthScopes = [
  'secrets:names',
  'secrets:use',
  'secrets:read',
  'keys:read',
  'certificates:read',
] as const;
export type OAuthScope = (typeof oauthScopes)[number];

export const resourceTypes = ['vault', 'secret', 'key', 'certificate'] as const;
export type ResourceType = (typeof resourceTypes)[number];

export const keyTypes = ['RSA', 'EC', 'OKP', 'ML-DSA', 'ML-KEM'] as const;

/** What a webhook can ask for. */
export const eventKinds = [
  'resource.created',
  'resource.updated',
  'resource.deleted',
  'resource.near_expiry',
  'resource.expired',
  'access_key.created',
  'access_key.revoked',
  'approval.requested',
  'webhook.disabled',
] as const;
export type EventKind = (typeof eventKinds)[number];

/** Sent by hand to one webhook, which need not have asked for it. */
export const testKind = 'webhook.test';

export const deliveryStates = ['pending', 'delivered', 'dead'] as const;
export type DeliveryState = (typeof deliveryStates)[number];

/** `gone`: the receiver answered 410. `failing`: nothing arrived for three days. */
export const disabledReasons = ['gone', 'failing'] as const;
export type DisabledReason = (typeof disabledReasons)[number];
