/**
 * The HTTP surface: the order of the hooks, and what is mounted where. A request passes, in this order: is it
 * sound; whose is it (general API); may the organization still ask; and only then is its body read.
 */
import type { IncomingMessage, RequestListener } from 'node:http';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Caller } from '../access/caller.ts';
import type { NewId } from '../contract/id.ts';
import type { Store } from '../store/store.ts';
import type { SingleSignOn } from '../vault/accounts/single-sign-on.ts';
import type { Domain } from '../vault/domain.ts';
import { mountAuth } from './auth.ts';
import { checkOwnPage, clearedSession, cookieOf, type SiteOf, sessionCookie } from './browser.ts';
import { dashboard } from './dashboard.ts';
import { errorBody, failureHeaders, failureOf, messageBody, securityHeaders, statusOf } from './errors.ts';
import { generalRoutes } from './general.ts';
import { mountHealth } from './health.ts';
import { parseJson } from './json.ts';
import { planLimit } from './plan-limit.ts';
import { type AddressOf, bearerToken, faultOf, originOf } from './request.ts';
import { registerRoutes } from './route.ts';
import { type CertificatePair, createListener } from './server.ts';
import { vaultReadHandler } from './vault-read.ts';

export interface AppParts {
  readonly domain: Domain;
  readonly store: Store;
  readonly now: () => number;
  readonly newId: NewId;
  readonly addressOf: AddressOf;
  readonly siteOf: SiteOf;
  readonly singleSignOn: SingleSignOn | null;
  readonly version: string;
  readonly tls: CertificatePair | null;
  readonly draining: () => boolean;
  /** For the operator's eyes: what went wrong inside. */
  readonly onError: (error: unknown, requestId: string) => void;
}

const largestBody = 1024 * 1024;

export function buildApp(parts: AppParts): FastifyInstance {
  const readVault = vaultReadHandler(parts);
  const app = Fastify({
    logger: false,
    bodyLimit: largestBody,
    genReqId: parts.newId,
    exposeHeadRoutes: false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 64 },
    serverFactory: route => createListener(parts.tls, readVault, route as RequestListener),
  });
  hardenParsing(app);
  app.decorateRequest('caller', null);
  app.addHook('onRequest', (request, reply, done) => {
    secure(request, reply);
    done(faultOf(request.raw) ?? undefined);
  });
  app.setErrorHandler((error, request, reply) => answerFailure(parts, error, request, reply));
  app.setNotFoundHandler(dashboard());
  mountHealth(app, parts);
  mountAuth(app, parts);
  mountGeneral(app, parts);
  return app;
}

/** Only JSON is read, and only by our own parser. */
function hardenParsing(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
    try {
      done(null, body === '' ? undefined : parseJson(body as string));
    } catch (error) {
      done(error as Error);
    }
  });
}

function secure(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers({ ...securityHeaders, 'x-request-id': request.id, 'cache-control': 'no-store' });
}

function mountGeneral(app: FastifyInstance, parts: AppParts): void {
  const { domain, store, now, addressOf } = parts;
  const take = planLimit({ store, now, limitOf: domain.organizations.limit });
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
    registerRoutes(general, generalRoutes(domain));
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
  return domain.accounts.sessions.require(session, origin).then(
    ({ caller }) => caller,
    error => {
      reply.header('set-cookie', clearedSession);
      throw error;
    },
  );
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
