/** Members of an organization and their roles. Inviting is granting: nobody hands out more than he has. */
import type { Caller } from '../access/caller.ts';
import { mayGrant, type Role } from '../access/policy.ts';
import type { Member, MemberCreate, MemberUpdate } from '../contract/access.ts';
import type { SearchQuery } from '../contract/common.ts';
import { Failure } from '../contract/errors.ts';
import { iso } from '../contract/text.ts';
import type { MemberRow } from '../store/organizations.ts';
import { type Collection, listOf } from './collection.ts';
import { retryingStale } from './guard.ts';
import type { Parts } from './parts.ts';

export type Members = Collection<Member, MemberCreate, MemberUpdate, SearchQuery>;

export function membersWith({ store, stamps, guard, now, newId }: Parts): Members {
  async function find(caller: Caller, id: string): Promise<MemberRow> {
    const row = await store.organizations.member(caller.organizationId, id);
    if (row === undefined || caller.vaultIds !== null) throw new Failure('NOT_FOUND');
    return stamps.member.believe(row);
  }

  function checkGrant(caller: Caller, role: Role): void {
    if (mayGrant(caller, { role, scopes: null, vaultIds: null })) return;
    throw new Failure('FORBIDDEN', { message: 'A member can be given no more than the one who invites has' });
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
      const time = now();
      const row = stamps.member.stamp({
        id: newId(),
        organization_id: caller.organizationId,
        email,
        email_key: emailKey(email),
        role,
        state: 'invited',
        created_at: time,
        updated_at: time,
        revision: 1,
      });
      await guard.change(caller, 'members:write', 'member.invited', {
        subjects: [subject(row)],
        statements: [store.organizations.insertMember(row)],
        unique: 'email',
      });
      return presentMember(row);
    },

    async update(caller, id, { role }) {
      await guard.admit(caller, 'members:write');
      return retryingStale(async () => {
        const before = await find(caller, id);
        checkGrant(caller, before.role as Role);
        if (role !== undefined) checkGrant(caller, role);
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
        await guard.change(caller, 'members:write', 'member.removed', {
          subjects: [{ ...subject(before), revision: before.revision + 1 }],
          statements: [store.organizations.removeMember(id, before.revision)],
          touches: [id],
        });
      });
    },
  };
}

/** One key for every spelling of an address: case, width and surrounding space make no second account. */
export function emailKey(email: string): string {
  return email.normalize('NFKC').trim().toLowerCase();
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
