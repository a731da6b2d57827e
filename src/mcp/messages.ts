/**
 * Distinguishes the three forms of a request. The specification's bare form has neither `jsonrpc` nor `id`; the
 * revisions of 2025 use JSON-RPC in a session; the revision of 2026-07-28 has an envelope in each request. Anything else
 * is refused here, with a JSON-RPC error code.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { JSONRPCRequest } from '@modelcontextprotocol/server';
import {
  capabilitiesKey,
  clientKey,
  invalidRequest,
  modernRevision,
  sessionRevisions,
  versionKey,
} from './protocol-constants.ts';

export type McpMessage = Readonly<Record<string, unknown>> & {
  readonly params?: Record<string, unknown> | undefined;
};

type ClassifiedMessage =
  | { readonly form: 'bare'; readonly message: McpMessage & { readonly method: string } }
  | { readonly form: 'session'; readonly message: JSONRPCRequest }
  | { readonly form: 'stateless'; readonly message: McpMessage }
  /** A notification or a response: it is only acknowledged. */
  | { readonly form: 'silent'; readonly message: McpMessage };

/** A protocol error with its HTTP status. */
export class RpcError extends Error {
  readonly status: number;
  readonly code: number;

  constructor(status: number, code: number, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export function classify(body: unknown, headers: IncomingHttpHeaders): ClassifiedMessage {
  if (!isRecord(body)) throw malformed('the body must be an object');
  const message = body as McpMessage;
  if (message.params !== undefined && !isRecord(message.params)) throw malformed('params must be an object');
  if (!('jsonrpc' in message) && !('id' in message)) return bare(message);
  if (message.jsonrpc !== '2.0') throw malformed('jsonrpc must be "2.0"');
  if (claimsEnvelope(message, headers)) return { form: 'stateless', message };
  if (typeof message.method !== 'string') return silent(message);
  if (!('id' in message)) return { form: 'silent', message };
  if (!isId(message.id)) throw malformed('id must be a string or a whole number');
  return { form: 'session', message: message as unknown as JSONRPCRequest };
}

function bare(message: McpMessage): ClassifiedMessage {
  if (typeof message.method !== 'string') throw malformed('method must be a string');
  if (message.method.startsWith('notifications/')) return { form: 'silent', message };
  return { form: 'bare', message: message as McpMessage & { method: string } };
}

/** Defaults for `initialize`, so that a bare client need not introduce itself. */
const introduction = {
  protocolVersion: sessionRevisions[0],
  capabilities: {},
  clientInfo: { name: 'bare', version: '0' },
};

/** A bare request as one of 2025. Its id is internal: the answer has null instead. */
export function fromBare({ method, params }: McpMessage & { readonly method: string }): JSONRPCRequest {
  const given = method === 'initialize' ? { ...introduction, ...params } : params;
  return { jsonrpc: '2.0', id: 0, method, ...(given === undefined ? {} : { params: given }) };
}

function silent(message: McpMessage): ClassifiedMessage {
  if (!('result' in message) && !('error' in message)) throw malformed('method must be a string');
  return { form: 'silent', message };
}

/** Whether the body or a header claims an envelope; the SDK decides whether the claim is valid. */
function claimsEnvelope({ params }: McpMessage, headers: IncomingHttpHeaders): boolean {
  const meta = params?._meta;
  if (isRecord(meta) && versionKey in meta) return true;
  const header = String(headers['mcp-protocol-version']);
  return header >= modernRevision && /^\d{4}-\d{2}-\d{2}$/.test(header);
}

/**
 * Whether a call with an envelope is unambiguous: all headers are present and agree with the body, and the envelope is
 * complete. Only then is it answered without the SDK, which decides all other cases.
 */
export function isPlainCall({ id, method, params }: McpMessage, headers: IncomingHttpHeaders): boolean {
  if (method !== 'tools/call' || !isId(id) || params === undefined) return false;
  const meta = params._meta;
  if (!isRecord(meta)) return false;
  const client = meta[clientKey];
  const capabilities = meta[capabilitiesKey];
  return (
    meta[versionKey] === modernRevision &&
    headers['mcp-protocol-version'] === modernRevision &&
    headers['mcp-method'] === 'tools/call' &&
    headers['mcp-name'] === params.name &&
    isRecord(client) &&
    typeof client.name === 'string' &&
    typeof client.version === 'string' &&
    isRecord(capabilities) &&
    Object.values(capabilities).every(isRecord)
  );
}

export function isId(id: unknown): id is string | number {
  return typeof id === 'string' || Number.isSafeInteger(id);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function malformed(message: string): RpcError {
  return new RpcError(400, invalidRequest, `Invalid Request: ${message}`);
}
