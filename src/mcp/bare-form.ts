/**
 * The bare form, as the interface specification writes it: `method` and `params` alone. No revision of the
 * protocol has it, so it is turned into a request of 2025, and its answer gets `id: null`.
 */
import type { JSONRPCRequest } from '@modelcontextprotocol/server';
import type { McpMessage } from './messages.ts';
import { sessionRevisions } from './protocol-constants.ts';

/** Never seen outside: the answer carries null. */
const inner = 0;

export function fromBare({ method, params }: McpMessage & { readonly method: string }): JSONRPCRequest {
  const given = method === 'initialize' ? { ...introduction, ...params } : params;
  return { jsonrpc: '2.0', id: inner, method, ...(given === undefined ? {} : { params: given }) };
}

/** Someone who only wants a session need not say who they are. */
const introduction = {
  protocolVersion: sessionRevisions[0],
  capabilities: {},
  clientInfo: { name: 'bare', version: '0' },
};
