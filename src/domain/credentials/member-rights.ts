/**
 * A member's rights: their role in the organization, and the roles granted to them and their groups in single vaults.
 * Their credentials never have more, so the authority of a credential rests on the same rows.
 */
import type { ProvenBy } from '../../access/caller.ts';
import {
  type Grant,
  type GrantedRole,
  grantOfRole,
  type Role,
  type VaultRoles,
} from '../../access/policy.ts';
import type { AccountRow } from '../../store/records/accounts.ts';
import type { MemberGroupRow } from '../../store/records/member-groups.ts';
import type { MemberRow } from '../../store/records/organizations.ts';

export interface Holder {
  readonly member: MemberRow;
  readonly account: AccountRow;
  readonly groups: readonly MemberGroupRow[];
}

interface GrantedVault {
  readonly vault_id: string;
  readonly role: GrantedRole;
}

export function vaultGrantsIn({ grants }: Pick<MemberRow, 'grants'>): GrantedVault[] {
  return JSON.parse(grants) as GrantedVault[];
}

/** Sorted, so that equal sets of roles compare equal. */
export function vaultRolesOf(rows: readonly Pick<MemberRow, 'grants'>[]): VaultRoles {
  const found = Map.groupBy(rows.flatMap(vaultGrantsIn), ({ vault_id }) => vault_id);
  const inOrder = [...found].sort(([one], [another]) => (one < another ? -1 : 1));
  return new Map(inOrder.map(([id, grants]) => [id, [...new Set(grants.map(({ role }) => role))].sort()]));
}

export function rolesListed(vaultRoles: VaultRoles): GrantedVault[] {
  return [...vaultRoles].flatMap(([vault_id, roles]) => roles.map(role => ({ vault_id, role })));
}

export function rightsOf({ member, groups }: Pick<Holder, 'member' | 'groups'>): Grant {
  return { ...grantOfRole(member.role as Role), vaultRoles: vaultRolesOf([member, ...groups]) };
}

export function rightsProvenBy({ member, groups }: Pick<Holder, 'member' | 'groups'>): ProvenBy[] {
  return [
    { table: 'members', id: member.id, revision: member.revision },
    ...groups.map(({ id, revision }) => ({ table: 'member_groups' as const, id, revision })),
  ];
}

export function memberIdsIn({ member_ids }: Pick<MemberGroupRow, 'member_ids'>): string[] {
  return JSON.parse(member_ids) as string[];
}

export function signedOnIdsIn({ signed_on_ids }: Pick<MemberGroupRow, 'signed_on_ids'>): string[] {
  return JSON.parse(signed_on_ids) as string[];
}

export function isIn(group: MemberGroupRow, memberId: string): boolean {
  return memberIdsIn(group).includes(memberId) || signedOnIdsIn(group).includes(memberId);
}
