/** Members of an organization and their roles. Inviting is granting: nobody hands out more than he has. */
import type { Caller } from '../access/caller.ts';
import { mayGrant, type Role } from '../access/policy.ts';
import type { Member, MemberCreate, MemberUpdate } from '../contract/access.ts';
import type { SearchQuery } from '../contract/common.ts';
import { Failure } from '../contract/errors.ts';
import { iso } from '../contract/text.ts';
import type { MemberRow } from '../store/organizations.ts';
import { inviteAgain, inviteNew, newMember } from './accounts/invitations.ts';
import { type Collection, listOf } from './collection.ts';
import { retryingStale } from './guard.ts';
import type { Parts } from './parts.ts';

export interface Members extends Collection<Member, MemberCreate, MemberUpdate, SearchQuery> {
  /** A new link for a member, who is signed out everywhere and proves himself anew by it. */
  invite(caller: Caller, id: string): Promise<Member>;
}

export function membersWith(parts: Parts): Members {
  const { store, stamps, guard, now, newId } = parts;

  async function find(caller: Caller, id: string): Promise<MemberRow> {
    const row = await store.organizations.member(caller.organizationId, id);
    if (row === undefined || caller.vaultIds !== null) throw new Failure('NOT_FOUND');
    return stamps.member.believe(row);
  }

  function checkGrant(caller: Caller, role: Role): void {
    if (mayGrant(caller, { role, scopes: null, vaultIds: null })) return;
    throw new Failure('FORBIDDEN', { message: 'A member can be given no more than the one who invites has' });
  }

  /** An organization whose members include an owner keeps one: nobody else could put one back. */
  async function keepAnOwner({ role, state, organization_id }: MemberRow): Promise<void> {
    if (role !== 'owner' || state !== 'active') return;
    if ((await store.accounts.activeOwners(organization_id)) > 1) return;
    throw new Failure('CONFLICT', { message: 'The last owner stays an owner; make another one first' });
  }

  function subject(row: MemberRow) {
    return { type: 'member', id: row.id, name: row.email, revision: row.revision };
  }

  return {
    async list(caller, query) {
      await guard.admit(caller, 'members:read');
      if (caller.vaultIds !== null) return listOf<Member>([], 0, query);
      const page = { page: query.page, limit: query.limit, asOf: query.as_of };
      const { rows, total } = await store.organizations.memberPage(caller.organizationId, page, query.q);
      return listOf(
        rows.map(row => presentMember(stamps.member.believe(row))),
        total,
        query,
      );
    },

    async get(caller, id) {
      await guard.admit(caller, 'members:read');
      return presentMember(await find(caller, id));
    },

    async create(caller, { email, role }) {
      await guard.admit(caller, 'members:write');
      checkGrant(caller, role);
      const row = newMember(parts, { id: newId(), organizationId: caller.organizationId, email, role });
      const { token, subjects, statements } = inviteNew(parts, row);
      await guard.change(caller, 'members:write', 'member.invited', {
        subjects: [subject(row), ...subjects],
        statements: [store.organizations.insertMember(row), ...statements],
        unique: 'email',
      });
      return { ...presentMember(row), token };
    },

    async invite(caller, id) {
      await guard.admit(caller, 'members:write');
      return retryingStale(async () => {
        const before = await find(caller, id);
        checkGrant(caller, before.role as Role);
        await keepAnOwner(before);
        const row = stamps.member.revise(before, { state: 'invited' }, now());
        const { token, subjects, statements } = await inviteAgain(parts, row);
        await guard.change(caller, 'members:write', 'member.invited', {
          subjects: [subject(row), ...subjects],
          statements: [store.organizations.updateMember(row), ...statements],
          touches: [id],
        });
        return { ...presentMember(row), token };
      });
    },

    async update(caller, id, { role }) {
      await guard.admit(caller, 'members:write');
      return retryingStale(async () => {
        const before = await find(caller, id);
        checkGrant(caller, before.role as Role);
        checkGrant(caller, role ?? (before.role as Role));
        if (role !== undefined && role !== 'owner') await keepAnOwner(before);
        const row = stamps.member.revise(before, { role: role ?? before.role }, now());
        await guard.change(caller, 'members:write', 'member.updated', {
          subjects: [subject(row)],
          statements: [store.organizations.updateMember(row)],
          touches: [row.id],
        });
        return presentMember(row);
      });
    },

    async remove(caller, id) {
      await guard.admit(caller, 'members:write');
      await retryingStale(async () => {
        const before = await find(caller, id);
        checkGrant(caller, before.role as Role);
        await keepAnOwner(before);
        await guard.change(caller, 'members:write', 'member.removed', {
          subjects: [{ ...subject(before), revision: before.revision + 1 }],
          statements: [store.organizations.removeMember(id, before.revision)],
          touches: [id],
        });
      });
    },
  };
}

function presentMember(row: MemberRow): Member {
  return {
    id: row.id,
    name: row.email,
    email: row.email,
    role: row.role as Role,
    state: row.state as Member['state'],
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
