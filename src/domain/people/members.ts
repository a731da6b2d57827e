/**
 * Members of an organization, with their roles in it and in single vaults. Inviting is granting: a caller can't grant
 * more than they have, nor change a member who has more.
 */
import { type Caller, memberBehind } from '../../access/caller.ts';
import { endOfRights, type Grant, mayGrant, type Role } from '../../access/policy.ts';
import type { AuditAction } from '../../contract/audit-actions.ts';
import { Failure } from '../../contract/errors.ts';
import type {
  GrantQuery,
  InvitedMember,
  Member,
  MemberCreate,
  MemberUpdate,
} from '../../contract/members.ts';
import { iso } from '../../contract/text.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { MemberGroupRow } from '../../store/records/member-groups.ts';
import type { MemberRow } from '../../store/records/organizations.ts';
import {
  type GrantedVault,
  inVaultAt,
  isIn,
  presentGrant,
  rightsOf,
  vaultGrantsIn,
} from '../credentials/member-rights.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import type { Mailbox } from '../kernel/mailbox.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import { revisedRecords } from '../kernel/revised-records.ts';
import type { GuardedChange, MaybeAllowed, SubjectChange } from '../kernel/subjects.ts';
import type { Records } from '../resources/records.ts';
import { emailKey, sameAddress } from './email.ts';
import { type Groups, groupChange } from './groups.ts';
import { inviteAgain, inviteNew, newMember } from './invitations.ts';
import { groupsOf } from './people.ts';
import { checkVaults, grantsAfter, grantsText, withEnd } from './vault-grants.ts';

export type Members = ReturnType<typeof membersWith>;

type Writing = Permit<'members:write'>;

