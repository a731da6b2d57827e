/**
 * Turns failures into answers. An answer never repeats input, and gives no details of an internal error; the cause goes
 * to the operator's log.
 */
import type { FastifyError } from 'fastify';
import { Failure, type FailureCode, invalid, sentenceOf } from '../../contract/errors.ts';

/** The framework's own refusals, which come before any of our code. */
const frameworkRefusals: Readonly<Record<string, Failure>> = {
  FST_ERR_MAX_PARAM_LENGTH: new Failure('NOT_FOUND'), // No id is that long.
  FST_ERR_CTP_INVALID_MEDIA_TYPE: invalid('content-type', 'must be application/json'),
  FST_ERR_CTP_EMPTY_JSON_BODY: invalid('', 'the body must not be empty'),
  FST_ERR_CTP_BODY_TOO_LARGE: invalid(
    '',
    'the body is too large: the limit is 1 MiB for the API, 128 KiB for the tool endpoint, 64 KiB for a login in Vault’s dialect and 16 KiB for signing in',
  ),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: invalid('content-length', 'must be the length of the body'),
};

export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const { code, statusCode } = error as Partial<FastifyError>;
  const refusal = frameworkRefusals[String(code)];
  if (refusal !== undefined) return refusal;
  const status = Number(statusCode);
  if (status === 503) return new Failure('UNAVAILABLE', { retryAfter: 1 });
  if (status >= 400 && status < 500) return new Failure('INVALID_REQUEST', { cause: error });
  return new Failure('INTERNAL_ERROR', { cause: error });
}

/** The general API's error object. */
export function errorBody({ code, message, field, reason }: Failure) {
  return { error: { code: publicCode(code), message, details: { field, reason } } };
}

/** The vault endpoint's error object: a message, which names the parameter if the request was invalid. */
export function messageBody(failure: Failure) {
  return { message: sentenceOf(failure) };
}

export function failureHeaders({ code, retryAfter }: Failure): Record<string, string> {
  const headers: Record<string, string> = { 'Cache-Control': 'no-store' };
  if (code === 'UNAUTHORIZED') headers['WWW-Authenticate'] = 'Bearer';
  if (retryAfter !== undefined) headers['Retry-After'] = String(retryAfter);
  return headers;
}

/** Three codes belong only to the vault endpoint; elsewhere the general code of their status is used. */
function publicCode(code: FailureCode): FailureCode {
  if (code === 'NOT_ACTIVE') return 'FORBIDDEN';
  if (code === 'UNRESOLVED') return 'CONFLICT';
  return code === 'EXPIRED' ? 'NOT_FOUND' : code;
}
