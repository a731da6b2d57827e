/**
 * The bare form of the interface specification: a request with only `method` and `params`. No revision of the protocol
 * has it, so it is converted to a request of 2025, and its answer gets `id: null`.
 */
import type { JSONRPCRequest } from '@modelcontextprotocol/server';
import type { McpMessage } from './messages.ts';
import { sessionRevisions } from './protocol-constants.ts';

/** Internal: the answer has null instead. */
const inner = 0;

export function fromBare({ method, params }: McpMessage & { readonly method: string }): JSONRPCRequest {
  const given = method === 'initialize' ? { ...introduction, ...params } : params;
  return { jsonrpc: '2.0', id: inner, method, ...(given === undefined ? {} : { params: given }) };
}

/** Defaults for `initialize`, so that a bare client need not introduce itself. */
const introduction = {
  protocolVersion: sessionRevisions[0],
  capabilities: {},
  clientInfo: { name: 'bare', version: '0' },
};
