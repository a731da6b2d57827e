/**
 * Answers calls of access keys that the plane of uses carried out, in Vault's form. A failure that left no entry in the
 * log is answered without a receipt.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Failure } from '../../contract/errors.ts';
import type { UseResult } from '../../domain/uses/recorded-uses.ts';
import { requestsOf } from '../../metrics/requests.ts';
import { failureOf } from '../listener/errors.ts';
import type { ReadingSurfaceParts } from '../surface/surface-parts.ts';
import { refusingWith, writingWith } from '../vault/answers.ts';
import type { DialectAnswer } from './calls.ts';
import { contentType, envelopeOf, errorsOf, identified, statusFor } from './forms.ts';

export type Answered = UseResult<DialectAnswer>;

export function answeringCallsWith(parts: ReadingSurfaceParts) {
  const write = writingWith(parts);
  const refuse = refusingWith(parts, { statusFor, bodyOf: errorsOf, contentType });
  const count = requestsOf(parts.meter, 'use');

  function answer(response: ServerResponse, result: Answered): void {
    if (!response.req.complete) response.shouldKeepAlive = false;
    if ('failure' in result) {
      refuse(response, result, result.failure);
      return;
    }
    const { status } = result.answer;
    const isEmpty = status === 204;
    const body = isEmpty ? '' : identified(envelopeOf(result.answer), result.requestId);
    write(response, result, status, contentType, body);
  }

  function fail(response: ServerResponse, error: unknown): void {
    response.shouldKeepAlive = false;
    refuse(response, { requestId: parts.newId() }, failureOf(error));
  }

  return ({ response, asked, started }: Answering): void => {
    asked
      .then(
        result => answer(response, result),
        error => fail(response, error),
      )
      .finally(() => count(response.statusCode, performance.now() - started));
  };
}

interface Answering {
  readonly response: ServerResponse<IncomingMessage>;
  readonly asked: Promise<Answered>;
  readonly started: number;
}

/** Returns a fault instead of throwing it, so that the refusal is recorded with the request. */
export function understood<Made>(make: () => Made): Made | Failure {
  try {
    return make();
  } catch (error) {
    return failureOf(error);
  }
}
