/** The state of a resource: deleted before all else, then disabled, then by its dates, each of them to the millisecond. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nextChangeOf, type State, stateAt } from '../src/domain/resources/lifecycle.ts';

const now = 1_000;
const sides = [null, now - 1, now, now + 1];

describe('the state of a resource', () => {
  it('is one of five, in every combination of what decides it', () => {
    for (const deleted_at of [null, 0, now - 1, now + 1]) {
      for (const enabled of [0, 1] as const) {
        for (const activation_date of sides) {
          for (const expiration_date of sides) {
            const resource = { deleted_at, enabled, attributes: '{}', activation_date, expiration_date };
            assert.equal(stateAt(resource, now), expected(resource), JSON.stringify(resource));
          }
        }
      }
    }
  });

  it('changes by itself at the next of its dates, and never at one that is past', () => {
    const enabled = { enabled: 1, attributes: '{}' } as const;
    const dated = (activation_date: number | null, expiration_date: number | null) =>
      nextChangeOf([{ ...enabled, deleted_at: null, activation_date, expiration_date }], now);
    assert.equal(dated(null, null), Number.POSITIVE_INFINITY);
    assert.equal(dated(now, now), Number.POSITIVE_INFINITY);
    assert.equal(dated(now - 1, now + 5), now + 5);
    assert.equal(dated(now + 2, now + 5), now + 2);
  });
});

function expected(resource: Parameters<typeof stateAt>[0]): State {
  const { deleted_at, enabled, activation_date, expiration_date } = resource;
  if (deleted_at !== null) return 'deleted';
  if (enabled === 0) return 'disabled';
  if (activation_date === now + 1) return 'not-active';
  return expiration_date === now || expiration_date === now - 1 ? 'expired' : 'active';
}
