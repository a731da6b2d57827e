/** How roles are described. A member without a role in the organization is described by the vaults they have. */
import { grantedRoles, type Role, roles, type VaultGrant } from '../api/types.ts';

const texts: Readonly<Record<Role, string>> = {
  owner: 'owner – can do everything',
  admin: 'admin – manages everything, can’t reveal values',
  editor: 'editor – creates, edits and reveals resources in vaults',
  writer: 'writer – creates and edits resources, can’t reveal values',
  reader: 'reader – reveals values, can’t change anything',
  viewer: 'viewer – sees resources, can’t reveal values',
  auditor: 'auditor – sees everything including logs, can’t change anything',
  none: 'no role in the organization – only the vaults given to them',
};

export const roleChoices = roles.map(role => [role, texts[role]] as const);

/** For an API key, and for a role in a single vault. */
export const grantedRoleChoices = grantedRoles.map(role => [role, texts[role]] as const);

/** A member's role in the organization, in a word. */
export function roleName(role: string): string {
  return role === 'none' ? 'single vaults' : role;
}

/** The same for the person who is signed in, with the number of their vaults. */
export function ownRole(role: string, grants: readonly VaultGrant[]): string {
  if (role !== 'none') return role;
  const count = new Set(grants.map(({ vault_id }) => vault_id)).size;
  if (count === 0) return 'no vaults yet';
  return count === 1 ? '1 vault' : `${count} vaults`;
}
