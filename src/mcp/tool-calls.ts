/**
 * Runs one tool call, in any form of the endpoint: determines the credential and the vault, and then runs the vault's
 * own read, which refuses, counts and records. The result is bytes, cached in memory if possible. A refusal is also a
 * result, so that a model can read it.
 */
import type { IncomingMessage } from 'node:http';
import type { Origin, Reader } from '../access/caller.ts';
import { Failure, sentenceOf } from '../contract/errors.ts';
import type { ApprovalNotice } from '../contract/uses.ts';
import type { ToolSession } from '../domain/credentials/tool-sessions.ts';
import type {
  AnswerEncoding,
  ReadAnswer,
  ReadRefusal,
  RequestFacts,
  VaultRequest,
} from '../domain/reads/vault-request.ts';
import { withAddress } from '../domain/resources/review.ts';
import { approvalIn } from '../domain/uses/approval-requests.ts';
import type { UseResult } from '../domain/uses/recorded-uses.ts';
import type { OwnAddresses } from './addresses.ts';
import type { HttpSurface } from './http-surface.ts';
import { isRecord } from './messages.ts';
import { missingFor, noKey, SignInRequired } from './sign-in.ts';
import type { Tool, ToolRead, ToolUse } from './tools.ts';
import { connectionOf } from './vault-connection.ts';

/** The request that contained a call. */
export interface CallContext {
  readonly request: IncomingMessage;
  readonly origin: Origin;
  /** The token of the `Authorization` header; `reader` is its access key, once checked. */
  readonly header: string | null;
  readonly reader: Reader | null;
  readonly session: ToolSession | null;
  /** Why the session of the request can't be used. A call is refused with it, and still recorded. */
  readonly sessionFailure: Failure | null;
}

interface CallResult {
  /** A result of `tools/call`, as JSON. */
  readonly body: Buffer;
  readonly receipt: string;
  /** Set if a person has to approve the call first. */
  readonly approval?: ApprovalNotice;
}

export type ToolCalls = ReturnType<typeof toolCallsWith>;

const route = '/mcp';
const asToolResult: AnswerEncoding = { name: 'tool', encode: resultOf };

export function toolCallsWith({ domain, signIn, onError }: HttpSurface, addresses: OwnAddresses) {
  const { vaultReads, vaultUses, keyUses } = domain;

  async function callTool(tool: Tool, sent: unknown, context: CallContext): Promise<CallResult> {
    const given = isRecord(sent) ? sent : {};
    const facts = { ...factsOf(context), tool: tool.name };
    const asked = askedBy(tool, sent ?? {});
    let request: VaultRequest;
    try {
      request = requestOf(tool, given, asked, facts, context);
    } catch (error) {
      // A fault in the connection is recorded in the log of the vault that it names.
      return refused(
        { ...facts, vaultId: claimedVault(given) },
        context.sessionFailure ?? failureFrom(error),
        context,
      );
    }
    if (context.sessionFailure !== null) return refused(request, context.sessionFailure, context);
    await checkScope(request, context, !tool.readOnly);
    if (!tool.readOnly) return resultOfUse(await had(request, asked), request, context);
    const result = await vaultReads.read({ ...request, encoding: asToolResult });
    if ('failure' in result) return refusalTo(request, result, context);
    return { body: filtered(result as ReadAnswer, asked as ToolRead | Failure), receipt: result.receipt };
  }

  /** Runs a use. A fault in its arguments is only reported to a valid credential. */
  function had(facts: RequestFacts, asked: ToolRead | ToolUse | Failure): Promise<UseResult<object>> {
    if ('key' in asked) return keyUses.use({ ...facts, asked: asked.key });
    return vaultUses.use({ ...facts, call: 'use' in asked ? asked.use : unread(asked) });
  }

  function resultOfUse(result: UseResult<object>, request: VaultRequest, context: CallContext): CallResult {
    if ('failure' in result) return refusalTo(request, result, context);
    return {
      body: resultOf(
        Buffer.from(
          JSON.stringify(withAddress(result.answer, addresses.dashboardOf(context.request))),
          'utf8',
        ),
      ),
      receipt: result.receipt,
    };
  }

  /** A client that sent no key at all is made to sign in, if that is possible. */
  function refusalTo(
    { token }: VaultRequest,
    result: Parameters<typeof refusalIn>[0],
    context: CallContext,
  ): CallResult {
    if (signIn && result.status === 401 && token === null) throw noKey();
    return refusalIn(result, context);
  }

  /** A client can request a scope that its OAuth key lacks, so it gets an HTTP status and not a result for its model. */
  async function checkScope(
    request: VaultRequest,
    { header, reader }: CallContext,
    forUse: boolean,
  ): Promise<void> {
    const scope = missingFor(request, header, reader, forUse);
    if (scope === null) return;
    await vaultReads.refuse(request, new Failure('FORBIDDEN'));
    throw new SignInRequired(403, { error: 'insufficient_scope', scope });
  }

  /** The request for the vault that the call names, or for the key of a public token. */
  function requestOf(
    tool: Tool,
    given: Readonly<Record<string, unknown>>,
    asked: ToolRead | ToolUse | Failure,
    facts: RequestFacts,
    { request, header }: CallContext,
  ): VaultRequest {
    const isOurs = (url: string) => addresses.isOurs(url, request);
    const named = connectionOf({ vault: given.vault, credentials: given.credentials, header, isOurs });
    const publicToken = tool.publicTokenIn(given);
    if (publicToken !== null) return { ...facts, ...named, ...publicToken, by: 'public-token' };
    const selection = 'selection' in asked ? asked.selection : unread(asked);
    return { ...facts, ...named, by: 'access-key', connection: request.socket, selection, knownDigests: [] };
  }

  async function refused(facts: RequestFacts, failure: Failure, context: CallContext): Promise<CallResult> {
    return refusalIn(await vaultReads.refuse(facts, failure), context);
  }

  function refusalIn(
    { failure, status, receipt }: ReadRefusal,
    { request, origin, sessionFailure }: CallContext,
  ): CallResult {
    if (failure === sessionFailure) throw failure;
    if (status >= 500) onError(failure.cause ?? failure, origin.requestId);
    const { approval } = approvalIn(failure, addresses.dashboardOf(request));
    const body = refusalOf(status, sentenceOf(failure), approval);
    return approval === undefined ? { body, receipt } : { body, receipt, approval };
  }

  /** Records a request whose credential was refused before its body was read. */
  async function refuse(failure: Failure, context: CallContext): Promise<void> {
    await vaultReads.refuse(factsOf(context), failure);
  }

  return { callTool, refuse };
}

