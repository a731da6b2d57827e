/**
 * `GET /api/v1/vaults/{vault_id}`, on the bare server: turns a request into a vault read, and its outcome into
 * bytes, with all headers written at once. The same soundness checks come first as for every other route.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { check } from '../contract/check.ts';
import { type Failure, invalid, statusOf } from '../contract/errors.ts';
import { vaultReadQuery } from '../contract/vault-read.ts';
import { json, type Selection } from '../vault/answers.ts';
import type { Outcome, VaultRequest } from '../vault/read.ts';
import { failureHeaders, failureOf, messageBody, securityHeaders } from './errors.ts';
import type { AppParts } from './parts.ts';
import { bearerToken, faultOf, senderOf } from './request.ts';
import type { HandleVaultRead } from './server.ts';

const prefix = '/api/v1/vaults/';
const route = '/api/v1/vaults/{vault_id}';
const fixedHeaders = Object.entries(securityHeaders).flat();
const pemHeaders = ['cache-control', 'no-store, no-cache, must-revalidate', 'pragma', 'no-cache'];
const everything: Selection = { namesOnly: false, keys: false, certificates: false, resource: null };

/** What a connection last asked for, to the letter, and how it was understood: clients repeat themselves. */
interface Repeated {
  readonly url: string;
  readonly rawHeaders: readonly string[];
  readonly asked: VaultRequest;
}

export function vaultReadHandler(parts: AppParts): HandleVaultRead {
  const repeated = new WeakMap<Socket, Repeated>();

  function serve(request: IncomingMessage, response: ServerResponse, vaultId: string): void {
    const fault = faultOf(request);
    if (fault !== null) {
      refuse(response, parts.newId(), fault);
      return;
    }
    const asked = understood(request, vaultId);
    repeated.set(request.socket, { url: request.url!, rawHeaders: request.rawHeaders, asked });
    read(asked, response);
  }

  function understood(request: IncomingMessage, vaultId: string): VaultRequest {
    const { headers, socket, url } = request;
    return {
      token: bearerToken(headers.authorization),
      vaultId,
      connection: socket,
      sender: senderOf(request, parts.addressOf),
      requestId: null,
      route,
      method: 'GET',
      tool: null,
      ifNoneMatch: headers['if-none-match'],
      selection: () => selectionOf(url!),
    };
  }

  function read(asked: VaultRequest, response: ServerResponse): void {
    parts.domain.vaultReads
      .request(asked)
      .then(outcome => answer(response, outcome))
      // The entry could not be written: whatever was read stays here.
      .catch(error => refuse(response, parts.newId(), failureOf(error)));
  }

  function answer(response: ServerResponse, outcome: Outcome): void {
    const { requestId, receipt } = outcome;
    if ('failure' in outcome) {
      refuse(response, requestId, outcome.failure, receipt);
      return;
    }
    const headers = [...fixedHeaders, 'x-request-id', requestId, 'strongroom-receipt', receipt];
    if (parts.draining()) headers.push('connection', 'close');
    if (outcome.status === 304) {
      headers.push('cache-control', 'no-store', 'etag', outcome.etag);
      response.writeHead(304, headers).end();
      return;
    }
    const { body, contentType, etag } = outcome;
    if (contentType === json) headers.push('cache-control', 'no-store', 'etag', etag);
    else headers.push(...pemHeaders);
    headers.push('content-type', contentType, 'content-length', String(body.length));
    response.writeHead(200, headers).end(body);
  }

  function refuse(response: ServerResponse, requestId: string, failure: Failure, receipt?: string): void {
    const status = statusOf[failure.code];
    if (status >= 500) parts.onError(failure.cause ?? failure, requestId);
    const body = JSON.stringify(messageBody(failure));
    response
      .writeHead(status, {
        ...securityHeaders,
        'x-request-id': requestId,
        ...(receipt === undefined ? {} : { 'strongroom-receipt': receipt }),
        ...failureHeaders(failure),
        'content-type': 'application/json; charset=utf-8',
        'content-length': Buffer.byteLength(body),
        ...(parts.draining() ? { connection: 'close' } : {}),
      })
      .end(body);
  }

  return (request, response) => {
    const last = repeated.get(request.socket);
    if (last !== undefined && isSame(last, request)) {
      read(last.asked, response);
      return true;
    }
    const vaultId = request.method === 'GET' ? vaultIdIn(request.url!) : null;
    if (vaultId === null) return false;
    serve(request, response, vaultId);
    return true;
  };
}

function isSame(last: Repeated, { method, url, rawHeaders }: IncomingMessage): boolean {
  if (method !== 'GET' || url !== last.url || rawHeaders.length !== last.rawHeaders.length) return false;
  return rawHeaders.every((text, index) => text === last.rawHeaders[index]);
}

/** The one segment behind the prefix, or null where the path is another. */
function vaultIdIn(url: string): string | null {
  if (!url.startsWith(prefix)) return null;
  const query = url.indexOf('?');
  const path = query < 0 ? url : url.slice(0, query);
  const id = path.endsWith('/') ? path.slice(prefix.length, -1) : path.slice(prefix.length);
  return id === '' || id.includes('/') ? null : id;
}

function selectionOf(url: string): Selection {
  const query = url.indexOf('?');
  if (query < 0) return everything;
  const { secrets, include = '', resource = null } = check(vaultReadQuery, parametersOf(url.slice(query)));
  return {
    namesOnly: secrets === 'names',
    keys: include.includes('keys'),
    certificates: include.includes('certificates'),
    resource,
  };
}

function parametersOf(query: string): Record<string, string> {
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys()) {
    if (parameters.getAll(name).length > 1) throw invalid(name.slice(0, 32), 'must be given once');
  }
  return Object.fromEntries(parameters);
}
