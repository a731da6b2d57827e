/**
 * Groups of members who have the same roles in the same vaults. Adding a member to a group, or granting it a role,
 * gives its members what it has, so it requires having at least that. The single sign-on issuer can determine who is
 * in a group, by its name, each time a person signs in through it.
 */
import type { Caller } from '../../access/caller.ts';
import { type Action, grantOfRole, mayGrant } from '../../access/policy.ts';
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
import { memberIdsIn, signedOnIdsIn, vaultGrantsIn, vaultRolesOf } from '../credentials/member-rights.ts';
import { type Collection, listOf } from '../kernel/collection.ts';
import type { Permit } from '../kernel/guard.ts';
import type { Parts } from '../kernel/parts.ts';
import { searched } from '../kernel/row-check.ts';
import { retryingStale } from '../kernel/stale-changes.ts';
import type { MaybeAllowed, SubjectChange } from '../kernel/subjects.ts';
import type { Records } from '../resources/records.ts';
import { notFoundAs } from '../resources/subject.ts';
import { groupsOf } from './people.ts';
import { checkVaults, grantsAfter, grantsText } from './vault-grants.ts';

export interface Groups extends Collection<Group, GroupCreate, GroupUpdate, GrantQuery> {
  /** The verified rows of all groups. */
  all(organizationId: string): Promise<MemberGroupRow[]>;
  /** The groups of a member, revised so that they no longer contain the member. */
  without(member: MemberRow): Promise<MemberGroupRow[]>;
}

type Writing = Permit<'members:write'>;

export function groupsWith(parts: Parts, records: Records): Groups {
  const { store, stamps, guard, now, newId } = parts;

  async function find<A extends Action>(permit: Permit<A>, id: string) {
    const row = await store.memberGroups.byId(permit.caller.organizationId, id);
    return stamps.memberGroup.believe(await guard.found(permit, row));
  }

  /** A group's roles are granted without a time limit; taking away requires only the rank. */
  function checkGrant(caller: Caller, group: Pick<MemberGroupRow, 'grants'>, until?: number | null) {
    if (mayGrant(caller, { ...grantOfRole('none', until), vaultRoles: vaultRolesOf([group]) })) return;
    throw new Failure('FORBIDDEN', {
      message: 'A group can’t have more permissions than the caller',
    });
  }

  async function checkMembers(permit: Writing, ids: readonly string[], before: readonly string[] = []) {
    const missing = new Failure('NOT_FOUND', {
      field: 'member_ids',
      reason: 'must name members by their ids',
    });
    for (const id of ids.filter(one => !before.includes(one))) {
      const row = await store.organizations.member(permit.caller.organizationId, id);
      stamps.member.believe(await guard.found(permit, row).catch(notFoundAs(missing)));
    }
  }

  return {
    all: async organizationId =>
      (await store.memberGroups.all(organizationId)).map(stamps.memberGroup.believe),

    without: async member =>
      (await groupsOf(parts, member)).map(group => {
        const others = (ids: string[]) => JSON.stringify(ids.filter(id => id !== member.id));
        const columns = {
          member_ids: others(memberIdsIn(group)),
          signed_on_ids: others(signedOnIdsIn(group)),
        };
        return stamps.memberGroup.revise(group, columns, now());
      }),

    async list(caller, query) {
      const { vaults } = await guard.admit(caller, 'members:read');
      if (vaults !== null) return listOf<Group>([], 0, query);
      const page = { page: query.page, limit: query.limit, asOf: query.as_of };
      const filter = { q: query.q, vaultId: query.vault_id };
      const { rows, total } = await store.memberGroups.page(caller.organizationId, page, filter);
      return listOf(
        rows.map(row => presentGroup(stamps.memberGroup.believe(row))),
        total,
        query,
      );
    },

    async get(caller, id) {
      return presentGroup(await find(await guard.admit(caller, 'members:read'), id));
    },

    async create(caller, { name, grants = [], member_ids = [], single_sign_on }) {
      const permit = await guard.admit(caller, 'members:write');
      const time = now();
      const row = stamps.memberGroup.stamp({
        id: newId(),
        organization_id: caller.organizationId,
        ...named(name),
        grants: grantsText(grants),
        member_ids: JSON.stringify(member_ids),
        single_sign_on: single_sign_on ? 1 : 0,
        signed_on_ids: '[]',
        created_at: time,
        updated_at: time,
        revision: 1,
      });
      checkGrant(caller, row);
      await checkVaults(records, permit, grants);
      await checkMembers(permit, member_ids);
      await guard.change(permit, 'group.created', {
        subjects: [groupChange(row)],
        statements: [store.memberGroups.insert(row)],
        touches: [row.id, ...member_ids],
      });
      return presentGroup(row);
    },

    async update(caller, id, body) {
      const permit = await guard.admit(caller, 'members:write');
      return retryingStale(async () => {
        const before = await find(permit, id);
        checkGrant(caller, before, caller.until);
        const row = stamps.memberGroup.revise(before, changedColumns(before, body), now());
        checkGrant(caller, row);
        await checkVaults(records, permit, vaultGrantsIn(row), vaultGrantsIn(before));
        await checkMembers(permit, memberIdsIn(row), memberIdsIn(before));
        await guard.change(permit, 'group.updated', {
          subjects: [groupChange(row)],
          statements: [store.memberGroups.update(row)],
          touches: [id, ...membersOf(before, row)],
        });
        return presentGroup(row);
      });
    },

    async remove(caller, id) {
      const permit = await guard.admit(caller, 'members:write');
      await retryingStale(async () => {
        const before = await find(permit, id);
        checkGrant(caller, before, caller.until);
        await guard.change(permit, 'group.deleted', {
          subjects: [{ ...groupChange(before), revision: before.revision + 1 }],
          statements: [store.memberGroups.remove(id, before.revision)],
          touches: [id, ...membersOf(before)],
        });
      });
    },
  };
}

/** The members whose rights change with these groups. */
export function membersOf(...groups: readonly MemberGroupRow[]): string[] {
  return [...new Set(groups.flatMap(group => [...memberIdsIn(group), ...signedOnIdsIn(group)]))];
}

export function groupChange<A extends Action = never>(
  row: MaybeAllowed<MemberGroupRow, A>,
): SubjectChange<A> {
  const details = { grants: vaultGrantsIn(row), member_ids: membersOf(row) };
  return { type: 'group', id: row.id, name: row.name, revision: row.revision, details, lasts: 'without end' };
}

function named(name: string): Pick<MemberGroupRow, 'name' | 'name_search'> {
  return { name, name_search: searched(name) };
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
function changedColumns(row: MemberGroupRow, body: GroupUpdate): Partial<MemberGroupRow> {
  const { name = row.name, single_sign_on = row.single_sign_on === 1 } = body;
  const isAsBefore = single_sign_on && name === row.name;
  return {
    ...named(name),
    grants: grantsText(grantsAfter(vaultGrantsIn(row), body)),
    member_ids: JSON.stringify(membersAfter(memberIdsIn(row), body)),
    single_sign_on: single_sign_on ? 1 : 0,
    signed_on_ids: isAsBefore ? row.signed_on_ids : '[]',
  };
}

function presentGroup(row: MemberGroupRow): Group {
  return {
    id: row.id,
    name: row.name,
    grants: vaultGrantsIn(row),
    member_ids: memberIdsIn(row),
    single_sign_on: row.single_sign_on === 1,
    signed_on_member_ids: signedOnIdsIn(row),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
