/**
 * The form in which failures pass between threads, because copying an error loses its properties. Everything that the
 * caller sees is kept unchanged. An internal error is reduced to one line for the operator, without quoted text.
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

/** An error from another thread, reduced to one line. */
class Described extends Error {
  constructor(line: unknown) {
    super(String(line));
    this.name = 'Error';
    this.stack = '';
  }
}
