/**
 * Delays further attempts after failed ones. An attempt is counted before it is checked, per account and factor, in
 * the store and so across all replicas; after a few failures, each further attempt has to wait longer. Only a success
 * with that factor of that account resets the count: the same email address in another organization is another
 * account. Attempts for an unknown email address are counted in the same way, by the address. The counts are stamped:
 * if one was edited, it can't be used to sign in. The network address is limited separately.
 */
import type { Origin } from '../../access/caller.ts';
import { Failure } from '../../contract/errors.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { AccountRow, LockOutRow } from '../../store/records/accounts.ts';
import type { MinuteCounter } from '../kernel/minute-counter.ts';
import type { Parts } from '../kernel/parts.ts';

const second = 1_000;
/** How long to wait after each number of failures. */
const waits = [0, 0, 0, 0, 0, 30, 60, 120, 240, 480, 900, 1800, 3600].map(seconds => seconds * second);

/** Factors that can be guessed. */
export type Factor = 'password' | 'code';

export type LockOut = ReturnType<typeof lockOutWith>;

interface LockOutParts extends Pick<Parts, 'store' | 'keyring' | 'stamps' | 'now'> {
  readonly attempts: MinuteCounter;
}

export function lockOutWith({ store, keyring, stamps, attempts, now }: LockOutParts) {
  const subjectOf = ({ id }: AccountRow, factor: Factor) =>
    keyring.blindIndex('lock-out', `account ${id} ${factor}`);
  const inSession = (id: string, factor: Factor) => keyring.blindIndex('lock-out', `session ${id} ${factor}`);
  const nobody = (emailKey: string) => keyring.blindIndex('lock-out', `address ${emailKey}`);

  function check({ address }: Origin): void {
    const wait = attempts.blockedFor(address);
    if (wait > 0) throw new Failure('RATE_LIMITED', { retryAfter: wait });
  }

  /** Counts an attempt, one after another, or returns the time until which attempts are refused. */
  async function counted(subject: string): Promise<number | null> {
    for (;;) {
      const stored = await store.accounts.attempts(subject);
      const before = stored && stamps.lockOut.vouched(stored);
      const until = before === undefined ? 0 : before.last_at + waitAfter(before);
      if (until > now()) return until;
      const failures = (before?.failures ?? 0) + 1;
      const after = stamps.lockOut.stamp({ subject, failures, last_at: now() });
      if (await store.accounts.countAttempt(before, after)) return null;
    }
  }

  /** Returns those subjects that may be tried. */
  async function taken(subjects: readonly string[], origin: Origin): Promise<string[]> {
    check(origin);
    const until = await Promise.all(subjects.map(counted));
    const open = subjects.filter((_, index) => until[index] === null);
    if (open.length > 0) return open;
    attempts.add(origin.address);
    const wait = Math.min(...until.map(Number)) - now();
    throw new Failure('RATE_LIMITED', { retryAfter: Math.max(1, Math.ceil(wait / second)) });
  }

  return {
    check,
    failed: ({ address }: Origin): void => attempts.add(address),
    forget: (account: AccountRow, factor: Factor): Statement =>
      store.accounts.clearAttempts(subjectOf(account, factor)),
    forgetInSession: (id: string, factor: Factor): Statement =>
      store.accounts.clearAttempts(inSession(id, factor)),

    /** Refuses a failed attempt with 401, or with 429 if too many came from the address. */
    refuse: (origin: Origin): never => {
      const wait = attempts.blockedFor(origin.address);
      attempts.add(origin.address);
      throw wait > 0 ? new Failure('RATE_LIMITED', { retryAfter: wait }) : new Failure('UNAUTHORIZED');
    },

    /** Counts an attempt, or refuses it. */
    take: async (account: AccountRow, factor: Factor, origin: Origin): Promise<void> => {
      await taken([subjectOf(account, factor)], origin);
    },

    /**
     * The same for a signed-in person. The attempt also counts for the account, but only failures in this session can
     * refuse it: other people's guesses at the sign-in page don't keep a person from changing their password.
     */
    takeInSession: async (sessionId: string, account: AccountRow, factor: Factor, origin: Origin) => {
      await taken([inSession(sessionId, factor)], origin);
      await counted(subjectOf(account, factor));
    },

    /** Counts an attempt at the password of each account with this address; returns those that may be tried. */
    takeEach: async (accounts: readonly AccountRow[], emailKey: string, origin: Origin) => {
      const ids = new Map(accounts.map(account => [subjectOf(account, 'password'), account.id]));
      const open = await taken(ids.size === 0 ? [nobody(emailKey)] : [...ids.keys()].sort(), origin);
      return new Set(open.map(subject => ids.get(subject) ?? ''));
    },
  };
}

function waitAfter({ failures }: LockOutRow): number {
  return waits[Math.min(failures, waits.length - 1)]!;
}
