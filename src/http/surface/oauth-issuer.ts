/**
 * The issuer under which this service grants access keys: one of its own addresses, without a path. It is an address
 * that the operator configured or one that leads to this machine; any other address that a request claims is ignored.
 * Plain http is only allowed for this machine.
 */
import type { IncomingMessage } from 'node:http';
import { isThisMachine } from '../../base/this-machine.ts';
import { resourceOf } from '../../domain/oauth/authorization-requests.ts';
import type { Site } from '../../domain/sign-in/passkeys.ts';
import type { SignIn } from '../../mcp/sign-in.ts';
import type { SiteOf } from '../listener/browser.ts';

type OAuthMode = 'offered' | 'required';

/** The OAuth settings that both planes use, if the operator turned it on. */
export type OAuthSurface = NonNullable<ReturnType<typeof oauthSurface>>;

export interface OAuthSettings {
  /** Whether clients must sign in on their first request, or only on their first call without a key. */
  readonly mode: OAuthMode | null;
  readonly mayRegister: boolean;
  readonly publicUrls: readonly string[];
  readonly siteOf: SiteOf;
}

export function oauthSurface({ mode, mayRegister, publicUrls, siteOf }: OAuthSettings) {
  if (mode === null) return null;
  const named = publicUrls.map(url => new URL(url).origin);
  /** The site's own address if it may be an issuer, otherwise the first public URL; null if there is neither. */
  const issuerAt = (site: Site | null): string | null => {
    const isIssuer = site !== null && (site.origin.startsWith('https:') || isThisMachine(site.host));
    return isIssuer ? site.origin : (named[0] ?? null);
  };
  return { mode, mayRegister, issuerAt, issuerOf: (request: IncomingMessage) => issuerAt(siteOf(request)) };
}

/** The tool endpoint's challenge to clients that must sign in: where its metadata is, and which scope to request. */
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
