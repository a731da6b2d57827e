/**
 * The revision of 2026-07-28: no session, and an envelope in each request. An unambiguous tool call is answered
 * directly; the SDK decides about every other request.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { inputRequired } from './elicitation.ts';
import { type Exchange, type Exchanges, send, type Waiting } from './exchange.ts';
import { isPlainCall, type McpMessage } from './messages.ts';
import { headerMismatch, identityOf, serverKey } from './protocol-constants.ts';
import type { ProtocolAnswer } from './sdk-server.ts';

export function statelessRequestsWith({ contextOf, call, serverFor }: Exchanges, version: string) {
  const identity = { [serverKey]: identityOf(version) };
  const members = `"resultType":"complete","_meta":${JSON.stringify(identity)},`;

  return async (message: McpMessage, exchange: Exchange): Promise<FastifyReply> => {
    const { request, reply } = exchange;
    const context = contextOf(request);
    if (isPlainCall(message, request.headers)) {
      const waiting: Waiting = approval => {
        const result = inputRequired(message, approval);
        return result === null ? null : { result: { ...result, _meta: identity } };
      };
      return send(await call(message, message.id, members, context, waiting), reply);
    }
    const { createMcpHandler } = await import('@modelcontextprotocol/server');
    const handler = createMcpHandler(() => serverFor(exchange, context), { legacy: 'reject' });
    return answerWith(await handler.fetch(webRequest(request), { parsedBody: message }), reply);
  };
}

/** Replaces the SDK's message about mismatched headers, which repeats input. */
async function answerWith(response: Response, reply: FastifyReply): Promise<FastifyReply> {
  if (response.status !== 400) return reply.send(response);
  const answer = (await response.json()) as ProtocolAnswer;
  if (answer.error?.code !== headerMismatch) return reply.code(400).send(answer);
  const message = 'Bad Request: the request headers and the body disagree';
  return reply.code(400).send({ ...answer, error: { code: headerMismatch, message } });
}

function webRequest({ headers, raw }: FastifyRequest): Request {
  const given = Object.entries(headers).filter(
    (header): header is [string, string] => typeof header[1] === 'string',
  );
  return new Request(`http://strongroom${raw.url}`, { method: 'POST', headers: given });
}
