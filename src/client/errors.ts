/** The client's one error class. It names codes, statuses and secrets' names, and never a value or the access key. */

export type ErrorCode =
  /** The options can't work: an address that is no address, a key that is no key. */
  | 'INVALID_OPTIONS'
  /** No answer came: refused connection, unknown host, time limit. */
  | 'UNREACHABLE'
  /** What came is not an answer of a vault: a redirect, another page, broken JSON. */
  | 'INVALID_ANSWER'
  | 'INVALID_REQUEST'
  | 'CONFLICT'
  | 'UNAUTHORIZED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'GONE'
  | 'RATE_LIMITED'
  | 'UNAVAILABLE'
  | 'INTERNAL_ERROR'
  /** Declared, and not among what the access key can read. */
  | 'MISSING_SECRET'
  /** There, and not what its schema accepts. */
  | 'INVALID_SECRET'
  /** Not confirmed by the vault for longer than `maxStaleSeconds`. */
  | 'STALE'
  | 'CACHE_FAILED'
  /** A function that was handed in (`onChange`, `derived`, `onReceipt`) threw; see `cause`. */
  | 'CALLBACK_FAILED';

export interface ErrorFacts {
  /** The HTTP status; null where no answer came. */
  readonly status?: number | null;
  /** The secrets that it is about. */
  readonly names?: readonly string[];
  readonly retryAfterSeconds?: number | null;
  readonly cause?: unknown;
}

export class StrongroomError extends Error {
  override readonly name = 'StrongroomError';
  readonly code: ErrorCode;
  readonly status: number | null;
  readonly names: readonly string[];
  /** How long the service asked us to wait. */
  readonly retryAfterSeconds: number | null;

  constructor(code: ErrorCode, message: string, facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.code = code;
    this.status = facts.status ?? null;
    this.names = facts.names ?? [];
    this.retryAfterSeconds = facts.retryAfterSeconds ?? null;
  }
}

const codes: Readonly<Record<number, ErrorCode>> = {
  400: 'INVALID_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  410: 'GONE',
  429: 'RATE_LIMITED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'UNAVAILABLE',
};

export function codeOf(status: number): ErrorCode {
  return codes[status] ?? (status >= 500 ? 'INTERNAL_ERROR' : 'INVALID_ANSWER');
}

/** May go away by itself: the vault is down, busy, or behind something that is. */
export function isPassing({ code }: StrongroomError): boolean {
  return ['UNREACHABLE', 'RATE_LIMITED', 'UNAVAILABLE', 'INTERNAL_ERROR', 'INVALID_ANSWER'].includes(code);
}

export function asError(error: unknown): StrongroomError {
  if (error instanceof StrongroomError) return error;
  return new StrongroomError('CALLBACK_FAILED', 'A callback failed.', { cause: error });
}
