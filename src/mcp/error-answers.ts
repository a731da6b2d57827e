/** Turns failures on `/mcp` into JSON-RPC errors, which never repeat input. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Failure, sentenceOf, statusOf } from '../contract/errors.ts';
import { sessionHeader } from '../domain/credentials/tool-sessions.ts';
import type { HttpSurface } from './http-surface.ts';
import { RpcError } from './messages.ts';
import { internalError, parseError, serverError, sessionNotFound } from './protocol-constants.ts';
import { type Challenge, invalidKey, SignInRequired } from './sign-in.ts';

/** The framework's refusals, which happen before our code sees the body. */
const frameworkErrors: Readonly<Record<string, RpcError>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: new RpcError(
    415,
    serverError,
    'Unsupported Media Type: send application/json',
  ),
  FST_ERR_CTP_BODY_TOO_LARGE: new RpcError(
    413,
    serverError,
    'Payload too large: the body must be at most 128 KiB',
  ),
  FST_ERR_CTP_EMPTY_JSON_BODY: new RpcError(400, parseError, 'Parse error: the body must not be empty'),
};

export function badRequest(message: string): RpcError {
  return new RpcError(400, serverError, `Bad Request: ${message}`);
}

export function answerError(
  parts: HttpSurface,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const rpcError =
    error instanceof RpcError ? error : (frameworkErrors[String((error as { code?: unknown }).code)] ?? null);
  if (rpcError === null) answerFailure(parts, parts.failureOf(error), request, reply);
  else {
    if (rpcError instanceof SignInRequired) challenge(parts, rpcError.challenge, request, reply);
    send(rpcError, request, reply);
  }
}

/** Sets the header that tells a client where to sign in. */
function challenge(parts: HttpSurface, told: Challenge, { raw }: FastifyRequest, reply: FastifyReply): void {
  const header = parts.signIn?.challengeOf(raw, told) ?? null;
  if (header !== null) reply.header('WWW-Authenticate', header);
}

function answerFailure(
  parts: HttpSurface,
  failure: Failure,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const status = statusOf[failure.code];
  if (status >= 500) parts.onError(failure.cause ?? failure, request.id);
  reply.headers(parts.headersOf(failure));
  if (failure.code === 'UNAUTHORIZED') challenge(parts, invalidKey, request, reply);
  send(new RpcError(status, codeOf(failure, request), sentenceOf(failure)), request, reply);
}

/** A body that our parser refused never became a message: that is a parse error. */
export function codeOf({ code, field }: Failure, { body }: FastifyRequest): number {
  if (field === sessionHeader) return code === 'NOT_FOUND' ? sessionNotFound : serverError;
  if (code === 'INVALID_REQUEST' && body === undefined) return parseError;
  return statusOf[code] >= 500 ? internalError : serverError;
}

function send({ status, code, message }: RpcError, { raw }: FastifyRequest, reply: FastifyReply): void {
  // A refused upload is not read to its end just to keep the connection open.
  if (!raw.complete) reply.header('connection', 'close');
  reply
    .code(status)
    .type('application/json; charset=utf-8')
    .send({ jsonrpc: '2.0', id: null, error: { code, message } });
}
