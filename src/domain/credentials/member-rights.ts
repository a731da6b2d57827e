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
  type VaultRole,
  type VaultRoles,
} from '../../access/policy.ts';
import type { VaultGrant } from '../../contract/members.ts';
import { iso } from '../../contract/text.ts';
import type { AccountRow } from '../../store/records/accounts.ts';
import type { MemberGroupRow } from '../../store/records/member-groups.ts';
import type { MemberRow } from '../../store/records/organizations.ts';
import { ending, type InVault } from '../../store/records/vault-roles.ts';

export interface Holder {
  readonly member: MemberRow;
  readonly account: AccountRow;
  readonly groups: readonly MemberGroupRow[];
}

export interface GrantedVault extends VaultRole {
  readonly vault_id: string;
}

interface StoredGrant {
  readonly vault_id: string;
  /** With its end, if it has one: a replica of an earlier release doesn't know such a role, and grants nothing. */
  readonly role: string;
}

export function storedGrant({ vault_id, role, until }: GrantedVault): StoredGrant {
  return { vault_id, role: until === null ? role : `${role}${ending}${iso(until)}` };
}

/** The roles in vaults that have not ended. */
export function vaultGrantsIn({ grants }: Pick<MemberRow, 'grants'>, now: number): GrantedVault[] {
  return (JSON.parse(grants) as StoredGrant[])
    .map(readBack)
    .filter(({ until }) => until === null || now < until);
}

/** For a list of those who have a role in a vault; all of them if none is named. */
export function inVaultAt(vaultId: string | undefined, now: number): InVault | undefined {
  return vaultId === undefined ? undefined : { vaultId, now };
}

function readBack({ vault_id, role: stored }: StoredGrant): GrantedVault {
  const [role, end] = stored.split(ending) as [GrantedRole, string?];
  return { vault_id, role, until: end === undefined ? null : Date.parse(end) };
}

/** Sorted and without repetition, so that equal sets of roles compare equal. */
export function vaultRolesOf(rows: readonly Pick<MemberRow, 'grants'>[], now: number): VaultRoles {
  const found = Map.groupBy(
    rows.flatMap(row => vaultGrantsIn(row, now)),
    ({ vault_id }) => vault_id,
  );
  const inOrder = [...found].sort(([one], [another]) => (one < another ? -1 : 1));
  return new Map(inOrder.map(([id, grants]) => [id, distinct(grants)]));
}

function distinct(grants: readonly GrantedVault[]): VaultRole[] {
  const found = new Map(grants.map(({ role, until }) => [`${role} ${until}`, { role, until }]));
  return [...found].sort(([one], [another]) => (one < another ? -1 : 1)).map(([, role]) => role);
}

export function rolesListed(vaultRoles: VaultRoles): VaultGrant[] {
  return [...vaultRoles].flatMap(([vault_id, roles]) =>
    roles.map(role => presentGrant({ vault_id, ...role })),
  );
}

export function presentGrant({ vault_id, role, until }: GrantedVault): VaultGrant {
  return { vault_id, role, ...(until === null ? {} : { until: iso(until) }) };
}

/** A member's rights at this time: roles that have ended give nothing. */
export function rightsOf({ member, groups }: Pick<Holder, 'member' | 'groups'>, now: number): Grant {
  return { ...grantOfRole(member.role as Role), vaultRoles: vaultRolesOf([member, ...groups], now) };
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
