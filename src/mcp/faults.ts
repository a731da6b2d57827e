/** From failures on `/mcp` to errors of JSON-RPC. None repeats what was sent. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Failure, sentenceOf, statusOf } from '../contract/errors.ts';
import { ProtocolFault } from './forms.ts';
import type { Surface } from './surface.ts';
import { internalError, parseError, serverError } from './wire.ts';

/** The framework's refusals, which come before the body is ours. */
const early: Readonly<Record<string, ProtocolFault>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: new ProtocolFault(
    415,
    serverError,
    'Unsupported Media Type: send application/json',
  ),
  FST_ERR_CTP_BODY_TOO_LARGE: new ProtocolFault(
    413,
    serverError,
    'Payload too large: the body must have 128 KiB at most',
  ),
  FST_ERR_CTP_EMPTY_JSON_BODY: new ProtocolFault(400, parseError, 'Parse error: the body must not be empty'),
};

export function badRequest(message: string): ProtocolFault {
  return new ProtocolFault(400, serverError, `Bad Request: ${message}`);
}

export function answerFault(
  parts: Surface,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const fault =
    error instanceof ProtocolFault ? error : (early[(error as { code?: string }).code ?? ''] ?? null);
  if (fault === null) answerFailure(parts, parts.failureOf(error), request, reply);
  else send(fault, request, reply);
}

function answerFailure(parts: Surface, failure: Failure, request: FastifyRequest, reply: FastifyReply): void {
  const status = statusOf[failure.code];
  if (status >= 500) parts.onError(failure.cause ?? failure, request.id);
  reply.headers(parts.headersOf(failure));
  send(new ProtocolFault(status, codeOf(failure, request), sentenceOf(failure)), request, reply);
}

/** A body that our parser refused never became a message: that is a parse error. */
function codeOf({ code }: Failure, { body }: FastifyRequest): number {
  if (code === 'INVALID_REQUEST' && body === undefined) return parseError;
  return statusOf[code] >= 500 ? internalError : serverError;
}

function send({ status, code, message }: ProtocolFault, { raw }: FastifyRequest, reply: FastifyReply): void {
  // A refused upload is not read to its end just to keep the connection.
  if (!raw.complete) reply.header('connection', 'close');
  reply
    .code(status)
    .type('application/json; charset=utf-8')
    .send({ jsonrpc: '2.0', id: null, error: { code, message } });
}
