/** How long somebody who guesses has to wait, and who waits with them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MinuteCounter } from '../src/domain/kernel/minute-counter.ts';
import { stampsWith } from '../src/domain/kernel/stamps.ts';
import { lockOutWith } from '../src/domain/sessions/lock-out.ts';
import { Keyring } from '../src/keyring/keyring.ts';
import type { AccountRow, LockOutRow } from '../src/store/records/accounts.ts';
import type { Store } from '../src/store/store.ts';

const keyring = Keyring.create('deployment');
const stamps = stampsWith(keyring);
const account = (id: string) => ({ id }) as AccountRow;
const [one, other] = [account('1'), account('2')];
const origin = { address: '192.0.2.1', userAgent: '', requestId: '' };

function world(most?: number) {
  const rows = new Map<string, LockOutRow>();
  const clock = { now: 1_700_000_000_000 };
  const accounts = {
    attempts: async (subject: string) => rows.get(subject),
    countAttempt: async (before: LockOutRow | undefined, after: LockOutRow) => {
      if (rows.get(after.subject) !== before) return false;
      rows.set(after.subject, after);
      return true;
    },
    clearAttempts: (subject: string) => rows.delete(subject),
  };
  const now = () => clock.now;
  const attempts = new MinuteCounter(now, most ?? 1_000_000);
  const lockOut = lockOutWith({
    store: { accounts } as unknown as Store,
    keyring,
    stamps,
    attempts,
    now,
  });
  /** Seconds to wait, or null where the attempt was taken. */
  const waitOf = (attempt: Promise<unknown>) =>
    attempt.then(
      () => null,
      ({ code, retryAfter }) => {
        assert.equal(code, 'RATE_LIMITED');
        return retryAfter as number;
      },
    );
  const take = (whose = one, factor: 'password' | 'code' = 'password') =>
    waitOf(lockOut.take(whose, factor, origin));
  return { rows, clock, attempts, lockOut, waitOf, take };
}

describe('guesses at a factor of an account', () => {
  it('wait from the fifth on, longer each time, up to an hour', async () => {
    const { clock, take } = world();
    for (let times = 0; times < 5; times++) assert.equal(await take(), null);
    for (const seconds of [30, 60, 120, 240, 480, 900, 1_800, 3_600, 3_600, 3_600]) {
      assert.equal(await take(), seconds);
      clock.now += 500;
      assert.equal(await take(), seconds, 'half a second is a whole one');
      clock.now += seconds * 1_000 - 501;
      assert.equal(await take(), 1);
      clock.now += 1;
      assert.equal(await take(), null);
    }
  });

  it('count for that factor of that account alone, until it is forgotten', async () => {
    const { take, lockOut } = world();
    for (let times = 0; times < 5; times++) await take();
    assert.equal(await take(), 30);
    assert.deepEqual([await take(one, 'code'), await take(other)], [null, null]);
    lockOut.forget(one, 'code');
    lockOut.forget(other, 'password');
    lockOut.forgetInSession('1', 'password');
    assert.equal(await take(), 30);
    lockOut.forget(one, 'password');
    assert.equal(await take(), null);
  });

  it('at the same time are counted one after another', async () => {
    const { take } = world();
    const waits = await Promise.all(Array.from({ length: 8 }, () => take()));
    assert.equal(waits.filter(wait => wait === null).length, 5);
  });

  it('are refused where a count was edited', async () => {
    const { rows, lockOut, take } = world();
    await take();
    for (const [subject, row] of rows) rows.set(subject, { ...row, failures: 0 });
    await assert.rejects(lockOut.take(one, 'password', origin), ({ code }) => code !== 'RATE_LIMITED');
  });

  it('of strangers do not keep a person in a session from theirs, and the session’s own do', async () => {
    const { take, lockOut, waitOf } = world();
    const inSession = (id: string) => waitOf(lockOut.takeInSession(id, one, 'password', origin));
    for (let times = 0; times < 5; times++) await take();
    for (let times = 0; times < 5; times++) assert.equal(await inSession('a'), null);
    assert.equal(await inSession('a'), 30);
    assert.equal(await inSession('b'), null);
    lockOut.forgetInSession('a', 'code');
    assert.equal(await inSession('a'), 30);
    lockOut.forgetInSession('a', 'password');
    assert.equal(await inSession('a'), null);
  });

  it('in a session count for the account too', async () => {
    const { take, lockOut } = world();
    for (let times = 0; times < 5; times++)
      await lockOut.takeInSession(String(times), one, 'password', origin);
    assert.equal(await take(), 30);
  });
});

