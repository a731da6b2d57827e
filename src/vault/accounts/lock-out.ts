/**
 * Who fails to prove himself waits. An attempt is counted before it is made, for the address of email whatever
 * its spelling and whether or not it is known, in the store and so over all replicas; after a few, each
 * further one has to wait longer. Success alone forgets them. The network address is limited beside it.
 */
import type { Origin } from '../../access/caller.ts';
import { Failure } from '../../contract/errors.ts';
import type { Keyring } from '../../keyring/keyring.ts';
import type { Statement } from '../../store/engine.ts';
import type { Store } from '../../store/store.ts';
import type { Attempts } from '../attempts.ts';

const second = 1_000;
/** How long to wait after so many failures. */
const waits = [0, 0, 0, 0, 0, 30, 60, 120, 240, 480, 900, 1800, 3600].map(seconds => seconds * second);

export interface LockOut {
  /** Counts an attempt, or refuses it. */
  take(emailKey: string, origin: Origin): Promise<void>;
  /** Refuses a network address that failed too often. */
  check(origin: Origin): void;
  failed(origin: Origin): void;
  forget(emailKey: string): Statement;
}

export interface LockOutParts {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly attempts: Attempts;
  readonly now: () => number;
}

export function lockOutWith({ store, keyring, attempts, now }: LockOutParts): LockOut {
  const subjectOf = (emailKey: string) => keyring.blindIndex('lock-out', emailKey);

  function check({ address }: Origin): void {
    const wait = attempts.blockedFor(address);
    if (wait > 0) throw new Failure('RATE_LIMITED', { retryAfter: wait });
  }

  return {
    check,
    failed: ({ address }) => attempts.failed(address),
    forget: emailKey => store.accounts.clearAttempts(subjectOf(emailKey)),

    take: async (emailKey, origin) => {
      check(origin);
      const until = await store.accounts.takeAttempt(subjectOf(emailKey), now(), waits);
      if (until === null) return;
      attempts.failed(origin.address);
      throw new Failure('RATE_LIMITED', { retryAfter: Math.max(1, Math.ceil((until - now()) / second)) });
    },
  };
}
