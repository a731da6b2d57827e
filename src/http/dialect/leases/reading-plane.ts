/**
 * Short-lived credentials for access keys: the same path through the domain as those of the vault endpoint, on the plane
 * of uses. Everything is in the log before it is answered, refusals too. Creating one is a GET, as in Vault; a HEAD or a
 * LIST of the same path creates nothing.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Failure } from '../../../contract/errors.ts';
import { hasBody } from '../../listener/request.ts';
import type { ReadingSurfaceParts } from '../../surface/surface-parts.ts';
import { admittedBodiesWith, jsonIn } from '../../vault/admitted-body.ts';
import { factsOf } from '../../vault/answers.ts';
import { type Answered, answeringCallsWith, understood } from '../answered-calls.ts';
import { Unsupported } from '../forms.ts';
import { asksForList, queryOf, tokenIn, unmetHeader } from '../target.ts';
import { type LeaseTarget, leaseRoute } from './target.ts';
import { leaseRefusal, leaseWorkIn } from './work.ts';

export function leaseHandlerWith(parts: ReadingSurfaceParts) {
  const { leaseUses, vaultReads } = parts.domain;
  const serve = admittedBodiesWith(parts);
  const answer = answeringCallsWith(parts);

  function asked(request: IncomingMessage, target: LeaseTarget): Promise<Answered> {
    const facts = factsOf(parts, request, leaseRoute(target), tokenIn(request.headers));
    const refused = refusedBefore(request, target);
    const read = async () => (refused === null && hasBody(request) ? jsonIn(request) : undefined);
    return serve(
      request,
      facts,
      async (known, sent) => {
        if (refused !== null) return vaultReads.refuse(known, refused);
        const work = sent instanceof Failure ? sent : understood(() => leaseWorkIn(target, sent, parts.now));
        const result = await leaseUses.use({ ...known, asked: work instanceof Failure ? work : work.asked });
        if ('failure' in result) return { ...result, failure: leaseRefusal(target, result.failure) };
        if (work instanceof Failure) throw new Error('unexpected success: nothing was asked');
        return { ...result, answer: work.answer(result.answer) };
      },
      read,
    ) as Promise<Answered>;
  }

  return (request: IncomingMessage, response: ServerResponse, target: LeaseTarget, started: number): void =>
    answer({ response, asked: asked(request, target), started });
}

/** What the head of a request suffices to refuse. */
function refusedBefore({ method, headers, url }: IncomingMessage, { call }: LeaseTarget): Failure | null {
  const isCreation = call === 'issue';
  const isRight = isCreation ? method === 'GET' : method === 'POST' || method === 'PUT';
  if (!isRight || (isCreation && asksForList(queryOf(url!)))) return new Unsupported('unsupported operation');
  return unmetHeader(headers);
}
