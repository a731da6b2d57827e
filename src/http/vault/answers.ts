/** The common part of all answers to reads with an access key, in any format. */
import type { ServerResponse } from 'node:http';
import { type Failure, statusOf } from '../../contract/errors.ts';
import type { ReadResult } from '../../domain/reads/vault-request.ts';
import type { RouteClass } from '../../metrics/catalogue.ts';
import { requestsOf } from '../../metrics/requests.ts';
import { failureHeaders, failureOf, messageBody } from '../listener/errors.ts';
import { headersOnEvery } from '../listener/security-headers.ts';
import type { ReadingSurfaceParts } from '../surface/surface-parts.ts';

export interface Answering {
  answer(response: ServerResponse, result: ReadResult): void;
  refuse(response: ServerResponse, requestId: string, failure: Failure): void;
}

type AnswerWith = (response: ServerResponse, reading: Promise<ReadResult>, started: number) => void;

/** Answers with the result of a read, and counts it. If its log entry could not be written, the result is not sent. */
export function answeringWith(
  { meter, newId }: Pick<ReadingSurfaceParts, 'meter' | 'newId'>,
  of: RouteClass,
  { answer, refuse }: Answering,
): AnswerWith {
  const count = requestsOf(meter, of);
  return (response, reading, started) => {
    const counted = () => count(response.statusCode, performance.now() - started);
    reading
      .then(result => {
        answer(response, result);
        counted();
      })
      .catch(error => {
        refuse(response, newId(), failureOf(error));
        counted();
      });
  };
}

export type Refuse = (
  response: ServerResponse,
  requestId: string,
  failure: Failure,
  receipt?: string,
) => void;

/** Refuses in the format of the vault endpoint. */
export function refusingWith({
  onError,
  draining,
  encrypted,
}: Pick<ReadingSurfaceParts, 'onError' | 'draining' | 'encrypted'>): Refuse {
  const onEvery = headersOnEvery(encrypted, headers => headers);
  return (response, requestId, failure, receipt) => {
    const status = statusOf[failure.code];
    if (status >= 500) onError(failure.cause ?? failure, requestId);
    const body = JSON.stringify(messageBody(failure));
    response
      .writeHead(status, {
        ...onEvery(response.req),
        'X-Request-Id': requestId,
        ...(receipt === undefined ? {} : { 'Strongroom-Receipt': receipt }),
        ...failureHeaders(failure),
        'Content-Type': 'application/json; charset=utf-8',
        'Content-Length': Buffer.byteLength(body),
        ...(draining() ? { Connection: 'close' } : {}),
      })
      .end(body);
  };
}
