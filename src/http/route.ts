/**
 * A route of the general API, as one value: how it is called, what it takes and answers, and what it needs.
 * Registration, the OpenAPI document and the walk over all permissions in the tests read the same values.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Caller } from '../access/caller.ts';
import type { Action } from '../access/policy.ts';
import { check } from '../contract/check.ts';
import { Failure } from '../contract/errors.ts';
import { isId } from '../contract/id.ts';

export interface Call {
  readonly caller: Caller;
  /** The id in the path; empty where there is none. */
  readonly id: string;
  readonly query: never;
  readonly body: never;
  readonly reply: FastifyReply;
  readonly url: string;
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With `{id}` where an id belongs. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  /** The scopes that it takes, all of them or (`anyOf`) one. */
  readonly needs: { readonly all: readonly Action[] } | { readonly anyOf: readonly Action[] };
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  /** What the document shows as the body, where the check at the door asks for less. */
  readonly bodyDocumented?: z.ZodType;
  /** A body may be left out. */
  readonly bodyOptional?: boolean;
  readonly answer: z.ZodType;
  /** The content types of the answer, where it is no JSON. */
  readonly answerTypes?: readonly [string, ...string[]];
  handle(call: Call): Promise<unknown>;
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null;
  }
}

export function registerRoutes(app: FastifyInstance, routes: readonly Route[]): void {
  for (const route of routes) {
    app.route({
      method: route.method,
      url: route.path.replace('{id}', ':id'),
      handler: (request, reply) => run(route, request, reply),
    });
  }
}

async function run(route: Route, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { id = '' } = request.params as { id?: string };
  // An id that can't be one is looked up nowhere, and answered like one that names nothing.
  if (id !== '' && !isId(id)) throw new Failure('NOT_FOUND');
  return route.handle({
    caller: request.caller!,
    id,
    query: check(route.query ?? nothing, request.query) as never,
    body: bodyOf(route, request.body) as never,
    reply,
    url: request.url,
  });
}

const nothing = z.strictObject({});

/** A route that takes no body is not given one silently ignored. */
function bodyOf({ body, bodyOptional }: Route, sent: unknown): unknown {
  const isMissing = sent === undefined || sent === null;
  if (body === undefined) return isMissing ? undefined : check(nothing, sent);
  return check(body, bodyOptional && isMissing ? {} : sent);
}
