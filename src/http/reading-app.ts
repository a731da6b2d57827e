/**
 * The reading plane's HTTP application, on an event loop of its own: vault reads, which bypass the router, tool calls
 * and probes. Everything else is forwarded to the management plane.
 */
import type { RequestListener } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { Failure } from '../contract/errors.ts';
import { mountMcp } from '../mcp/endpoint.ts';
import { clientErrorAnswers, lateAnswers } from './client-errors.ts';
import { ListMethod } from './dialect/list-verb.ts';
import { dialectHandler } from './dialect/reading-plane.ts';
import { gatewayHandler } from './gateway/reading-plane.ts';
import { failureHeaders, failureOf } from './listener/errors.ts';
import { bearerToken, originOf } from './listener/request.ts';
import type { ConnectionError } from './listener/server.ts';
import { createListener, defaultTimeouts, type HandleRequest } from './listener/server.ts';
import { UnauthenticatedBodies } from './listener/unauthenticated-bodies.ts';
import { mountHealth, probes } from './surface/health.ts';
import { signInWith } from './surface/oauth-issuer.ts';
import { surfaceWith, toRouter } from './surface/surface.ts';
import type { ReadingSurfaceParts } from './surface/surface-parts.ts';
import { publicKeyHandler } from './vault/public-key.ts';
import { vaultReadHandler } from './vault/read.ts';
import { vaultUseHandler } from './vault/use.ts';

const ownPaths: ReadonlySet<string> = new Set(['/mcp', ...probes]);

export function buildReadingApp(parts: ReadingSurfaceParts, forward: RequestListener): FastifyInstance {
  const readVault = vaultReadHandler(parts);
  const useVault = vaultUseHandler(parts);
  const viaGateway = gatewayHandler(parts);
  const readDialect = dialectHandler(parts, forward);
  const readPublicKey = publicKeyHandler(parts);
  const read: HandleRequest = (request, response) =>
    useVault(request, response) ||
    viaGateway(request, response) ||
    readVault(request, response) ||
    readDialect(request, response) ||
    readPublicKey(request, response);
  const lists = new ListMethod(clientErrorAnswers(parts));
  const strangers = new UnauthenticatedBodies({
    now: parts.now,
    patience: (parts.timeouts ?? defaultTimeouts).stranger,
    onLate: lateAnswers(parts),
  });
  const app = surfaceWith(parts, strangers, {
    // The framework's type for this error lacks the parser's fields.
    clientErrorHandler: (error: unknown, socket) => lists.answer(error as ConnectionError, socket),
    serverFactory: handler => {
      const route = toRouter(handler as RequestListener);
      const answer: RequestListener = (request, response) => {
        if (!read(request, response)) (isOwn(request.url!) ? route : forward)(request, response);
      };
      const listen = parts.around?.(answer) ?? answer;
      lists.serveBy(listen);
      return createListener(parts, listen);
    },
  });
  app.setNotFoundHandler(() => {
    throw new Failure('NOT_FOUND');
  });
  mountHealth(app, parts);
  mountMcp(app, {
    ...parts,
    originOf: (request, id) => originOf(request, id, parts.addressOf),
    tokenOf: request => bearerToken(request.headers.authorization),
    strangers,
    signIn: parts.oauth && signInWith(parts.oauth),
    failureOf,
    headersOf: failureHeaders,
  });
  return app;
}

function isOwn(url: string): boolean {
  const path = url.split('?', 1)[0]!;
  return ownPaths.has(path.endsWith('/') ? path.slice(0, -1) : path);
}
