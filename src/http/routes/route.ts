/**
 * A route, as one value: how it is called, what it takes and answers, what it needs, and who handles it. Schemas and
 * handler are one declaration, so that a handler that does not fit its schemas does not compile. Registration, the
 * OpenAPI document and the walk over all routes in the tests read the same values. What a route needs is asked
 * here, before its handler runs: no handler can forget it.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Caller, Origin } from '../../access/caller.ts';
import type { Action } from '../../access/policy.ts';
import { onBehalfOf } from '../../base/fair-line.ts';
import { check } from '../../contract/check.ts';
import { Failure } from '../../contract/errors.ts';
import { isId } from '../../contract/id.ts';
import type { SignedInAs } from '../../domain/sessions/dashboard-sessions.ts';
import type { Site } from '../../domain/sign-in/passkeys.ts';
import { checkExpiry } from '../listener/expiry.ts';
import { changesIn, type ReadOnly } from '../listener/read-only.ts';

/** What the general API asks of a caller: all of these permissions, or one of them. */
export type Permissions = { readonly all: readonly Action[] } | { readonly anyOf: readonly Action[] };

/**
 * What `/auth` asks. `nothing`: anyone may call. `proof`: the body proves who sends it, so an address that failed too
 * often may not send one. `identity`: the person whom the issuer vouched for. `session`: a person who is signed in,
 * about what is their own.
 */
export type AuthNeed = 'nothing' | 'proof' | 'identity' | 'session';

export type Need = Permissions | AuthNeed;

export interface ByCaller {
  readonly caller: Caller;
}

export interface ByVisitor {
  readonly origin: Origin;
  readonly site: Site;
  /** Of the session, where the browser sent one. */
  readonly token: string | null;
  readonly cookie: (name: string) => string | null;
  /** In DER, as the TLS handshake proved it; null where the client showed none. */
  readonly certificate: Uint8Array | null;
}

export interface BySignedIn extends ByVisitor {
  readonly as: SignedInAs;
}

/** Who is calling, as the handler of a route with this need is told. */
export type Who<N extends Need> = N extends 'session'
  ? BySignedIn
  : N extends AuthNeed
    ? ByVisitor
    : ByCaller;

export interface Sent<Query, Body> {
  readonly query: Query;
  readonly body: Body;
}

export interface RouteRequest<Query, Body> extends Sent<Query, Body> {
  /** The id in the path; empty where there is none. */
  readonly id: string;
  readonly reply: FastifyReply;
  readonly url: string;
  readonly askedAt: number;
}

/** What the document and the tests read of a route. */
export interface RouteDescription {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With `{id}` where an id belongs. */
  readonly path: string;
  /** Its name in the document, and in what is generated from that. */
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly needs: Need;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  /** What the document shows as the body, where the check at the door asks for less. */
  readonly bodyDocumented?: z.ZodType;
  /** A body may be left out. */
  readonly bodyOptional?: boolean;
  readonly answer: z.ZodType;
  /** The form of its errors, where it is that of the vault endpoint. */
  readonly errors?: 'message';
  /** The content types of the answer, where it is no JSON; none where it redirects a browser. */
  readonly answerTypes?: readonly string[];
}

export interface RouteDeclaration<
  N extends Need,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Answer extends z.ZodType,
> extends RouteDescription {
  readonly needs: N;
  /** What it needs, where that depends on what was sent. */
  readonly needsOf?: (sent: Sent<z.output<Query>, z.output<Body>>) => N;
  readonly query?: Query;
  readonly body?: Body;
  /** Members beside those of the body that are taken where they are as they are. */
  readonly readOnly?: ReadOnly<Who<N>>;
  readonly answer: Answer;
  readonly handle: (
    call: Who<N> & RouteRequest<z.output<Query>, z.output<Body>>,
  ) => Promise<z.input<Answer> | FastifyReply>;
}

/** A declared route whose types were checked: what was sent is known to fit its handler once its schemas took it. */
export interface Route<N extends Need> extends RouteDescription {
  readonly needs: N;
  readonly needsOf?: (sent: Sent<unknown, unknown>) => N;
  readonly readOnly?: ReadOnly<Who<N>>;
  readonly handle: (call: Who<N> & RouteRequest<unknown, unknown>) => Promise<unknown>;
}

