/**
 * Checks whether the person who approved a call may still do so. An approval depends on the approver's rights when it
 * is used, not when it was given: if a member is removed, invited again or given fewer rights, everything they
 * approved becomes invalid.
 */
import { allows } from '../../access/policy.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { ApprovalRow } from '../../store/records/approvals.ts';
import type { Store } from '../../store/store.ts';
import { type Holder, rightsOf, rightsProvenBy } from '../credentials/member-rights.ts';

export interface Holders {
  /** From the cache if it can be trusted. */
  byMember(memberId: string): Promise<Holder | undefined>;
  /** From the store. */
  fresh(memberId: string): Promise<Holder | undefined>;
}

export interface ApproverParts {
  readonly store: Store;
  readonly holders: Holders;
  readonly now: () => number;
}

export function approversWith({ store, holders, now }: ApproverParts) {
  return {
    /** Whether an approval that is not used up is still valid. */
    isGood: async (row: ApprovalRow): Promise<boolean> =>
      mayApprove(await holders.byMember(row.decided_by!), row, now()),

    /** The conditions for using it up: the approver's rights must be unchanged. Null if they are not sufficient. */
    conditions: async (row: ApprovalRow): Promise<Statement[] | null> => {
      const holder = await holders.fresh(row.decided_by!);
      if (!mayApprove(holder, row, now())) return null;
      return rightsProvenBy(holder).map(one => store.conditions.unchanged([one], 'stale'));
    },
  };
}

/** Rights withdrawn and granted again don't count: the approval rests on those that its approver had. */
function mayApprove(
  holder: Holder | undefined,
  { vault_id, updated_at }: ApprovalRow,
  now: number,
): holder is Holder {
  if (holder?.member.state !== 'active' || !allows(rightsOf(holder, now), 'approvals:write', vault_id))
    return false;
  return [holder.member, ...holder.groups].every(row => row.updated_at <= updated_at);
}
