/** Failures on their way between the threads: what arrives is what was sent, but for the error that stays behind. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Failure, invalid } from '../src/contract/errors.ts';
import { ApprovalRequired } from '../src/domain/uses/approval-requests.ts';
import { arrived, crossing } from '../src/planes/crossing.ts';

const sent = (failure: Failure) => arrived(structuredClone(crossing(failure)));
const told = ({ code, message, field, reason, retryAfter, because }: Failure) => ({
  code,
  message,
  field,
  reason,
  retryAfter,
  because,
});

describe('a failure that crosses', () => {
  const failures: Failure[] = [
    new Failure('NOT_FOUND'),
    new Failure('FORBIDDEN', { message: 'own words', because: 'wrong_vault' }),
    invalid('name', 'must be a string'),
    new Failure('RATE_LIMITED', { retryAfter: 7 }),
    new Failure('RATE_LIMITED', { retryAfter: 0 }),
  ];
  for (const failure of failures)
    it(`is the same on the other side: ${failure.code} ${failure.message}`, () => {
      const there = sent(failure);
      assert.deepEqual(told(there), told(failure));
      assert.equal(there.cause, undefined);
      assert.equal(there instanceof ApprovalRequired, false);
      assert.equal('retryAfter' in crossing(failure).details, failure.retryAfter !== undefined);
    });

  it('takes a line about its cause along, without what was quoted', () => {
    const { cause } = sent(new Failure('INTERNAL_ERROR', { cause: new TypeError("no such table 'x'") }));
    assert.ok(cause instanceof Error);
    assert.deepEqual([cause.name, cause.stack], ['Error', '']);
    assert.match(cause.message, /^TypeError no such table … at /);
  });

  for (const state of ['pending', 'refused'] as const)
    it(`asks for an approval that is ${state} there too`, () => {
      const failure = new ApprovalRequired({ id: 'a', expires_at: 'then' }, state);
      const there = sent(failure);
      assert.ok(there instanceof ApprovalRequired);
      assert.deepEqual(told(there), told(failure));
      assert.deepEqual(there.approval, { id: 'a', expires_at: 'then' });
    });
});