/** By which of the two doors a route is reached. */
type Door<N extends Need> = N extends AuthNeed ? AuthNeed : Permissions;

const nothing = z.strictObject({});

export function route<
  N extends Need,
  Answer extends z.ZodType,
  Query extends z.ZodType = typeof nothing,
  Body extends z.ZodType = z.ZodUndefined,
>(declaration: RouteDeclaration<N, Query, Body, Answer>): Route<Door<N>> {
  // The one place where types are let go: `run` checks by the schemas, which the handler's types come from.
  return declaration as unknown as Route<Door<N>>;
}

/** How a door lets people in. */
export interface Entrance<N extends Need> {
  /** In bytes, where it is not the service's own. */
  readonly bodyLimit?: number;
  /** Before a byte of the body is read. */
  readonly approach?: (route: Route<N>, request: FastifyRequest, reply: FastifyReply) => Promise<void>;
  /** Once the body is there, however late it came: who is asking now. */
  readonly enter: (route: Route<N>, request: FastifyRequest, reply: FastifyReply) => Promise<Who<N>>;
  /** Refuses whoever may not do this, once it is known what was asked; where being let in is not all that it takes. */
  readonly admit?: (who: Who<N>, needs: N) => Promise<void>;
  readonly now: () => number;
  /** Told of what could not be answered. */
  readonly failed?: (request: FastifyRequest, error: unknown) => void;
}

export function registerRoutes<N extends Need>(
  app: FastifyInstance,
  routes: readonly Route<N>[],
  entrance: Entrance<N>,
): void {
  const { bodyLimit, approach, failed } = entrance;
  for (const route of routes) {
    app.route({
      method: route.method,
      url: route.path.replace('{id}', ':id'),
      ...(bodyLimit === undefined ? {} : { bodyLimit }),
      onRequest: async (request, reply) => approach?.(route, request, reply),
      onError: async (request, _reply, error) => failed?.(request, error),
      handler: (request, reply) => run(route, entrance, request, reply),
    });
  }
}

async function run<N extends Need>(
  route: Route<N>,
  { enter, admit, now }: Entrance<N>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const who = await enter(route, request, reply);
  const { id = '' } = request.params as { id?: string };
  // An id that can't be one is looked up nowhere, and answered like one that names nothing.
  if (id !== '' && !isId(id)) throw new Failure('NOT_FOUND');
  const query = check(route.query ?? nothing, request.query);
  const { readOnly } = route;
  const changes = readOnly === undefined ? request.body : await changesIn(request.body, readOnly, who, id);
  const body = bodyOf(route, changes);
  await admit?.(who, route.needsOf?.({ query, body }) ?? route.needs);
  const askedAt = now();
  await checkExpiry(changes, askedAt, readOnly === undefined ? null : () => readOnly.shown(who, id));
  const handle = () => route.handle({ ...who, id, query, body, reply, url: request.url, askedAt });
  const { caller } = who as { readonly caller?: Caller };
  if (caller === undefined) return handle();
  return onBehalfOf({ organization: caller.organizationId, key: caller.id }, handle);
}

/** A route that takes no body is not given one silently ignored. */
function bodyOf({ body, bodyOptional }: RouteDescription, sent: unknown): unknown {
  const isMissing = sent === undefined || sent === null;
  if (body === undefined) return isMissing ? undefined : check(nothing, sent);
  return check(body, bodyOptional && isMissing ? {} : sent);
}

/** Told where somebody's authority was withdrawn while their request was under way. */
export type Withdrawn = (caller: Caller, verb: string) => Promise<void>;

/** A body may come long after the headers: who sent it is judged once it is there. */
export async function provenAgain<Proven>(
  request: FastifyRequest,
  before: Caller,
  prove: () => Promise<Proven>,
  withdrawn: Withdrawn,
): Promise<Proven> {
  try {
    return await prove();
  } catch (error) {
    if (error instanceof Failure && error.code === 'UNAUTHORIZED') {
      await withdrawn(before, `${request.method} ${request.routeOptions.url}`);
    }
    throw error;
  }
}
