/**
 * The only error that crosses module boundaries. It is written for the caller: `message`, `field` and `reason` may
 * leave the process, so they never contain a value that was sent. The internal error is in `cause`, which goes only
 * to the operator's log. The reason why a vault request was refused is in `because`, which goes only to the request
 * log.
 */
import type { RefusalReason } from './refusals.ts';

interface FailureKind {
  readonly status: number;
  /** The reason in the request log, if there is only one or it is not known more precisely. */
  readonly because: RefusalReason;
  readonly message: string;
}

const kinds = {
  INVALID_REQUEST: { status: 400, because: 'invalid_request', message: 'The request is not valid' },
  CONFLICT: { status: 400, because: 'invalid_request', message: 'The request conflicts with existing data' },
  UNAUTHORIZED: { status: 401, because: 'unknown_credential', message: 'Unauthorized' },
  SECOND_FACTOR_REQUIRED: { status: 401, because: 'not_allowed', message: 'A one-time code is required' },
  PROOF_REQUIRED: { status: 403, because: 'not_allowed', message: 'Confirm your identity first' },
  FORBIDDEN: { status: 403, because: 'not_allowed', message: 'Forbidden' },
  NOT_ACTIVE: { status: 403, because: 'not_active', message: 'Resource not active' },
  NOT_FOUND: { status: 404, because: 'not_found', message: 'Resource not found' },
  UNRESOLVED: {
    status: 409,
    because: 'unresolved',
    message: 'A reference in this secret can’t be resolved',
  },
  EXPIRED: { status: 410, because: 'resource_expired', message: 'Resource expired' },
  // Defined by HTTP, not by the API. Clients and proxies retry automatically after the first.
  REQUEST_TIMEOUT: {
    status: 408,
    because: 'invalid_request',
    message: 'The request took too long to arrive',
  },
  EXPECTATION_FAILED: {
    status: 417,
    because: 'invalid_request',
    message: 'The Expect header must be 100-continue',
  },
  RATE_LIMITED: { status: 429, because: 'rate_limit', message: 'Too many requests' },
  INTERNAL_ERROR: { status: 500, because: 'internal_error', message: 'Something went wrong on the server' },
  UNAVAILABLE: { status: 503, because: 'unavailable', message: 'The service is unavailable' },
} as const satisfies Readonly<Record<string, FailureKind>>;

export type FailureCode = keyof typeof kinds;

/** The only mapping of codes to statuses. */
export const statusOf = Object.fromEntries(
  Object.entries(kinds).map(([code, { status }]) => [code, status]),
) as Readonly<Record<FailureCode, number>>;

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
    super(details.message ?? kinds[code].message, { cause: details.cause });
    this.name = 'Failure';
    this.code = code;
    this.field = details.field ?? '';
    this.reason = details.reason ?? '';
    this.retryAfter = details.retryAfter;
    this.because = details.because ?? kinds[code].because;
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
