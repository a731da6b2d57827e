/** The management plane's HTTP application: everything except vault reads, tool calls and probes. */
import type { FastifyInstance } from 'fastify';
import { mountAcme } from './acme/directory.ts';
import { builtPages, dashboard } from './dashboard.ts';
import { mountDialect } from './dialect/management-plane.ts';
import { defaultTimeouts } from './listener/server.ts';
import { UnauthenticatedBodies, type UnauthenticatedBodiesParts } from './listener/unauthenticated-bodies.ts';
import { mountOAuthMetadata, paths } from './oauth/metadata.ts';
import { mountTokenEndpoint } from './oauth/token-endpoint.ts';
import { mountDocs } from './openapi/docs.ts';
import { mountGeneral } from './routes/api-callers.ts';
import { mountAuth } from './routes/auth-visitors.ts';
import { authRoutes, generalRoutes } from './routes/tables.ts';
import { surfaceWith } from './surface/surface.ts';
import type { AppParts } from './surface/surface-parts.ts';

export function buildApp(parts: AppParts, onLate: UnauthenticatedBodiesParts['onLate']): FastifyInstance {
  const { stranger } = parts.timeouts ?? defaultTimeouts;
  const strangers = new UnauthenticatedBodies({ now: parts.now, patience: stranger, onLate });
  const app = surfaceWith(parts, strangers);
  const pages = dashboard(builtPages);
  app.setNotFoundHandler(pages.serve);
  if (parts.oauth !== null) {
    mountOAuthMetadata(app, parts.oauth);
    mountTokenEndpoint(app, parts, parts.oauth, strangers);
    app.get(paths.authorize, pages.index); // It shows the consent page.
  }
  mountAcme(app, parts, strangers);
  const auth = authRoutes(parts);
  mountAuth(app, parts, strangers, auth);
  const general = generalRoutes(parts.domain);
  mountDocs(app, [...general, ...auth], parts.version);
  mountGeneral(app, parts, general);
  mountDialect(app, parts, strangers);
  return app;
}
