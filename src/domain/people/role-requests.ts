/**
 * Requests of members for a role in a vault, with an end. A member asks for a vault that they can see. Someone else, who
 * could give that role, approves exactly what was asked for, or refuses it; nobody decides about their own request. The
 * role and the decision are stored in one unit.
 */
import { type Caller, memberBehind } from '../../access/caller.ts';
import type { GrantedRole } from '../../access/policy.ts';
import type { AuditAction } from '../../contract/audit-actions.ts';
import type { List } from '../../contract/common.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import type { RoleRequest, RoleRequestCreate, RoleRequestQuery } from '../../contract/role-requests.ts';
import { iso } from '../../contract/text.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { RoleRequestRow } from '../../store/records/role-requests.ts';
import { listOf } from '../kernel/collection.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import { eventOf } from '../kernel/events.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import type { SubjectChange } from '../kernel/subjects.ts';
import type { Records } from '../resources/records.ts';
import { notFoundIn } from '../resources/subject.ts';
import type { Members } from './members.ts';

type Deciding = Permit<'members:write'>;

/** How long a request waits for a decision, if the role would not end earlier. */
const longestWait = 7 * 24 * 60 * 60 * 1000;
/** How many of a member's requests can wait at a time. */
const mostWaiting = 20;
/** How many of their own requests a member is shown. */
const mostShown = 50;

export type RoleRequests = ReturnType<typeof roleRequestsWith>;

