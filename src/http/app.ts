/**
 * The HTTP surface: the order of the hooks, and what is mounted where. A request passes, in this order: is it
 * sound; whose is it (general API); may the organization still ask; and only then is its body read.
 */
import type { IncomingMessage, RequestListener } from 'node:http';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Caller } from '../access/caller.ts';
import { Failure } from '../contract/errors.ts';
import { mountMcp } from '../mcp/endpoint.ts';
import { mountAuth } from './auth.ts';
import { checkOwnPage, clearIfOver, cookieOf, sessionCookie } from './browser.ts';
import { dashboard } from './dashboard.ts';
import { mountDocs } from './docs.ts';
import { errorBody, failureHeaders, failureOf, messageBody, securityHeaders, statusOf } from './errors.ts';
import { generalRoutes } from './general.ts';
import { mountHealth, probes } from './health.ts';
import { parseJson } from './json.ts';
import type { AppParts } from './parts.ts';
import { planLimit } from './plan-limit.ts';
import { bearerToken, faultOf, originOf } from './request.ts';
import { type Route, registerRoutes } from './route.ts';
import { createListener } from './server.ts';
import { answerUnparsed } from './unparsed.ts';
import { vaultReadHandler } from './vault-read.ts';

const largestBody = 1024 * 1024;

export function buildApp(parts: AppParts): FastifyInstance {
  const readVault = vaultReadHandler(parts);
  const app = Fastify({
    logger: false,
    bodyLimit: largestBody,
    genReqId: parts.newId,
    return503OnClosing: false, // Our own hook answers, in the shape of our errors.
    clientErrorHandler: answerUnparsed,
    // A path that can't be decoded reaches no hook, and must not be answered in the framework's own words.
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      secure(request, reply);
      answerFailure(parts, error, request, reply);
    },
    exposeHeadRoutes: false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 64 },
    serverFactory: route => createListener(parts, readVault, route as RequestListener),
  });
  hardenParsing(app);
  app.decorateRequest('caller', null);
  if (parts.onRoute !== undefined) app.addHook('onRoute', parts.onRoute);
  app.addHook('onRequest', (request, reply, done) => {
    secure(request, reply);
    done(refusalOf(parts, request) ?? undefined);
  });
  app.addHook('onSend', (_request, reply, _body, done) => {
    if (parts.draining()) reply.header('connection', 'close');
    done();
  });
  app.setErrorHandler((error, request, reply) => answerFailure(parts, error, request, reply));
  app.setNotFoundHandler(dashboard());
  mountHealth(app, parts);
  mountAuth(app, parts);
  mountMcp(app, {
    ...parts,
    originOf: (request, id) => originOf(request, id, parts.addressOf),
    tokenOf: request => bearerToken(request.headers.authorization),
    failureOf,
    headersOf: failureHeaders,
  });
  const routes = generalRoutes(parts.domain);
  mountDocs(app, routes, parts.version);
  mountGeneral(app, parts, routes);
  return app;
}

/** What can be said before anything of the request is looked up. */
function refusalOf({ draining }: AppParts, request: FastifyRequest): Failure | null {
  const fault = faultOf(request.raw);
  if (fault !== null) return fault;
  if (draining() && !probes.has(request.routeOptions.url ?? ''))
    return new Failure('UNAVAILABLE', { retryAfter: 1 });
  // Where nothing is, no body is read either.
  return request.is404 && request.method !== 'GET' ? new Failure('NOT_FOUND') : null;
}

/** Only JSON is read, and only by our own parser. */
function hardenParsing(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, body.length === 0 ? undefined : parseJson(body as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });
}

function secure(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers({ ...securityHeaders, 'x-request-id': request.id, 'cache-control': 'no-store' });
}

function mountGeneral(app: FastifyInstance, parts: AppParts, routes: readonly Route[]): void {
  const { domain, countRequests, now, addressOf } = parts;
  const take = planLimit({ count: countRequests, now, limitOf: domain.organizations.limit });
  app.register(async general => {
    general.addHook('onRequest', async (request, reply) => {
      const session =
        request.headers.authorization === undefined ? cookieOf(request.raw, sessionCookie) : null;
      if (session !== null) {
        request.caller = await memberOf(parts, session, request, reply);
        return;
      }
      const origin = originOf(request.raw, request.id, addressOf);
      request.caller = await domain.authenticate.apiKey(bearerToken(request.headers.authorization), origin);
      await take(request.caller.organizationId, reply);
    });
    registerRoutes(general, routes);
  });
}

/** The dashboard asks as its member, from its own pages only, and is not counted against the plan. */
async function memberOf(
  { domain, addressOf, siteOf }: AppParts,
  session: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Caller> {
  checkOwnPage(request.raw, siteOf(request.raw), true);
  const origin = originOf(request.raw, request.id, addressOf);
  const { caller } = await clearIfOver(reply, domain.accounts.sessions.require(session, origin));
  return caller;
}

function answerFailure(parts: AppParts, error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const failure = failureOf(error);
  if (failure.code === 'INTERNAL_ERROR' || failure.code === 'UNAVAILABLE') {
    parts.onError(failure.cause ?? failure, request.id);
  }
  if (hasUnreadBody(request.raw)) reply.header('connection', 'close');
  const body = request.url.startsWith('/api/') ? messageBody(failure) : errorBody(failure);
  reply.code(statusOf[failure.code]).headers(failureHeaders(failure)).send(body);
}

/** A refused upload is not read to its end just to keep the connection. */
function hasUnreadBody(request: IncomingMessage): boolean {
  return (
    !request.complete &&
    (request.headers['content-length'] ?? request.headers['transfer-encoding']) !== undefined
  );
}
