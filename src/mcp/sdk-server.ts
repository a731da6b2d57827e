/**
 * A server of the official SDK for each exchange, with the one registry of tools. It answers the handshake, the listing,
 * pings and anything else that a revision of the protocol defines. Tool calls go to the same function that answers them
 * directly.
 */
import {
  type CallToolResult,
  INVALID_REQUEST,
  InMemoryTransport,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
} from '@modelcontextprotocol/server';
import { instructions, listingFor } from './listing.ts';
import { identityOf } from './protocol-constants.ts';
import { type Naming, type Tool, toolNamed, unknownTool } from './tools.ts';

export type Run = (tool: Tool, sent: unknown) => Promise<CallToolResult>;

export interface ProtocolAnswer {
  readonly jsonrpc: '2.0';
  readonly id: string | number | null;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** What the answers of a server depend on, apart from the request. */
interface Served {
  readonly version: string;
  readonly naming: Naming;
  /** Whether the caller sent a credential in the header. */
  readonly hasKey: boolean;
}

export function protocolServer({ version, naming, hasKey }: Served, run: Run): Server {
  const capabilities = { tools: { listChanged: false } };
  const server = new Server(identityOf(version), { capabilities, instructions });
  // The list depends on whether there is a credential, and otherwise changes only with a release.
  server.setRequestHandler('tools/list', () => ({
    tools: listingFor(naming, hasKey),
    ttlMs: 300_000,
    cacheScope: 'private',
  }));
  server.setRequestHandler('tools/call', ({ params }) => {
    const tool = toolNamed(params.name);
    if (tool === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, unknownTool);
    return run(tool, params.arguments);
  });
  return server;
}

/** Answers one request in this process. */
export async function askServer(server: Server, message: JSONRPCRequest): Promise<ProtocolAnswer> {
  const { id } = message;
  if (!isJSONRPCRequest(message)) {
    // The SDK would leave unanswered what it can't read.
    const error = { code: INVALID_REQUEST, message: 'Invalid Request: a field is not valid' };
    return { jsonrpc: '2.0', id, error };
  }
  const [near, far] = InMemoryTransport.createLinkedPair();
  const answered = new Promise<JSONRPCMessage>((resolve, reject) => {
    near.onmessage = resolve;
    near.onclose = () => reject(new Error('the protocol server closed without an answer'));
  });
  await Promise.all([near.start(), server.connect(far)]);
  try {
    await near.send(message);
    return (await answered) as ProtocolAnswer;
  } finally {
    near.onclose = () => {};
    await server.close();
  }
}
