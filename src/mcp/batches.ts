/**
 * Batches: several messages in one body, which only the revision of 2025-03-26 has. Each message is checked, answered
 * and recorded separately; the answers have the ids of their messages and come in the same order. The number of messages
 * is limited, and no two may have the same id.
 */
import type { JSONRPCRequest } from '@modelcontextprotocol/server';
import type { FastifyReply } from 'fastify';
import { sentenceOf } from '../contract/errors.ts';
import { codeOf } from './error-answers.ts';
import { type Exchange, type RpcAnswer, rpcAnswer, send } from './exchange.ts';
import type { HttpSurface } from './http-surface.ts';
import { classify, malformed, RpcError } from './messages.ts';
import { batchRevision } from './protocol-constants.ts';
import type { SessionRequests } from './session-requests.ts';
import type { CallContext } from './tool-calls.ts';

const mostMessages = 50;

/** Null for a notification, which gets no answer. */
type BatchItem = JSONRPCRequest | RpcError | null;

export function batchesWith({ contextIn, answerIn }: SessionRequests, surface: HttpSurface) {
  async function answerOne(
    asked: BatchItem,
    context: CallContext,
    exchange: Exchange,
  ): Promise<RpcAnswer | null> {
    if (asked === null) return null;
    if (asked instanceof RpcError) return failed(null, asked.code, asked.message);
    try {
      return await answerIn(context, asked, asked.id, exchange);
    } catch (error) {
      return refusalOf(error, asked, context, exchange);
    }
  }

  function refusalOf(
    error: unknown,
    { id }: JSONRPCRequest,
    { origin, sessionFailure }: CallContext,
    { request }: Exchange,
  ): RpcAnswer | null {
    if (error instanceof RpcError) return failed(id, error.code, error.message);
    const failure = surface.failureOf(error);
    if (failure === sessionFailure) return null;
    if (failure.code === 'INTERNAL_ERROR' || failure.code === 'UNAVAILABLE') {
      surface.onError(failure.cause ?? failure, origin.requestId);
    }
    return failed(id, codeOf(failure, request), sentenceOf(failure));
  }

  return async (messages: readonly unknown[], exchange: Exchange): Promise<FastifyReply> => {
    const { request, reply } = exchange;
    if (messages.length === 0) throw malformed('a batch must contain at least one message');
    if (messages.length > mostMessages)
      throw malformed(`a batch must contain at most ${mostMessages} messages`);
    const context = await contextIn(exchange);
    if (context.session !== null)
      checkBatch(context.session.revision, request.headers['mcp-protocol-version']);
    const asked = messages.map(message => itemIn(message, exchange));
    checkIds(asked);
    const answers = await Promise.all(asked.map(one => answerOne(one, context, exchange)));
    // All calls of the batch are recorded by now.
    if (context.sessionFailure !== null) throw context.sessionFailure;
    const sent = answers.filter(answer => answer !== null);
    return sent.length === 0 ? reply.code(202).send() : send(joined(sent), reply);
  };
}

function checkBatch(revision: string, header: unknown): void {
  if (revision === batchRevision && (header === undefined || header === batchRevision)) return;
  throw malformed(`the body must be one message: only revision ${batchRevision} has batches`);
}

function itemIn(message: unknown, { request }: Exchange): BatchItem {
  try {
    const read = classify(message, request.headers);
    if (read.form === 'silent') return null;
    if (read.form === 'session' && read.message.method !== 'initialize') return read.message;
    return malformed('a batch must contain only JSON-RPC requests and notifications, and no initialize');
  } catch (error) {
    if (error instanceof RpcError) return error;
    throw error;
  }
}

function checkIds(asked: readonly BatchItem[]): void {
  const ids = asked.flatMap(one => (one === null || one instanceof RpcError ? [] : [one.id]));
  if (new Set(ids).size < ids.length) throw malformed('the messages of a batch must have different ids');
}

function failed(id: string | number | null, code: number, message: string): RpcAnswer {
  return rpcAnswer({ jsonrpc: '2.0', id, error: { code, message } });
}

function joined(answers: readonly RpcAnswer[]): RpcAnswer {
  const parts = answers.flatMap(({ body }, at) => [Buffer.from(at === 0 ? '[' : ','), body]);
  const receipts = answers.flatMap(({ receipt }) => receipt ?? []);
  const body = Buffer.concat([...parts, Buffer.from(']')]);
  return { body, receipt: receipts.length === 0 ? null : receipts.join(', ') };
}
