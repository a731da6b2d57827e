/**
 * Approvals from the side of the people who decide. They must be signed in with a session; keys of any kind can't
 * approve. They are shown what was fingerprinted. A request is decided once, and can't be approved after it has
 * expired.
 */
import { type Action, earliest, endOfAll } from '../../access/policy.ts';
import type { AuditAction } from '../../contract/audit-actions.ts';
import type { List } from '../../contract/common.ts';
import { Failure } from '../../contract/errors.ts';
import type { Approval, ApprovalQuery, ApprovalScope } from '../../contract/uses.ts';
import type { ApprovalRow } from '../../store/records/approvals.ts';
import { listOf } from '../kernel/collection.ts';
import type { Parts } from '../kernel/parts.ts';
import { type Permit, vaultsAsked } from '../kernel/permits.ts';
import type { Allowed } from '../kernel/subjects.ts';
import type { Records } from '../resources/records.ts';
import type { OpenVault } from '../resources/sealing.ts';
import {
  approvalChange,
  approvalsTouch,
  presentApproval,
  requestPlace,
  type SealedRequest,
} from './approval-records.ts';
import { runsOfKeysWith } from './runs-of-keys.ts';

type Deciding = Permit<'approvals:write'>;

export type Approvals = ReturnType<typeof approvalsWith>;

/** How long an approval of all calls under a rule lasts. */
const standingLifetime = 60 * 60 * 1000;

export function approvalsWith({ store, stamps, guard, now }: Parts, records: Records) {
  const runs = runsOfKeysWith({ store, stamps });

  async function find<A extends Action>(permit: Permit<A>, id: string): Promise<Allowed<ApprovalRow, A>> {
    const row = await store.approvals.byId(permit.caller.organizationId, id);
    return stamps.approval.believe(await guard.found(permit, row, row?.vault_id));
  }

  async function noted(approval: Approval, { caller }: Permit): Promise<Approval> {
    return (await runs.noted(caller.organizationId, [approval]))[0]!;
  }

  async function presented(permit: Permit, row: ApprovalRow): Promise<Approval> {
    return presentedIn(await records.openVault(permit, row.vault_id), row);
  }

  function presentedIn({ sealer }: OpenVault, row: ApprovalRow): Approval {
    const opened = sealer.open(requestPlace(row.id), row.request).toString('utf8');
    return presentApproval(row, JSON.parse(opened) as SealedRequest, now());
  }

  async function decide(permit: Deciding, id: string, verb: AuditAction, changes: Partial<ApprovalRow>) {
    const { caller } = permit;
    if (caller.kind !== 'member') {
      throw new Failure('FORBIDDEN', { message: 'Only a signed-in person can approve or refuse a call' });
    }
    const before = await find(permit, id);
    if (before.state !== 'pending') {
      throw new Failure('CONFLICT', { message: 'This call was already approved or refused' });
    }
    if (before.expires_at <= now()) throw new Failure('CONFLICT', { message: 'The request has expired' });
    const vault = await records.openVault(permit, before.vault_id);
    const end = endOfAll(caller, ['approvals:write'], before.vault_id);
    const expires_at = earliest(changes.expires_at ?? before.expires_at, end)!;
    const row = stamps.approval.revise(before, { ...changes, expires_at, decided_by: caller.id }, now());
    await guard.change(permit, verb, {
      // An approval for one call ends with it.
      subjects: [
        {
          ...approvalChange<'approvals:write'>(row),
          lasts: row.scope === 'rule' ? { until: row.expires_at, madeWith: [] } : 'as before',
        },
      ],
      statements: [store.approvals.update(row)],
      touches: [row.id, approvalsTouch(row.organization_id)],
    });
    return noted(presentedIn(vault, row), permit);
  }

  return {
    async list(permit: Permit<'approvals:read'>, query: ApprovalQuery): Promise<List<Approval>> {
      const { caller } = permit;
      const vaultIds = vaultsAsked(permit, query.vault_id);
      if (vaultIds?.length === 0) return listOf<Approval>([], 0, query);
      const waitingAt = query.state === 'all' ? undefined : now();
      const { organizationId } = caller;
      const accessKeyIds =
        query.run_id === undefined ? undefined : await runs.keysOf(organizationId, query.run_id);
      const filter = { organizationId, vaultIds, waitingAt, accessKeyIds };
      const page = { page: query.page, limit: query.limit, asOf: query.as_of };
      const { rows, total } = await store.approvals.page(filter, page);
      const items: Approval[] = [];
      for (const row of rows) items.push(await presented(permit, stamps.approval.believe(row)));
      return listOf(await runs.noted(organizationId, items), total, query);
    },

    async get(permit: Permit<'approvals:read'>, id: string): Promise<Approval> {
      return noted(await presented(permit, await find(permit, id)), permit);
    },

    approve: (permit: Deciding, id: string, scope: ApprovalScope): Promise<Approval> =>
      decide(permit, id, 'approval.approved', {
        state: 'approved',
        scope,
        ...(scope === 'rule' ? { expires_at: now() + standingLifetime } : {}),
      }),

    refuse: (permit: Deciding, id: string): Promise<Approval> =>
      decide(permit, id, 'approval.refused', { state: 'refused' }),
  };
}
