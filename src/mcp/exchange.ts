/**
 * One request and its answer, for every form of the endpoint. A tool call is answered directly, because its result is
 * already bytes and only needs an envelope; everything else is answered by the SDK.
 */
import type { CallToolResult, JSONRPCRequest, Server } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Reader } from '../access/caller.ts';
import type { ApprovalNotice } from '../contract/uses.ts';
import type { HttpSurface } from './http-surface.ts';
import { isRecord, type McpMessage } from './messages.ts';
import { invalidParams } from './protocol-constants.ts';
import type { ProtocolAnswer } from './sdk-server.ts';
import type { CallContext, ToolCalls } from './tool-calls.ts';
import { type Naming, type Tool, toolNamed, unknownTool } from './tools.ts';

export interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** An answer as it is sent, and the receipt of its log entry. */
export interface RpcAnswer {
  readonly body: Buffer;
  readonly receipt: string | null;
}

/** The answer for a client that can send its user to a page; null if the client gets the result itself. */
export type Waiting = (
  approval: ApprovalNotice,
) => { readonly result: object } | { readonly error: object } | null;

declare module 'fastify' {
  interface FastifyRequest {
    /** The access key of the `Authorization` header, if there is one. */
    reader: Reader | null;
  }
}

export type Exchanges = ReturnType<typeof exchangesWith>;

const json = 'application/json; charset=utf-8';
const closing = Buffer.from('}');
const receiptHeader = 'strongroom-receipt';

export function exchangesWith(surface: HttpSurface, callTool: ToolCalls['callTool']) {
  function contextOf({ raw, id, reader }: FastifyRequest): CallContext {
    const origin = surface.originOf(raw, id);
    return {
      request: raw,
      origin,
      header: surface.tokenOf(raw),
      reader,
      session: null,
      sessionFailure: null,
    };
  }

  /** `more` contains the members that a revision adds to a result, as the beginning of its JSON. */
  async function call(
    { params = {} }: Pick<McpMessage, 'params'>,
    id: unknown,
    more: string,
    context: CallContext,
    waiting: Waiting,
  ): Promise<RpcAnswer> {
    const tool = toolNamed(params.name);
    const sent = params.arguments;
    if (tool === undefined || !isArguments(sent)) {
      if (context.sessionFailure !== null) throw context.sessionFailure;
      const message = tool === undefined ? unknownTool : notArguments;
      return rpcAnswer({ jsonrpc: '2.0', id, error: { code: invalidParams, message } });
    }
    const { body, receipt, approval } = await callTool(tool, sent, context);
    const asked = approval === undefined ? null : waiting(approval);
    if (asked !== null) return { ...rpcAnswer({ jsonrpc: '2.0', id, ...asked }), receipt };
    const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{${more}`;
    return { body: Buffer.concat([Buffer.from(head, 'utf8'), body.subarray(1), closing]), receipt };
  }

  /** The SDK's server for this exchange. */
  async function serverFor({ request, reply }: Exchange, context: CallContext): Promise<Server> {
    const { protocolServer } = await import('./sdk-server.ts');
    const hasKey = context.header !== null || (context.session?.credentialId ?? null) !== null;
    const served = { version: surface.version, naming: namingOf(request), hasKey };
    return protocolServer(served, async (tool: Tool, sent: unknown) => {
      const { body, receipt } = await callTool(tool, sent, context);
      reply.header(receiptHeader, receipt);
      return JSON.parse(body.toString('utf8')) as CallToolResult;
    });
  }

  async function ask(
    message: JSONRPCRequest,
    exchange: Exchange,
    context: CallContext,
  ): Promise<ProtocolAnswer> {
    const { askServer } = await import('./sdk-server.ts');
    return askServer(await serverFor(exchange, context), message);
  }

  return { contextOf, call, ask, serverFor };
}

export function rpcAnswer(answer: object): RpcAnswer {
  return { body: Buffer.from(JSON.stringify(answer), 'utf8'), receipt: null };
}

export function send({ body, receipt }: RpcAnswer, reply: FastifyReply): FastifyReply {
  if (receipt !== null) reply.header(receiptHeader, receipt);
  return reply.type(json).send(body);
}

const notArguments = 'Invalid params: arguments must be an object';

function isArguments(sent: unknown): boolean {
  return sent === undefined || isRecord(sent);
}

function namingOf({ query }: FastifyRequest): Naming {
  return (query as { names?: unknown }).names === 'underscore' ? 'underscore' : 'dotted';
}
