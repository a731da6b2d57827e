/**
 * The row of a lease: how it is created, changes its state, and is presented. Each state is stored before the step that
 * it announces, so that after a crash at any moment the service knows what may exist at a provider. What is due, and
 * when, follows from the state.
 */
import type { Action } from '../../access/policy.ts';
import type { Lease } from '../../contract/issuers.ts';
import type { LeaseEnd, LeaseState } from '../../contract/names.ts';
import { iso, isoOrNull } from '../../contract/text.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { LeaseRow } from '../../store/records/leases.ts';
import { type EventKind, eventOf } from '../kernel/events.ts';
import type { Parts } from '../kernel/parts.ts';
import type { MaybeAllowed, SubjectChange } from '../kernel/subjects.ts';

/** When a credential whose creation was not confirmed is removed, if it exists. In milliseconds. */
export const creationPatience = 60_000;
/** How much later than the lease the provider ends a credential by itself. */
export const graceAtProvider = 60_000;
/** A creation that was under way may arrive after the first removal, so there is a second one. */
const secondLook = 60_000;

type Named = Pick<LeaseRow, 'id' | 'organization_id' | 'vault_id' | 'issuer_name'>;

export type LeaseRecords = ReturnType<typeof leaseRecordsWith>;

export function leaseRecordsWith({
  store,
  stamps,
  now,
  newId,
}: Pick<Parts, 'store' | 'stamps' | 'now' | 'newId'>) {
  function event(kind: EventKind, { id, organization_id, vault_id, issuer_name: name }: Named): Statement {
    const subject = { id, organization_id, vault_id, type: 'lease', name };
    return store.outbox.add(stamps.stampEvent(eventOf(kind, subject, now(), newId)));
  }

  const revised = <R extends LeaseRow>(row: R, changes: Partial<LeaseRow>): R =>
    stamps.lease.revise(row, changes, now());

  return {
    event,

    created: (
      lease: Pick<LeaseRow, 'id' | 'account' | 'expires_at' | 'ends_at' | 'access_key_id' | 'narrowing'> &
        Pick<LeaseRow, 'organization_id' | 'vault_id' | 'issuer_id' | 'issuer_name'>,
    ): LeaseRow =>
      stamps.lease.create(now(), {
        ...lease,
        state: 'creating' satisfies LeaseState,
        ended: null,
        due_at: now() + creationPatience,
        attempts: 0,
        failing_since: null,
      }),

    issued: <R extends LeaseRow>(row: R): R =>
      revised(row, { state: 'active' satisfies LeaseState, due_at: row.expires_at }),

    renewed: <R extends LeaseRow>(row: R, until: number): R =>
      revised(row, { expires_at: until, due_at: until }),

    /** It is to be revoked now. */
    ending: <R extends LeaseRow>(row: R, ended: LeaseEnd): R =>
      revised(row, { state: 'revoking' satisfies LeaseState, ended, due_at: now() }),

    disabled: <R extends LeaseRow>(row: R, dueAt: number): R =>
      revised(row, { state: 'disabled' satisfies LeaseState, due_at: dueAt }),

    /** Where its creation was not confirmed, it is looked for once more. */
    removed: <R extends LeaseRow>(row: R): R =>
      row.ended === 'failed' && row.state === 'revoking'
        ? revised(row, { state: 'disabled' satisfies LeaseState, due_at: now() + secondLook })
        : revised(row, { state: 'gone' satisfies LeaseState, due_at: null, failing_since: null }),
  };
}

export function leaseSubject<A extends Action = never>(row: MaybeAllowed<LeaseRow, A>): SubjectChange<A> {
  const { id, issuer_name: name, vault_id: vaultId, revision, account } = row;
  const { issuer_id, access_key_id, ended } = row;
  const why = ended === null ? {} : { ended };
  return {
    type: 'lease',
    id,
    name,
    vaultId,
    revision,
    details: { account, issuer_id, access_key_id, ...why },
  };
}

export function presentLease(row: LeaseRow): Lease {
  return {
    id: row.id,
    vault_id: row.vault_id,
    issuer_id: row.issuer_id,
    issuer: row.issuer_name,
    access_key_id: row.access_key_id,
    username: row.account,
    state: row.state as LeaseState,
    expires_at: iso(row.expires_at),
    ends_at: iso(row.ends_at),
    ended: row.ended as LeaseEnd | null,
    failing_since: isoOrNull(row.failing_since),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