describe('a guess at all accounts of an address', () => {
  it('is taken for those that may be tried, and refused where none may', async () => {
    const { clock, take, lockOut, waitOf } = world();
    const each = () => lockOut.takeEach([one, other], 'key', origin);
    for (let times = 0; times < 4; times++) await take();
    assert.deepEqual(await each(), new Set(['1', '2']));
    for (let times = 0; times < 4; times++) {
      assert.deepEqual(await each(), new Set(['2']));
      clock.now += 1_000;
    }
    assert.equal(await waitOf(each()), 26, 'until the first of them may be tried again');
  });

  it('that nobody has is counted alike, by the address', async () => {
    const { lockOut, waitOf } = world();
    for (let times = 0; times < 5; times++)
      assert.deepEqual(await lockOut.takeEach([], 'key', origin), new Set(['']));
    assert.equal(await waitOf(lockOut.takeEach([], 'key', origin)), 30);
    assert.equal(await waitOf(lockOut.takeEach([], 'other', origin)), null);
    assert.equal(await waitOf(lockOut.takeEach([one], 'key', origin)), null);
  });
});

describe('a network address', () => {
  const refusal = (refuse: () => unknown) => {
    try {
      refuse();
      return null;
    } catch (error) {
      return (error as { code: string }).code;
    }
  };

  it('is told of a failure until there were too many', async () => {
    const { lockOut, attempts, take } = world(2);
    assert.equal(
      refusal(() => lockOut.check(origin)),
      null,
    );
    assert.equal(
      refusal(() => lockOut.refuse(origin)),
      'UNAUTHORIZED',
    );
    lockOut.failed({ ...origin, address: '192.0.2.2' });
    assert.equal(
      refusal(() => lockOut.check(origin)),
      null,
    );
    assert.equal(
      refusal(() => lockOut.refuse(origin)),
      'UNAUTHORIZED',
    );
    assert.equal(
      refusal(() => lockOut.check(origin)),
      'RATE_LIMITED',
    );
    assert.equal(
      refusal(() => lockOut.refuse(origin)),
      'RATE_LIMITED',
    );
    assert.equal(await take(), attempts.blockedFor(origin.address), 'whichever account it is for');
    lockOut.failed({ ...origin, address: '192.0.2.2' });
    assert.ok(attempts.blockedFor('192.0.2.2') > 0);
  });

  it('is refused to the last second of its minute', () => {
    const { lockOut, attempts, clock } = world(1);
    clock.now = Math.floor(clock.now / 60_000) * 60_000 + 59_500;
    lockOut.failed(origin);
    assert.equal(attempts.blockedFor(origin.address), 1);
    assert.equal(
      refusal(() => lockOut.check(origin)),
      'RATE_LIMITED',
    );
    assert.equal(
      refusal(() => lockOut.refuse(origin)),
      'RATE_LIMITED',
    );
  });

  it('fails too by what is refused for the account', async () => {
    const { attempts, take } = world(2);
    for (let times = 0; times < 7; times++) {
      assert.equal(attempts.blockedFor(origin.address), 0);
      await take();
    }
    assert.ok(attempts.blockedFor(origin.address) > 0);
  });

  it('is not counted by an attempt that it may not make', async () => {
    const { lockOut, rows, take } = world(1);
    lockOut.failed(origin);
    await take();
    assert.equal(rows.size, 0);
  });
});
