/**
 * The one form in which failures go from thread to thread: an error keeps nothing of its own when it is copied. What the
 * caller is told arrives as it was; of the internal error only one line for the operator, without what it quoted.
 */

import { describe } from '../base/described-error.ts';
import { Failure, type FailureCode, type FailureDetails } from '../contract/errors.ts';

export interface SentFailure {
  readonly code: FailureCode;
  readonly details: FailureDetails;
}

export function sentFailure(error: unknown): SentFailure {
  const failure = error instanceof Failure ? error : new Failure('INTERNAL_ERROR', { cause: error });
  const { code, message, field, reason, retryAfter, because, approval, cause } = failure;
  const details: FailureDetails = {
    message,
    field,
    reason,
    because,
    ...(retryAfter === undefined ? {} : { retryAfter }),
    ...(approval === undefined ? {} : { approval }),
    ...(cause === undefined ? {} : { cause: describe(cause) }),
  };
  return { code, details };
}

export function receivedFailure({ code, details }: SentFailure): Failure {
  const { cause } = details;
  return new Failure(code, cause === undefined ? details : { ...details, cause: new Described(cause) });
}

/** The thread ended before it answered: how far it got is unknown. */
export class ThreadEnded extends Failure {
  constructor(cause?: unknown) {
    super('UNAVAILABLE', { retryAfter: 1, cause });
  }
}

/** An error that stayed in the thread where it was thrown, as one line. */
class Described extends Error {
  constructor(line: unknown) {
    super(String(line));
    this.name = 'Error';
    this.stack = '';
  }
}
