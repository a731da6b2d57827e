/**
 * A route as one value: its path, its schemas, what it requires of the caller, and its handler. Schemas and handler are
 * one declaration, so that a handler that does not match its schemas does not compile. Registration, the OpenAPI
 * document and the tests over all routes use the same values. The requirements are checked here, once, before the handler
 * runs. The handler receives permits, which the domain requires: what a route does not declare, its handler can't do.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Caller, Origin } from '../../access/caller.ts';
import type { Action } from '../../access/policy.ts';
import { onBehalfOf } from '../../base/fair-line.ts';
import { once } from '../../base/memo.ts';
import { check } from '../../contract/check.ts';
import type { deletion } from '../../contract/common.ts';
import { Failure } from '../../contract/errors.ts';
import { isId } from '../../contract/id.ts';
import type { Permit } from '../../domain/kernel/permits.ts';
import { noticeOf, type ProposalMade } from '../../domain/resources/review.ts';
import type { SignedInAs } from '../../domain/sessions/dashboard-sessions.ts';
import type { Site } from '../../domain/sign-in/passkeys.ts';
import { checkExpiry } from '../listener/expiry.ts';
import { changesIn } from '../listener/read-only.ts';
import { hasBody } from '../listener/request.ts';
import { bypassing, type NoticeOf, orProposal, withoutBypass } from './reviewed-writes.ts';

type Actions = readonly [Action, ...Action[]];

/**
 * What a route of the general API requires: all of these permissions, anywhere; all of them in the same vaults; or any one
 * of them.
 */
export type Permissions =
  | { readonly all: Actions }
  | { readonly together: Actions }
  | { readonly anyOf: Actions };

/** The permits that a handler receives: one for each of `all`, or a single one. */
export type PermitsFor<N extends Permissions> = N extends { readonly all: infer A extends Actions }
  ? { readonly [I in keyof A]: Permit<A[I]> }
  : N extends { readonly together: infer A extends Actions }
    ? readonly [Permit<A[0]>]
    : N extends { readonly anyOf: infer A extends Actions }
      ? readonly [Permit<A[number]>]
      : never;

/**
 * What a route of `/auth` requires. `nothing`: anyone may call. `proof`: the body proves who the sender is, so an
 * address that failed too often is refused. `identity`: a person whom the issuer has identified. `session`: a person who
 * is signed in, for their own account.
 */
export type AuthNeed = 'nothing' | 'proof' | 'identity' | 'session';

type Need = Permissions | AuthNeed;

interface ByCaller {
  readonly caller: Caller;
}

export interface ByPermitted<N extends Permissions> extends ByCaller {
  readonly permits: PermitsFor<N>;
}

export interface ByVisitor {
  readonly origin: Origin;
  readonly site: Site;
  /** The session's token, if the browser sent one. */
  readonly token: string | null;
  readonly cookie: (name: string) => string | null;
  /** In DER, as proven in the TLS handshake; null if the client sent none. */
  readonly certificate: Uint8Array | null;
}

interface BySignedIn extends ByVisitor {
  readonly as: SignedInAs;
}

/** The caller, as passed to the handler of a route with this requirement. */
export type Who<N extends Need> = N extends 'session'
  ? BySignedIn
  : N extends AuthNeed
    ? ByVisitor
    : N extends Permissions
      ? ByPermitted<N>
      : never;

/** The caller, before permissions are checked. */
export type Entered<N extends Need> = N extends AuthNeed ? Who<N> : ByCaller;

/** Read-only fields that the body may also contain, with their current values. */
export interface ReadOnly<N extends Need> {
  readonly members: ReadonlySet<string>;
  /** What reading the record requires. */
  readonly needs: N;
  /** Returns the record as a GET would. */
  readonly shown: (who: Who<N>, id: string) => Promise<object>;
}

export interface Sent<Query, Body> {
  readonly query: Query;
  readonly body: Body;
}

