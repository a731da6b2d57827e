/**
 * Who may do what, by the one list of permissions. Pure: no look-up, no clock. Nobody gives or gains what they could
 * not read themselves: what a credential or a webhook would show is a list of actions, and its maker must hold them all.
 */
import { type Permission, permissions, roleNames, scopeNames } from '../contract/names.ts';
import type { EventKind } from '../contract/webhooks.ts';
import { type Caller, type ResourceKind, resourceKinds } from './caller.ts';

export const roles = roleNames;
export type Role = (typeof roles)[number];

/** Every action has the name of the permission that it takes. */
export const actions = scopeNames;
export type Action = Permission;

const resourceTypes = ['vault', ...resourceKinds] as const;
export const resourceReads = resourceTypes.map(type => `${type}s:read` as const);
export const resourceWrites = resourceTypes.map(type => `${type}s:write` as const);

/** The target of an action. No vault means the organization as a whole. */
export interface Target {
  /** Null for what is the deployment's own, which nobody is given. */
  readonly organizationId: string | null;
  readonly vaultId?: string | undefined;
}

/** What a credential or a member is granted. `null` means no restriction. */
export interface Grant {
  readonly role: Role;
  readonly scopes: readonly Action[] | null;
  readonly vaultIds: readonly string[] | null;
  /** When it ends; null for never. */
  readonly until: number | null;
}

export function roleAllows(role: Role, action: Action): boolean {
  return Object.hasOwn(permissions, action) && (permissions[action] as readonly Role[]).includes(role);
}

/** Whether a grant includes the action in any vault. */
export function holds(grant: Grant, action: Action): boolean {
  return roleAllows(grant.role, action) && (grant.scopes === null || grant.scopes.includes(action));
}

/** Whether a caller is given what lies there, whatever they may do with it. */
export function reaches(caller: Caller, target: Target): boolean {
  if (caller.organizationId !== target.organizationId) return false;
  if (caller.vaultIds === null) return true;
  return target.vaultId !== undefined && caller.vaultIds.includes(target.vaultId);
}

/**
 * Every action of the requested grant, in each of its vaults and for its whole lifetime, must already be granted to
 * its creator.
 */
export function mayGrant(maker: Grant, wanted: Grant): boolean {
  if (!within(maker.vaultIds, wanted.vaultIds) || outlives(maker, wanted.until)) return false;
  return actions.every(action => !holds(wanted, action) || holds(maker, action));
}

/** What reading the value itself takes; a certificate has none that its record doesn't show. */
export const readsValue: Readonly<Record<ResourceKind, Action>> = {
  secret: 'secrets:reveal',
  key: 'keys:reveal',
  certificate: 'certificates:read',
};

/**
 * What the holder of an access key sees: the vault, the names of these kinds, and their values unless it is
 * restricted to names. To have a value used is not less than to read it, for whoever gives that away.
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

/** What an access key is restricted to. */
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
export function outlives({ until }: Grant, wanted: number | null): boolean {
  return until !== null && (wanted === null || wanted > until);
}

function within(outer: readonly string[] | null, inner: readonly string[] | null): boolean {
  if (outer === null) return true;
  return inner?.every(item => outer.includes(item)) ?? false;
}
