/** Failures on their way from one thread to another: an error keeps nothing of its own when it is copied. */
import { Failure, type FailureCode, type FailureDetails } from '../contract/errors.ts';
import { ApprovalRequired } from '../domain/uses/approval-requests.ts';
import { describe } from '../report.ts';

export interface CrossingFailure {
  readonly code: FailureCode;
  readonly details: FailureDetails;
  readonly approval: ApprovalRequired['approval'] | null;
}

export function crossing(failure: Failure): CrossingFailure {
  const { code, message, field, reason, retryAfter, because, cause } = failure;
  const told = cause === undefined ? {} : { cause: describe(cause) };
  return {
    code,
    details: {
      message,
      field,
      reason,
      because,
      ...(retryAfter === undefined ? {} : { retryAfter }),
      ...told,
    },
    approval: failure instanceof ApprovalRequired ? failure.approval : null,
  };
}

export function arrived({ code, details, approval }: CrossingFailure): Failure {
  if (approval !== null)
    return new ApprovalRequired(approval, details.because === 'approval_refused' ? 'refused' : 'pending');
  return new Failure(
    code,
    details.cause === undefined ? details : { ...details, cause: new Told(details.cause) },
  );
}

/** What the operator is told of an error that stayed where it was made. */
class Told extends Error {
  constructor(line: unknown) {
    super(String(line));
    this.name = 'Error';
    this.stack = '';
  }
}
