/**
 * Decides who may do what, by the one list of permissions. Pure: no lookups, no clock. A role in an individual vault
 * adds to the role in the organization, and never removes anything; scopes, a list of vaults and the permissions of an
 * API key's creator restrict. Callers can't grant or obtain access that they don't have: what a credential or a webhook
 * would show is a list of actions, all of which its creator must be allowed.
 */
import {
  type EventKind,
  type grantedRoleNames,
  type Permission,
  permissions,
  roleNames,
  scopeNames,
  vaultPermissions,
} from '../contract/names.ts';

export const roles = roleNames;
export type Role = (typeof roles)[number];
export type GrantedRole = (typeof grantedRoleNames)[number];

/** Every action has the name of the permission that it requires. */
export const actions = scopeNames;
export type Action = Permission;

export const resourceKinds = ['secret', 'key', 'certificate'] as const;
export type ResourceKind = (typeof resourceKinds)[number];

const resourceTypes = ['vault', ...resourceKinds] as const;
export const resourceReads = resourceTypes.map(type => `${type}s:read` as const);
export const resourceWrites = resourceTypes.map(type => `${type}s:write` as const);

/** Roles in individual vaults, by vault id. They add to each other, and to the role in the organization. */
export type VaultRoles = ReadonlyMap<string, readonly GrantedRole[]>;
export const noVaultRoles: VaultRoles = new Map();

/** What a credential or a member is granted. `null` means no restriction. */
export interface Grant {
  readonly role: Role;
  readonly vaultRoles: VaultRoles;
  readonly scopes: readonly Action[] | null;
  readonly vaultIds: readonly string[] | null;
  /** When it ends; null for never. */
  readonly until: number | null;
  /** A grant that this one never exceeds. */
  readonly within: Grant | null;
}

/** A role in the whole organization, and nothing else. */
export function grantOfRole(role: Role, until: number | null = null): Grant {
  return { role, vaultRoles: noVaultRoles, scopes: null, vaultIds: null, until, within: null };
}

export function roleAllows(role: Role, action: Action): boolean {
  return Object.hasOwn(permissions, action) && (permissions[action] as readonly Role[]).includes(role);
}

/** Whether a role allows the action when it is granted in an individual vault. */
function roleAllowsInVault(role: Role, action: Action): boolean {
  return Object.hasOwn(vaultPermissions, action) && roleAllows(role, action);
}

/** Whether a grant includes the action in a vault or, without one, in the organization as a whole. */
export function allows(grant: Grant, action: Action, vaultId?: string): boolean {
  const { role, vaultRoles, scopes, vaultIds, within } = grant;
  if (scopes !== null && !scopes.includes(action)) return false;
  if (vaultIds !== null && !vaultIds.some(id => id === vaultId)) return false;
  const inVault = vaultId === undefined ? undefined : vaultRoles.get(vaultId);
  if (!roleAllows(role, action) && !inVault?.some(one => roleAllowsInVault(one, action))) return false;
  return within === null || allows(within, action, vaultId);
}

/** The vaults in which a grant includes all of these actions; null for every vault and the organization itself. */
export function vaultsAllowing(grant: Grant, ...wanted: readonly Action[]): readonly string[] | null {
  return wanted.map(action => vaultsOf(grant, action)).reduce(common, null);
}

function vaultsOf(grant: Grant, action: Action): readonly string[] | null {
  const { role, vaultRoles, scopes, vaultIds, within } = grant;
  if (scopes !== null && !scopes.includes(action)) return [];
  const outer = within === null ? null : vaultsOf(within, action);
  if (roleAllows(role, action)) return common(vaultIds, outer);
  const given = [...vaultRoles].flatMap(([id, own]) =>
    own.some(one => roleAllowsInVault(one, action)) ? id : [],
  );
  return common(common(given, vaultIds), outer);
}

/** Whether a grant includes the action anywhere. */
export function holds(grant: Grant, action: Action): boolean {
  return vaultsOf(grant, action)?.length !== 0;
}

/** The action required to know that the subject of another action exists. */
export function seeing(action: Action): Action {
  return action.replace(/:.*/, ':read') as Action;
}

/** The creator must have every action of the grant, in each of its vaults and for its whole lifetime. */
export function mayGrant(maker: Grant, wanted: Grant): boolean {
  if (outlives(maker, wanted.until)) return false;
  return actions.every(action => includes(vaultsOf(maker, action), vaultsOf(wanted, action)));
}

/**
 * Whether a creator may use this role for a credential that never exceeds their own grant: they must hold each of its
 * actions somewhere. If they have roles only in individual vaults, actions that don't apply to vaults are not required.
 */
export function mayOffer(maker: Grant, role: Role): boolean {
  const isHeld = (action: Action) => !roleAllows(role, action) || holds(maker, action);
  return actions.every(
    action => isHeld(action) || (maker.role === 'none' && !Object.hasOwn(vaultPermissions, action)),
  );
}

/** The action required to read the value itself. A certificate has no value beyond its record. */
export const readsValue: Readonly<Record<ResourceKind, Action>> = {
  secret: 'secrets:reveal',
  key: 'keys:reveal',
  certificate: 'certificates:read',
};

/**
 * What the holder of an access key sees: the vault, the names of these kinds, and their values unless it is restricted
 * to names. For granting, using a value counts as reading it.
 */
export function shownByAccessKey({ kinds, namesOnly, mayUse }: Shown): readonly Action[] {
  const reads = !namesOnly || mayUse;
  return [
    'vaults:read',
    ...(kinds ?? resourceKinds).flatMap(kind => [
      `${kind}s:read` as const,
      ...(reads ? [readsValue[kind]] : []),
    ]),
  ];
}

export interface Shown {
  readonly kinds: readonly ResourceKind[] | null;
  readonly namesOnly: boolean;
  readonly mayUse: boolean;
}

/** One public key, with its name and dates. */
export const shownByPublicHalf: readonly Action[] = ['keys:read'];

/** Events reveal the names of their subjects, of every type. */
export function shownByEvents(kinds: readonly EventKind[]): readonly Action[] {
  const tells = (subject: string) => kinds.some(kind => kind.startsWith(`${subject}.`));
  return [
    ...(tells('resource') ? resourceReads : []),
    ...(tells('access_key') ? (['access-keys:read'] as const) : []),
    ...(tells('approval') ? (['approvals:read'] as const) : []),
    ...(tells('webhook') ? (['webhooks:read'] as const) : []),
  ];
}

/** Whether something would outlive the grant of its creator. */
export function outlives({ until }: Pick<Grant, 'until'>, wanted: number | null): boolean {
  return until !== null && (wanted === null || wanted > until);
}

type Vaults = readonly string[] | null;

function includes(outer: Vaults, inner: Vaults): boolean {
  if (outer === null) return true;
  return inner?.every(item => outer.includes(item)) === true;
}

/** Returns the vaults that both lists contain; null stands for all vaults. */
export function common(one: Vaults, another: Vaults): Vaults {
  if (one === null) return another;
  return another === null ? one : one.filter(item => another.includes(item));
}
