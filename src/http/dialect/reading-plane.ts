/**
 * Vault's dialect on the reading plane, ahead of any router like the vault endpoint. Reads with an access key take the
 * same path through the domain, with the same limits and log, and are answered in Vault's format. Everything else is
 * forwarded to the management plane. Every request that is answered here, except probes, is recorded before it is
 * answered.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type {
  AccessKeyRead,
  ReadRefusal,
  ReadResult,
  RequestFacts,
} from '../../domain/reads/vault-request.ts';
import { faultOf, hasUnreadBody, isRead } from '../listener/request.ts';
import { headersOnEvery } from '../listener/security-headers.ts';
import type { HandleRequest } from '../listener/server.ts';
import type { ReadingSurfaceParts } from '../surface/surface-parts.ts';
import { answeringWith, factsOf, refusingWith } from '../vault/answers.ts';
import { isRepeated, type LastRequest } from '../vault/read.ts';
import { readOf } from './access-key-reads.ts';
import { contentType, errorsOf, identified, readOnlyKey, statusFor } from './forms.ts';
import { healthWith } from './health.ts';
import { leaseHandlerWith } from './leases/reading-plane.ts';
import {
  isApiKey,
  isDialect,
  isForReadingPlane,
  isProbe,
  routeOf,
  type Target,
  targetOf,
  tokenIn,
  unmetHeader,
} from './target.ts';
import { transitHandlerWith } from './transit/reading-plane.ts';
import type { KeylessCall, OperationCall } from './transit/target.ts';

export function dialectHandler(parts: ReadingSurfaceParts, forward: RequestListener): HandleRequest {
  const lastRequests = new WeakMap<Socket, LastRequest>();
  const { vaultReads } = parts.domain;
  const refuse = refusingWith(parts, { statusFor, bodyOf: errorsOf, contentType });
  const answerWith = answeringWith(parts, 'dialect', { answer, refuse });
  const onEvery = headersOnEvery(parts.encrypted, headers => headers);
  const onRead = headersOnEvery(parts.encrypted, headers => [
    ...Object.entries(headers).flat(),
    'Cache-Control',
    'no-store',
  ]);
  const health = healthWith(parts);
  const transit = transitHandlerWith(parts);
  const lease = leaseHandlerWith(parts);

  function serve(request: IncomingMessage, response: ServerResponse, started: number): void {
    const asked = targetOf(request.url!);
    const fault = faultOf(request);
    const isOurs = fault !== null || isForReadingPlane(asked, request.method, tokenIn(request.headers));
    if (fault === null && operates(request, response, asked, started)) return;
    if (isOurs && hasUnreadBody(request)) response.shouldKeepAlive = false;
    // A malformed request reads nothing; the vault and token that it names decide whose log it is recorded in.
    if (fault !== null) answerWith(response, vaultReads.refuse(factsIn(request, asked), fault), started);
    else if (isProbe(asked) && isRead(request.method)) health(asked.of, request, response, onEvery(request));
    else if (isOurs) read(request, response, asked, started);
    else forward(request, response);
  }

  /** Whether it was an operation of an access key on the plane of uses. */
  function operates(
    request: IncomingMessage,
    response: ServerResponse,
    asked: Target,
    started: number,
  ): boolean {
    if (isApiKey(tokenIn(request.headers))) return false;
    if (asked.of === 'lease') lease(request, response, asked, started);
    else if (takesBody(asked)) transit(request, response, asked, started);
    else return false;
    return true;
  }

  function read(request: IncomingMessage, response: ServerResponse, asked: Target, started: number): void {
    const wanted = readOf(asked, request.url!, tokenIn(request.headers), parts.now);
    const isThere = asked.of === 'store' || asked.of === 'mount' || asked.of === 'transit';
    const refused = isThere && !isRead(request.method) ? readOnlyKey() : unmetHeader(request.headers);
    const asking: AccessKeyRead = {
      ...factsIn(request, asked),
      ...wanted,
      selection: refused ?? wanted.selection,
      by: 'access-key',
      connection: request.socket,
      knownDigests: [],
    };
    if (request.method === 'GET') {
      const { url, rawHeaders, socket } = request;
      lastRequests.set(socket, { url: url!, rawHeaders, read: asking });
    }
    answerWith(response, vaultReads.read(asking), started);
  }

  function factsIn(request: IncomingMessage, asked: Target): RequestFacts {
    return factsOf(parts, request, routeOf(asked), tokenIn(request.headers));
  }

  function answer(response: ServerResponse, result: Exclude<ReadResult, ReadRefusal>): void {
    const { requestId, receipt } = result;
    if (result.status === 304) throw new Error('unexpected 304: no digest was sent');
    const body = identified(result.body, requestId);
    const headers = [...onRead(response.req), 'X-Request-Id', requestId, 'Strongroom-Receipt', receipt];
    if (parts.draining()) headers.push('Connection', 'close');
    headers.push('Content-Type', contentType, 'Content-Length', String(body.length));
    response.writeHead(200, headers).end(body);
  }

  return (request, response) => {
    const started = performance.now();
    const last = lastRequests.get(request.socket);
    if (last !== undefined && isRepeated(last, request)) {
      answerWith(response, vaultReads.read(last.read), started);
      return true;
    }
    if (!isDialect(request.url!)) return false;
    serve(request, response, started);
    return true;
  };
}

/** Operations of the transit engine: their inputs are in the body. */
function takesBody(asked: Target): asked is OperationCall | KeylessCall {
  return asked.of === 'transit' && asked.verb !== 'keys';
}