function factsOf({ request, origin, header }: CallContext): RequestFacts {
  return {
    sender: origin,
    requestId: origin.requestId,
    route,
    method: request.method!,
    tool: null,
    token: header,
    vaultId: null,
    keyId: null,
  };
}

/** Returns a fault in the arguments, which is only reported to a valid credential. */
function askedBy(tool: Tool, sent: unknown): ToolRead | ToolUse | Failure {
  try {
    return tool.byAccessKey(sent);
  } catch (error) {
    return failureFrom(error);
  }
}

/** The vault in whose log a refused call is recorded, if it exists. */
function claimedVault({ vault, credentials }: Readonly<Record<string, unknown>>): string | null {
  const claims = [vault, credentials].filter(isRecord).map(({ vaultId, id }) => vaultId ?? id);
  return claims.find(claim => typeof claim === 'string') ?? null;
}

function filtered({ body }: ReadAnswer, read: ToolRead | Failure): Buffer {
  if (read instanceof Failure || read.filter === undefined) return body;
  const { structuredContent } = JSON.parse(body.toString('utf8')) as { structuredContent: unknown };
  return resultOf(Buffer.from(JSON.stringify(read.filter(structuredContent)), 'utf8'));
}

/** The answer as structured content, and as text for clients that only support text. */
function resultOf(answer: Buffer): Buffer {
  const text = answer.toString('utf8');
  return Buffer.from(
    `{"content":[{"type":"text","text":${JSON.stringify(text)}}],"structuredContent":${text}}`,
    'utf8',
  );
}

/** If a person has to approve the call, the result says where, in a sentence that a model can pass on. */
function refusalOf(status: number, message: string, approval?: ApprovalNotice): Buffer {
  const structuredContent = { status, message, ...(approval === undefined ? {} : { approval }) };
  const asking =
    approval === undefined
      ? []
      : [
          {
            type: 'text',
            text: `Ask the user to open ${approval.url} and approve the call; then call again with the same arguments.`,
          },
        ];
  const content = [{ type: 'text', text: JSON.stringify(structuredContent) }, ...asking];
  return Buffer.from(JSON.stringify({ content, structuredContent, isError: true }), 'utf8');
}

/** Refuses to read what a call may only use. */
function unread(asked: ToolRead | ToolUse | Failure): Failure {
  return asked instanceof Failure ? asked : new Failure('FORBIDDEN');
}

function failureFrom(error: unknown): Failure {
  return error instanceof Failure ? error : new Failure('INTERNAL_ERROR', { cause: error });
}
