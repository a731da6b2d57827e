/**
 * The lists of names used on the wire, as plain data. The schemas are built from them, and the dashboard shows them
 * without loading the schemas.
 */

/** The roles that a member can have in a single vault, and an API key in the organization. */
export const grantedRoleNames = [
  'owner',
  'admin',
  'editor',
  'writer',
  'reader',
  'viewer',
  'auditor',
] as const;
export type GrantedRole = (typeof grantedRoleNames)[number];

/** `none`: the member has only the roles granted to them in single vaults. */
export const roleNames = [...grantedRoleNames, 'none'] as const;
export type RoleName = (typeof roleNames)[number];

export const planNames = ['free', 'pro', 'enterprise'] as const;
export type Plan = (typeof planNames)[number];

const everyone = grantedRoleNames;
const anyMember = roleNames;
const managers = ['owner', 'admin'] as const;
const overseers = [...managers, 'auditor'] as const;
/** They decide who and what has access, as far as they have it themselves. */
const givers = [...managers, 'editor'] as const;
/** They change what a vault contains. A writer changes nothing else: neither the vault nor who has access to it. */
const writers = [...givers, 'writer'] as const;
/** Managing doesn't include reading: an admin can run the service without seeing any value. */
const usersOfValues = ['owner', 'editor'] as const;
/** A reader changes nothing. */
const readersOfValues = [...usersOfValues, 'reader'] as const;

type RolesByName = Readonly<Record<string, readonly RoleName[]>>;

/** Permissions that a role gives wherever it is granted: in the whole organization or in a single vault. */
export const vaultPermissions = {
  'vaults:read': everyone,
  'vaults:write': givers,
  'vaults:review': managers,
  'secrets:read': everyone,
  'secrets:write': writers,
  'secrets:reveal': readersOfValues,
  'keys:read': everyone,
  'keys:write': writers,
  'keys:reveal': readersOfValues,
  /** Operations with a key, without seeing it. */
  'keys:use': readersOfValues,
  'certificates:read': everyone,
  'certificates:write': writers,
  'access-keys:read': everyone,
  'access-keys:write': givers,
  'public-tokens:read': everyone,
  'public-tokens:write': givers,
  'issuers:read': everyone,
  'issuers:write': usersOfValues,
  'leases:read': everyone,
  'leases:write': givers,
  'authorities:read': everyone,
  'authorities:write': usersOfValues,
  'profiles:read': everyone,
  'profiles:write': usersOfValues,
  'issued-certificates:read': everyone,
  /** Issuing also requires `keys:use`, because it signs with the key of an authority. */
  'issued-certificates:write': givers,
  'use-rules:read': everyone,
  'use-rules:write': usersOfValues,
  'approvals:read': [...overseers, 'editor'],
  'approvals:write': usersOfValues,
  'runs:read': [...overseers, 'editor'],
  'runs:write': givers,
  'proposals:read': everyone,
  'proposals:write': writers,
  'proposals:bypass': ['owner'],
  'logs:read': overseers,
} as const satisfies RolesByName;

/** Permissions that only the role in the organization gives, because they belong to no vault. */
const organizationPermissions = {
  'identities:read': everyone,
  'identities:write': givers,
  'webhooks:read': overseers,
  'webhooks:write': managers,
  'api-keys:read': overseers,
  'api-keys:write': managers,
  'members:read': overseers,
  'members:write': managers,
  'organization:read': anyMember,
  'organization:write': managers,
} as const satisfies RolesByName;

/** All permissions, with the roles that have each. A scope has the name of the permission that it allows. */
export const permissions = { ...vaultPermissions, ...organizationPermissions };
export type Permission = keyof typeof permissions;

/** The scopes that an API key can be restricted to. */
export const scopeNames = Object.keys(permissions) as [Permission, ...Permission[]];

/**
 * The scopes that a client of the tool endpoint can request from a person. Each of the others includes
 * `secrets:names`.
 */
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

