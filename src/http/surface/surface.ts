/**
 * The rules for every request that goes through a router, on either plane. A request is checked in this order: whether
 * it is well-formed, who is calling (general API), and whether the organization is within its limit. Only then is its
 * body read; once the body has arrived, however late, the caller is checked again.
 */
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { Readable } from 'node:stream';
import Fastify, {
  errorCodes,
  type FastifyHttpOptions,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { Failure, statusOf } from '../../contract/errors.ts';
import { requestsByPath } from '../../metrics/requests.ts';
import { BodyLine } from '../listener/body-line.ts';
import { errorBody, failureHeaders, failureOf, messageBody } from '../listener/errors.ts';
import { spellHeaders } from '../listener/header-names.ts';
import { parseJson } from '../listener/json.ts';
import { faultOf, hasUnreadBody, isRead } from '../listener/request.ts';
import { headersOnEvery } from '../listener/security-headers.ts';
import type { UnauthenticatedBodies } from '../listener/unauthenticated-bodies.ts';
import { probes } from './health.ts';
import type { SurfaceParts } from './surface-parts.ts';

const largestBody = 1024 * 1024;

/** The contract validates requests and shapes answers, so the framework's own compilers are not even loaded. */
const noCompiler = () => () => {
  throw new Error('no route has a schema of the framework');
};
const noCompilers = { buildValidator: noCompiler, buildSerializer: noCompiler };

/** The options that a plane adds to the common surface. */
type OwnOptions = Pick<FastifyHttpOptions<Server>, 'serverFactory' | 'clientErrorHandler'>;

export function surfaceWith(
  parts: SurfaceParts,
  strangers: UnauthenticatedBodies,
  own?: OwnOptions,
): FastifyInstance {
  const secure = headersFor(parts);
  const app = Fastify({
    ...own,
    logger: false,
    bodyLimit: largestBody,
    genReqId: parts.newId,
    return503OnClosing: false, // Our own hook answers, in the format of our errors.
    // A path that can't be decoded reaches no hook, and must not be answered in the framework's own words.
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      secure(request, reply);
      answerFailure(parts, error, request, reply);
    },
    exposeHeadRoutes: true,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 64 },
    schemaController: { compilersFactory: noCompilers },
  });
  hardenParsing(app);
  if (parts.onRoute !== undefined) app.addHook('onRoute', parts.onRoute);
  app.addHook('onRequest', (request, reply, done) => {
    secure(request, reply);
    done(refusalOf(parts, request) ?? undefined);
  });
  const bodies = new BodyLine();
  // The credential has been checked, so a client that waits for `100 Continue` may send the body.
  app.addHook('preParsing', ({ raw, routeOptions }, reply, body, done) => {
    const go = (what = body) => {
      if (awaitsContinue(raw)) reply.raw.writeContinue();
      done(null, what);
    };
    // An unauthenticated body has its own memory limit, and must not make others wait.
    const limited = strangers.bodyOf(raw, body);
    const line = limited === null ? bodies.enter(raw, reply.raw, routeOptions.bodyLimit!) : null;
    if (line === null) go(limited ?? body);
    else line.then(() => go(), done);
  });
  app.addHook('onSend', (request, reply, body, done) => {
    if (parts.draining()) reply.header('connection', 'close');
    done(null, request.method === 'HEAD' ? unread(body) : body);
  });
  const count = requestsByPath(parts.meter);
  app.addHook('onResponse', ({ url }, reply, done) => {
    count(url, reply.statusCode, reply.elapsedTime);
    done();
  });
  app.setErrorHandler((error, request, reply) => answerFailure(parts, error, request, reply));
  return app;
}

/** Prepares a request and its response for a router. */
export function toRouter(route: RequestListener): RequestListener {
  return (request, response) => {
    spellHeaders(response);
    // Without a body there is nothing to parse or wait for, whatever content type was sent.
    if (request.readableEnded || request.headers['content-length'] === '0') {
      delete request.headers['content-type'];
    }
    route(request, response);
  };
}

/** Refuses what can be refused before anything is looked up. */
function refusalOf({ draining }: SurfaceParts, request: FastifyRequest): Failure | null {
  const fault = faultOf(request.raw);
  if (fault !== null) return fault;
  if (draining() && !probes.has(String(request.routeOptions.url)))
    return new Failure('UNAVAILABLE', { retryAfter: 1 });
  // For an unknown path, no body is read.
  return request.is404 && !isRead(request.method) ? new Failure('NOT_FOUND') : null;
}

/** A HEAD has no body, so a stream for it is not even started. */
function unread(body: unknown): unknown {
  if (!(body instanceof Readable)) return body;
  body.destroy();
  return Readable.from([]);
}

/** Only JSON is read, and only by our own parser. Without a body, no content type is needed. */
function hardenParsing(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, body.length === 0 ? undefined : parseJson(body as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });
  app.addContentTypeParser('*', (_request, body, done) => {
    const settle = (error: Error | null) => {
      body.removeAllListeners('data').removeAllListeners('end').pause();
      done(error, undefined);
    };
    body.once('data', () => settle(new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE()));
    body.once('end', () => settle(null));
    body.once('error', settle);
  });
}

function headersFor({ encrypted }: SurfaceParts): (request: FastifyRequest, reply: FastifyReply) => void {
  const onEvery = headersOnEvery(encrypted, headers => headers);
  return (request, reply) => {
    reply.headers({ ...onEvery(request), 'x-request-id': request.id, 'cache-control': 'no-store' });
  };
}

function awaitsContinue({ headers, httpVersionMinor }: IncomingMessage): boolean {
  return httpVersionMinor > 0 && /^100-continue$/i.test(String(headers.expect));
}

function answerFailure(
  parts: SurfaceParts,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const failure = failureOf(error);
  if (failure.code === 'INTERNAL_ERROR' || failure.code === 'UNAVAILABLE') {
    parts.onError(failure.cause ?? failure, request.id);
  }
  if (hasUnreadBody(request.raw)) reply.header('connection', 'close');
  const body = request.url.startsWith('/api/') ? messageBody(failure) : errorBody(failure);
  reply.code(statusOf[failure.code]).headers(failureHeaders(failure)).send(body);
}
