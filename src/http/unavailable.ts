/** Answers 503, ahead of any router, to a request that can't be handled now, in the error format of its surface. */
import type { RequestListener } from 'node:http';
import { Failure, statusOf } from '../contract/errors.ts';
import { contentType, errorsOf } from './dialect/forms.ts';
import { isDialect } from './dialect/target.ts';
import { errorBody, failureHeaders } from './listener/errors.ts';
import { hasUnreadBody } from './listener/request.ts';
import type { ReadingSurfaceParts } from './surface/surface-parts.ts';
import { jsonType, writingWith } from './vault/answers.ts';

export function unavailableWith(parts: Pick<ReadingSurfaceParts, 'encrypted' | 'newId'>): RequestListener {
  const write = writingWith({ ...parts, draining: () => false });
  return (request, response) => {
    const failure = new Failure('UNAVAILABLE', { retryAfter: 1 });
    const [type, body] = isDialect(request.url!)
      ? [contentType, errorsOf(failure)]
      : [jsonType, errorBody(failure)];
    const close = hasUnreadBody(request) ? { Connection: 'close' } : {};
    const headers = { ...failureHeaders(failure), ...close };
    write(
      response,
      { requestId: parts.newId() },
      statusOf[failure.code],
      type,
      JSON.stringify(body),
      headers,
    );
  };
}
