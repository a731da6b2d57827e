/**
 * One tool call, in any form of the endpoint: who asks and for which vault, then the vault's own read, which
 * refuses, counts and writes down. What comes back is the result as bytes, kept ready by the vault where that
 * is possible. A refusal is a result too, so that a model can read it.
 */
import type { IncomingMessage } from 'node:http';
import type { Origin } from '../access/caller.ts';
import { check } from '../contract/check.ts';
import { Failure, sentenceOf } from '../contract/errors.ts';
import { getKey } from '../contract/tools.ts';
import type { Answered, Form, Outcome, VaultReads, VaultRequest } from '../vault/read.ts';
import type { ToolSession, ToolSessions } from '../vault/sessions.ts';
import { sessionHeader } from '../vault/sessions.ts';
import type { OwnAddresses } from './addresses.ts';
import { connectionOf } from './connection.ts';
import { isRecord } from './forms.ts';
import type { Reads, Tool } from './tools.ts';

/** The request that a call came with. */
export interface CallContext {
  readonly request: IncomingMessage;
  readonly origin: Origin;
  /** The token of the `Authorization` header. */
  readonly header: string | null;
  readonly session: ToolSession | null;
}

export interface CallResult {
  /** A result of `tools/call`, as JSON. */
  readonly body: Buffer;
  readonly receipt: string;
}

export interface ToolCallParts {
  readonly vaultReads: VaultReads;
  readonly toolSessions: ToolSessions;
  readonly addresses: OwnAddresses;
  readonly onError: (error: unknown, requestId: string) => void;
}

export type CallTool = (tool: Tool, sent: unknown, context: CallContext) => Promise<CallResult>;

const route = '/mcp';
const asResult: Form = { name: 'tool', shape: resultOf };

export function toolCallsWith({ vaultReads, toolSessions, addresses, onError }: ToolCallParts): CallTool {
  /** What the call asks of the vault. What is wrong about the connection is refused by the vault too, and logged. */
  function requestOf(tool: Tool, given: Readonly<Record<string, unknown>>, context: CallContext) {
    const { request, origin, header, session } = context;
    const { requestId } = origin;
    const base = {
      sender: origin,
      requestId,
      route,
      method: 'POST',
      tool: tool.name,
      token: header,
      vaultId: null,
    };
    try {
      const isOurs = (url: string) => addresses.isOurs(url, request);
      const named = connectionOf({ vault: given.vault, credentials: given.credentials, header, isOurs });
      const publicToken = publicTokenOf(tool, given);
      const asked = { ...base, ...named, connection: request.socket, publicToken };
      if (session === null) return asked;
      const admit = ({ id }: { id: string }) => toolSessions.claim(session, id);
      return { ...asked, admit, admitted: session.credentialId };
    } catch (error) {
      return { ...base, vaultId: claimedVault(given), fault: failureFrom(error) };
    }
  }

  return async (tool, sent = {}, context) => {
    let reads: Reads | undefined;
    const selection = () => {
      reads = tool.reads(sent);
      return reads.detail;
    };
    const given = isRecord(sent) ? sent : {};
    const asked: VaultRequest = { ...requestOf(tool, given, context), selection, form: asResult };
    const outcome = await vaultReads.request(asked);
    if ('failure' in outcome) return refused(outcome, context);
    return { body: picked(outcome, reads), receipt: outcome.receipt };
  };

  function refused(
    { failure, status, receipt }: Outcome & { failure: Failure },
    { origin }: CallContext,
  ): CallResult {
    if (failure.field === sessionHeader) throw failure;
    if (status >= 500) onError(failure.cause ?? failure, origin.requestId);
    return { body: refusalOf(status, sentenceOf(failure)), receipt };
  }
}

/** Whose log a refused call belongs to, if that vault exists. */
function claimedVault({ vault, credentials }: Readonly<Record<string, unknown>>): string | null {
  const claims = [vault, credentials].filter(isRecord).map(({ vaultId, id }) => vaultId ?? id);
  return claims.find(claim => typeof claim === 'string') ?? null;
}

/** With a code, `keys.get` needs no vault: the public half is all that it gives. */
function publicTokenOf(tool: Tool, sent: Readonly<Record<string, unknown>>): VaultRequest['publicToken'] {
  if (tool.name !== 'keys.get' || sent.code === undefined) return undefined;
  const { code, id = null } = check(getKey, sent);
  return { code: code!, keyId: id };
}

function picked(outcome: Outcome, reads: Reads | undefined): Buffer {
  const { body } = outcome as Answered;
  if (reads?.pick === undefined) return body;
  const { structuredContent } = JSON.parse(body.toString('utf8')) as { structuredContent: unknown };
  return resultOf(Buffer.from(JSON.stringify(reads.pick(structuredContent)), 'utf8'));
}

/** The answer as structured content, and the same as text for clients that know no other. */
function resultOf(answer: Buffer): Buffer {
  const text = answer.toString('utf8');
  return Buffer.from(
    `{"content":[{"type":"text","text":${JSON.stringify(text)}}],"structuredContent":${text}}`,
    'utf8',
  );
}

function refusalOf(status: number, message: string): Buffer {
  const structuredContent = { status, message };
  const content = [{ type: 'text', text: JSON.stringify(structuredContent) }];
  return Buffer.from(JSON.stringify({ content, structuredContent, isError: true }), 'utf8');
}

function failureFrom(error: unknown): Failure {
  return error instanceof Failure ? error : new Failure('INTERNAL_ERROR', { cause: error });
}
