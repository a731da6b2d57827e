/** Answers 503, ahead of any router, to a request that can't be handled now, in the error format of its surface. */
import type { RequestListener } from 'node:http';
import { Failure, statusOf } from '../contract/errors.ts';
import { contentType, errorsOf } from './dialect/forms.ts';
import { isDialect } from './dialect/target.ts';
import { errorBody, failureHeaders } from './listener/errors.ts';
import { hasUnreadBody } from './listener/request.ts';
import { headersOnEvery } from './listener/security-headers.ts';
import type { ReadingSurfaceParts } from './surface/surface-parts.ts';

export function unavailableWith({
  encrypted,
  newId,
}: Pick<ReadingSurfaceParts, 'encrypted' | 'newId'>): RequestListener {
  const onEvery = headersOnEvery(encrypted, headers => headers);
  return (request, response) => {
    const failure = new Failure('UNAVAILABLE', { retryAfter: 1 });
    const isInDialect = isDialect(request.url!);
    const body = JSON.stringify(isInDialect ? errorsOf(failure) : errorBody(failure));
    response
      .writeHead(statusOf[failure.code], {
        ...onEvery(request),
        ...failureHeaders(failure),
        'X-Request-Id': newId(),
        'Cache-Control': 'no-store',
        'Content-Type': isInDialect ? contentType : 'application/json; charset=utf-8',
        'Content-Length': Buffer.byteLength(body),
        ...(hasUnreadBody(request) ? { Connection: 'close' } : {}),
      })
      .end(body);
  };
}
