/**
 * `/mcp`: three forms of one protocol on one path, over one registry of tools. A request is looked at in this
 * order: does it name this service; may its address still try; what form has it; is its session alive. A call
 * of a tool is then answered directly; everything else is the official SDK's to answer.
 */
import {
  type CallToolResult,
  createMcpHandler,
  INVALID_PARAMS,
  type JSONRPCRequest,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { parseToken } from '../access/token.ts';
import { Failure } from '../contract/errors.ts';
import type { AppParts } from '../http/app.ts';
import { bearerToken, originOf } from '../http/request.ts';
import { logText } from '../logs/entries.ts';
import { sessionHeader, type ToolSession } from '../vault/sessions.ts';
import { ownAddresses } from './addresses.ts';
import { fromBare } from './bare.ts';
import { type CallContext, type CallResult, toolCallsWith } from './call.ts';
import { answerFault, badRequest } from './faults.ts';
import { formOf, isPlainCall, isRecord, type Message, ProtocolFault } from './forms.ts';
import { ask, protocolServer, unknownTool } from './protocol.ts';
import { type Naming, toolNamed } from './tools.ts';

const largestBody = 128 * 1024;
const json = 'application/json; charset=utf-8';

export function mountMcp(app: FastifyInstance, parts: AppParts): void {
  const { domain, version, onError, addressOf } = parts;
  const { toolSessions, vaultReads, authenticate, attempts } = domain;
  const addresses = ownAddresses(parts.addresses);
  const callTool = toolCallsWith({ vaultReads, toolSessions, addresses, onError });

  function contextOf(request: FastifyRequest, session: ToolSession | null): CallContext {
    const { raw, id, headers } = request;
    return {
      request: raw,
      origin: originOf(raw, id, addressOf),
      header: bearerToken(headers.authorization),
      session,
    };
  }

  /** An address that guesses is stopped before its body is read, unless its header proves a key. */
  async function admit(request: FastifyRequest): Promise<void> {
    const foreign = addresses.foreignHeader(request.raw);
    if (foreign !== null) {
      throw new ProtocolFault(403, -32_000, `Forbidden: the ${foreign} header does not name this service`);
    }
    const { origin, header } = contextOf(request, null);
    if (attempts.blockedFor(origin.address) === 0) return;
    const known = header !== null && (await authenticate.accessKeyAnywhere(header, origin).catch(() => null));
    if (!known) throw new Failure('RATE_LIMITED', { retryAfter: attempts.blockedFor(origin.address) });
  }

  async function sessionOf(request: FastifyRequest): Promise<ToolSession> {
    const token = request.headers[sessionHeader];
    if (typeof token !== 'string')
      throw badRequest('the Mcp-Session-Id header is required: initialize gives one');
    const session = await toolSessions.find(token, contextOf(request, null).origin);
    if (session === null) throw new ProtocolFault(404, -32_001, 'Session not found');
    return session;
  }

  /** For the SDK, which wants an object. */
  function runner(context: CallContext, reply: FastifyReply) {
    return async (tool: Parameters<typeof callTool>[0], sent: unknown) => {
      const { body, receipt } = await callTool(tool, sent, context);
      reply.header('strongroom-receipt', receipt);
      return JSON.parse(body.toString('utf8')) as CallToolResult;
    };
  }

  async function initialize(message: JSONRPCRequest, request: FastifyRequest, reply: FastifyReply) {
    const context = contextOf(request, null);
    const answer = await ask(protocolServer(version, namingOf(request), runner(context, reply)), message);
    if (answer.result !== undefined) {
      const { protocolVersion } = answer.result as { protocolVersion: string };
      const { name } = (message.params?.clientInfo ?? {}) as { name?: string };
      reply.header(
        sessionHeader,
        await toolSessions.open(protocolVersion, logText(name ?? ''), context.origin),
      );
    }
    return answer;
  }

  /** A request of the revisions of 2025, and of the bare form, which differs in its id alone. */
  async function inSession(
    message: JSONRPCRequest,
    id: unknown,
    request: FastifyRequest,
    reply: FastifyReply,
  ) {
    checkRevision(request);
    if (message.method === 'initialize') {
      return reply.send({ ...(await initialize(message, request, reply)), id });
    }
    const context = contextOf(request, await sessionOf(request));
    if (message.method === 'tools/call') return call(message, id, '', context, reply);
    const server = protocolServer(version, namingOf(request), runner(context, reply));
    return reply.send({ ...(await ask(server, message)), id });
  }

  /** `more` is what a revision adds to a result, as the beginning of its JSON. */
  async function call(
    message: Message,
    id: unknown,
    more: string,
    context: CallContext,
    reply: FastifyReply,
  ) {
    const { name, arguments: sent } = message.params ?? {};
    const tool = toolNamed(name);
    if (tool === undefined) return reply.send(protocolError(id, INVALID_PARAMS, unknownTool));
    if (sent !== undefined && !isRecord(sent)) {
      return reply.send(protocolError(id, INVALID_PARAMS, 'Invalid params: arguments must be an object'));
    }
    return sendResult(await callTool(tool, sent, context), id, more, reply);
  }

  const identity = JSON.stringify({ name: 'strongroom', title: 'Strongroom', version });
  const modernMembers = `"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":${identity}},`;

  async function inEnvelope(message: Message, request: FastifyRequest, reply: FastifyReply) {
    const context = contextOf(request, null);
    if (isPlainCall(message, request.headers) && toolNamed(message.params?.name) !== undefined) {
      return call(message, message.id, modernMembers, context, reply);
    }
    const handler = createMcpHandler(
      () => protocolServer(version, namingOf(request), runner(context, reply)),
      {
        legacy: 'reject',
      },
    );
    return reply.send(await handler.fetch(webRequest(request), { parsedBody: message }));
  }

  async function post(request: FastifyRequest, reply: FastifyReply) {
    const { form, message } = formOf(request.body, request.headers);
    if (form === 'sessions') return inSession(message, message.id, request, reply);
    if (form === 'bare') return inSession(fromBare(message), null, request, reply);
    if (form === 'envelope') return inEnvelope(message, request, reply);
    await sessionOf(request);
    return reply.code(202).send();
  }

  /** Whoever shows another's credential may not end the session. */
  async function end(request: FastifyRequest, reply: FastifyReply) {
    const session = await sessionOf(request);
    const { header } = contextOf(request, null);
    const shown = header === null ? null : (parseToken(header)?.id ?? '');
    if (shown !== null && session.credentialId !== null && shown !== session.credentialId) {
      throw new ProtocolFault(403, -32_000, 'Forbidden: the session belongs to another credential');
    }
    await toolSessions.end(session);
    return reply.code(200).send();
  }

  app.register(async mcp => {
    mcp.setErrorHandler((error, request, reply) => answerFault(parts, error, request, reply));
    mcp.addHook('onRequest', admit);
    mcp.post('/mcp', { bodyLimit: largestBody }, post);
    mcp.delete('/mcp', { bodyLimit: largestBody }, end);
    mcp.get('/mcp', async (_request, reply) => {
      reply.header('allow', 'POST, DELETE');
      throw new ProtocolFault(405, -32_000, 'Method not allowed: this service opens no streams');
    });
  });
}

function checkRevision({ headers }: FastifyRequest): void {
  const revision = headers['mcp-protocol-version'];
  if (revision === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(String(revision))) return;
  throw badRequest('the MCP-Protocol-Version header names a revision that is not served');
}

function namingOf({ query }: FastifyRequest): Naming {
  return (query as { names?: unknown }).names === 'underscore' ? 'underscore' : 'dotted';
}

/** The result is bytes already: only the envelope is put around it. */
function sendResult({ body, receipt }: CallResult, id: unknown, more: string, reply: FastifyReply) {
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{${more}`;
  reply.header('strongroom-receipt', receipt).type(json);
  return reply.send(Buffer.concat([Buffer.from(head, 'utf8'), body.subarray(1), closing]));
}

const closing = Buffer.from('}');

function protocolError(id: unknown, code: number, message: string) {
  return { jsonrpc: '2.0', id, error: { code, message } };
}

function webRequest({ headers, raw }: FastifyRequest): Request {
  const given = Object.entries(headers).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value]] : [],
  );
  return new Request(`http://strongroom${raw.url}`, { method: 'POST', headers: given as [string, string][] });
}
