/** The tool endpoint on a domain that is doubled in memory: what it is asked for and told is kept, and each answer can be chosen. */
import assert from 'node:assert/strict';
import Fastify from 'fastify';
import type { Reader } from '../src/access/caller.ts';
import { Failure, statusOf } from '../src/contract/errors.ts';
import type { Agreed, ToolSession } from '../src/domain/credentials/tool-sessions.ts';
import { failureHeaders, failureOf } from '../src/http/listener/errors.ts';
import { parseJson } from '../src/http/listener/json.ts';
import { bearerToken } from '../src/http/listener/request.ts';
import { mountMcp } from '../src/mcp/endpoint.ts';
import type { HttpSurface } from '../src/mcp/http-surface.ts';

// biome-ignore lint/suspicious/noExplicitAny: requests and answers of every shape
export type Json = any;

export const address = '192.0.2.7';
export const origin = { address, userAgent: 'test', requestId: 'q' };
export const key = 'sr_vault_key';
export const anyReader = { kind: 'access-key', id: 'key-id', byOAuth: false } as unknown as Reader;
export const revision = '2025-03-26';
export const session: ToolSession = { id: 's', credentialId: null, revision, elicits: false };
export const unknownSession = new Failure('NOT_FOUND', { field: 'mcp-session-id', reason: 'is unknown' });

export interface Given {
  readonly signIn?: 'offered' | 'required' | null;
  /** The reader that the connection proved before. */
  readonly remembered?: Reader | null;
  /** What the key in the header proves to be. */
  readonly reader?: Reader | Error;
  readonly session?: ToolSession | Error;
  /** What a read comes to, where its selection was understood. */
  readonly read?: () => object;
  readonly used?: () => object;
}

export function endpoint(given: Given = {}) {
  const seen = {
    reads: [] as Json[],
    refused: [] as Json[],
    uses: [] as Json[],
    keyUses: [] as Json[],
    opened: [] as [Agreed, Reader | null][],
    ended: [] as Json[],
    authenticated: [] as (string | null)[],
    remembered: [] as (string | null)[],
    admitted: [] as Json[],
    garbled: 0,
    errors: [] as unknown[],
    challenges: [] as unknown[],
  };
  const refusal = (failure: Failure) => ({
    status: statusOf[failure.code],
    failure,
    receipt: 'refused',
    requestId: 'q',
  });
  const body = () => Buffer.from('{"vault":{"id":"v"}}');
  const domain = {
    toolSessions: {
      open: async (agreed: Agreed, reader: Reader | null) => {
        seen.opened.push([agreed, reader]);
        return 'sr_mcp_new';
      },
      find: async () => {
        const found = given.session ?? session;
        if (found instanceof Error) throw found;
        return found;
      },
      end: async (ended: ToolSession, reader: Reader | null) => seen.ended.push([ended, reader]),
    },
    vaultReads: {
      read: async ({ connection, encoding, ...request }: Json) => {
        seen.reads.push(request);
        assert.equal(typeof connection, request.by === 'public-token' ? 'undefined' : 'object');
        if (request.selection instanceof Failure) return refusal(request.selection);
        return given.read?.() ?? { status: 200, body: encoding.encode(body()), receipt: 'read' };
      },
      refuse: async ({ connection: _, ...facts }: Json, failure: Failure) => {
        seen.refused.push([facts, failure]);
        return refusal(failure);
      },
    },
    vaultUses: {
      use: async ({ connection: _, ...request }: Json) => {
        seen.uses.push(request);
        if (request.call instanceof Failure) return refusal(request.call);
        return given.used?.() ?? { status: 200, answer: { used: true }, receipt: 'use' };
      },
    },
    keyUses: {
      use: async ({ connection: _, ...request }: Json) => {
        seen.keyUses.push(request);
        return given.used?.() ?? { status: 200, answer: { signed: true }, receipt: 'key use' };
      },
    },
    authenticate: {
      remembered: () => given.remembered ?? null,
      remember: (_: object, token: string | null) => seen.remembered.push(token),
      accessKeyAnywhere: async (token: string | null) => {
        seen.authenticated.push(token);
        const reader = given.reader ?? anyReader;
        if (reader instanceof Error) throw reader;
        return reader;
      },
    },
  };
  const signIn = given.signIn ?? null;
  const surface = {
    domain,
    version: '1.2.3',
    addresses: { host: '127.0.0.1', publicUrls: ['https://vault.example'], baseUrls: [] },
    signIn: signIn && {
      mode: signIn,
      challengeOf: (_: unknown, challenge: unknown) => {
        seen.challenges.push(challenge);
        return 'Bearer realm="there"';
      },
    },
    originOf: () => origin,
    tokenOf: (request: Json) => bearerToken(request.headers.authorization),
    strangers: {
      admit: (_: unknown, from: string, largest: number) => seen.admitted.push([from, largest]),
      garbled: () => {
        seen.garbled += 1;
      },
    },
    failureOf,
    headersOf: failureHeaders,
    onError: (error: unknown, requestId: string) => {
      assert.equal(requestId, 'q');
      seen.errors.push(error);
    },
  } as unknown as HttpSurface;
  const app = Fastify({ genReqId: () => 'q' });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, sent, done) => {
    try {
      done(null, parseJson(sent as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });
  mountMcp(app, surface);
  const send = async (method: 'POST' | 'GET' | 'DELETE', payload: unknown, headers = {}, query = '') => {
    const isText = typeof payload === 'string';
    const answer = await app.inject({
      method,
      url: `/mcp${query}`,
      headers: { 'mcp-session-id': 'sr_mcp_x', ...headers },
      ...(payload === undefined
        ? {}
        : {
            payload: isText ? payload : JSON.stringify(payload),
            headers: { 'content-type': 'application/json', 'mcp-session-id': 'sr_mcp_x', ...headers },
          }),
    });
    const text = answer.body;
    const parsed: Json = text === '' ? null : JSON.parse(text);
    return { status: answer.statusCode, headers: answer.headers, text, body: parsed };
  };
  const post = (payload: unknown, headers = {}, query = '') => send('POST', payload, headers, query);
  return { seen, send, post };
}

export const withKey = { authorization: `Bearer ${key}` };
export const rpc = (method: string, params?: unknown, id: unknown = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});
export const call = (name: string, args?: unknown, id: unknown = 1) =>
  rpc('tools/call', { name, arguments: args }, id);
export const note = { jsonrpc: '2.0', method: 'notifications/initialized' };
export const modern = '2026-07-28';
export const envelope = (capabilities: object = {}) => ({
  'io.modelcontextprotocol/protocolVersion': modern,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': capabilities,
});
export const modernHeaders = (name: string, method = 'tools/call') => ({
  'mcp-protocol-version': modern,
  'mcp-method': method,
  'mcp-name': name,
});
export const modernCall = (name: string, args?: unknown, capabilities?: object) =>
  rpc('tools/call', { name, arguments: args, _meta: envelope(capabilities) });
export const facts = {
  sender: origin,
  requestId: 'q',
  route: '/mcp',
  method: 'POST',
  tool: null,
  token: null,
  vaultId: null,
  keyId: null,
};
export const names = { of: 'kind', kind: 'secret', fields: 'names' };
export const contentOf = (body: Json) => body.result.structuredContent;
