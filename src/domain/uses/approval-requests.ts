/**
 * Approvals from the side of the calling access key: an approval is requested, looked up and used up. A fingerprint,
 * computed again each time, binds an approval to the exact call, so that it is valid for no other call, rule,
 * revision or version. It is used up in the transaction that stores its revision, so that of several concurrent calls
 * only one gets it. It is worthless once the person who gave it may no longer approve.
 */
import { hash } from 'node:crypto';
import type { Reader } from '../../access/caller.ts';
import { Failure } from '../../contract/errors.ts';
import { firstIdAt } from '../../contract/id.ts';
import { iso } from '../../contract/text.ts';
import type { ApprovalNotice, ShownRequest } from '../../contract/uses.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { ApprovalRow } from '../../store/records/approvals.ts';
import { StaleChange } from '../kernel/conflict-retries.ts';
import { eventOf } from '../kernel/events.ts';
import { KeyedLock } from '../kernel/keyed-lock.ts';
import type { Parts } from '../kernel/parts.ts';
import type { OpenVault } from '../resources/sealing.ts';
import { approvalChange, approvalsTouch, requestPlace } from './approval-records.ts';
import { type ApproverParts, approversWith } from './approvers.ts';
import type { Deed } from './recorded-uses.ts';

export interface ApprovedCall {
  readonly tool: string;
  readonly rule: { readonly id: string; readonly name: string; readonly revision: number };
  readonly resource: { readonly id: string; readonly version: number; readonly revision: number };
  /** What is requested, in any form that is identical only for identical calls. */
  readonly asked: readonly (string | null)[];
  readonly shown: ShownRequest;
}

type Asking = Pick<Deed, 'reader' | 'origin'>;

/** The access key that was approved. With restrictions added by its holder, it counts as another one. */
type ApprovedReader = Pick<Reader, 'id' | 'narrowing'>;

/** The call needs an approval that it doesn't have. */
export function approvalRequired(
  { id, expires_at }: Pick<ApprovalRow, 'id' | 'expires_at'>,
  state: 'pending' | 'refused',
): Failure {
  const isRefused = state === 'refused';
  return new Failure('FORBIDDEN', {
    message: `Forbidden: a person ${isRefused ? 'refused this call' : 'has to approve this call first'}`,
    because: isRefused ? 'approval_refused' : 'approval_required',
    approval: { id, expires_at: iso(expires_at) },
  });
}

/** The approval that a refused call is waiting for, as the caller sees it. */
export function approvalIn(failure: Failure, base: string): { readonly approval?: ApprovalNotice } {
  if (failure.approval === undefined) return {};
  const { id, expires_at } = failure.approval;
  return { approval: { id, url: `${base}/approvals/${id}`, expires_at } };
}

const approvalLifetime = 10 * 60 * 1000;
/** Per access key, together with those that it created. */
const mostWaiting = 20;
/** How often to retry if the approver's rights changed while the approval was being used. */
const attempts = 3;

export function fingerprintOf(reader: ApprovedReader, call: ApprovedCall): string {
  return digestOf([...scopeOf(reader, call), ...call.asked]);
}

/** Covers what all calls of an access key under a rule have in common. */
function scopeFingerprintOf(reader: ApprovedReader, call: ApprovedCall): string {
  return digestOf(scopeOf(reader, call));
}

function scopeOf({ id, narrowing }: ApprovedReader, { tool, rule, resource }: ApprovedCall): string[] {
  const by = narrowing === null ? id : `${id} ${narrowing.id}`;
  return [tool, by, rule.id, String(rule.revision), resource.id, String(resource.version)];
}

