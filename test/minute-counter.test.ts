/** What counts as one address, and how often something is served in a minute: the decision by itself. That every surface asks is tested in rate-limits. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MinuteCounter, networkOf } from '../src/domain/kernel/minute-counter.ts';

const minute = 60_000;
const address = '192.0.2.1';

describe('what counts as one address', () => {
  const rows: [string, string][] = [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['not an address', 'not an address'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:DB8:0001:02:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8:1:2::', '2001:db8:1:2'],
    ['2001:db8::', '2001:db8:0:0'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['2001:db8::2:3:4:5:6', '2001:db8:0:2'],
    ['2001::1:2:3:4:5:6', '2001:0:1:2'],
    ['2001:db8:1:2:3:4:5::', '2001:db8:1:2'],
    ['::', '0:0:0:0'],
    ['::1', '0:0:0:0'],
    ['::1:2:3:4:5:6:7', '0:1:2:3'],
    ['1::2:3:4:5:6:7', '1:0:2:3'],
    ['::1:2:3:4:5:1.2.3.4', '0:1:2:3'],
    ['1:2:3:4:5:6:1.2.3.4', '1:2:3:4'],
    ['fe80::1.2.3.4%eth0', 'fe80:0:0:0'],
  ];
  for (const [from, network] of rows)
    it(`of ${from} is ${network}`, () => assert.equal(networkOf(from), network));
});

describe('counts by minute', () => {
  it('block an address from the sixtieth on, and no other', () => {
    const attempts = new MinuteCounter(() => 0);
    for (let at = 0; at < 59; at++) attempts.add(address);
    assert.equal(attempts.blockedFor(address), 0);
    attempts.add(address);
    assert.equal(attempts.blockedFor(address), 60);
    assert.equal(attempts.blockedFor('192.0.2.2'), 0);
  });

  it('block it until the minute of the clock is over, and count anew then', () => {
    let now = 10 * minute + 1_000;
    const attempts = new MinuteCounter(() => now, 2);
    attempts.add(address);
    attempts.add(address);
    assert.equal(attempts.blockedFor(address), 59);
    now = 11 * minute - 1;
    assert.equal(attempts.blockedFor(address), 1);
    now = 11 * minute;
    assert.equal(attempts.blockedFor(address), 0);
    attempts.add(address);
    assert.equal(attempts.blockedFor(address), 0);
  });

  it('are counted beside what is good where all of it is bounded, which is refused until the minute is over', () => {
    let now = 0;
    const asked = new MinuteCounter(() => now, 2);
    asked.take('one');
    asked.take('one');
    const isRefused = (retryAfter: number) =>
      assert.throws(() => asked.take('one'), { code: 'RATE_LIMITED', retryAfter });
    isRefused(60);
    asked.take('two');
    now = minute - 1;
    isRefused(1);
    now = minute;
    asked.take('one');
  });

  it('of a network count together', () => {
    const attempts = new MinuteCounter(() => 0, 2);
    attempts.add('2001:db8::1');
    attempts.add('2001:db8:0:0:ffff::2');
    assert.equal(attempts.blockedFor('2001:db8::3'), 60);
    assert.equal(attempts.blockedFor('2001:db8:0:1::3'), 0);
  });

  it('are told of where they happened here, and counted where they happened elsewhere', () => {
    const told: string[] = [];
    const attempts = new MinuteCounter(
      () => 0,
      2,
      one => told.push(one),
    );
    attempts.add(address);
    attempts.learn(address);
    assert.deepEqual([told, attempts.blockedFor(address)], [[address], 60]);
  });

  it('of 20,000 addresses are remembered, and for one more the first of them is forgotten', () => {
    const attempts = new MinuteCounter(() => 0, 1);
    const one = (at: number) => `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`;
    for (let at = 0; at < 20_000; at++) attempts.learn(one(at));
    attempts.learn(one(7));
    assert.equal(attempts.blockedFor(one(0)), 60, 'one that is known takes no other place');
    attempts.learn(one(20_000));
    assert.deepEqual(
      [0, 1, 19_999, 20_000].map(at => attempts.blockedFor(one(at))),
      [0, 60, 60, 60],
    );
  });

  it('leave an address over the limit one lookup at a time, and any other as many as it asks for', async () => {
    const attempts = new MinuteCounter(() => 0, 1);
    attempts.add(address);
    let [underWay, most] = [0, 0];
    const look = async () => {
      most = Math.max(most, ++underWay);
      await new Promise(resolve => setImmediate(resolve));
      underWay--;
    };
    const lookUp = (from: string) => Promise.all([1, 2, 3].map(() => attempts.lookUp(from, look)));
    await lookUp(address);
    assert.equal(most, 1);
    await lookUp('192.0.2.2');
    assert.equal(most, 3);
  });
});
