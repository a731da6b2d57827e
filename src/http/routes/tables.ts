/** The route tables: of the general API, and of those that require no API key (`/auth`, and the login of machines). */
import type { Domain } from '../../domain/domain.ts';
import type { AppParts } from '../surface/surface-parts.ts';
import { accessRoutes } from './access.ts';
import { authorityRoutes } from './authorities.ts';
import { deviceLoginRoutes } from './device-login.ts';
import { identityRoutes, loginRoutes } from './identities.ts';
import { issuerRoutes } from './issuers.ts';
import { keyOperationRoutes } from './key-operations.ts';
import { logRoutes, overviewRoutes } from './logs.ts';
import { oauthRoutes } from './oauth.ts';
import { ownAccountRoutes } from './own-account.ts';
import { proposalRoutes } from './proposals.ts';
import { resourceRoutes } from './resources.ts';
import { ownRoleRequestRoutes, roleRequestRoutes } from './role-requests.ts';
import { rotationRoutes } from './rotations.ts';
import type { AuthNeed, Permissions, Route } from './route.ts';
import { runRoutes } from './runs.ts';
import { joinRoutes, signInRoutes } from './sign-in.ts';
import { signOnRoutes } from './sign-on.ts';
import { sshRoutes } from './ssh.ts';
import { stageRoutes } from './stages.ts';
import { decisionRoutes, ruleRoutes } from './use-rules.ts';
import { webhookRoutes } from './webhooks.ts';

export function generalRoutes(domain: Domain): Route<Permissions>[] {
  return [
    ...resourceRoutes(domain),
    ...keyOperationRoutes(domain),
    ...sshRoutes(domain),
    ...stageRoutes(domain),
    ...proposalRoutes(domain),
    ...accessRoutes(domain),
    ...roleRequestRoutes(domain),
    ...identityRoutes(domain),
    ...ruleRoutes(domain),
    ...issuerRoutes(domain),
    ...authorityRoutes(domain),
    ...runRoutes(domain),
    ...rotationRoutes(domain),
    ...webhookRoutes(domain),
    ...logRoutes(domain),
    ...overviewRoutes(domain),
  ];
}

export function authRoutes(parts: AppParts): Route<AuthNeed>[] {
  return [
    ...signInRoutes(parts),
    ...joinRoutes(parts),
    ...ownAccountRoutes(parts.domain.accounts),
    ...deviceLoginRoutes(parts.domain.accounts),
    ...loginRoutes(parts.domain),
    ...decisionRoutes(parts.domain),
    ...ownRoleRequestRoutes(parts.domain),
    ...(parts.oauth === null ? [] : oauthRoutes(parts, parts.oauth)),
    ...(parts.singleSignOn === null ? [] : signOnRoutes(parts, parts.singleSignOn)),
  ];
}
