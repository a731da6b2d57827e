/** Members of an organization and their roles. Inviting is granting: nobody can grant more than they have. */
import type { Caller } from '../../access/caller.ts';
import { type Action, mayGrant, type Role } from '../../access/policy.ts';
import type { InvitedMember, Member, MemberCreate, MemberUpdate } from '../../contract/access.ts';
import type { SearchQuery } from '../../contract/common.ts';
import { Failure } from '../../contract/errors.ts';
import { iso } from '../../contract/text.ts';
import type { Statement } from '../../store/engine.ts';
import type { MemberRow } from '../../store/organizations.ts';
import { type Collection, listOf } from '../kernel/collection.ts';
import { type Permit, retryingStale } from '../kernel/guard.ts';
import type { Parts } from '../kernel/parts.ts';
import type { MaybeAllowed, SubjectChange } from '../kernel/subjects.ts';
import { inviteAgain, inviteNew, newMember } from './invitations.ts';

export interface Members extends Collection<Member, MemberCreate, MemberUpdate, SearchQuery, InvitedMember> {
  /** A new invitation for a member, who is signed out everywhere and must use it to sign in again. */
  invite(caller: Caller, id: string): Promise<InvitedMember>;
}

export function membersWith(parts: Parts): Members {
  const { store, stamps, guard, now, newId } = parts;

  async function find<A extends Action>(permit: Permit<A>, id: string) {
    const row = await store.organizations.member(permit.caller.organizationId, id);
    return stamps.member.believe(guard.found(permit, row));
  }

  /** A member stays until someone removes them, so that is given for ever; taking away asks for the rank alone. */
  function checkGrant(caller: Caller, role: Role, until: number | null = null): void {
    if (mayGrant(caller, { role, scopes: null, vaultIds: null, until })) return;
    throw new Failure('FORBIDDEN', {
      message: 'A member can’t be given more permissions than the person inviting them',
    });
  }

  /** An organization whose members include an owner keeps one: nobody else could put one back. */
  function keepAnOwner({ id, role, state, organization_id }: MemberRow): Statement[] {
    const isOwner = role === 'owner' && state === 'active';
    return isOwner ? [store.conditions.anotherOwner(organization_id, id)] : [];
  }

  function subject<A extends Action = never>(row: MaybeAllowed<MemberRow, A>): SubjectChange<A> {
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
      return presentMember(await find(await guard.admit(caller, 'members:read'), id));
    },

    async create(caller, { email, role }) {
      const permit = await guard.admit(caller, 'members:write');
      checkGrant(caller, role);
      const row = newMember(parts, { id: newId(), organizationId: caller.organizationId, email, role });
      const { token, subjects, statements } = inviteNew(parts, row);
      await guard.change(permit, 'member.invited', {
        subjects: [subject(row), ...subjects],
        statements: [store.organizations.insertMember(row), ...statements],
        unique: 'email',
      });
      return { ...presentMember(row), token };
    },

    async invite(caller, id) {
      const permit = await guard.admit(caller, 'members:write');
      // It would be a way around the proof that changing one's own factors takes.
      if (caller.kind === 'member' && caller.id === id) {
        throw new Failure('FORBIDDEN', {
          message: 'You can’t re-invite yourself; ask another administrator',
        });
      }
      return retryingStale(async () => {
        const before = await find(permit, id);
        checkGrant(caller, before.role as Role);
        const row = stamps.member.revise(before, { state: 'invited' }, now());
        const { token, subjects, statements } = await inviteAgain(parts, row);
        await guard.change(permit, 'member.invited', {
          subjects: [subject(row), ...subjects],
          statements: [...keepAnOwner(before), store.organizations.updateMember(row), ...statements],
          touches: [id],
        });
        return { ...presentMember(row), token };
      });
    },

    async update(caller, id, { role }) {
      const permit = await guard.admit(caller, 'members:write');
      return retryingStale(async () => {
        const before = await find(permit, id);
        checkGrant(caller, before.role as Role, caller.until);
        checkGrant(caller, role ?? (before.role as Role));
        const steps = role !== undefined && role !== 'owner' ? keepAnOwner(before) : [];
        const row = stamps.member.revise(before, { role: role ?? before.role }, now());
        await guard.change(permit, 'member.updated', {
          subjects: [subject(row)],
          statements: [...steps, store.organizations.updateMember(row)],
          touches: [row.id],
        });
        return presentMember(row);
      });
    },

    async remove(caller, id) {
      const permit = await guard.admit(caller, 'members:write');
      await retryingStale(async () => {
        const before = await find(permit, id);
        checkGrant(caller, before.role as Role, caller.until);
        await guard.change(permit, 'member.removed', {
          subjects: [{ ...subject(before), revision: before.revision + 1 }],
          statements: [...keepAnOwner(before), store.organizations.removeMember(id, before.revision)],
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
    state: row.state,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
