/**
 * The only error that crosses module boundaries. It is written for the caller: `message`, `field` and `reason` may
 * leave the process, so they never contain a value that was sent. The internal error is in `cause`, which goes only
 * to the operator's log. The reason why a vault request was refused is in `because`, which goes only to the request
 * log.
 */
import { type FailureCode, type RefusalReason, usualReasons } from './refusals.ts';

export type { FailureCode } from './refusals.ts';

const defaultMessages: Record<FailureCode, string> = {
  INVALID_REQUEST: 'The request is not valid',
  CONFLICT: 'The request conflicts with existing data',
  UNAUTHORIZED: 'Unauthorized',
  SECOND_FACTOR_REQUIRED: 'A one-time code is required',
  PROOF_REQUIRED: 'Confirm your identity first',
  FORBIDDEN: 'Forbidden',
  NOT_ACTIVE: 'Resource not active',
  NOT_FOUND: 'Resource not found',
  EXPIRED: 'Resource expired',
  REQUEST_TIMEOUT: 'The request took too long to arrive',
  EXPECTATION_FAILED: 'The Expect header must be 100-continue',
  RATE_LIMITED: 'Too many requests',
  INTERNAL_ERROR: 'Something went wrong on the server',
  UNAVAILABLE: 'The service is unavailable',
};

/** The only mapping of codes to statuses. */
export const statusOf: Readonly<Record<FailureCode, number>> = {
  INVALID_REQUEST: 400,
  CONFLICT: 400,
  UNAUTHORIZED: 401,
  SECOND_FACTOR_REQUIRED: 401,
  PROOF_REQUIRED: 403,
  FORBIDDEN: 403,
  NOT_ACTIVE: 403,
  NOT_FOUND: 404,
  EXPIRED: 410,
  // Defined by HTTP, not by the API. Clients and proxies retry automatically after the first.
  REQUEST_TIMEOUT: 408,
  EXPECTATION_FAILED: 417,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  UNAVAILABLE: 503,
};

export interface FailureDetails {
  readonly message?: string;
  readonly field?: string;
  readonly reason?: string;
  readonly cause?: unknown;
  /** Seconds to wait before trying again. */
  readonly retryAfter?: number;
  /** For the request log, if the code doesn't say enough. It is never sent to the caller. */
  readonly because?: RefusalReason;
  /** The approval that the call is waiting for, or that was refused. */
  readonly approval?: ApprovalReference;
}

export interface ApprovalReference {
  readonly id: string;
  readonly expires_at: string;
}

export class Failure extends Error {
  readonly code: FailureCode;
  readonly field: string;
  readonly reason: string;
  readonly retryAfter: number | undefined;
  readonly because: RefusalReason;
  readonly approval: ApprovalReference | undefined;

  constructor(code: FailureCode, details: FailureDetails = {}) {
    super(details.message ?? defaultMessages[code], { cause: details.cause });
    this.name = 'Failure';
    this.code = code;
    this.field = details.field ?? '';
    this.reason = details.reason ?? '';
    this.retryAfter = details.retryAfter;
    this.because = details.because ?? usualReasons[code];
    this.approval = details.approval;
  }
}

/** A failure caused by a field of the request. It names the field and says what would be right. */
export function invalid(field: string, reason: string, cause?: unknown): Failure {
  return new Failure('INVALID_REQUEST', { field, reason, cause });
}

/** A failure as one sentence: the field, if there is one, and the reason; without either, the message. */
export function sentenceOf({ message, field, reason }: Failure): string {
  return [field, reason].filter(part => part !== '').join(' ') || message;
}
