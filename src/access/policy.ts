/**
 * Who may do what, as tables that can be read. Pure: no look-up, no clock. Managing is not reading: an admin
 * runs the house without seeing a value. Nobody grants more than he has.
 */
import { roleNames, scopeNames } from '../contract/access.ts';
import type { Caller } from './caller.ts';

export const roles = roleNames;
export type Role = (typeof roles)[number];

/** Every action has the name of the scope that allows it. */
export const actions = scopeNames;
export type Action = (typeof actions)[number];

const resourceReads: readonly Action[] = ['vaults:read', 'secrets:read', 'keys:read', 'certificates:read'];
const resourceWrites: readonly Action[] = [
  'vaults:write',
  'secrets:write',
  'keys:write',
  'certificates:write',
];
const reveals: readonly Action[] = ['secrets:reveal', 'keys:reveal'];
const accessReads: readonly Action[] = ['access-keys:read', 'public-tokens:read'];
const accessWrites: readonly Action[] = ['access-keys:write', 'public-tokens:write'];
const everyRead = actions.filter(action => action.endsWith(':read'));

const grants: Record<Role, ReadonlySet<Action>> = {
  owner: new Set(actions),
  admin: new Set(actions.filter(action => !reveals.includes(action))),
  editor: new Set([
    ...resourceReads,
    ...resourceWrites,
    ...reveals,
    ...accessReads,
    ...accessWrites,
    'organization:read' as const,
  ]),
  viewer: new Set([...resourceReads, ...accessReads, 'organization:read' as const]),
  auditor: new Set(everyRead),
};

/** What an action is aimed at. No vault means the organization as a whole. */
export interface Target {
  readonly organizationId: string;
  readonly vaultId?: string | undefined;
}

/** What a credential or a member is given. `null` narrows nothing. */
export interface Grant {
  readonly role: Role;
  readonly scopes: readonly Action[] | null;
  readonly vaultIds: readonly string[] | null;
}

export function roleAllows(role: Role, action: Action): boolean {
  return Object.hasOwn(grants, role) && grants[role].has(action);
}

/** Whether a grant holds the action at all, in whichever vault. */
export function holds(grant: Grant, action: Action): boolean {
  return roleAllows(grant.role, action) && (grant.scopes === null || grant.scopes.includes(action));
}

export function allows(caller: Caller, action: Action, target: Target): boolean {
  if (caller.organizationId !== target.organizationId) return false;
  if (!holds(caller, action)) return false;
  if (caller.vaultIds === null) return true;
  return target.vaultId !== undefined && caller.vaultIds.includes(target.vaultId);
}

/** Every action of the wanted grant, in every vault of it, must already be the maker's. */
export function mayGrant(maker: Grant, wanted: Grant): boolean {
  if (!within(maker.vaultIds, wanted.vaultIds)) return false;
  return actions.every(action => !holds(wanted, action) || holds(maker, action));
}

function within(outer: readonly string[] | null, inner: readonly string[] | null): boolean {
  if (outer === null) return true;
  return inner?.every(item => outer.includes(item)) ?? false;
}
