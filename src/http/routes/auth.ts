/** The routes that require no API key: `/auth`, and the login of machines. */
import type { AppParts } from '../surface/surface-parts.ts';
import { deviceLoginRoutes } from './device-login.ts';
import { loginRoutes } from './identities.ts';
import { oauthRoutes } from './oauth.ts';
import { ownAccountRoutes } from './own-account.ts';
import type { AuthNeed, Route } from './route.ts';
import { joinRoutes, signInRoutes } from './sign-in.ts';
import { signOnRoutes } from './sign-on.ts';
import { decisionRoutes } from './use-rules.ts';

export function authRoutes(parts: AppParts): Route<AuthNeed>[] {
  return [
    ...signInRoutes(parts),
    ...joinRoutes(parts),
    ...ownAccountRoutes(parts.domain.accounts),
    ...deviceLoginRoutes(parts.domain.accounts),
    ...loginRoutes(parts.domain),
    ...decisionRoutes(parts.domain),
    ...(parts.oauth === null ? [] : oauthRoutes(parts, parts.oauth)),
    ...(parts.singleSignOn === null ? [] : signOnRoutes(parts, parts.singleSignOn)),
  ];
}