/** An array of strings and nulls has only one JSON form. */
function digestOf(parts: readonly (string | null)[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64url');
}

/** People know an access key by the name that a person gave it. A name given by a program is shown separately. */
function shownNames({ name, parentName, narrowing }: Reader) {
  return {
    access_key: parentName ?? name,
    own_name: parentName === null ? null : name,
    restriction: narrowing?.id ?? null,
  };
}

export function approvalRequestsWith({ store, stamps, guard, now, newId, holders }: Parts & ApproverParts) {
  const approvers = approversWith({ store, holders, now });
  const lock = new KeyedLock();

  /** The approvals of this access key for this call, or for all such calls. */
  async function about(reader: Reader, fingerprint: string, scope: string): Promise<ApprovalRow[]> {
    const rows = (await store.approvals.ofAccessKey(reader.id, now())).map(stamps.approval.believe);
    return rows.filter(row =>
      row.scope === 'rule' ? row.scope_fingerprint === scope : row.fingerprint === fingerprint,
    );
  }

  /** Succeeds only if rule and secret are as when the call was judged, and the approver may still approve. */
  async function consume(
    by: Asking,
    before: ApprovalRow,
    call: ApprovedCall,
    approver: readonly Statement[],
  ) {
    const { rule, resource } = call;
    const judgedBy = [
      { table: 'use_rules', id: rule.id, revision: rule.revision },
      { table: 'resources', id: resource.id, revision: resource.revision },
    ] as const;
    const row = stamps.approval.revise(before, { state: 'used' }, now());
    await guard.used({ ...by.reader, origin: by.origin }, 'approval.used', {
      subjects: [approvalChange(row)],
      statements: [store.conditions.unchanged(judgedBy, 'stale'), ...approver, store.approvals.update(row)],
      touches: [row.id],
    });
  }

  async function ask({ reader, origin }: Asking, vault: OpenVault, call: ApprovedCall): Promise<ApprovalRow> {
    const id = newId();
    const time = now();
    const shown = Buffer.from(
      JSON.stringify({ ...call.shown, rule: call.rule.name, ...shownNames(reader) }),
      'utf8',
    );
    const row = stamps.approval.create(time, {
      id,
      organization_id: reader.organizationId,
      vault_id: reader.vaultId,
      rule_id: call.rule.id,
      access_key_id: reader.id,
      fingerprint: fingerprintOf(reader, call),
      scope_fingerprint: scopeFingerprintOf(reader, call),
      request: vault.sealer.seal(requestPlace(id), shown),
      scope: 'call',
      state: 'pending',
      decided_by: null,
      expires_at: time + approvalLifetime,
    });
    const subject = { ...row, type: 'approval', name: call.rule.name };
    const { organizationId, countedAs: accessKeyId } = reader;
    const firstId = firstIdAt(time - approvalLifetime);
    await guard
      .used({ ...reader, origin }, 'approval.requested', {
        subjects: [approvalChange(row)],
        statements: [
          ...store.approvals.fewerWaiting({
            organizationId,
            accessKeyId,
            most: mostWaiting,
            now: time,
            firstId,
          }),
          store.approvals.insert(row),
          store.outbox.add(stamps.stampEvent(eventOf('approval.requested', subject, time, newId))),
        ],
        touches: [id, approvalsTouch(organizationId)],
      })
      .catch(error => {
        throw error instanceof StaleChange ? tooManyWaiting() : error;
      });
    return row;
  }

  /** An approval for all such calls remains; an approval for this call is used up. Null if none is left. */
  async function firstGiven(by: Asking, found: readonly ApprovalRow[], call: ApprovedCall) {
    const approved = found.filter(({ state }) => state === 'approved');
    for (const row of approved.filter(({ scope }) => scope === 'rule')) {
      if (await approvers.isGood(row)) return row.id;
    }
    for (const row of approved.filter(({ scope }) => scope === 'call')) {
      if (await isConsumed(by, row, call)) return row.id;
    }
    return null;
  }

  /** False if another process was faster, the call changed in the meantime, or the approver may no longer approve. */
  async function isConsumed(by: Asking, row: ApprovalRow, call: ApprovedCall): Promise<boolean> {
    for (let attempt = 0; attempt < attempts; attempt++) {
      const approver = await approvers.conditions(row);
      if (approver === null) return false;
      try {
        await consume(by, row, call, approver);
        return true;
      } catch (error) {
        if (!(error instanceof StaleChange)) throw error;
      }
    }
    return false;
  }

  return {
    /** Uses up the approval of this call and returns its id; throws `approvalRequired` if there is none. */
    take: (by: Asking, vault: OpenVault, call: ApprovedCall): Promise<string> => {
      const { reader } = by;
      const fingerprint = fingerprintOf(reader, call);
      const scope = scopeFingerprintOf(reader, call);
      return lock.take(fingerprint, async () => {
        const found = await about(reader, fingerprint, scope);
        const given = await firstGiven(by, found, call);
        if (given !== null) return given;
        const refused = found.find(({ state }) => state === 'refused');
        if (refused !== undefined) throw approvalRequired(refused, 'refused');
        const waiting = found.find(({ state }) => state === 'pending');
        throw approvalRequired(waiting ?? (await ask(by, vault, call)), 'pending');
      });
    },
  };
}

function tooManyWaiting(): Failure {
  return new Failure('RATE_LIMITED', {
    message: `At most ${mostWaiting} calls with an access key can wait for approval at a time`,
    retryAfter: 60,
    because: 'too_many_calls',
  });
}
