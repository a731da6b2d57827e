/**
 * The same tools over stdio, for clients that start a program instead of calling an address. This side holds
 * no vault: each call goes to the service over HTTPS, with the key from the environment in its header. The key
 * goes there and nowhere else: a redirect is an error, and so is plain HTTP to another machine.
 */
import { type CallToolResult, ProtocolError } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { type ProtocolAnswer, protocolServer } from './protocol.ts';
import type { Naming } from './tools.ts';
import { modernEnvelope, modernRevision } from './wire.ts';

export interface RemoteService {
  /** The address of its tool endpoint. */
  readonly url: string;
  readonly accessKey: string;
}

export interface StdioSettings {
  readonly remote: RemoteService;
  readonly naming: Naming;
  readonly version: string;
}

const longestAnswer = 30_000;

/** Resolves when the client has closed its end. */
export async function serveOverStdio({ remote, naming, version }: StdioSettings): Promise<void> {
  const closed = new Promise<void>(resolve => process.stdin.once('close', resolve));
  const handle = serveStdio(() =>
    protocolServer(version, naming, ({ name }, sent) => callRemote(remote, version, name, sent)),
  );
  await closed;
  await handle.close();
}

async function callRemote(
  { url, accessKey }: RemoteService,
  version: string,
  name: string,
  sent: unknown,
): Promise<CallToolResult> {
  const body = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: sent ?? {}, _meta: modernEnvelope('strongroom-mcp', version) },
  };
  const response = await fetch(url, {
    method: 'POST',
    redirect: 'error',
    signal: AbortSignal.timeout(longestAnswer),
    headers: {
      authorization: `Bearer ${accessKey}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'user-agent': `strongroom-mcp/${version}`,
      'mcp-protocol-version': modernRevision,
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
    body: JSON.stringify(body),
  }).catch(() => null);
  if (response === null) return refusal(503, 'The service can’t be reached');
  return resultIn(response);
}

async function resultIn(response: Response): Promise<CallToolResult> {
  const answer = (await response.json().catch(() => null)) as ProtocolAnswer | null;
  if (answer?.error !== undefined && response.ok)
    throw new ProtocolError(answer.error.code, answer.error.message);
  if (answer?.result === undefined) {
    return refusal(
      response.status,
      answer?.error?.message ?? 'The address does not answer as a tool endpoint',
    );
  }
  const { resultType, _meta, ...result } = answer.result;
  return result as CallToolResult;
}

function refusal(status: number, message: string): CallToolResult {
  const structuredContent = { status, message };
  return {
    content: [{ type: 'text', text: JSON.stringify(structuredContent) }],
    structuredContent,
    isError: true,
  };
}
