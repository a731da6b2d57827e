/**
 * The row of a run: how it is presented, and what ends with it. Ending a run revokes its access keys and cancels what
 * waits for approval or is approved for them, in the unit that stores its end.
 */
import type { Reader } from '../../access/caller.ts';
import type { Action } from '../../access/policy.ts';
import { Failure } from '../../contract/errors.ts';
import type { Budgets, Run, RunState } from '../../contract/runs.ts';
import { iso } from '../../contract/text.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { ApprovalRow } from '../../store/records/approvals.ts';
import type { RunRow } from '../../store/records/runs.ts';
import { accessKeyEvent, subjectOf } from '../credentials/credential-changes.ts';
import { type EventKind, eventOf } from '../kernel/events.ts';
import type { Parts } from '../kernel/parts.ts';
import type { MaybeAllowed, SubjectChange } from '../kernel/subjects.ts';
import { approvalChange, approvalsTouch } from './approval-records.ts';

export interface RunKey {
  readonly vault_id: string;
  readonly access_key_id: string;
}

/** Approvals that one unit cancels; more than a run can have waiting. */
const mostCancelled = 500;

export type RunParts = Pick<Parts, 'store' | 'stamps' | 'now' | 'newId'>;

export function keysOf({ access_keys }: Pick<RunRow, 'access_keys'>): RunKey[] {
  return JSON.parse(access_keys) as RunKey[];
}

export function vaultsOf(row: Pick<RunRow, 'access_keys'>): string[] {
  return keysOf(row).map(({ vault_id }) => vault_id);
}

export function budgetsOf({ budgets }: Pick<RunRow, 'budgets'>): Budgets {
  return JSON.parse(budgets) as Budgets;
}

/** The rules that the run of an access key may use; all if it belongs to none. */
export function rulesOfRun<Rule extends { readonly id: string }>(
  { run }: Pick<Reader, 'run'>,
  rules: readonly Rule[],
): readonly Rule[] {
  const only = run?.rules;
  return only ? rules.filter(({ id }) => only.includes(id)) : rules;
}

export function stateOf({ state, ends_at }: Pick<RunRow, 'state' | 'ends_at'>, now: number): RunState {
  return state === 'active' && ends_at <= now ? 'expired' : state;
}

export function runSubject<A extends Action = never>(row: MaybeAllowed<RunRow, A>): SubjectChange<A> {
  const { id, purpose: name, revision, state, uses, writes, bytes } = row;
  const access_key_ids = keysOf(row).map(({ access_key_id }) => access_key_id);
  const details = { state, access_key_ids, uses, writes, bytes };
  return { type: 'run', id, name, vaultId: vaultsOf(row)[0], revision, details };
}

/** One for each vault, because a webhook may be restricted to some. */
export function runEvents({ store, stamps, newId }: RunParts, kind: EventKind, row: RunRow): Statement[] {
  return vaultsOf(row).map(vault_id => {
    const subject = { ...row, vault_id, type: 'run', name: row.purpose };
    return store.outbox.add(stamps.stampEvent(eventOf(kind, subject, row.updated_at, newId)));
  });
}

/** What ends a run: its subjects, and the statements to store with it. */
export async function endingOf<A extends Action = never>(
  parts: RunParts,
  before: MaybeAllowed<RunRow, A>,
  state: 'ended' | 'expired',
  endedBy: string | null,
) {
  const { store, stamps, now } = parts;
  const time = now();
  const ends_at = Math.min(before.ends_at, time);
  const row = stamps.run.revise(before, { state, ends_at, ended_by: endedBy }, time);
  const ids = keysOf(row).map(({ access_key_id }) => access_key_id);
  const found = await Promise.all(ids.map(store.credentials.byId));
  const keys = found.flatMap(key => {
    if (key === undefined) return [];
    const { revoked_at, ...believed } = stamps.credential.believe(key);
    return revoked_at === null
      ? stamps.credential.revise({ ...believed, revoked_at }, { revoked_at: time }, time)
      : [];
  });
  const open = (await store.approvals.openOf(ids, time, mostCancelled)).map(stamps.approval.believe);
  const cancelled = open.map(one => stamps.approval.revise<ApprovalRow>(one, { state: 'cancelled' }, time));
  const subjects: readonly [SubjectChange<A>, ...SubjectChange<A>[]] = [
    runSubject<A>(row),
    ...keys.map((key): SubjectChange => ({ ...subjectOf(key, 'access-key'), verb: 'access-key.revoked' })),
    ...cancelled.map((one): SubjectChange => ({ ...approvalChange(one), verb: 'approval.cancelled' })),
  ];
  const statements = [
    store.runs.update(row),
    ...keys.flatMap(key => [store.credentials.update(key), accessKeyEvent(parts, 'access_key.revoked', key)]),
    ...cancelled.map(store.approvals.update),
    ...runEvents(parts, 'run.ended', row),
  ];
  const waiting = cancelled.length > 0 ? [approvalsTouch(row.organization_id)] : [];
  return {
    row,
    subjects,
    statements,
    touches: [row.id, ...ids, ...cancelled.map(({ id }) => id), ...waiting],
  };
}

export function presentRun(row: RunRow, now: number): Run {
  const { uses = null, writes = null, bytes = null } = budgetsOf(row);
  const keys = keysOf(row);
  return {
    id: row.id,
    purpose: row.purpose,
    vault_ids: keys.map(({ vault_id }) => vault_id),
    access_keys: keys,
    rules: row.rules === null ? null : (JSON.parse(row.rules) as string[]),
    budgets: { uses, writes, bytes },
    used: { uses: row.uses, writes: row.writes, bytes: bytes === null ? null : row.bytes },
    state: stateOf(row, now),
    ends_at: iso(row.ends_at),
    ended_by: row.ended_by,
    member_id: row.member_id,
    client: row.client,
    created_by: row.created_by,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}

export function alreadyEnded(): Failure {
  return new Failure('CONFLICT', { message: 'This run has already ended' });
}
