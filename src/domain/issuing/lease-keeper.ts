/**
 * Ends leases: those that have expired, that someone revoked, whose access key ended, and whose creation was never
 * confirmed. It never gives up. Each issuer is worked on by one replica at a time, in small batches of what is due, so
 * that memory doesn't grow with the number of leases; a claim that a dead process left ends after a few seconds. An
 * issuer that can't be reached delays no other, and is tried every half minute with one connection; a single lease that
 * the provider refuses to remove is tried with growing delays up to an hour.
 */
import { trustedCaller } from '../../access/caller.ts';
import { once } from '../../base/memo.ts';
import type { AuditAction } from '../../contract/audit-actions.ts';
import { Remains } from '../../issuers/provider.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { AuditedLease, IssuerRow, LeaseRow } from '../../store/records/leases.ts';
import { StaleChange } from '../kernel/conflict-retries.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Records } from '../resources/records.ts';
import { holdersWith } from './holders.ts';
import { openIssuer } from './issuer-content.ts';
import { issuerChange } from './issuers.ts';
import { leaseRecordsWith, leaseSubject } from './lease-records.ts';
import { type Attached, type Dial, withAttached } from './providers.ts';

const claim = 60_000;
const mostIssuers = 16;
const batch = 32;
/** In milliseconds. */
const firstDelay = 5_000;
const longestDelay = 3_600_000;
const longestRetryOfIssuer = 30_000;
/** Failed attempts, after which it is told. */
const failuresToTell = 3;

interface Work {
  readonly issuer: IssuerRow;
  readonly attached: Attached;
}

type Outcome =
  | { readonly row: LeaseRow; readonly done: true }
  | { readonly row: LeaseRow; readonly done: false; readonly isDisabled: boolean };

export type LeaseKeeper = ReturnType<typeof leaseKeeperWith>;

