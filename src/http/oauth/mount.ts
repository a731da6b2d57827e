/** OAuth on the management plane, where the operator turned it on: its documents, its endpoints and the consent page. */
import type { FastifyInstance } from 'fastify';
import type { ServePage } from '../dashboard.ts';
import type { AppParts } from '../parts.ts';
import type { UnauthenticatedBodies } from '../unauthenticated-bodies.ts';
import type { OAuthSurface } from './issuer.ts';
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
