/**
 * `/mcp`: three forms of one protocol on one path, over one registry of tools. A request is looked at in this
 * order: does it name this service; may its address still try; what form has it; is its session alive; and
 * then it is answered as its form asks.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../contract/errors.ts';
import { ownAddresses } from './addresses.ts';
import { fromBare } from './bare.ts';
import { toolCallsWith } from './call.ts';
import { exchangesWith } from './exchange.ts';
import { answerFault } from './faults.ts';
import { formOf, ProtocolFault } from './forms.ts';
import { inEnvelopeWith } from './in-envelope.ts';
import { inSessionWith } from './in-session.ts';
import type { Surface } from './surface.ts';
import { serverError } from './wire.ts';

const largestBody = 128 * 1024;

export function mountMcp(app: FastifyInstance, parts: Surface): void {
  const { toolSessions, vaultReads, authenticate, attempts } = parts.domain;
  const addresses = ownAddresses(parts.addresses);
  const callTool = toolCallsWith({ vaultReads, toolSessions, addresses, onError: parts.onError });
  const exchanges = exchangesWith({ surface: parts, callTool });
  const inSession = inSessionWith(exchanges, toolSessions);
  const inEnvelope = inEnvelopeWith(exchanges, parts.version);

  /** An address that guesses is stopped before its body is read, unless its header proves a key. */
  async function admit(request: FastifyRequest): Promise<void> {
    const foreign = addresses.foreignHeader(request.raw);
    if (foreign !== null) {
      throw new ProtocolFault(
        403,
        serverError,
        `Forbidden: the ${foreign} header does not name this service`,
      );
    }
    const { origin, header } = exchanges.contextOf(request);
    if (attempts.blockedFor(origin.address) === 0) return;
    const known = header !== null && (await authenticate.accessKeyAnywhere(header, origin).catch(() => null));
    if (!known) throw new Failure('RATE_LIMITED', { retryAfter: attempts.blockedFor(origin.address) });
  }

  function answer(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const exchange = { request, reply };
    const { form, message } = formOf(request.body, request.headers);
    if (form === 'sessions') return inSession.answer(message, message.id, exchange);
    if (form === 'bare') return inSession.answer(fromBare(message), null, exchange);
    return form === 'envelope' ? inEnvelope(message, exchange) : inSession.take(exchange);
  }

  app.register(async mcp => {
    mcp.setErrorHandler((error, request, reply) => answerFault(parts, error, request, reply));
    mcp.addHook('onRequest', admit);
    mcp.post('/mcp', { bodyLimit: largestBody }, async (request, reply) => answer(request, reply));
    mcp.delete('/mcp', { bodyLimit: largestBody }, async (request, reply) =>
      inSession.end({ request, reply }),
    );
    mcp.get('/mcp', async (_request, reply) => {
      reply.header('allow', 'POST, DELETE');
      throw new ProtocolFault(405, serverError, 'Method not allowed: this service opens no streams');
    });
  });
}
