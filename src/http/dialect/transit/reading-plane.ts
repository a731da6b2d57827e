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
import { hasBody } from '../../listener/request.ts';
import type { ReadingSurfaceParts } from '../../surface/surface-parts.ts';
import { admittedBodiesWith, jsonIn } from '../../vault/admitted-body.ts';
import { factsOf } from '../../vault/answers.ts';
import { type Answered, answeringCallsWith, understood } from '../answered-calls.ts';
import type { DialectAnswer } from '../calls.ts';
import { Unsupported } from '../forms.ts';
import { tokenIn, unmetHeader } from '../target.ts';
import { keylessAnswer } from './keyless.ts';
import { type KeylessCall, type OperationCall, type TransitCall, transitRoute } from './target.ts';
import { type TransitWork, workIn } from './work.ts';

type BodyCall = OperationCall | KeylessCall;

export function transitHandlerWith(parts: ReadingSurfaceParts) {
  const { keyUses, vaultReads } = parts.domain;
  const serve = admittedBodiesWith(parts);
  const answer = answeringCallsWith(parts);

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

  async function computed(
    call: KeylessCall,
    { socket }: IncomingMessage,
    facts: RequestFacts,
    sent: unknown,
  ): Promise<Answered> {
    const made = sent instanceof Failure ? sent : understood(() => keylessAnswer(call, sent, randomBytes));
    const selection = made instanceof Failure ? made : ({ of: 'access-key' } as const);
    const read = { ...facts, by: 'access-key', connection: socket, selection, knownDigests: [] } as const;
    const result = await vaultReads.read(read);
    if ('failure' in result) return result;
    const { receipt, requestId } = result;
    return { status: 200, answer: made as DialectAnswer, receipt, requestId };
  }

  function asked(request: IncomingMessage, call: BodyCall): Promise<Answered> {
    const refused = refusedBefore(request, call);
    const run = (facts: RequestFacts, sent: unknown) => {
      if (refused !== null) return vaultReads.refuse(facts, refused);
      return 'details' in call ? computed(call, request, facts, sent) : operated(call, facts, sent);
    };
    const read = async () => (refused === null && hasBody(request) ? jsonIn(request) : undefined);
    return serve(request, factsIn(request, call), run, read) as Promise<Answered>;
  }

  return (request: IncomingMessage, response: ServerResponse, call: BodyCall, started: number): void =>
    answer({ response, asked: asked(request, call), started });
}

/** What the head of a request suffices to refuse. */
function refusedBefore({ method, headers }: IncomingMessage, { mount }: BodyCall): Failure | null {
  if (method !== 'POST' && method !== 'PUT') return new Unsupported('unsupported operation');
  if (mount !== '' && !isId(mount))
    return new Failure('NOT_FOUND', { message: 'use transit/, or the id of the vault in front of it' });
  return unmetHeader(headers);
}