export function membersWith(parts: Parts, records: Records, groups: Groups, mailbox: Mailbox) {
  const { store, stamps, guard, now, newId } = parts;

  const { find, list, get, change, revise, remove } = revisedRecords(parts, {
    noun: 'members',
    stamper: stamps.member,
    byId: store.organizations.member,
    page: ({ caller, vaults }, page, { q, vault_id }: GrantQuery) =>
      vaults === null
        ? store.organizations.memberPage(caller.organizationId, page, {
            q,
            inVault: inVaultAt(vault_id, now()),
          })
        : null,
    present: presented,
    update: store.organizations.updateMember,
    subject: row => ({ type: 'member', id: row.id, name: row.email, revision: row.revision }),
  });

  /** Roles are granted without a time limit, because a member stays; taking away requires only the rank. */
  function checkGrant(caller: Caller, wanted: Grant, until: number | null = null): void {
    if (mayGrant(caller, { ...wanted, until })) return;
    throw new Failure('FORBIDDEN', {
      message: 'A member can’t be given more permissions than the person inviting them',
    });
  }

  async function rights(member: MemberRow): Promise<Grant> {
    return rightsOf({ member, groups: await groupsOf(parts, member) }, now());
  }

  /** An organization with an active owner must keep one, because no other member could appoint a new one. */
  function keepAnOwner({ id, role, state, organization_id }: MemberRow): Statement[] {
    const isOwner = role === 'owner' && state === 'active';
    return isOwner ? [store.conditions.anotherOwner(organization_id, id)] : [];
  }

  /** The audit entry shows what a change grants. */
  const given = (row: MemberRow) =>
    ({
      details: { role: row.role, grants: vaultGrantsIn(row, now()).map(presentGrant) },
      lasts: 'without end',
    }) as const;

  async function presented(rows: readonly MemberRow[]): Promise<Member[]> {
    const all = rows.length === 0 ? [] : await groups.all(rows[0]!.organization_id);
    const groupIds = (memberId: string) => all.flatMap(group => (isIn(group, memberId) ? group.id : []));
    return rows.map(row => presentMember(row, groupIds(row.id), now()));
  }

  const invited = (caller: Caller, row: MemberRow, token: string) =>
    mailbox.post(row, { kind: 'invitation', token, by: caller.name });

  async function reset(
    permit: Writing,
    before: MaybeAllowed<MemberRow, 'members:write'>,
    verb: AuditAction,
    steps: readonly Statement[],
  ): Promise<InvitedMember> {
    const row = stamps.member.revise(before, { state: 'invited' }, now());
    const { token, subjects, statements } = await inviteAgain(parts, row);
    await change(permit, verb, row, {
      lasts: 'without end',
      others: subjects,
      statements: [
        ...steps,
        store.organizations.updateMember(row),
        ...statements,
        ...invited(permit.caller, row, token),
      ],
    });
    return { ...(await presented([row]))[0]!, token, mailed: mailbox.isOn };
  }

  return {
    list,
    get,

    async create(permit: Writing, { email, role, ...body }: MemberCreate): Promise<InvitedMember> {
      const { caller } = permit;
      const grants = grantsAfter([], body, now());
      const row = newMember(parts, {
        id: newId(),
        organization_id: caller.organizationId,
        email,
        role,
        state: 'invited',
        grants: grantsText(grants),
      });
      checkGrant(caller, rightsOf({ member: row, groups: [] }, now()));
      await checkVaults(records, permit, grants);
      const { token, subjects, statements } = inviteNew(parts, row);
      await change(permit, 'member.invited', row, {
        ...given(row),
        others: subjects,
        statements: [store.organizations.insertMember(row), ...statements, ...invited(caller, row, token)],
        unique: 'email',
      });
      return { ...presentMember(row, [], now()), token, mailed: mailbox.isOn };
    },

    /** A new invitation for a member, who is signed out everywhere and must use it to sign in again. */
    async invite(permit: Writing, id: string): Promise<InvitedMember> {
      const { caller } = permit;
      // Otherwise a person could bypass the proof required for changing their own factors, also with their own API
      // keys.
      if (memberBehind(caller) === id) {
        throw new Failure('FORBIDDEN', {
          message: 'You can’t re-invite yourself; ask another administrator',
        });
      }
      return retryingStale(async () => {
        const before = await find(permit, id);
        checkGrant(caller, await rights(before));
        return reset(permit, before, 'member.invited', keepAnOwner(before));
      });
    },

    /** The same for an owner, by the operator: also for the only owner, whom no other member could let in again. */
    async recover(operator: Caller, email: string): Promise<InvitedMember> {
      const permit = await guard.admit(operator, 'members:write');
      return retryingStale(async () => {
        const found = await store.organizations.memberByEmail(operator.organizationId, emailKey(email));
        const before = stamps.member.believe(await guard.found(permit, found));
        if (!sameAddress(before.email, email)) throw new Failure('NOT_FOUND');
        if (before.role !== 'owner')
          throw new Failure('FORBIDDEN', { message: 'The member is not an owner' });
        return reset(permit, before, 'member.recovered', []);
      });
    },

    async update(permit: Writing, id: string, { role, ...body }: MemberUpdate): Promise<Member> {
      const { caller } = permit;
      return revise(permit, id, 'member.updated', async (before, next) => {
        const groups = await groupsOf(parts, before);
        const held = vaultGrantsIn(before, now());
        checkGrant(caller, rightsOf({ member: before, groups }, now()), endOfRights(caller));
        const grants = grantsAfter(held, body, now());
        const row = next({ role: role ?? before.role, grants: grantsText(grants) });
        checkGrant(caller, rightsOf({ member: row, groups }, now()));
        await checkVaults(records, permit, grants, held);
        const steps = role !== undefined && role !== 'owner' ? keepAnOwner(before) : [];
        return { row, ...given(row), statements: [...steps, store.organizations.updateMember(row)] };
      });
    },

    /** Gives a member a role in a vault that ends, in addition to those without an end, along with another change. */
    give: (permit: Writing, id: string, wanted: GrantedVault, along: () => Promise<Along>): Promise<Member> =>
      revise(permit, id, 'member.updated', async (before, next) => {
        const held = vaultGrantsIn(before, now());
        const grants = withEnd(held, wanted, now());
        const row = next({ grants: grantsText(grants) });
        checkGrant(permit.caller, rightsOf({ member: row, groups: await groupsOf(parts, before) }, now()));
        await checkVaults(records, permit, grants, held);
        const { others, statements, touches } = await along();
        const all = [store.organizations.updateMember(row), ...statements];
        return { row, ...given(row), others, statements: all, touches };
      }),

    remove: (permit: Writing, id: string): Promise<void> =>
      remove(permit, id, 'member.removed', async before => {
        checkGrant(permit.caller, await rights(before), endOfRights(permit.caller));
        const left = await groups.without(before);
        return {
          others: left.map(group => leftBy(group, now())),
          statements: [
            ...keepAnOwner(before),
            store.organizations.removeMember(id, before.revision),
            ...left.map(store.memberGroups.update),
          ],
          touches: [id, ...left.map(group => group.id)],
        };
      }),
  };
}

/** What is stored in the same unit. */
type Along = { readonly others: readonly SubjectChange[] } & Required<
  Pick<GuardedChange, 'statements' | 'touches'>
>;

function leftBy(group: MemberGroupRow, now: number): SubjectChange {
  return { ...groupChange<never>(group, now), verb: 'group.updated', lasts: 'as before' };
}

function presentMember(row: MemberRow, groupIds: string[], now: number): Member {
  return {
    id: row.id,
    name: row.email,
    email: row.email,
    role: row.role as Role,
    grants: vaultGrantsIn(row, now).map(presentGrant),
    group_ids: groupIds,
    state: row.state,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
