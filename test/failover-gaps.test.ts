/** What a failover lost is told from what was cut off by when it was signed: between two checkpoints, around the failover itself. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FailoverGaps } from '../src/logs/failover-gaps.ts';

const slack = 1_000;
const [from, to] = [Date.parse('2026-11-16T12:00:00Z'), Date.parse('2026-11-16T12:00:10Z')];
const failoverAt = (at: number) => [{ from: 1, to: 2, at: new Date(at).toISOString() }];

describe('what was signed in a gap', () => {
  const gaps = new FailoverGaps(slack);
  gaps.add(from, to);
  const isLost = (signedAt: number, at: number) => gaps.isLost(signedAt, failoverAt(at));

  it('was lost by a failover if it came after the last checkpoint before it, and not after the next one', () => {
    for (const signedAt of [from + 1, to, to + slack]) assert.ok(isLost(signedAt, to), `${signedAt - from}`);
    for (const signedAt of [from - 1, from, to + slack + 1])
      assert.ok(!isLost(signedAt, to), `${signedAt - from}`);
  });

  it('was cut off if no failover is recorded, or one before or after the gap', () => {
    for (const at of [from, to, to + slack]) assert.ok(isLost(from + 1, at), `${at - from}`);
    for (const at of [from - 1, to + slack + 1]) assert.ok(!isLost(from + 1, at), `${at - from}`);
    assert.ok(!gaps.isLost(from + 1, []));
  });

  it('was cut off if the gap around the failover is another one', () => {
    const later = to + 100_000;
    gaps.add(later, later + 10_000);
    assert.ok(!isLost(later + 1, to));
    assert.ok(isLost(later + 1, later + 5));
  });
});
