/**
 * The same tools over stdio, for clients that start a program instead of connecting to an address. This process has no
 * vault: it sends each call to the service, with the key from the environment in a header.
 */
import { type CallToolResult, ProtocolError } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { ask, type RemoteService } from './remote-service.ts';
import { type ProtocolAnswer, protocolServer } from './sdk-server.ts';
import { StdioTransport } from './stdio-transport.ts';
import type { Naming } from './tools.ts';

const patience = 30_000;

/** Resolves when the client has closed its end and received all its answers. */
export async function serveOverStdio(
  remote: RemoteService,
  naming: Naming,
  transport = new StdioTransport(process.stdin, process.stdout),
): Promise<void> {
  const served = { version: remote.version, naming, hasKey: true };
  const build = () => protocolServer(served, ({ name }, sent) => call(remote, name, sent));
  const handle = serveStdio(build, { transport });
  await transport.finished;
  await handle.close();
}

async function call(remote: RemoteService, name: string, sent: unknown): Promise<CallToolResult> {
  const response = await ask(remote, {
    method: 'tools/call',
    params: { name, arguments: sent ?? {} },
    headers: { 'mcp-name': name },
    patience,
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
