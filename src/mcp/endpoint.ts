/**
 * `/mcp`: three forms of one protocol on one path, with one registry of tools. A request is checked in this order:
 * whether it names this service, whether the key in its header, if any, is valid, which form it has, and whether its
 * session exists. Then it is answered in its form.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Reader } from '../access/caller.ts';
import { Refused } from '../domain/credentials/authentication.ts';
import { ownAddresses } from './addresses.ts';
import { batchesWith } from './batches.ts';
import { answerError } from './error-answers.ts';
import { exchangesWith } from './exchange.ts';
import type { HttpSurface } from './http-surface.ts';
import { classify, fromBare, RpcError } from './messages.ts';
import { serverError } from './protocol-constants.ts';
import { sessionRequestsWith } from './session-requests.ts';
import { bringsKey, noKey } from './sign-in.ts';
import { statelessRequestsWith } from './stateless-requests.ts';
import { toolCallsWith } from './tool-calls.ts';

const largestBody = 128 * 1024;

export function mountMcp(app: FastifyInstance, parts: HttpSurface): void {
  const { toolSessions, authenticate } = parts.domain;
  const addresses = ownAddresses(parts.addresses);
  const { callTool, refuse } = toolCallsWith(parts, addresses);
  const exchanges = exchangesWith(parts, callTool);
  const sessionRequests = sessionRequestsWith(exchanges, toolSessions);
  const answerBatch = batchesWith(sessionRequests, parts);
  const answerStateless = statelessRequestsWith(exchanges, parts.version);

  async function admit(request: FastifyRequest): Promise<void> {
    const foreign = addresses.foreignHeader(request.raw);
    if (foreign !== null) {
      throw new RpcError(403, serverError, `Forbidden: the ${foreign} header does not name this service`);
    }
    if (request.headers.authorization !== undefined) request.reader = await readerOf(request);
    else parts.strangers.admit(request.raw, exchanges.contextOf(request).origin.address, largestBody);
  }

  /** Unauthenticated clients that keep sending malformed bodies are refused unread for a while. */
  async function noteGarbled({ raw }: FastifyRequest, _reply: FastifyReply, error: unknown): Promise<void> {
    const isBad =
      error instanceof RpcError ? error.status === 400 : parts.failureOf(error).code === 'INVALID_REQUEST';
    if (isBad) parts.strangers.garbled(raw);
  }

  /** A key in the header must be valid for any request. An invalid one is refused before the body is read. */
  async function readerOf(request: FastifyRequest): Promise<Reader> {
    const context = exchanges.contextOf(request);
    const { header, origin } = context;
    const { socket } = request.raw;
    const known = authenticate.remembered(socket, header, null, origin);
    if (known !== null) return known;
    try {
      const reader = await authenticate.accessKeyAnywhere(header, origin);
      authenticate.remember(socket, header, reader);
      return reader;
    } catch (error) {
      if (error instanceof Refused) await refuse(error, context);
      throw error;
    }
  }

  function answer(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const exchange = { request, reply };
    const needsKey = parts.signIn?.mode === 'required' && request.reader === null;
    if (Array.isArray(request.body)) {
      if (needsKey) throw noKey();
      return answerBatch(request.body, exchange);
    }
    const { form, message } = classify(request.body, request.headers);
    if (needsKey && form !== 'bare' && !bringsKey(message)) throw noKey();
    if (form === 'session') return sessionRequests.answer(message, message.id, exchange);
    if (form === 'bare') return sessionRequests.answer(fromBare(message), null, exchange);
    return form === 'stateless' ? answerStateless(message, exchange) : sessionRequests.take(exchange);
  }

  app.register(async mcp => {
    mcp.setErrorHandler((error, request, reply) => answerError(parts, error, request, reply));
    mcp.decorateRequest('reader', null);
    mcp.addHook('onRequest', admit);
    mcp.addHook('onError', noteGarbled);
    mcp.post('/mcp', { bodyLimit: largestBody }, async (request, reply) => answer(request, reply));
    mcp.delete('/mcp', { bodyLimit: largestBody }, async (request, reply) =>
      sessionRequests.end({ request, reply }),
    );
    mcp.get('/mcp', async (_request, reply) => {
      reply.header('allow', 'POST, DELETE');
      throw new RpcError(405, serverError, 'Method not allowed: this service does not open streams');
    });
  });
}
