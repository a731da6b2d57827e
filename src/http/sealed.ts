/**
 * The whole HTTP surface of a sealed service: its health, the state of its seal, and taking shares. Everything else is
 * 503. Callers prove nothing but their share, so each address gets a few attempts per minute, a body may be short only,
 * and few are read at the same time.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { z } from 'zod';
import { BodyTooLong, bodyOf } from '../base/message-body.ts';
import { Failure, statusOf } from '../contract/errors.ts';
import { MinuteCounter } from '../domain/kernel/minute-counter.ts';
import { errorBody, failureHeaders, failureOf } from './listener/errors.ts';
import { type AddressOf, faultOf, hasUnreadBody } from './listener/request.ts';
import type { SealState } from './surface/seal-state.ts';
import { unavailableWith } from './unavailable.ts';
import { jsonType, writingWith } from './vault/answers.ts';

export interface SealedParts {
  readonly encrypted: boolean;
  readonly newId: () => string;
  readonly now: () => number;
  readonly addressOf: AddressOf;
  readonly state: () => SealState;
  /** Takes a share. Resolves once the service is open, if it was the last one needed. Throws `Failure`. */
  readonly give: (share: string) => Promise<SealState>;
}

/** In bytes. */
const largestUnsealBody = 1024;
const mostSharesPerMinute = 30;
const mostBodiesAtOnce = 64;
/** In milliseconds. */
const bodyPatience = 5_000;

const given = z.strictObject({ share: z.string().min(1).max(256) });

export function sealedListener(parts: SealedParts): RequestListener {
  const unavailable = unavailableWith(parts);
  const write = writingWith({ ...parts, draining: () => true });
  const attempts = new MinuteCounter(parts.now, mostSharesPerMinute);
  let reading = 0;

  const answer = (response: ServerResponse, status: number, body: object, headers = {}) => {
    const close = hasUnreadBody(response.req) ? { Connection: 'close' } : {};
    write(response, { requestId: parts.newId() }, status, jsonType, JSON.stringify(body), {
      ...headers,
      ...close,
    });
  };

  async function unseal(request: IncomingMessage, response: ServerResponse): Promise<SealState> {
    const fault = faultOf(request);
    if (fault !== null) throw fault;
    attempts.take(parts.addressOf(request));
    if (reading >= mostBodiesAtOnce) throw new Failure('UNAVAILABLE', { retryAfter: 1 });
    reading++;
    if (request.headers.expect !== undefined) response.writeContinue();
    const share = await shareIn(request).finally(() => {
      reading--;
    });
    return parts.give(share);
  }

  const routes: Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => void>> = {
    'GET /v1/health': (_, response) => answer(response, 200, { status: 'sealed' }),
    'GET /livez': (_, response) => answer(response, 200, { status: 'ok' }),
    'GET /readyz': (_, response) => answer(response, 503, { status: 'sealed' }),
    'GET /v1/seal': (_, response) => answer(response, 200, parts.state()),
    'POST /v1/unseal': (request, response) => {
      unseal(request, response).then(
        state => answer(response, 200, state),
        error => {
          const failure = failureOf(error);
          answer(response, statusOf[failure.code], errorBody(failure), failureHeaders(failure));
        },
      );
    },
  };

  return (request, response) => {
    const path = request.url!.split('?', 1)[0]!;
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    (routes[`${method} ${path}`] ?? unavailable)(request, response);
  };
}

async function shareIn(request: IncomingMessage): Promise<string> {
  const late = setTimeout(() => request.destroy(), bodyPatience);
  try {
    const body = await bodyOf(request, largestUnsealBody);
    return given.parse(JSON.parse(body.toString('utf8'))).share;
  } catch (cause) {
    const reason = cause instanceof BodyTooLong ? 'is too long' : 'must be an object with a share';
    throw new Failure('INVALID_REQUEST', { field: 'share', reason });
  } finally {
    clearTimeout(late);
  }
}
