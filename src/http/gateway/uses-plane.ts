/**
 * The gateway on the plane of uses: turns a request into a call, and the result into an answer. An answer that was
 * passed on in part is cut off if the rest of it must not follow. Answers come from other services, so browsers are told
 * to run nothing in them.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { type Failure, invalid } from '../../contract/errors.ts';
import { approvalIn } from '../../domain/uses/approval-requests.ts';
import type { GatewayAnswer, GatewayCalls, Outlet, Pieces } from '../../domain/uses/gateway-calls.ts';
import { notAllowed } from '../../domain/uses/judging.ts';
import type { UseResult } from '../../domain/uses/recorded-uses.ts';
import { refusedUse } from '../../domain/uses/suspensions.ts';
import type { AdmittedRequest } from '../listener/admitted-request.ts';
import { failureHeaders, failureOf, messageBody } from '../listener/errors.ts';
import { hasBody } from '../listener/request.ts';
import { securityHeaders } from '../listener/security-headers.ts';

export interface GatewayParts {
  readonly gateway: GatewayCalls;
  readonly newId: () => string;
  readonly onError: (error: unknown, requestId?: string) => void;
}

const ofOtherService = {
  ...securityHeaders,
  'Content-Security-Policy': `sandbox; ${securityHeaders['Content-Security-Policy']}`,
  'Cache-Control': 'no-store',
};
/** Headers by which an answer could act on the pages of this origin, whatever a rule says. */
const forPages =
  /^(?:access-control-.*|cache-control|clear-site-data|content-security-policy.*|cross-origin-.*|expires|link|pragma|refresh|report-to|reporting-endpoints|service-worker-allowed|strict-transport-security|strongroom-.*|x-frame-options|x-content-type-options|referrer-policy|x-request-id)$/;

export function gatewayListener({ gateway, newId, onError }: GatewayParts) {
  async function serve(request: IncomingMessage, response: ServerResponse, admitted: AdmittedRequest) {
    const requestId = newId();
    const { facts, reader, rule, path, headers } = admitted;
    const length = request.headers['content-length'];
    const isEncoded = encodingOf(request) !== null;
    const result = await gateway.forward(
      {
        ...facts,
        requestId,
        reader,
        rule,
        path,
        headers,
        body: hasBody(request) ? piecesOf(request, response) : null,
        length: length === undefined || isEncoded ? null : Number(length),
      },
      receipt => outletFor(response, { receipt, requestId }),
    );
    answer(response, result, admitted.dashboard);
  }

  function answer(response: ServerResponse, result: UseResult<GatewayAnswer>, dashboard: string): void {
    if ('failure' in result) {
      if (result.status >= 500) onError(result.failure.cause ?? result.failure, result.requestId);
      refuse(response, result, result.status, result.failure, dashboard);
      return;
    }
    const { begun: receipt } = result.answer;
    const reference = { receipt, requestId: result.requestId };
    if (result.answer.outcome === 'answered') finish(response, result.answer, reference);
    else if (result.answer.outcome === 'refused')
      refuse(response, reference, 403, refusalOf(result.answer), dashboard);
    else if (response.headersSent) response.destroy();
    else writeJson(response, ...failed(result.answer), reference);
  }

  function refuse(
    response: ServerResponse,
    reference: Reference,
    status: number,
    failure: Failure,
    dashboard: string,
  ): void {
    if (response.headersSent) return void response.destroy();
    const body = { ...messageBody(failure), ...approvalIn(failure, dashboard) };
    writeJson(response, status, body, reference, failureHeaders(failure));
  }

  return (request: IncomingMessage, response: ServerResponse, admitted: AdmittedRequest): void => {
    serve(request, response, admitted).catch(error => {
      if (response.destroyed) return;
      const failure = failureOf(error);
      onError(failure.cause ?? failure);
      refuse(response, { requestId: newId() }, 503, failure, admitted.dashboard);
    });
  };
}

/** Sends the end of an answer, or all of a short one. */
function finish(
  response: ServerResponse,
  { status, headers, last }: GatewayAnswer,
  reference: Reference,
): void {
  if (!response.headersSent) {
    const size = response.req.method === 'HEAD' ? {} : { 'content-length': String(last.length) };
    writeHead(response, status!, { ...headers, ...size }, reference);
  }
  response.end(last);
}

function refusalOf({ reason }: GatewayAnswer): Failure {
  return reason === null ? refusedUse('value_in_request') : notAllowed([{ field: 'body', reason }]);
}

function failed({ outcome, reason }: GatewayAnswer): [status: number, body: { message: string }] {
  const what = outcome === 'withheld' ? 'The answer was withheld' : 'The call failed';
  return [reason === 'timed out' ? 504 : 502, { message: `${what}: ${reason}` }];
}

interface Reference {
  readonly requestId: string;
  readonly receipt?: string;
}

function outletFor(response: ServerResponse, reference: Reference): Outlet {
  const gone = new AbortController();
  response.once('close', () => gone.abort(new Error('the client has disconnected')));
  return {
    isOpen: () => !response.destroyed,
    head: (status, headers) => writeHead(response, status, headers, reference),
    write: async bytes => {
      gone.signal.throwIfAborted();
      if (!response.write(bytes)) await once(response, 'drain', { signal: gone.signal });
    },
  };
}

function writeHead(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  { requestId, receipt }: Reference,
): void {
  const shown = Object.entries(headers).filter(([name]) => !forPages.test(name));
  response.writeHead(status, {
    ...ofOtherService,
    ...Object.fromEntries(shown),
    // Otherwise, the unread rest of a body would be taken for the next request.
    ...(response.req.complete ? {} : { Connection: 'close' }),
    'X-Request-Id': requestId,
    ...(receipt === undefined ? {} : { 'Strongroom-Receipt': receipt }),
  });
}

function writeJson(
  response: ServerResponse,
  status: number,
  body: object,
  reference: Reference,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = JSON.stringify(body);
  const described = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(text)),
  };
  writeHead(response, status, { ...described, ...headers }, reference);
  response.end(text);
}

const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

function encodingOf({ headers }: IncomingMessage): string | null {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  return encoding === 'identity' ? null : encoding;
}

/** A body is searched for the value, so it is decoded here, and sent as it is. */
async function* piecesOf(
  request: IncomingMessage,
  response: ServerResponse,
): Pieces & AsyncGenerator<Buffer> {
  const encoding = encodingOf(request);
  if (encoding !== null && !Object.hasOwn(decoders, encoding))
    throw invalid('content-encoding', 'must be gzip, deflate, br or zstd');
  if (request.headers.expect !== undefined) response.writeContinue();
  try {
    yield* encoding === null ? request : pipeline(request, decoders[encoding]!(), () => {});
  } catch (error) {
    throw (error as Partial<Error>).message === 'aborted' || encoding !== null
      ? invalid('body', 'broke off, or can’t be decoded')
      : error;
  }
}
