/**
 * The gateway's entrance: identifies the access key of a request, takes it off, and passes the request to the plane of
 * uses. A request without a valid access key is refused before its body is read, and a request in progress ends within a
 * second once its access key is revoked. Refusals are recorded before they are answered.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Reader } from '../../access/caller.ts';
import { Failure } from '../../contract/errors.ts';
import type { RequestFacts } from '../../domain/reads/vault-request.ts';
import { ownAddresses } from '../../mcp/addresses.ts';
import { requestsOf } from '../../metrics/requests.ts';
import { failureHeaders, failureOf, messageBody } from '../listener/errors.ts';
import { faultOf } from '../listener/request.ts';
import type { HandleRequest } from '../listener/server.ts';
import type { ReadingSurfaceParts } from '../surface/surface-parts.ts';
import { factsOf, jsonType, writingWith } from '../vault/answers.ts';
import { harmlessHeaders, tokenIn } from './credential.ts';
import { gatewayRoute, isGateway, targetIn, withPlainScope } from './target.ts';

/** In milliseconds: how often the access key of a request in progress is checked. */
const watchEvery = 1_000;
/** What browsers load as part of a page. An answer from another service must never act as one of ours. */
const loadedByPages = /^(?!empty$)/;

export function gatewayHandler(parts: ReadingSurfaceParts): HandleRequest {
  const { vaultReads, authenticate } = parts.domain;
  const write = writingWith(parts);
  const addresses = ownAddresses(parts.addresses);
  const count = requestsOf(parts.meter, 'use');

  const identify = ({ token, sender }: RequestFacts): Promise<Reader> =>
    authenticate.accessKeyAnywhere(token, sender);

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.url = withPlainScope(request.url!);
    const target = targetIn(request.url);
    const token = tokenIn(request, target?.token ?? null);
    const facts = factsOf(parts, request, gatewayRoute, token);
    try {
      refuseOdd(request);
      const reader = await identify(facts);
      if (target === null) throw new Failure('NOT_FOUND');
      watch(response, facts);
      const admitted = {
        facts,
        reader,
        rule: target.rule,
        path: target.path,
        headers: harmlessHeaders(request, token!),
        dashboard: addresses.dashboardOf(request),
      };
      const unavailable = new Failure('UNAVAILABLE', { retryAfter: 1 });
      parts.gateway(request, response, admitted, () => refuseOrEnd(request, response, facts, unavailable));
    } catch (error) {
      await refuse(request, response, facts, failureOf(error));
    }
  }

  function watch(response: ServerResponse, facts: RequestFacts): void {
    const timer = setInterval(() => void identify(facts).catch(() => response.destroy()), watchEvery);
    response.once('close', () => clearInterval(timer));
  }

  function refuseOrEnd(
    request: IncomingMessage,
    response: ServerResponse,
    facts: RequestFacts,
    failure: Failure,
  ): void {
    refuse(request, response, facts, failure).catch(error => end(response, error));
  }

  function end(response: ServerResponse, error: unknown): void {
    parts.onError(error, parts.newId());
    response.destroy();
  }

  async function refuse(
    request: IncomingMessage,
    response: ServerResponse,
    facts: RequestFacts,
    failure: Failure,
  ): Promise<void> {
    if (!request.complete) response.shouldKeepAlive = false;
    const refusal = await vaultReads.refuse(facts, failure);
    const { status, failure: stated, requestId } = refusal;
    if (status >= 500) parts.onError(stated.cause ?? stated, requestId);
    write(response, refusal, status, jsonType, JSON.stringify(messageBody(stated)), {
      ...failureHeaders(stated),
      // git and curl send a user name and password only after they were asked for them.
      ...(status === 401 ? { 'WWW-Authenticate': 'Bearer, Basic realm="Strongroom", charset="UTF-8"' } : {}),
    });
  }

  return (request, response) => {
    if (!isGateway(request.url!)) return false;
    const started = performance.now();
    response.once('close', () => count(response.statusCode, performance.now() - started));
    serve(request, response).catch(error => end(response, error));
    return true;
  };
}

function refuseOdd(request: IncomingMessage): void {
  const fault = faultOf(request);
  if (fault !== null) throw fault;
  const destination = request.headers['sec-fetch-dest'];
  if (destination !== undefined && loadedByPages.test(String(destination)))
    throw new Failure('FORBIDDEN', {
      message: 'Forbidden: the gateway is not for browsers',
      because: 'not_allowed',
    });
}
