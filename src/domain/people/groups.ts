/**
 * Groups of members who have the same roles in the same vaults. Adding a member to a group, or granting it a role,
 * gives its members what it has, so it requires having at least that. The single sign-on issuer can determine who is
 * in a group, by its name, each time a person signs in through it.
 */
import type { Caller } from '../../access/caller.ts';
import { type Action, endOfRights, grantOfRole, mayGrant } from '../../access/policy.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import {
  type GrantQuery,
  type Group,
  type GroupCreate,
  type GroupUpdate,
  mostInGroup,
} from '../../contract/members.ts';
import { iso } from '../../contract/text.ts';
import type { MemberGroupRow } from '../../store/records/member-groups.ts';
import type { MemberRow } from '../../store/records/organizations.ts';
import {
  type GrantedVault,
  inVaultAt,
  memberIdsIn,
  presentGrant,
  signedOnIdsIn,
  vaultGrantsIn,
  vaultRolesOf,
} from '../credentials/member-rights.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import { revisedRecords } from '../kernel/revised-records.ts';
import { named } from '../kernel/row-check.ts';
import type { MaybeAllowed, SubjectChange } from '../kernel/subjects.ts';
import type { Records } from '../resources/records.ts';
import { notFoundIn } from '../resources/subject.ts';
import { groupsOf } from './people.ts';
import { checkVaults, grantsAfter, grantsText } from './vault-grants.ts';

export type Groups = ReturnType<typeof groupsWith>;

type Writing = Permit<'members:write'>;

export function groupsWith(parts: Parts, records: Records) {
  const { store, stamps, guard, now, newId } = parts;

  const { list, get, change, revise, remove } = revisedRecords(parts, {
    noun: 'members',
    stamper: stamps.memberGroup,
    byId: store.memberGroups.byId,
    page: ({ caller, vaults }, page, { q, vault_id }: GrantQuery) =>
      vaults === null
        ? store.memberGroups.page(caller.organizationId, page, { q, inVault: inVaultAt(vault_id, now()) })
        : null,
    present: rows => rows.map(row => presentGroup(row, now())),
    update: store.memberGroups.update,
    subject: row => groupChange(row, now()),
  });

  /** A group's roles are granted without a time limit; taking away requires only the rank. */
  function checkGrant(caller: Caller, group: Pick<MemberGroupRow, 'grants'>, until?: number | null) {
    if (mayGrant(caller, { ...grantOfRole('none', until), vaultRoles: vaultRolesOf([group], now()) })) return;
    throw new Failure('FORBIDDEN', { message: 'A group can’t have more permissions than the caller' });
  }

  async function checkMembers(permit: Writing, ids: readonly string[], before: readonly string[] = []) {
    const missing = notFoundIn('member_ids', 'must name members by their ids');
    for (const id of ids.filter(one => !before.includes(one))) {
      const row = await store.organizations.member(permit.caller.organizationId, id);
      stamps.member.believe(await guard.found(permit, row).catch(missing));
    }
  }

  return {
    all: async (organizationId: string): Promise<MemberGroupRow[]> =>
      (await store.memberGroups.all(organizationId)).map(stamps.memberGroup.believe),

    /** The groups of a member, revised so that they no longer contain the member. */
    without: async (member: MemberRow): Promise<MemberGroupRow[]> =>
      (await groupsOf(parts, member)).map(group => {
        const others = (ids: string[]) => JSON.stringify(ids.filter(id => id !== member.id));
        const columns = {
          member_ids: others(memberIdsIn(group)),
          signed_on_ids: others(signedOnIdsIn(group)),
        };
        return stamps.memberGroup.revise(group, columns, now());
      }),

    list,
    get,

    async create(
      permit: Writing,
      { name, grants: wanted, member_ids = [], single_sign_on }: GroupCreate,
    ): Promise<Group> {
      const { caller } = permit;
      const grants = grantsAfter([], { grants: wanted }, now());
      const row = stamps.memberGroup.create(now(), {
        id: newId(),
        organization_id: caller.organizationId,
        ...named(name),
        grants: grantsText(grants),
        member_ids: JSON.stringify(member_ids),
        single_sign_on: single_sign_on ? 1 : 0,
        signed_on_ids: '[]',
      });
      checkGrant(caller, row);
      await checkVaults(records, permit, grants);
      await checkMembers(permit, member_ids);
      await change(permit, 'group.created', row, {
        statements: [store.memberGroups.insert(row)],
        touches: [row.id, ...member_ids],
      });
      return presentGroup(row, now());
    },

    async update(permit: Writing, id: string, body: GroupUpdate): Promise<Group> {
      const { caller } = permit;
      return revise(permit, id, 'group.updated', async (before, next) => {
        checkGrant(caller, before, endOfRights(caller));
        const held = vaultGrantsIn(before, now());
        const row = next(changedColumns(before, body, grantsAfter(held, body, now())));
        checkGrant(caller, row);
        await checkVaults(records, permit, vaultGrantsIn(row, now()), held);
        await checkMembers(permit, memberIdsIn(row), memberIdsIn(before));
        return { row, touches: [id, ...membersOf(before, row)] };
      });
    },

    remove: (permit: Writing, id: string): Promise<void> =>
      remove(permit, id, 'group.deleted', before => {
        checkGrant(permit.caller, before, endOfRights(permit.caller));
        return {
          statements: [store.memberGroups.remove(id, before.revision)],
          touches: [id, ...membersOf(before)],
        };
      }),
  };
}

/** The members whose rights change with these groups. */
export function membersOf(...groups: readonly MemberGroupRow[]): string[] {
  return [...new Set(groups.flatMap(group => [...memberIdsIn(group), ...signedOnIdsIn(group)]))];
}

export function groupChange<A extends Action = never>(
  row: MaybeAllowed<MemberGroupRow, A>,
  now: number,
): SubjectChange<A> {
  const details = { grants: vaultGrantsIn(row, now).map(presentGrant), member_ids: membersOf(row) };
  return { type: 'group', id: row.id, name: row.name, revision: row.revision, details, lasts: 'without end' };
}

/** Either a new list, or changes to the existing one. */
function membersAfter(
  before: readonly string[],
  { member_ids, add_member_ids = [], remove_member_ids = [] }: GroupUpdate,
): readonly string[] {
  const after = new Set([...(member_ids ?? before), ...add_member_ids]);
  for (const id of remove_member_ids) after.delete(id);
  if (after.size > mostInGroup)
    throw invalid('add_member_ids', `must leave at most ${mostInGroup} entries in member_ids`);
  return [...after];
}

/** Members added by the issuer are removed when the group no longer follows the issuer, or gets another name. */
function changedColumns(
  row: MemberGroupRow,
  body: GroupUpdate,
  grants: readonly GrantedVault[],
): Partial<MemberGroupRow> {
  const { name = row.name, single_sign_on = row.single_sign_on === 1 } = body;
  const isAsBefore = single_sign_on && name === row.name;
  return {
    ...named(name),
    grants: grantsText(grants),
    member_ids: JSON.stringify(membersAfter(memberIdsIn(row), body)),
    single_sign_on: single_sign_on ? 1 : 0,
    signed_on_ids: isAsBefore ? row.signed_on_ids : '[]',
  };
}

function presentGroup(row: MemberGroupRow, now: number): Group {
  return {
    id: row.id,
    name: row.name,
    grants: vaultGrantsIn(row, now).map(presentGrant),
    member_ids: memberIdsIn(row),
    single_sign_on: row.single_sign_on === 1,
    signed_on_member_ids: signedOnIdsIn(row),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
