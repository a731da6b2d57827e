/** The client's only error class. It has codes, statuses and names of secrets, but never a value or the access key. */

import type { ProposalNotice } from './api.ts';

export type ErrorCode =
  /** The options are invalid, such as a malformed address or key. */
  | 'INVALID_OPTIONS'
  /** There was no answer: connection refused, unknown host, timeout. */
  | 'UNREACHABLE'
  /** The answer is not from a vault: a redirect, another page, broken JSON. */
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
  /** Nothing was written yet: the vault demands review, and `proposal` has to be confirmed by someone else. */
  | 'SENT_FOR_REVIEW'
  /** A declared secret is not among those that the access key can read. */
  | 'MISSING_SECRET'
  /** A secret exists, but its schema does not accept the value. */
  | 'INVALID_SECRET'
  /** The vault has not confirmed the value for longer than `maxStaleSeconds`. */
  | 'STALE'
  | 'CACHE_FAILED'
  /** A callback (`onChange`, `derived`, `onReceipt`) threw an error; see `cause`. */
  | 'CALLBACK_FAILED';

export interface ErrorFacts {
  /** The HTTP status; null if there was no answer. */
  readonly status?: number | null;
  /** The names of the affected secrets. */
  readonly names?: readonly string[];
  readonly retryAfterSeconds?: number | null;
  readonly proposal?: ProposalNotice | null;
  readonly cause?: unknown;
}

export class StrongroomError extends Error {
  override readonly name = 'StrongroomError';
  readonly code: ErrorCode;
  readonly status: number | null;
  readonly names: readonly string[];
  /** How long the service asked the client to wait. */
  readonly retryAfterSeconds: number | null;
  /** The proposal that was made instead of writing. */
  readonly proposal: ProposalNotice | null;

  constructor(code: ErrorCode, message: string, facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.code = code;
    this.status = facts.status ?? null;
    this.names = facts.names ?? [];
    this.retryAfterSeconds = facts.retryAfterSeconds ?? null;
    this.proposal = facts.proposal ?? null;
  }
}

const codes: Readonly<Record<number, ErrorCode>> = {
  400: 'INVALID_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  409: 'CONFLICT',
  410: 'GONE',
  429: 'RATE_LIMITED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'UNAVAILABLE',
};

export function codeOf(status: number): ErrorCode {
  return codes[status] ?? (status >= 500 ? 'INTERNAL_ERROR' : 'INVALID_ANSWER');
}

/** Whether the error may be temporary: the vault, or something in front of it, is down or busy. */
export function isPassing({ code }: StrongroomError): boolean {
  return ['UNREACHABLE', 'RATE_LIMITED', 'UNAVAILABLE', 'INTERNAL_ERROR', 'INVALID_ANSWER'].includes(code);
}

export function asError(error: unknown): StrongroomError {
  if (error instanceof StrongroomError) return error;
  return new StrongroomError('CALLBACK_FAILED', 'A callback failed.', { cause: error });
}

/** Calls a caller's function without waiting for it. Errors that it throws, now or later, go to `onFailure`. */
export function callSafely(run: () => unknown, onFailure: (error: unknown) => void): void {
  try {
    const result = run();
    if (result instanceof Promise) result.catch(onFailure);
  } catch (error) {
    onFailure(error);
  }
}
