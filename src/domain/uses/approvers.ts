/**
 * Whether whoever approved a call may still do that. An approval is worth what its approver may do when it is used, and
 * not when it was given: with a member who was removed, invited anew or given less, all that they approved is over.
 */
import { allows } from '../../access/policy.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { ApprovalRow } from '../../store/records/approvals.ts';
import type { Store } from '../../store/store.ts';
import { type Holder, rightsOf, rightsProvenBy } from '../credentials/member-rights.ts';

/** Members with what they have. */
export interface Holders {
  /** From memory where that can be trusted. */
  byMember(memberId: string): Promise<Holder | undefined>;
  /** From the store. */
  fresh(memberId: string): Promise<Holder | undefined>;
}

export interface ApproverParts {
  readonly store: Store;
  readonly holders: Holders;
}

export function approversWith({ store, holders }: ApproverParts) {
  return {
    /** Of one that was approved, and is not used up. */
    isGood: async (row: ApprovalRow): Promise<boolean> =>
      mayApprove(await holders.byMember(row.decided_by!), row),

    /** What the unit depends on that uses it up: that the approver has what they had. Null where that is too little. */
    conditions: async (row: ApprovalRow): Promise<Statement[] | null> => {
      const holder = await holders.fresh(row.decided_by!);
      if (!mayApprove(holder, row)) return null;
      return rightsProvenBy(holder).map(one => store.conditions.unchanged([one], 'stale'));
    },
  };
}

/** Rights that were taken away and given back are others: the approval rests on those that its approver had then. */
function mayApprove(holder: Holder | undefined, { vault_id, updated_at }: ApprovalRow): holder is Holder {
  if (holder?.member.state !== 'active' || !allows(rightsOf(holder), 'approvals:write', vault_id))
    return false;
  return [holder.member, ...holder.groups].every(row => row.updated_at <= updated_at);
}