interface RouteRequest<Query, Body> extends Sent<Query, Body> {
  /** The id in the path; empty if there is none. */
  readonly id: string;
  readonly reply: FastifyReply;
  readonly url: string;
  readonly askedAt: number;
  /** A proposal as it is answered. */
  readonly notice: NoticeOf;
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** The part of a route that the OpenAPI document and the tests use. */
export interface RouteDescription {
  readonly method: Method;
  /** With `{id}` in place of an id. */
  readonly path: string;
  /** Its name in the OpenAPI document, and in code generated from it. */
  readonly operationId: string;
  /** The group that the OpenAPI document shows it in. */
  readonly tag: string;
  readonly summary: string;
  readonly needs: Need;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  /** The schema of the body in the OpenAPI document, if the first check requires less. */
  readonly bodyDocumented?: z.ZodType;
  /** Whether the body may be omitted. */
  readonly bodyOptional?: boolean;
  readonly answer: z.ZodType;
  /** Set if its errors have the format of the vault endpoint. */
  readonly errors?: 'message';
  /** The content types of the answer, if it is not JSON; empty if it redirects a browser. */
  readonly answerTypes?: readonly string[];
}

interface RouteDeclaration<
  N extends Need,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Answer extends z.ZodType,
  Reads extends Need = N,
> extends Omit<RouteDescription, 'method' | 'path' | 'tag'> {
  /** By default, the collection in the path, or `auth`. */
  readonly tag?: string;
  readonly needs: N;
  /** The requirement, if it depends on the query or body. */
  readonly needsOf?: (sent: Sent<z.output<Query>, z.output<Body>>) => N;
  readonly query?: Query;
  readonly body?: Body;
  readonly readOnly?: ReadOnly<Reads>;
  readonly answer: Answer;
  readonly handle: (
    call: Who<N> & RouteRequest<z.output<Query>, z.output<Body>>,
  ) => Promise<z.input<Answer> | FastifyReply>;
}

/** A declared route whose types were checked: input that its schemas accept matches its handler. */
export interface Route<N extends Need> extends RouteDescription {
  readonly needs: N;
  readonly needsOf?: (sent: Sent<unknown, unknown>) => N;
  readonly readOnly?: ReadOnly<N>;
  readonly handle: (call: Who<N> & RouteRequest<unknown, unknown>) => Promise<unknown>;
}

/** Which of the two APIs a route belongs to: `/auth` or the general one. */
type Door<N extends Need> = N extends AuthNeed ? AuthNeed : Permissions;

const nothing = z.strictObject({});

export function route<
  const N extends Need,
  Answer extends z.ZodType,
  Query extends z.ZodType = typeof nothing,
  Body extends z.ZodType = z.ZodUndefined,
  const Reads extends Need = N,
>(
  endpoint: `${Method} ${string}`,
  declaration: RouteDeclaration<N, Query, Body, Answer, Reads>,
): Route<Door<N>> {
  const [method, path] = endpoint.split(' ') as [Method, string];
  const [, top, collection] = path.split('/');
  const tag = top === 'v1' ? collection : top;
  // The only cast: `run` validates with the schemas from which the handler's types are derived.
  return { method, path, tag, ...declaration } as unknown as Route<Door<N>>;
}

/** The answer of a route that returns nothing, once its work is done. */
export async function doneAfter(work: Promise<unknown>): Promise<Record<string, never>> {
  await work;
  return {};
}

export async function deletedAfter(id: string, work: Promise<unknown>): Promise<z.input<typeof deletion>> {
  await work;
  return { id, deleted: true };
}

/** How one of the two APIs authenticates and authorizes callers. */
export interface Entrance<N extends Need> {
  /** In bytes, if it differs from the default. */
  readonly bodyLimit?: number;
  /** Called before any byte of the body is read. */
  readonly approach?: (route: Route<N>, request: FastifyRequest, reply: FastifyReply) => Promise<void>;
  /** Called once the body has arrived, however late; returns the current caller. */
  readonly enter: (route: Route<N>, request: FastifyRequest, reply: FastifyReply) => Promise<Entered<N>>;
  /** Refuses callers without the required permissions, once the request is parsed. */
  readonly admit: (who: Entered<N>, needs: N) => Promise<Who<N>>;
  readonly now: () => number;
  /** The address of the dashboard, as the client of a request knows it. */
  readonly dashboardOf?: (request: FastifyRequest) => string;
  /** Called for requests that failed. */
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
  { enter, admit, now, dashboardOf }: Entrance<N>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const came = await enter(route, request, reply);
  const { id = '' } = request.params as { id?: string };
  // A malformed id is not looked up, and gets the answer of an unknown one.
  if (id !== '' && !isId(id)) throw new Failure('NOT_FOUND');
  const sent = withoutBypass(route, request.query, request.body);
  const query = check(route.query ?? nothing, sent.query);
  const entered = withBypass(came, sent.bypass);
  const { readOnly } = route;
  const shown = readOnly && once(async () => readOnly.shown(await admit(entered, readOnly.needs), id));
  const changes = shown ? await changesIn(sent.body, readOnly.members, shown) : sent.body;
  const body = bodyOf(route, changes);
  const who = await admit(entered, route.needsOf?.({ query, body }) ?? route.needs);
  const askedAt = now();
  await checkExpiry(changes, askedAt, shown ?? null);
  const base = () => dashboardOf?.(request) ?? '';
  const notice = (made: ProposalMade) => noticeOf(made, base());
  const handle = () =>
    orProposal(
      reply,
      base,
      route.handle({ ...who, id, query, body, reply, url: request.url, askedAt, notice }),
    );
  const { caller } = entered as Partial<ByCaller>;
  if (caller === undefined) return handle();
  return onBehalfOf({ organization: caller.organizationId, key: caller.id }, handle);
}

function withBypass<N extends Need>(entered: Entered<N>, reason: string | null): Entered<N> {
  if (reason === null) return entered;
  const { caller } = entered as ByCaller; // Only routes of the general API are reviewed.
  return { ...entered, caller: bypassing(caller, reason) };
}

/** A route without a body refuses fields, instead of silently ignoring them. */
function bodyOf({ body, bodyOptional }: RouteDescription, sent: unknown): unknown {
  const isMissing = sent === undefined || sent === null;
  if (body === undefined) return isMissing ? undefined : check(nothing, sent);
  return check(body, bodyOptional && isMissing ? {} : sent);
}

/** Called if a caller's access was withdrawn during their request. */
type Withdrawn = (verb: string) => Promise<void>;

/**
 * Checks the caller again once the body has arrived, which may be long after the headers, since their access may have been
 * withdrawn meanwhile. Without a body there was nothing to wait for, and the first check stands.
 */
export async function provenAgain<Proven>(
  request: FastifyRequest,
  before: Proven,
  prove: () => Promise<Proven>,
  withdrawn: Withdrawn,
): Promise<Proven> {
  if (!hasBody(request.raw)) return before;
  try {
    return await prove();
  } catch (error) {
    if (error instanceof Failure && error.code === 'UNAUTHORIZED') {
      await withdrawn(`${request.method} ${request.routeOptions.url}`);
    }
    throw error;
  }
}
