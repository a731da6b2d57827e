/**
 * The one failure that crosses module borders. It speaks to the caller: `message`, `field` and `reason`
 * may leave the process, so none of them ever holds a value that was sent. What went wrong inside
 * travels in `cause`, which goes to the operator's log and nowhere else.
 */
export type FailureCode =
  | 'INVALID_REQUEST'
  | 'CONFLICT'
  | 'UNAUTHORIZED'
  | 'SECOND_FACTOR_REQUIRED'
  | 'FORBIDDEN'
  | 'NOT_ACTIVE'
  | 'NOT_FOUND'
  | 'EXPIRED'
  | 'RATE_LIMITED'
  | 'INTERNAL_ERROR'
  | 'UNAVAILABLE';

const defaultMessages: Record<FailureCode, string> = {
  INVALID_REQUEST: 'The request is not valid',
  CONFLICT: 'The request conflicts with what is stored',
  UNAUTHORIZED: 'Unauthorized',
  SECOND_FACTOR_REQUIRED: 'A one-time code is needed',
  FORBIDDEN: 'Forbidden',
  NOT_ACTIVE: 'Resource not active',
  NOT_FOUND: 'Resource not found',
  EXPIRED: 'Resource expired',
  RATE_LIMITED: 'Too many requests',
  INTERNAL_ERROR: 'Something went wrong on our side',
  UNAVAILABLE: 'The service is unavailable',
};

/** The only table of codes and statuses. */
export const statusOf: Readonly<Record<FailureCode, number>> = {
  INVALID_REQUEST: 400,
  CONFLICT: 400,
  UNAUTHORIZED: 401,
  SECOND_FACTOR_REQUIRED: 401,
  FORBIDDEN: 403,
  NOT_ACTIVE: 403,
  NOT_FOUND: 404,
  EXPIRED: 410,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  UNAVAILABLE: 503,
};

export interface FailureDetails {
  readonly message?: string;
  readonly field?: string;
  readonly reason?: string;
  readonly cause?: unknown;
  /** Seconds after which trying again makes sense. */
  readonly retryAfter?: number;
}

export class Failure extends Error {
  readonly code: FailureCode;
  readonly field: string;
  readonly reason: string;
  readonly retryAfter: number | undefined;

  constructor(code: FailureCode, details: FailureDetails = {}) {
    super(details.message ?? defaultMessages[code], { cause: details.cause });
    this.name = 'Failure';
    this.code = code;
    this.field = details.field ?? '';
    this.reason = details.reason ?? '';
    this.retryAfter = details.retryAfter;
  }
}

/** A member of the request is at fault: name it, and say what would be right. */
export function invalid(field: string, reason: string, cause?: unknown): Failure {
  return new Failure('INVALID_REQUEST', { field, reason, cause });
}

/** What a failure says where there is room for one sentence: for a bad request, which member is at fault. */
export function sentenceOf({ message, field, reason }: Failure): string {
  return field === '' ? message : `${field} ${reason}`;
}
