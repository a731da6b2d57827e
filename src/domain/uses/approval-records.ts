/** The row of an approval, as it is presented and as the audit log names it. */
import type { Action } from '../../access/policy.ts';
import { iso } from '../../contract/text.ts';
import type { Approval, ShownRequest } from '../../contract/uses.ts';
import type { ApprovalRow } from '../../store/records/approvals.ts';
import type { MaybeAllowed, SubjectChange } from '../kernel/subjects.ts';

export interface SealedRequest extends ShownRequest {
  readonly rule: string;
  readonly access_key: string;
  /** Both are missing in requests sealed by an earlier version. */
  readonly own_name?: string | null;
  readonly restriction?: string | null;
}

export function approvalChange<A extends Action = never>(
  row: MaybeAllowed<ApprovalRow, A>,
): SubjectChange<A> {
  const { id, vault_id, revision, rule_id, access_key_id, fingerprint, scope } = row;
  const details = { rule_id, access_key_id, fingerprint, scope };
  return { type: 'approval', id, name: id, vaultId: vault_id, revision, details };
}

/** Touched by every change to the set of waiting calls of an organization. */
export function approvalsTouch(organizationId: string): string {
  return `approvals:${organizationId}`;
}

export function requestPlace(id: string) {
  return { type: 'approval', resource: id, field: 'request', version: 0 };
}

/** Whether it was decided for good, so that its expiry changes nothing. */
function isOver({ state }: ApprovalRow): boolean {
  return state === 'used' || state === 'refused' || state === 'cancelled';
}

export function presentApproval(
  row: ApprovalRow,
  { rule, access_key, own_name = null, restriction = null, ...request }: SealedRequest,
  now: number,
): Approval {
  return {
    id: row.id,
    vault_id: row.vault_id,
    rule_id: row.rule_id,
    rule,
    access_key_id: row.access_key_id,
    run_id: null,
    access_key,
    own_name,
    restriction,
    state: row.expires_at <= now && !isOver(row) ? 'expired' : row.state,
    scope: row.scope,
    fingerprint: row.fingerprint,
    request,
    decided_by: row.decided_by,
    expires_at: iso(row.expires_at),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
