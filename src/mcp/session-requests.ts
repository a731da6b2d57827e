/**
 * The revisions of 2025 and the bare form: `initialize` opens a session, and every later request names it. A missing
 * session is 400, an unknown or ended one 404, and a credential other than the one that opened it 403; tool calls
 * refused for these reasons are also recorded. Several messages in one body are a batch, which only one revision has.
 */
import type { JSONRPCRequest } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../contract/errors.ts';
import { sessionHeader, type ToolSession, type ToolSessions } from '../domain/credentials/tool-sessions.ts';
import { logText } from '../logs/entries.ts';
import { elicitationError, elicitsByUrl } from './elicitation.ts';
import { badRequest } from './error-answers.ts';
import { type Exchange, type Exchanges, type RpcAnswer, rpcAnswer, send, type Waiting } from './exchange.ts';
import { sessionRevisions } from './protocol-constants.ts';
import type { ProtocolAnswer } from './sdk-server.ts';
import type { CallContext } from './tool-calls.ts';

export type SessionRequests = ReturnType<typeof sessionRequestsWith>;

export function sessionRequestsWith({ contextOf, call, ask }: Exchanges, sessions: ToolSessions) {
  function sessionOf({ request, origin, reader }: CallContext): Promise<ToolSession> {
    return sessions.find(request.headers[sessionHeader], reader, origin, request.socket);
  }

  /** The context of the request, with its session or the reason why there is none. */
  async function contextIn({ request }: Exchange): Promise<CallContext> {
    const stranger = contextOf(request);
    try {
      return { ...stranger, session: await sessionOf(stranger) };
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return { ...stranger, sessionFailure: error };
    }
  }

  async function initialize(message: JSONRPCRequest, exchange: Exchange): Promise<ProtocolAnswer> {
    const context = contextOf(exchange.request);
    const answer = await ask(message, exchange, context);
    if (answer.result === undefined) return answer;
    const { protocolVersion: revision } = answer.result as { protocolVersion: string };
    // The SDK only answers if the client has introduced itself.
    const { clientInfo, capabilities } = message.params as {
      clientInfo: { name: string };
      capabilities: object;
    };
    const elicits = elicitsByUrl(capabilities);
    const agreed = { revision, client: logText(clientInfo.name), ...(elicits ? { elicits } : {}) };
    exchange.reply.header(sessionHeader, await sessions.open(agreed, context.reader, context.origin));
    return answer;
  }

  /** Answers one request within a session, with this id, which is null in the bare form. */
  async function answerIn(
    context: CallContext,
    message: JSONRPCRequest,
    id: unknown,
    exchange: Exchange,
  ): Promise<RpcAnswer> {
    if (message.method === 'tools/call') {
      const waiting: Waiting = approval =>
        context.session?.elicits ? { error: elicitationError(approval) } : null;
      return call(message, id, '', context, waiting);
    }
    if (context.sessionFailure !== null) throw context.sessionFailure;
    return rpcAnswer({ ...(await ask(message, exchange, context)), id });
  }

  return {
    contextIn,
    answerIn,

    async answer(message: JSONRPCRequest, id: unknown, exchange: Exchange): Promise<FastifyReply> {
      const { request, reply } = exchange;
      checkRevision(request);
      if (message.method === 'initialize')
        return reply.send({ ...(await initialize(message, exchange)), id });
      return send(await answerIn(await contextIn(exchange), message, id, exchange), reply);
    },

    /** Acknowledges a notification, or a response, which the service never requested. */
    async take({ request, reply }: Exchange): Promise<FastifyReply> {
      await sessionOf(contextOf(request));
      return reply.code(202).send();
    },

    async end({ request, reply }: Exchange): Promise<FastifyReply> {
      await sessions.end(await sessionOf(contextOf(request)), request.reader);
      return reply.code(200).send();
    },
  };
}

function checkRevision({ headers }: Pick<FastifyRequest, 'headers'>): void {
  const revision = headers['mcp-protocol-version'];
  if (revision === undefined || sessionRevisions.includes(String(revision))) return;
  throw badRequest('the MCP-Protocol-Version header names an unsupported revision');
}
