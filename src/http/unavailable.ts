/** The answer to a request that can't be taken now, ahead of any router: in the format of the surface's errors. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Failure, statusOf } from '../contract/errors.ts';
import type { NewId } from '../contract/id.ts';
import { isDialect } from './dialect/asked.ts';
import { contentType, errorsOf } from './dialect/forms.ts';
import { errorBody, failureHeaders, securityHeaders } from './errors.ts';
import { hasUnreadBody } from './request.ts';

export function answerUnavailable(request: IncomingMessage, response: ServerResponse, newId: NewId): void {
  const failure = new Failure('UNAVAILABLE', { retryAfter: 1 });
  const isInDialect = isDialect(request.url!);
  const body = JSON.stringify(isInDialect ? errorsOf(failure) : errorBody(failure));
  response
    .writeHead(statusOf[failure.code], {
      ...securityHeaders,
      ...failureHeaders(failure),
      'X-Request-Id': newId(),
      'Cache-Control': 'no-store',
      'Content-Type': isInDialect ? contentType : 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
      ...(hasUnreadBody(request) ? { Connection: 'close' } : {}),
    })
    .end(body);
}
