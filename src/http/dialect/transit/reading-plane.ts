/**
 * The transit engine for access keys. Operations with keys take the same path through the domain as those of the vault
 * endpoint, on the plane of uses; random bytes and hashes are recorded and counted like a read. Everything is in the log
 * before it is answered, refusals too.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Failure } from '../../../contract/errors.ts';
import { isId } from '../../../contract/id.ts';
import type { KeyOperationAnswer } from '../../../contract/key-operations.ts';
import type { RequestFacts } from '../../../domain/reads/vault-request.ts';
import type { UseResult } from '../../../domain/uses/recorded-uses.ts';
import { requestsOf } from '../../../metrics/requests.ts';
import { failureOf } from '../../listener/errors.ts';
import { hasBody } from '../../listener/request.ts';
import type { ReadingSurfaceParts } from '../../surface/surface-parts.ts';
import { admittedBodiesWith, jsonIn } from '../../vault/admitted-body.ts';
import { factsOf, refusingWith, writingWith } from '../../vault/answers.ts';
import type { DialectAnswer } from '../calls.ts';
import { contentType, envelope, errorsOf, identified, statusFor, Unsupported } from '../forms.ts';
import { tokenIn, unmetHeader } from '../target.ts';
import { keylessAnswer } from './keyless.ts';
import { type KeylessCall, type OperationCall, type TransitCall, transitRoute } from './target.ts';
import { type TransitWork, workIn } from './work.ts';

type Answered = UseResult<DialectAnswer>;
type BodyCall = OperationCall | KeylessCall;

export function transitHandlerWith(parts: ReadingSurfaceParts) {
  const { keyUses, vaultReads } = parts.domain;
  const serve = admittedBodiesWith(parts);
  const write = writingWith(parts);
  const refuse = refusingWith(parts, { statusFor, bodyOf: errorsOf, contentType });
  const count = requestsOf(parts.meter, 'use');

  /** By a name, an access key's vault can only be read: use the engine of its own, or the vault's id. */
  function factsIn(request: IncomingMessage, { mount, ...call }: BodyCall): RequestFacts {
    const route = transitRoute({ ...call, mount } as TransitCall);
    const vaultId = isId(mount) ? mount : null;
    return factsOf(parts, request, route, tokenIn(request.headers), vaultId);
  }

  async function operated(call: OperationCall, facts: RequestFacts, sent: unknown): Promise<Answered> {
    const work = sent instanceof Failure ? sent : understood(() => workIn(call, sent, randomBytes));
    if (work instanceof Failure) {
      const refused = await keyUses.operate({ ...facts, asked: work });
      if ('failure' in refused) return refused;
      throw new Error('unexpected success: nothing was asked');
    }
    return answeredBy(work, await keyUses.operate({ ...facts, asked: work.asked }));
  }

  function answeredBy({ answer, refusal }: TransitWork, result: UseResult<object>): Answered {
    return 'failure' in result
      ? { ...result, failure: refusal(result.failure) }
      : { ...result, answer: answer(result.answer as KeyOperationAnswer) };
  }

  async function made(
    call: KeylessCall,
    { socket }: IncomingMessage,
    facts: RequestFacts,
    sent: unknown,
  ): Promise<Answered> {
    const answer = sent instanceof Failure ? sent : understood(() => keylessAnswer(call, sent, randomBytes));
    const selection = answer instanceof Failure ? answer : ({ of: 'access-key' } as const);
    const read = { ...facts, by: 'access-key', connection: socket, selection, knownDigests: [] } as const;
    const result = await vaultReads.read(read);
    if ('failure' in result) return result;
    const { receipt, requestId } = result;
    return { status: 200, answer: answer as DialectAnswer, receipt, requestId };
  }

  function asked(request: IncomingMessage, call: BodyCall): Promise<Answered> {
    const refused = refusedBefore(request, call);
    const run = (facts: RequestFacts, sent: unknown) => {
      if (refused !== null) return vaultReads.refuse(facts, refused);
      return 'details' in call ? made(call, request, facts, sent) : operated(call, facts, sent);
    };
    const read = async () => (refused === null && hasBody(request) ? jsonIn(request) : undefined);
    return serve(request, factsIn(request, call), run, read) as Promise<Answered>;
  }

  function answer(response: ServerResponse, result: Answered): void {
    if (!response.req.complete) response.shouldKeepAlive = false;
    if ('failure' in result) {
      refuse(response, result, result.failure);
      return;
    }
    const { status, data = 'null', warnings, mountType } = result.answer;
    const body = identified(envelope(data, 'null', warnings, mountType), result.requestId);
    write(response, result, status, contentType, body);
  }

  function fail(response: ServerResponse, error: unknown): void {
    response.shouldKeepAlive = false;
    refuse(response, { requestId: parts.newId() }, failureOf(error));
  }

  return (request: IncomingMessage, response: ServerResponse, call: BodyCall, started: number): void => {
    asked(request, call)
      .then(
        result => answer(response, result),
        error => fail(response, error),
      )
      .finally(() => count(response.statusCode, performance.now() - started));
  };
}

/** What the head of a request suffices to refuse. */
function refusedBefore({ method, headers }: IncomingMessage, { mount }: BodyCall): Failure | null {
  if (method !== 'POST' && method !== 'PUT') return new Unsupported('unsupported operation');
  if (mount !== '' && !isId(mount))
    return new Failure('NOT_FOUND', { message: 'use transit/, or the id of the vault in front of it' });
  return unmetHeader(headers);
}

/** Returns a fault instead of throwing it, so that the refusal is recorded with the request. */
function understood<Made>(make: () => Made): Made | Failure {
  try {
    return make();
  } catch (error) {
    return failureOf(error);
  }
}
