/** OAuth on the management plane, if the operator turned it on: metadata, endpoints and the consent page. */
import type { FastifyInstance } from 'fastify';
import type { UnauthenticatedBodies } from '../listener/unauthenticated-bodies.ts';
import type { OAuthSurface } from '../surface/oauth-issuer.ts';
import type { AppParts, ServePage } from '../surface/surface-parts.ts';
import { mountOAuthMetadata, paths } from './metadata.ts';
import { mountTokenEndpoint } from './token-endpoint.ts';

export function mountOAuth(
  app: FastifyInstance,
  parts: AppParts,
  oauth: OAuthSurface,
  strangers: UnauthenticatedBodies,
  consentPage: ServePage,
): void {
  mountOAuthMetadata(app, oauth);
  mountTokenEndpoint(app, parts, oauth, strangers);
  app.get(paths.authorize, consentPage);
}
