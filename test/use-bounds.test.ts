/** How many uses are under way at a time, and for how long an access key is suspended that guessed. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concurrencyOf } from '../src/domain/uses/concurrency.ts';
import { type Suspect, suspensionsWith } from '../src/domain/uses/suspensions.ts';

describe('uses under way', () => {
  const isRefused = {
    code: 'RATE_LIMITED',
    message: 'At most 32 calls with an access key can run at a time',
    retryAfter: 1,
    because: 'too_many_calls',
  };

  it('are 32 of an access key at most, and others’ beside them', async () => {
    const slots = concurrencyOf();
    const end = Promise.withResolvers<string>();
    const underWay = Array.from({ length: 32 }, () => slots.within('one', () => end.promise));
    await assert.rejects(
      slots.within('one', async () => 'more'),
      isRefused,
    );
    assert.equal(await slots.within('two', async () => 'beside'), 'beside');
    end.resolve('done');
    assert.deepEqual(new Set(await Promise.all(underWay)), new Set(['done']));
    assert.equal(await slots.within('one', async () => 'again'), 'again');
  });

  it('make room one by one, also where one fails', async () => {
    const slots = concurrencyOf();
    const ends = Array.from({ length: 32 }, () => Promise.withResolvers<void>());
    const underWay = ends.map(({ promise }) => slots.within('one', () => promise));
    ends[0]!.reject(new Error('failed'));
    await assert.rejects(underWay[0]!, /failed/);
    const last = Promise.withResolvers<void>();
    const next = slots.within('one', () => last.promise);
    await assert.rejects(
      slots.within('one', async () => {}),
      isRefused,
    );
    for (const { resolve } of [...ends, last]) resolve();
    await Promise.all([...underWay.slice(1), next]);
    const again = Array.from({ length: 32 }, () => slots.within('one', async () => {}));
    await Promise.all(again);
  });
});

describe('a suspension', () => {
  const week = 7 * 24 * 60 * 60;
  const suspect = (id = 'secret', said: object = {}) =>
    ({ reader: { givenBy: 'key' }, row: { id, version: 1 }, rules: [], ...said }) as unknown as Suspect;
  function world() {
    const time = { now: 0 };
    const taken = new Map<string, number>();
    const asked: [window: number, count: number][] = [];
    const limits = {
      taken: async (subject: string, window: number) => {
        asked.push([window, 0]);
        return taken.get(`${subject} ${window}`) ?? 0;
      },
      take: async (subject: string, window: number, count: number) => {
        asked.push([window, count]);
        const sum = (taken.get(`${subject} ${window}`) ?? 0) + count;
        taken.set(`${subject} ${window}`, sum);
        return sum;
      },
    };
    const suspensions = suspensionsWith({ store: { limits } as never, now: () => time.now });
    return { time, asked, suspensions, taken };
  }

  it('begins with the third part, and not before', async () => {
    const { suspensions } = world();
    for (const isSuspended of [false, false, true]) {
      await suspensions.count(suspect(), 1);
      assert.equal(await suspensions.isSuspended(suspect()), isSuspended);
    }
  });

  it('ends with the week', async () => {
    const { suspensions, time, asked } = world();
    time.now = (10 * week - 1) * 1_000;
    await suspensions.count(suspect(), 7);
    assert.deepEqual(asked, [[10 * week, 3]], 'as many as it takes');
    assert.equal(await suspensions.isSuspended(suspect()), true);
    time.now += 999;
    assert.equal(await suspensions.isSuspended(suspect()), true);
    time.now += 1;
    assert.equal(await suspensions.isSuspended(suspect()), false);
    assert.equal(asked.at(-1)![0], 11 * week);
  });

  it('is about a version of a secret and the revisions of its rules, in whatever order', async () => {
    const { suspensions } = world();
    const [a, b] = [
      { id: 'a', revision: 1 },
      { id: 'b', revision: 1 },
    ];
    await suspensions.count(suspect('secret', { rules: [a, b] }), 3);
    const isSuspended = (said: object) => suspensions.isSuspended(suspect('secret', said));
    assert.equal(await isSuspended({ rules: [b, a] }), true);
    assert.equal(await isSuspended({ rules: [a] }), false);
    assert.equal(await isSuspended({ rules: [a, { ...b, revision: 2 }] }), false);
    assert.equal(await isSuspended({ rules: [a, b], row: { id: 'secret', version: 2 } }), false);
    assert.equal(await isSuspended({ rules: [a, b], reader: { givenBy: 'other' } }), false);
  });

  it('is remembered of 10,000; the others are looked up again', async () => {
    const { suspensions, asked } = world();
    const isLookedUp = async (at: number) => {
      const before = asked.length;
      await suspensions.isSuspended(suspect(`s${at}`));
      return asked.length > before;
    };
    for (let at = 1; at <= 10_000; at++) assert.equal(await isLookedUp(at), true);
    assert.equal(await isLookedUp(1), false);
    assert.equal(await isLookedUp(10_001), true);
    assert.equal(await isLookedUp(2), false);
    assert.equal(await isLookedUp(1), true);
  });
});
