import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Lifecycle, nextChangeOf, type State, stateAt } from '../src/domain/resources/lifecycle.ts';

const plain: Lifecycle = {
  enabled: 1,
  attributes: '{}',
  activation_date: null,
  expiration_date: null,
  deleted_at: null,
};
const now = 1_000;

describe('the state of a resource', () => {
  const states: [change: Partial<Lifecycle>, state: State][] = [
    [{}, 'active'],
    [{ enabled: 0, attributes: '{"kind":"template","enabled":true}' }, 'active'],
    [{ enabled: 0, attributes: '{"kind":"template"}' }, 'disabled'],
    [{ activation_date: now - 1 }, 'active'],
    [{ activation_date: now }, 'active'],
    [{ activation_date: now + 1 }, 'not-active'],
    [{ expiration_date: now + 1 }, 'active'],
    [{ expiration_date: now }, 'expired'],
    [{ expiration_date: now - 1 }, 'expired'],
    [{ activation_date: now - 1, expiration_date: now + 1 }, 'active'],
    [{ activation_date: now + 1, expiration_date: now - 1 }, 'not-active'],
    [{ enabled: 0 }, 'disabled'],
    [{ enabled: 0, activation_date: now + 1 }, 'disabled'],
    [{ enabled: 0, expiration_date: now - 1 }, 'disabled'],
    [{ deleted_at: now - 1 }, 'deleted'],
    [{ deleted_at: 0 }, 'deleted'],
    [{ deleted_at: now - 1, enabled: 0, expiration_date: now - 1 }, 'deleted'],
    [{ activation_date: 0, expiration_date: 0 }, 'expired'],
  ];
  for (const [change, state] of states)
    it(`is ${state} with ${JSON.stringify(change)} at ${now}`, () =>
      assert.equal(stateAt({ ...plain, ...change }, now), state));

  it('is not decided by a date that is not set, at whatever moment', () => {
    assert.equal(stateAt(plain, -5), 'active');
    assert.equal(nextChangeOf([plain], -5), Number.POSITIVE_INFINITY);
  });

  const changes: [dates: [activation: number | null, expiration: number | null][], next: number][] = [
    [[], Number.POSITIVE_INFINITY],
    [[[null, null]], Number.POSITIVE_INFINITY],
    [[[now, now]], Number.POSITIVE_INFINITY],
    [[[now - 1, now - 1]], Number.POSITIVE_INFINITY],
    [[[now + 1, null]], now + 1],
    [[[null, now + 1]], now + 1],
    [[[now + 2, now + 5]], now + 2],
    [[[now + 5, now + 2]], now + 2],
    [
      [
        [now + 9, null],
        [null, now + 3],
        [now - 1, now + 7],
      ],
      now + 3,
    ],
  ];
  for (const [dates, next] of changes)
    it(`changes by itself next at ${next} with the dates ${JSON.stringify(dates)}`, () =>
      assert.equal(
        nextChangeOf(
          dates.map(([activation_date, expiration_date]) => ({ ...plain, activation_date, expiration_date })),
          now,
        ),
        next,
      ));
});
