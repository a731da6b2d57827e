/**
 * The revisions of 2025, and the bare form with them: `initialize` opens a session, every later request names
 * it. Missing is 400, unknown or over is 404, and another credential's is 403.
 */
import type { JSONRPCRequest } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { parseToken } from '../access/token.ts';
import { logText } from '../logs/entries.ts';
import { sessionHeader, type ToolSession, type ToolSessions } from '../vault/sessions.ts';
import type { CallContext } from './call.ts';
import type { Exchange, Exchanges } from './exchange.ts';
import { badRequest } from './faults.ts';
import { ProtocolFault } from './forms.ts';
import type { ProtocolAnswer } from './protocol.ts';
import { serverError, sessionNotFound, sessionRevisions } from './wire.ts';

export function inSessionWith({ contextOf, call, ask }: Exchanges, sessions: ToolSessions) {
  async function sessionOf({ request, origin }: CallContext): Promise<ToolSession> {
    const token = request.headers[sessionHeader];
    if (typeof token !== 'string') {
      throw badRequest('the Mcp-Session-Id header is required: initialize gives one');
    }
    const session = await sessions.find(token, origin, request.socket);
    if (session === null) throw new ProtocolFault(404, sessionNotFound, 'Session not found');
    return session;
  }

  async function initialize(message: JSONRPCRequest, exchange: Exchange): Promise<ProtocolAnswer> {
    const context = contextOf(exchange.request);
    const answer = await ask(message, exchange, context);
    if (answer.result === undefined) return answer;
    const { protocolVersion } = answer.result as { protocolVersion: string };
    const { name } = (message.params?.clientInfo ?? { name: '' }) as { name: string };
    exchange.reply.header(sessionHeader, await sessions.open(protocolVersion, logText(name), context.origin));
    return answer;
  }

  return {
    /** Answers with the id given: the bare form's is null. */
    async answer(message: JSONRPCRequest, id: unknown, exchange: Exchange): Promise<FastifyReply> {
      const { request, reply } = exchange;
      checkRevision(request);
      if (message.method === 'initialize')
        return reply.send({ ...(await initialize(message, exchange)), id });
      const stranger = contextOf(request);
      const context = { ...stranger, session: await sessionOf(stranger) };
      if (message.method === 'tools/call') return call(message, id, '', context, reply);
      return reply.send({ ...(await ask(message, exchange, context)), id });
    },

    /** A notification, or an answer to a question that nobody asked: it came, and that is all. */
    async take({ request, reply }: Exchange): Promise<FastifyReply> {
      await sessionOf(contextOf(request));
      return reply.code(202).send();
    },

    /** Whoever shows another's credential may not end the session. */
    async end({ request, reply }: Exchange): Promise<FastifyReply> {
      const context = contextOf(request);
      const session = await sessionOf(context);
      const { header } = context;
      const shown = header === null ? null : (parseToken(header)?.id ?? '');
      if (shown !== null && session.credentialId !== null && shown !== session.credentialId) {
        throw new ProtocolFault(403, serverError, 'Forbidden: the session belongs to another credential');
      }
      await sessions.end(session);
      return reply.code(200).send();
    },
  };
}

function checkRevision({ headers }: FastifyRequest): void {
  const revision = headers['mcp-protocol-version'];
  if (revision === undefined || sessionRevisions.includes(String(revision))) return;
  throw badRequest('the MCP-Protocol-Version header names a revision that is not served');
}
