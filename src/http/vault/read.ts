/**
 * `GET /api/v1/vaults/{vault_id}`, on the bare server: turns a request into a vault read, and its result into bytes,
 * with all headers written in one call. Every request below this path ends here and is recorded before it is answered,
 * including other methods, other paths and malformed requests, which read nothing.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type {
  AccessKeyRead,
  PublicTokenRead,
  ReadRefusal,
  ReadResult,
  RequestFacts,
} from '../../domain/reads/vault-request.ts';
import { bearerToken, faultOf, hasUnreadBody } from '../listener/request.ts';
import { headersOnEvery } from '../listener/security-headers.ts';
import type { HandleRequest } from '../listener/server.ts';
import type { ReadingSurfaceParts } from '../surface/surface-parts.ts';
import { answeringWith, factsOf, jsonType, refusingWith } from './answers.ts';
import { isBelowVaults, keySetIn, misplaced, vaultIdIn, vaultRoute } from './path.ts';
import { selectionIn } from './query.ts';

const contentTypes = {
  json: jsonType,
  text: 'text/plain; charset=utf-8',
  pem: 'application/x-pem-file',
} as const;
const longestHeader = 4_096;
/** PEM has no ETag and is sent in full each time. */
const untaggedHeaders = ['Cache-Control', 'no-store, no-cache, must-revalidate', 'Pragma', 'no-cache'];

/** The last request of a connection, verbatim, because clients often repeat it; and how it was parsed. */
export interface LastRequest {
  readonly url: string;
  readonly rawHeaders: readonly string[];
  readonly read: AccessKeyRead;
}

export function vaultReadHandler(parts: ReadingSurfaceParts): HandleRequest {
  const lastRequests = new WeakMap<Socket, LastRequest>();
  const { vaultReads } = parts.domain;
  const answerWith = answeringWith(parts, 'vault_read', { answer, refuse: refusingWith(parts) });
  const onEvery = headersOnEvery(parts.encrypted, headers => Object.entries(headers).flat());

  function serve(request: IncomingMessage, response: ServerResponse, started: number): void {
    if (hasUnreadBody(request)) response.shouldKeepAlive = false;
    const fault = faultOf(request) ?? misplaced(request);
    if (fault !== null) {
      // It reads nothing; the vault and token that it names decide whose log it is recorded in.
      answerWith(response, vaultReads.refuse(factsIn(request), fault), started);
      return;
    }
    const key = keySetIn(request);
    if (key !== null) {
      answerWith(response, vaultReads.read(keySetRead(request, key)), started);
      return;
    }
    const read = readOf(request);
    if (request.method === 'GET') {
      lastRequests.set(request.socket, { url: request.url!, rawHeaders: request.rawHeaders, read });
    }
    answerWith(response, vaultReads.read(read), started);
  }

  function factsIn(request: IncomingMessage): RequestFacts {
    const { headers, url } = request;
    return factsOf(parts, request, vaultRoute, bearerToken(headers.authorization), vaultIdIn(url!));
  }

  function readOf(request: IncomingMessage): AccessKeyRead {
    return {
      ...factsIn(request),
      by: 'access-key',
      connection: request.socket,
      selection: selectionIn(request.url!),
      knownDigests: digestsIn(request.headers['if-none-match']),
    };
  }

  /** The public keys of a key, with an access key or with a public token of that key. */
  function keySetRead(request: IncomingMessage, key: string): AccessKeyRead | PublicTokenRead {
    const route = `${vaultRoute}/keys/{key}/jwks.json`;
    const facts = { ...factsIn(request), route };
    if (facts.token?.startsWith('sr_pub_')) return { ...facts, by: 'public-token', keySet: key };
    const selection = { of: 'item', kind: 'key', nameOrId: key, fields: 'jwks' } as const;
    const knownDigests = digestsIn(request.headers['if-none-match']);
    return { ...facts, by: 'access-key', connection: request.socket, selection, knownDigests };
  }

  function answer(response: ServerResponse, result: Exclude<ReadResult, ReadRefusal>): void {
    const { requestId, receipt, digest } = result;
    const headers = [...onEvery(response.req), 'X-Request-Id', requestId, 'Strongroom-Receipt', receipt];
    if (parts.draining()) headers.push('Connection', 'close');
    if (digest === null) headers.push(...untaggedHeaders);
    else headers.push('Cache-Control', 'no-store', 'ETag', `"${digest}"`);
    if (result.status === 304) {
      response.writeHead(304, headers).end();
      return;
    }
    const { body, format, unresolved } = result;
    if (unresolved !== undefined && unresolved.length > 0)
      headers.push('Strongroom-Unresolved', namesIn(unresolved));
    headers.push('Content-Type', contentTypes[format], 'Content-Length', String(body.length));
    response.writeHead(200, headers).end(body);
  }

  return (request, response) => {
    const started = performance.now();
    const last = lastRequests.get(request.socket);
    if (last !== undefined && isRepeated(last, request)) {
      answerWith(response, vaultReads.read(last.read), started);
      return true;
    }
    if (!isBelowVaults(request.url!)) return false;
    serve(request, response, started);
    return true;
  };
}

/** Percent-encoded, separated by commas; cut off where it would be too long for a header. */
function namesIn(names: readonly string[]): string {
  const text = names.map(encodeURIComponent).join(',');
  return text.length <= longestHeader ? text : text.slice(0, text.lastIndexOf(',', longestHeader));
}

export function isRepeated(last: LastRequest, { method, url, rawHeaders }: IncomingMessage): boolean {
  if (method !== 'GET' || url !== last.url || rawHeaders.length !== last.rawHeaders.length) return false;
  return rawHeaders.every((text, index) => text === last.rawHeaders[index]);
}

/** The digests in an `If-None-Match` header. */
function digestsIn(header: string | undefined): readonly string[] {
  if (header === undefined) return [];
  return header.split(',').flatMap(tag => /^(?:W\/)?"(.*)"$/.exec(tag.trim())?.[1] ?? []);
}
