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
import type { GrantedOperation } from '../contract/use-names.ts';

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

/** A role in an individual vault, and when it ends; null for no end. */
export interface VaultRole {
  readonly role: GrantedRole;
  readonly until: number | null;
}

/**
 * Roles in individual vaults, by vault id, as far as they had not ended when the grant was determined. They add to each
 * other, and to the role in the organization.
 */
export type VaultRoles = ReadonlyMap<string, readonly VaultRole[]>;
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

const never = Number.NEGATIVE_INFINITY;
const forever = Number.POSITIVE_INFINITY;

/** Whether a grant includes the action in a vault or, without one, in the organization as a whole. */
export function allows(grant: Grant, action: Action, vaultId?: string): boolean {
  return endOf(grant, action, vaultId) !== never;
}

/** Whether the roles in a grant include the action until this time, or without end if null. */
export function allowsUntil(grant: Grant, action: Action, until: number | null, vaultId?: string): boolean {
  return allows(grant, action, vaultId) && endOf(grant, action, vaultId) >= (until ?? forever);
}

/** When the first of these actions ends in a vault, because a role there ends; null if none does. */
export function endOfAll(grant: Grant, wanted: readonly Action[], vaultId: string): number | null {
  const end = Math.min(...wanted.map(action => endOf(grant, action, vaultId)));
  return Number.isFinite(end) ? end : null;
}

function endOf(grant: Grant, action: Action, vaultId: string | undefined): number {
  const { role, vaultRoles, scopes, vaultIds, within } = grant;
  if (scopes !== null && !scopes.includes(action)) return never;
  if (vaultIds !== null && !vaultIds.some(id => id === vaultId)) return never;
  const inVault = vaultId === undefined ? undefined : vaultRoles.get(vaultId);
  const end = roleAllows(role, action) ? forever : lastEnd(inVault ?? [], action);
  return within === null ? end : Math.min(end, endOf(within, action, vaultId));
}

/** When the last of these roles that allow the action ends. */
function lastEnd(inVault: readonly VaultRole[], action: Action): number {
  const ends = inVault.map(({ role, until }) =>
    roleAllowsInVault(role, action) ? (until ?? forever) : never,
  );
  return Math.max(...ends);
}

/** When the next role in a vault ends, and with it a part of the grant; null if none does. */
export function nextEnd({ vaultRoles, within }: Grant): number | null {
  let next = within && nextEnd(within);
  for (const roles of vaultRoles.values()) for (const { until } of roles) next = earliest(next, until);
  return next;
}

/** When a grant ends as a whole or in part; null if it doesn't. */
export function endOfRights(grant: Grant): number | null {
  return earliest(grant.until, nextEnd(grant));
}

/** The earliest of these times; null stands for no end. */
export function earliest(...times: readonly (number | null)[]): number | null {
  const end = Math.min(...times.map(time => time ?? forever));
  return Number.isFinite(end) ? end : null;
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
    own.some(one => roleAllowsInVault(one.role, action)) ? id : [],
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
  return actions.every(action => {
    const vaults = vaultsOf(wanted, action);
    return (
      includes(vaultsOf(maker, action), vaults) &&
      vaults?.every(id => lasts(maker, wanted, action, id)) !== false
    );
  });
}

/** Whether the creator has an action in a vault for as long as they give it. */
function lasts(maker: Grant, wanted: Grant, action: Action, vaultId: string): boolean {
  return allowsUntil(maker, action, earliest(wanted.until, endOfAll(wanted, [action], vaultId)), vaultId);
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
 * to names. For granting, using a value counts as reading it, and operations with keys as the permission to use them.
 */
export function shownByAccessKey({ kinds, namesOnly, mayUse, operations = null }: Shown): readonly Action[] {
  const reads = !namesOnly || mayUse;
  const operates = operations !== null && (kinds ?? resourceKinds).includes('key');
  return [
    'vaults:read',
    ...(operates ? (['keys:use'] as const) : []),
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
  /** Operations with keys; null for those that need no permission beyond reading. */
  readonly operations?: readonly GrantedOperation[] | null;
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
    ...(tells('role') ? (['members:read'] as const) : []),
    ...(tells('stage') ? (['vaults:read', 'secrets:read'] as const) : []),
    ...(tells('proposal') ? (['proposals:read', ...resourceReads] as const) : []),
    ...(tells('lease') ? (['leases:read'] as const) : []),
    ...(tells('run') ? (['runs:read'] as const) : []),
    ...(tells('secret') ? (['vaults:read', 'secrets:read'] as const) : []),
    ...(tells('rotation') ? (['vaults:read', 'secrets:read'] as const) : []),
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
