/**
 * The suite stays quick: a file that takes much processor time needs a reason. What is compared are the figures that
 * `node scripts/test.ts --record` stored, so that this does not fail on a slow machine.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type FileTimes, processorTime, recordedTimes, timesOf } from '../scripts/test-times.ts';
import expensive from './expensive-files.json' with { type: 'json' };
import { between, timesUntilNow } from './processor-time.ts';

/** In seconds of processor time. */
const limit = 10;
const reasons: Readonly<Record<string, { readonly most: number; readonly reason: string }>> = expensive;

/** A line for each file that takes more than it may, and for each reason that is not needed. */
function faultsOf(times: Readonly<Record<string, FileTimes>>, allowed: typeof reasons): string[] {
  const tooMuch = Object.entries(times).flatMap(([file, time]) => {
    const taken = processorTime(time);
    const most = allowed[file]?.most ?? limit;
    return taken > most
      ? [`${file} takes ${taken.toFixed(1)} s of processor time, and may take ${most}`]
      : [];
  });
  const needless = Object.entries(allowed).flatMap(([file, { most }]) =>
    most > limit && file in times ? [] : [`${file} needs no reason`],
  );
  return [...tooMuch, ...needless];
}

const ofSeconds = (own: number): FileTimes => ({ seconds: own, own, children: 0, chromium: 0, postgres: 0 });

describe('the recorded processor time of test files', () => {
  it('is at most 10 seconds each, or has a reason and a limit of its own in test/expensive-files.json', () => {
    assert.deepEqual(faultsOf(recordedTimes, reasons), []);
    for (const { reason } of Object.values(reasons)) assert.ok(reason.length > 20, reason);
  });

  it('is too much beyond the limit, beyond that of the reason, and where a reason is left over', () => {
    const allowed = { b: { most: 30, reason: '' }, c: { most: 30, reason: '' } };
    const times = { a: ofSeconds(10.1), b: ofSeconds(30.1) };
    assert.deepEqual(faultsOf(times, allowed), [
      'a takes 10.1 s of processor time, and may take 10',
      'b takes 30.1 s of processor time, and may take 30',
      'c needs no reason',
    ]);
    assert.deepEqual(faultsOf({ a: ofSeconds(10), b: ofSeconds(30) }, { b: allowed.b }), []);
  });

  it('counts each kind of process, and each database for the file whose number is in its name', () => {
    const id = '0123456789abcdef'.repeat(2);
    const taken = { own: 1, children: 2, chromium: 3 };
    const databases = {
      [`test_1_${id}`]: 4,
      [`test_1_${id.toUpperCase()}`]: 9,
      [`test_7_${id}`]: 5,
      postgres: 6,
    };
    const times = timesOf(['a', 'b', 'c'], new Map([['b', 20]]), [taken, taken, null], databases);
    assert.deepEqual(times, {
      a: { seconds: 0, ...taken, postgres: 0 },
      b: { seconds: 20, ...taken, postgres: 4 },
    });
    assert.equal(processorTime(times.b!), 10);
  });

  it('is measured by the system', { skip: process.platform !== 'linux' }, () => {
    const before = timesUntilNow();
    const end = process.cpuUsage().user + 300_000;
    while (process.cpuUsage().user < end);
    const times = between(before, timesUntilNow());
    assert.ok(times !== null && times.own >= 0.2 && times.own < 5, JSON.stringify(times));
  });
});
