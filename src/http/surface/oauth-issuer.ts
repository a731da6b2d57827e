/**
 * Under which name this service issues access keys: an address of its own, without a path. It is one that the operator
 * named, or one that leads to this machine; what a request claims beyond that is not believed. Plain http is for this
 * machine only.
 */
import type { IncomingMessage } from 'node:http';
import { isThisMachine } from '../../base/this-machine.ts';
import { resourceOf } from '../../domain/oauth/authorization-requests.ts';
import type { Site } from '../../domain/sign-in/passkeys.ts';
import type { SignIn } from '../../mcp/sign-in.ts';
import type { SiteOf } from '../listener/browser.ts';

export type OAuthMode = 'offered' | 'required';

/** What both planes know of OAuth, where the operator turned it on. */
export interface OAuthSurface {
  /** Whether a client is led to sign in by its first request, or by its first call that has no key. */
  readonly mode: OAuthMode;
  readonly mayRegister: boolean;
  /** Null where the service was asked under a name that is not its own. */
  readonly issuerAt: (site: Site | null) => string | null;
  readonly issuerOf: (request: IncomingMessage) => string | null;
}

export interface OAuthSettings {
  readonly mode: OAuthMode | null;
  readonly mayRegister: boolean;
  readonly publicUrls: readonly string[];
  readonly siteOf: SiteOf;
}

export function oauthSurface({ mode, mayRegister, publicUrls, siteOf }: OAuthSettings): OAuthSurface | null {
  if (mode === null) return null;
  const named = publicUrls.map(url => new URL(url).origin);
  const issuerAt = (site: Site | null) => {
    const isIssuer = site !== null && (site.origin.startsWith('https:') || isThisMachine(site.host));
    return isIssuer ? site.origin : (named[0] ?? null);
  };
  return { mode, mayRegister, issuerAt, issuerOf: request => issuerAt(siteOf(request)) };
}

/** What the tool endpoint tells those who have to sign in: where its own document is, and what to ask for. */
export function signInWith({ mode, issuerOf }: OAuthSurface): SignIn {
  return {
    mode,
    challengeOf: (request, { error, scope }) => {
      const issuer = issuerOf(request);
      if (issuer === null) return null;
      const { origin, pathname } = new URL(resourceOf(issuer));
      const told = [
        ...(error === null ? [] : [`error="${error}"`]),
        `resource_metadata="${origin}/.well-known/oauth-protected-resource${pathname}"`,
        `scope="${scope}"`,
      ];
      return `Bearer ${told.join(', ')}`;
    },
  };
}
