/**
 * One request and its answer: what every form of the endpoint needs to answer it. A call of a tool is answered
 * directly, because its result is bytes already and only an envelope is put around them; everything else is
 * the SDK's to answer.
 */
import type { CallToolResult, JSONRPCRequest, Server } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CallContext, CallResult, CallTool } from './call.ts';
import { isRecord, type Message } from './forms.ts';
import type { ProtocolAnswer } from './protocol.ts';
import type { Surface } from './surface.ts';
import { type Naming, type Tool, toolNamed, unknownTool } from './tools.ts';
import { invalidParams } from './wire.ts';

export interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

export interface ExchangeParts {
  readonly surface: Surface;
  readonly callTool: CallTool;
}

export type Exchanges = ReturnType<typeof exchangesWith>;

const json = 'application/json; charset=utf-8';
const closing = Buffer.from('}');

export function exchangesWith({ surface, callTool }: ExchangeParts) {
  function contextOf({ raw, id }: FastifyRequest): CallContext {
    return { request: raw, origin: surface.originOf(raw, id), header: surface.tokenOf(raw), session: null };
  }

  /** `more` is what a revision adds to a result, as the beginning of its JSON. */
  async function call(
    { params = {} }: Pick<Message, 'params'>,
    id: unknown,
    more: string,
    context: CallContext,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    const tool = toolNamed(params.name);
    if (tool === undefined) return reply.send(wrongParams(id, unknownTool));
    const sent = params.arguments;
    if (sent !== undefined && !isRecord(sent)) {
      return reply.send(wrongParams(id, 'Invalid params: arguments must be an object'));
    }
    return sendResult(await callTool(tool, sent, context), id, more, reply);
  }

  /** The SDK's server for this exchange. */
  async function serverFor({ request, reply }: Exchange, context: CallContext): Promise<Server> {
    const { protocolServer } = await import('./protocol.ts');
    return protocolServer(surface.version, namingOf(request), async (tool: Tool, sent: unknown) => {
      const { body, receipt } = await callTool(tool, sent, context);
      reply.header('strongroom-receipt', receipt);
      return JSON.parse(body.toString('utf8')) as CallToolResult;
    });
  }

  async function ask(
    message: JSONRPCRequest,
    exchange: Exchange,
    context: CallContext,
  ): Promise<ProtocolAnswer> {
    const { askServer } = await import('./protocol.ts');
    return askServer(await serverFor(exchange, context), message);
  }

  return { contextOf, call, ask, serverFor };
}

function sendResult({ body, receipt }: CallResult, id: unknown, more: string, reply: FastifyReply) {
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{${more}`;
  reply.header('strongroom-receipt', receipt).type(json);
  return reply.send(Buffer.concat([Buffer.from(head, 'utf8'), body.subarray(1), closing]));
}

function wrongParams(id: unknown, message: string) {
  return { jsonrpc: '2.0', id, error: { code: invalidParams, message } };
}

function namingOf({ query }: FastifyRequest): Naming {
  return (query as { names?: unknown }).names === 'underscore' ? 'underscore' : 'dotted';
}
