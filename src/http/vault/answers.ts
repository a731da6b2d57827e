/** The common part of all requests and answers on the bare server, in any format. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Failure, statusOf } from '../../contract/errors.ts';
import type { ReadRefusal, ReadResult, RequestFacts } from '../../domain/reads/vault-request.ts';
import type { RouteClass } from '../../metrics/catalogue.ts';
import { requestsOf } from '../../metrics/requests.ts';
import { failureHeaders, failureOf, messageBody } from '../listener/errors.ts';
import { senderOf } from '../listener/request.ts';
import { headersOnEvery } from '../listener/security-headers.ts';
import type { ReadingSurfaceParts } from '../surface/surface-parts.ts';

export const jsonType = 'application/json; charset=utf-8';

export function factsOf(
  { addressOf }: Pick<ReadingSurfaceParts, 'addressOf'>,
  request: IncomingMessage,
  route: string,
  token: string | null,
  vaultId: string | null = null,
): RequestFacts {
  const sender = senderOf(request, addressOf);
  const method = request.method!;
  return { sender, requestId: null, route, method, tool: null, token, vaultId, keyId: null };
}

type Answer = (response: ServerResponse, result: Exclude<ReadResult, ReadRefusal>) => void;
type AnswerWith = (response: ServerResponse, reading: Promise<ReadResult>, started: number) => void;

/** Answers with the result of a read, and counts it. If its log entry could not be written, the result is not sent. */
export function answeringWith(
  { meter, newId }: Pick<ReadingSurfaceParts, 'meter' | 'newId'>,
  of: RouteClass,
  { answer, refuse }: { readonly answer: Answer; readonly refuse: Refuse },
): AnswerWith {
  const count = requestsOf(meter, of);
  return (response, reading, started) => {
    const counted = () => count(response.statusCode, performance.now() - started);
    reading
      .then(result => {
        if ('failure' in result) refuse(response, result, result.failure);
        else answer(response, result);
        counted();
      })
      .catch(error => {
        refuse(response, { requestId: newId() }, failureOf(error));
        counted();
      });
  };
}

/** The request that is answered. It has no receipt if its log entry could not be written. */
interface Answered {
  readonly requestId: string;
  readonly receipt?: string;
}

/** Writes an answer with the headers that every answer has. */
export function writingWith({ draining, encrypted }: Pick<ReadingSurfaceParts, 'draining' | 'encrypted'>) {
  const onEvery = headersOnEvery(encrypted, headers => headers);
  return (
    response: ServerResponse,
    { requestId, receipt }: Answered,
    status: number,
    contentType: string,
    body: string | Buffer,
    headers: Readonly<Record<string, string>> = {},
  ): void => {
    response
      .writeHead(status, {
        ...onEvery(response.req),
        'X-Request-Id': requestId,
        ...(receipt === undefined ? {} : { 'Strongroom-Receipt': receipt }),
        'Cache-Control': 'no-store',
        ...headers,
        'Content-Type': contentType,
        'Content-Length': Buffer.byteLength(body),
        ...(draining() ? { Connection: 'close' } : {}),
      })
      .end(body);
  };
}

/** The format of refusals. */
interface RefusalForm {
  readonly statusFor: (failure: Failure) => number;
  readonly bodyOf: (failure: Failure) => object;
  readonly contentType: string;
}

const vaultForm: RefusalForm = {
  statusFor: ({ code }) => statusOf[code],
  bodyOf: messageBody,
  contentType: jsonType,
};

type Refuse = (response: ServerResponse, answered: Answered, failure: Failure) => void;

/** Refuses in the format of the vault endpoint, or in another one. */
export function refusingWith(
  parts: Pick<ReadingSurfaceParts, 'onError' | 'draining' | 'encrypted'>,
  { statusFor, bodyOf, contentType } = vaultForm,
): Refuse {
  const write = writingWith(parts);
  return (response, answered, failure) => {
    const status = statusFor(failure);
    if (status >= 500) parts.onError(failure.cause ?? failure, answered.requestId);
    const body = JSON.stringify(bodyOf(failure));
    write(response, answered, status, contentType, body, failureHeaders(failure));
  };
}
