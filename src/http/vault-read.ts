/**
 * `GET /api/v1/vaults/{vault_id}`, on the bare server: turns a request into a vault read, and its outcome into
 * bytes, with all headers written at once. The same soundness checks come first as for every other route.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { check } from '../contract/check.ts';
import { type Failure, invalid, statusOf } from '../contract/errors.ts';
import { vaultReadQuery } from '../contract/vault-read.ts';
import type { Selection } from '../vault/answers.ts';
import type { Outcome } from '../vault/read.ts';
import { failureHeaders, failureOf, messageBody, securityHeaders } from './errors.ts';
import type { AppParts } from './parts.ts';
import { bearerToken, faultOf, originOf } from './request.ts';
import type { HandleVaultRead } from './server.ts';

const prefix = '/api/v1/vaults/';
const route = '/api/v1/vaults/{vault_id}';
const fixedHeaders = Object.entries(securityHeaders).flat();
const pemHeaders = ['cache-control', 'no-store, no-cache, must-revalidate', 'pragma', 'no-cache'];
const jsonHeaders = ['cache-control', 'no-store'];
const everything: Selection = { namesOnly: false, keys: false, certificates: false, resource: null };

export function vaultReadHandler(parts: AppParts): HandleVaultRead {
  async function serve(request: IncomingMessage, response: ServerResponse, vaultId: string): Promise<void> {
    const requestId = parts.newId();
    const fault = faultOf(request);
    if (fault !== null) return refuse(response, requestId, fault);
    try {
      const outcome = await parts.domain.vaultReads.request({
        token: bearerToken(request.headers.authorization),
        vaultId,
        connection: request.socket,
        origin: originOf(request, requestId, parts.addressOf),
        route,
        method: 'GET',
        tool: null,
        ifNoneMatch: request.headers['if-none-match'],
        selection: () => selectionOf(request.url!),
      });
      answer(response, requestId, outcome);
    } catch (error) {
      // The entry could not be written: whatever was read stays here.
      refuse(response, requestId, failureOf(error));
    }
  }

  function answer(response: ServerResponse, requestId: string, outcome: Outcome): void {
    if ('failure' in outcome) {
      refuse(response, requestId, outcome.failure, outcome.receipt);
      return;
    }
    const { receipt } = outcome;
    const common = [...fixedHeaders, 'x-request-id', requestId, 'strongroom-receipt', receipt, ...closing()];
    if ('etag' in outcome) {
      response.writeHead(304, [...common, ...jsonHeaders, 'etag', outcome.etag]).end();
      return;
    }
    const { body, contentType, etag } = outcome.answer;
    const tagged = contentType.startsWith('application/json') ? [...jsonHeaders, 'etag', etag] : pemHeaders;
    const sized = ['content-type', contentType, 'content-length', String(body.length)];
    response.writeHead(200, [...common, ...tagged, ...sized]).end(body);
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

  const closing = () => (parts.draining() ? ['connection', 'close'] : []);

  return (request, response) => {
    const vaultId = request.method === 'GET' ? vaultIdIn(request.url!) : null;
    if (vaultId === null) return false;
    void serve(request, response, vaultId);
    return true;
  };
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