export const keyTypes = ['RSA', 'EC', 'OKP', 'ML-DSA', 'ML-KEM', 'AES', 'HMAC'] as const;

/** The events that a webhook can subscribe to. */
export const eventKinds = [
  'resource.created',
  'resource.updated',
  'resource.deleted',
  'resource.near_expiry',
  'resource.expired',
  'access_key.created',
  'access_key.revoked',
  'approval.requested',
  'role.requested',
  'role.decided',
  'stage.secret_missing',
  'proposal.created',
  'proposal.confirmed',
  'proposal.rejected',
  'proposal.expired',
  'proposal.bypassed',
  'lease.created',
  'lease.revoked',
  'lease.revocation_failed',
  'run.created',
  'run.ended',
  'secret.rotated',
  'rotation.failed',
  'webhook.disabled',
] as const;
export type EventKind = (typeof eventKinds)[number];

/** What issues short-lived credentials. */
export const providerNames = ['postgresql', 'redis'] as const;
export type ProviderName = (typeof providerNames)[number];

/**
 * `creating`: recorded, but the credential may not exist yet. `revoking`: to be ended. `disabled`: it gives no access any
 * more, but remains at the provider. `gone`: removed there.
 */
export const leaseStates = ['creating', 'active', 'revoking', 'disabled', 'gone'] as const;
export type LeaseState = (typeof leaseStates)[number];

/** Why a lease ended; `failed` if its creation did. */
export const leaseEnds = ['expired', 'revoked', 'holder', 'issuer', 'failed'] as const;
export type LeaseEnd = (typeof leaseEnds)[number];

/** Where the new value of a secret that is rotated comes from. */
export const rotationKinds = ['random', 'postgresql', 'http'] as const;
export type RotationKind = (typeof rotationKinds)[number];

/**
 * `creating`: recorded, but nothing may have been created yet. `created`: the new value exists, and is not used yet.
 * `overlapping`: the new one is used, and the previous one still valid. `abandoning`: what was created is to be removed.
 */
export const rotationStates = [
  'creating',
  'created',
  'overlapping',
  'done',
  'abandoning',
  'abandoned',
] as const;
export type RotationState = (typeof rotationStates)[number];

/** Sent to one webhook on request, whether or not it subscribes to it. */
export const testKind = 'webhook.test';

/** The form in which a webhook's messages are sent: Standard Webhooks, or that of a chat service. */
export const webhookFormats = ['standard', 'slack', 'teams', 'discord', 'ntfy', 'matrix'] as const;
export type WebhookFormat = (typeof webhookFormats)[number];

/** When a person is told by mail: `daily` gathers a day’s messages in one mail. */
export const mailTimes = ['off', 'immediately', 'daily'] as const;
export type MailTime = (typeof mailTimes)[number];

export const deliveryStates = ['pending', 'delivered', 'dead'] as const;
export type DeliveryState = (typeof deliveryStates)[number];

/** `gone`: the receiver answered 410. `failing`: no delivery succeeded for three days. */
export const disabledReasons = ['gone', 'failing'] as const;
export type DisabledReason = (typeof disabledReasons)[number];

/** What can need the attention of a person, the most urgent first. */
export const attentionKinds = [
  'log_broken',
  'expired',
  'webhook_failing',
  'webhook_disabled',
  'rotation_failing',
  'backup_failed',
  'refusals',
  'approvals_waiting',
  'role_requests_waiting',
  'proposals_waiting',
  'expiring',
  'backup_missing',
  'unused',
] as const;
export type AttentionKind = (typeof attentionKinds)[number];

/** Of a certificate that an authority here issued. */
export const issuedStates = ['valid', 'expired', 'revoked'] as const;
export type IssuedState = (typeof issuedStates)[number];

/** Why a certificate was revoked, by the names of RFC 5280. */
export const revocationReasons = [
  'unspecified',
  'key_compromise',
  'affiliation_changed',
  'superseded',
  'cessation_of_operation',
] as const;
export type RevocationReason = (typeof revocationReasons)[number];