export function leaseKeeperWith(parts: Parts, records: Records, dial: Dial) {
  const { store, stamps, guard, now, newId } = parts;
  const { queues } = store.leases;
  const changes = leaseRecordsWith(parts);
  const holders = holdersWith(parts, service);
  const holder = newId();
  const working = new Map<string, Promise<void>>();
  /** Only one process ends the leases of an embedded database, so an existing claim was left by one that died. */
  const clean = once(async () => (store.engine === 'sqlite' ? queues.abandon(null) : undefined));
  let stopping = false;

  function service(organizationId: string) {
    return trustedCaller('service', 'leases', 'leases', organizationId, newId());
  }

  /** Stores the next states of several leases of one issuer in one unit. */
  async function keep(
    verb: AuditAction,
    rows: readonly LeaseRow[],
    more: (row: LeaseRow) => readonly Statement[] = () => [],
  ): Promise<void> {
    const [first, ...others] = rows.map(row => leaseSubject(row));
    if (first === undefined) return;
    const permit = await guard.admit(service(rows[0]!.organization_id), 'leases:write');
    await guard.change(permit, verb, {
      subjects: [first, ...others],
      statements: rows.flatMap(row => [store.leases.update(row), ...more(row)]),
      touches: [],
    });
  }

  /** Together, or one by one if another change came first for some of them. Returns those that were stored. */
  async function keepEach(
    verb: AuditAction,
    rows: readonly LeaseRow[],
    more?: (row: LeaseRow) => readonly Statement[],
  ): Promise<LeaseRow[]> {
    try {
      await keep(verb, rows, more);
      return [...rows];
    } catch (error) {
      if (!(error instanceof StaleChange)) throw error;
    }
    const kept: LeaseRow[] = [];
    for (const row of rows) {
      await keep(verb, [row], more).then(
        () => kept.push(row),
        error => {
          if (!(error instanceof StaleChange)) throw error;
        },
      );
    }
    return kept;
  }

  /** Records that they are to be removed, before anything is done about them. */
  async function begin(found: readonly AuditedLease[]): Promise<LeaseRow[]> {
    const rows = found.map(stamps.lease.believe);
    const begun = rows.filter(({ state }) => state === 'revoking' || state === 'disabled');
    const over = rows
      .filter(({ state, expires_at }) => state === 'creating' || (state === 'active' && expires_at <= now()))
      .map(row => changes.ending(row, row.state === 'creating' ? 'failed' : 'expired'));
    const early = rows.filter(({ state, expires_at }) => state === 'active' && expires_at > now());
    await write(early.map(({ id, expires_at }) => store.leases.postpone(id, expires_at, null)));
    return [...begun, ...(await keepEach('lease.ended', over))];
  }

  async function write(statements: readonly Statement[]): Promise<void> {
    if (statements.length > 0) await store.commit([{ statements }]);
  }

  async function attempt({ attached }: Work, row: LeaseRow): Promise<Outcome> {
    try {
      await attached.revoke(row.account);
      return { row, done: true };
    } catch (error) {
      return { row, done: false, isDisabled: error instanceof Remains };
    }
  }

  async function settle(outcomes: readonly Outcome[]): Promise<void> {
    const removed = outcomes.filter(one => one.done).map(({ row }) => changes.removed(row));
    const isGone = (row: LeaseRow) => row.state === 'gone';
    await keepEach(
      'lease.disabled',
      removed.filter(row => !isGone(row)),
    );
    await keepEach('lease.revoked', removed.filter(isGone), row => [changes.event('lease.revoked', row)]);
    for (const outcome of outcomes) if (!outcome.done) await postpone(outcome);
  }

  async function postpone({ row, isDisabled }: Extract<Outcome, { done: false }>): Promise<void> {
    const attempts = row.attempts + 1;
    const dueAt = now() + delayAfter(attempts, longestDelay);
    if (isDisabled && row.state !== 'disabled')
      await keepEach('lease.disabled', [changes.disabled(row, dueAt)]);
    const failure = { attempts, since: row.failing_since ?? now() };
    const told = attempts === failuresToTell ? [changes.event('lease.revocation_failed', row)] : [];
    await write([store.leases.postpone(row.id, dueAt, failure), ...told]);
  }

  /** Works through what is due, for as long as this process has the claim. */
  async function drain(work: Work): Promise<void> {
    const { id } = work.issuer;
    while (!stopping && (await queues.renew(id, holder, claim))) {
      const found = await store.leases.due(id, now(), batch);
      if (found.length === 0) return;
      const outcomes: Outcome[] = [];
      for (const row of await begin(found)) outcomes.push(await attempt(work, row));
      await settle(outcomes);
      const isLost = outcomes.length > 0 && outcomes.every(one => !one.done && !one.isDisabled);
      if (isLost) return;
    }
  }

  async function workOn(id: string): Promise<void> {
    const found = await store.issuers.anywhere(id);
    if (found === undefined) return;
    const issuer = stamps.issuer.believe(found);
    const { sealer } = await records.vaultById(issuer.organization_id, issuer.vault_id);
    const content = openIssuer(sealer, issuer);
    let isReached = false;
    try {
      await withAttached(dial, issuer.provider, content, async attached => {
        isReached = true;
        await drain({ issuer, attached });
      });
    } catch (error) {
      if (isReached) throw error;
      return failed(issuer);
    }
    if ((await queues.of(id))?.failing_since != null) await write([queues.succeeded(id)]);
    if (issuer.state === 'ending') await removeEnded(issuer);
  }

  /** It can't be reached: nothing is done about its leases but what was recorded before. */
  async function failed(issuer: IssuerRow): Promise<void> {
    const failures = ((await queues.of(issuer.id))?.failures ?? 0) + 1;
    const resumeAt = now() + delayAfter(failures, longestRetryOfIssuer);
    const [first] = await store.leases.due(issuer.id, now(), 1);
    const isTold = failures === failuresToTell && first !== undefined;
    const told = isTold ? [changes.event('lease.revocation_failed', stamps.lease.believe(first))] : [];
    await write([queues.failed(issuer.id, now(), resumeAt), ...told]);
  }

  async function removeEnded(issuer: IssuerRow): Promise<void> {
    if ((await store.leases.living('issuer_id', issuer.id, 1)) > 0) return;
    const permit = await guard.admit(service(issuer.organization_id), 'issuers:write');
    const row = { ...issuer, revision: issuer.revision + 1 };
    await guard
      .change(permit, 'issuer.deleted', {
        subjects: [issuerChange(row)],
        statements: [
          store.leases.noneLiving('issuer_id', issuer.id),
          store.issuers.remove(issuer.id, issuer.revision),
        ],
        touches: [issuer.id],
      })
      .catch(error => {
        if (!(error instanceof StaleChange)) throw error;
      });
  }

  function start(id: string, onError: (error: unknown) => void): void {
    const work = workOn(id)
      .catch(onError)
      .then(() => queues.release(id, holder))
      .catch(onError)
      .finally(() => working.delete(id));
    working.set(id, work);
  }

  return {
    /** Begins what is due, and looks at some of the access keys that hold leases. Returns whether more may be due. */
    async step(onError: (error: unknown) => void): Promise<boolean> {
      await clean();
      // What is due ends even if access keys can't be looked at.
      const isMore = await holders.look().catch(error => void onError(error));
      const room = mostIssuers - working.size;
      const claimed = room > 0 && !stopping ? await queues.claim(holder, now(), claim, room) : [];
      for (const id of claimed) start(id, onError);
      return isMore === true;
    },

    /** Looks at the leases of these access keys soon. */
    touched: holders.touched,

    /** Resolves once nothing is being done any more. */
    async stop(): Promise<void> {
      stopping = true;
      await Promise.all(working.values());
    },

    /** Resolves once everything that was begun is done, for commands and tests that use the domain alone. */
    idle: async (): Promise<void> => void (await Promise.all(working.values())),
  };
}

function delayAfter(failures: number, longest: number): number {
  return Math.min(firstDelay * 2 ** Math.min(failures - 1, 20), longest);
}
