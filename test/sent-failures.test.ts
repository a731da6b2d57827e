/** Failures on their way between the threads: what arrives is what was sent, but for the error that stays behind. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Failure, invalid } from '../src/contract/errors.ts';
import { receivedFailure, sentFailure } from '../src/threads/failures.ts';

const sent = (failure: Failure) => receivedFailure(structuredClone(sentFailure(failure)));
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
      assert.equal(there.approval, undefined);
      assert.equal('retryAfter' in sentFailure(failure).details, failure.retryAfter !== undefined);
    });

  it('takes a line about its cause along, without what was quoted', () => {
    const { cause } = sent(new Failure('INTERNAL_ERROR', { cause: new TypeError("no such table 'x'") }));
    assert.ok(cause instanceof Error);
    assert.deepEqual([cause.name, cause.stack], ['Error', '']);
    assert.match(cause.message, /^TypeError no such table … at /);
  });

  it('names the approval that the call waits for there too', () => {
    const approval = { id: 'a', expires_at: 'then' };
    const failure = new Failure('FORBIDDEN', { because: 'approval_refused', approval });
    const there = sent(failure);
    assert.deepEqual(told(there), told(failure));
    assert.deepEqual(there.approval, approval);
  });

  it('is an internal error where it was no failure, with a line about what it was', () => {
    const there = receivedFailure(structuredClone(sentFailure(new RangeError('too far'))));
    assert.equal(there.code, 'INTERNAL_ERROR');
    assert.match((there.cause as Error).message, /^RangeError too far at /);
  });
});