export function roleRequestsWith(parts: Parts, records: Records, members: Members) {
  const { store, stamps, guard, now, newId } = parts;

  const isWaiting = ({ state, expires_at }: RoleRequestRow) => state === 'pending' && now() < expires_at;

  async function ofMember(memberId: string): Promise<RoleRequestRow[]> {
    return (await store.roleRequests.ofMember(memberId, mostShown)).map(stamps.roleRequest.believe);
  }

  /** A removed member's requests are not listed. */
  async function presented(organizationId: string, rows: readonly RoleRequestRow[]): Promise<RoleRequest[]> {
    const found = await Promise.all(
      rows.map(async row => {
        const member = await store.organizations.member(organizationId, row.member_id);
        return member === undefined ? [] : present(row, stamps.member.believe(member).email, now());
      }),
    );
    return found.flat();
  }

  async function waiting(permit: Deciding, id: string): Promise<RoleRequestRow> {
    const found = await store.roleRequests.byId(permit.caller.organizationId, id);
    const row = stamps.roleRequest.believe(await guard.found(permit, found));
    if (memberBehind(permit.caller) === row.member_id)
      throw new Failure('FORBIDDEN', { message: 'Someone else must decide about your own request' });
    if (!isWaiting(row))
      throw new Failure('CONFLICT', { message: 'This request was already decided, or has expired' });
    return row;
  }

  function decided(row: RoleRequestRow, caller: Caller, state: RoleRequestRow['state']): RoleRequestRow {
    return stamps.roleRequest.revise(row, { state, decided_by: caller.id }, now());
  }

  /** Tells webhooks that a role was asked for, or what was decided. */
  async function told(kind: 'role.requested' | 'role.decided', row: RoleRequestRow): Promise<Statement> {
    const [{ member, role, until, state }] = (await presented(row.organization_id, [row])) as [RoleRequest];
    const { id, organization_id, vault_id } = row;
    const requested = { role, until, ...(kind === 'role.decided' && { state }) };
    const subject = { id, organization_id, vault_id, type: 'role_request', name: member.email, requested };
    return store.outbox.add(stamps.stampEvent(eventOf(kind, subject, now(), newId)));
  }

  async function one(row: RoleRequestRow): Promise<RoleRequest> {
    return (await presented(row.organization_id, [row]))[0]!;
  }

  return {
    async list(permit: Permit<'members:read'>, query: RoleRequestQuery): Promise<List<RoleRequest>> {
      const { caller, vaults } = permit;
      if (vaults !== null) return listOf<RoleRequest>([], 0, query);
      const page = { page: query.page, limit: query.limit, asOf: query.as_of };
      const waitingAt = query.state === 'all' ? undefined : now();
      const { rows, total } = await store.roleRequests.page(caller.organizationId, page, waitingAt);
      const believed = rows.map(row => stamps.roleRequest.believe<RoleRequestRow>(row));
      return listOf(await presented(caller.organizationId, believed), total, query);
    },

    /** The person's own, the newest first. */
    own: async ({ id, organizationId }: Caller): Promise<RoleRequest[]> =>
      presented(organizationId, await ofMember(id)),

    async ask(
      permit: Permit<'vaults:read'>,
      { vault_id, role, until, reason = '' }: RoleRequestCreate,
    ): Promise<RoleRequest> {
      const { caller } = permit;
      const missing = notFoundIn('vault_id', 'is not the id of a vault');
      await records.openVault(permit, vault_id).catch(missing);
      if (until <= now()) throw invalid('until', 'must be in the future');
      if ((await ofMember(caller.id)).filter(isWaiting).length >= mostWaiting)
        throw new Failure('CONFLICT', {
          message: `At most ${mostWaiting} of your requests can wait at a time; withdraw some first`,
        });
      const row = stamps.roleRequest.create(now(), {
        id: newId(),
        organization_id: caller.organizationId,
        member_id: caller.id,
        vault_id,
        role,
        ends_at: until,
        reason,
        state: 'pending',
        decided_by: null,
        expires_at: Math.min(until, now() + longestWait),
      });
      await guard.own(caller, 'role-request.created', {
        subjects: [subjectOf(row)],
        statements: [store.roleRequests.insert(row), await told('role.requested', row)],
        touches: [row.id],
      });
      return one(row);
    },

    withdraw: (caller: Caller, id: string): Promise<void> =>
      retryingStale(async () => {
        const found = await store.roleRequests.byId(caller.organizationId, id);
        if (found?.member_id !== caller.id) throw new Failure('NOT_FOUND');
        const before = stamps.roleRequest.believe<RoleRequestRow>(found);
        if (!isWaiting(before)) throw new Failure('NOT_FOUND');
        const row = stamps.roleRequest.revise(before, { state: 'withdrawn' }, now());
        await guard.own(caller, 'role-request.withdrawn', {
          subjects: [subjectOf(row)],
          statements: [store.roleRequests.update(row)],
          touches: [row.id],
        });
      }),

    async approve(permit: Deciding, id: string): Promise<RoleRequest> {
      const { member_id, vault_id, role, ends_at } = await waiting(permit, id);
      const given = { vault_id, role: role as GrantedRole, until: ends_at };
      let approved: RoleRequestRow | undefined;
      await members.give(permit, member_id, given, async () => {
        approved = decided(await waiting(permit, id), permit.caller, 'approved');
        return {
          others: [subjectOf(approved, 'role-request.approved')],
          statements: [store.roleRequests.update(approved), await told('role.decided', approved)],
          touches: [member_id, id],
        };
      });
      return one(approved!);
    },

    refuse: (permit: Deciding, id: string): Promise<RoleRequest> =>
      retryingStale(async () => {
        const row = decided(await waiting(permit, id), permit.caller, 'refused');
        await guard.change(permit, 'role-request.refused', {
          subjects: [subjectOf(row)],
          statements: [store.roleRequests.update(row), await told('role.decided', row)],
          touches: [row.id],
        });
        return one(row);
      }),
  };
}

/** It names the vault in its details: giving roles is an action on the organization. */
function subjectOf(row: RoleRequestRow, verb?: AuditAction): SubjectChange {
  const { id, member_id, vault_id, role, ends_at, revision } = row;
  const details = { member_id, vault_id, role, until: iso(ends_at) };
  return { type: 'role-request', id, name: id, revision, details, ...(verb && { verb }) };
}

function present(row: RoleRequestRow, email: string, now: number): RoleRequest {
  return {
    id: row.id,
    vault_id: row.vault_id,
    member: { id: row.member_id, email },
    role: row.role,
    until: iso(row.ends_at),
    reason: row.reason,
    state: row.state === 'pending' && row.expires_at <= now ? 'expired' : row.state,
    decided_by: row.decided_by,
    expires_at: iso(row.expires_at),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
