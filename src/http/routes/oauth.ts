/** A person's decisions about clients of the tool endpoint, on the consent page and in their settings. */
import { deletion } from '../../contract/common.ts';
import { Failure } from '../../contract/errors.ts';
import * as oauth from '../../contract/oauth.ts';
import type { AuthorizationRequest } from '../../domain/oauth/authorization-requests.ts';
import type { Site } from '../../domain/sign-in/passkeys.ts';
import type { OAuthSurface } from '../surface/oauth-issuer.ts';
import type { AppParts } from '../surface/surface-parts.ts';
import { type AuthNeed, deletedAfter, type Route, route } from './route.ts';

export function oauthRoutes({ domain }: AppParts, surface: OAuthSurface): Route<AuthNeed>[] {
  const { judge, grants } = domain.oauth;

  function issuerAt(site: Site): string {
    const issuer = surface.issuerAt(site);
    if (issuer === null) throw new Failure('NOT_FOUND');
    return issuer;
  }

  /** Returns the URL that the browser goes to next, with the decision or the fault in the request. */
  async function decided(
    request: string,
    site: Site,
    decide: (asked: AuthorizationRequest) => Promise<Readonly<Record<string, string>>>,
  ) {
    const asked = await judge(request, issuerAt(site));
    if ('refusal' in asked) return { redirect_to: asked.refusal };
    return { redirect_to: asked.returnTo(await decide(asked)) };
  }

  return [
    route('POST /auth/oauth/request', {
      operationId: 'getAuthorizationRequest',
      summary: 'Get the client that requests access, and the host to which the browser will return',
      needs: 'session',
      body: oauth.authorizationBody,
      answer: oauth.authorizationShown,
      handle: async ({ body, site }) => {
        const asked = await judge(body.request, issuerAt(site));
        const { id, name, known, imitates } = asked.client;
        return {
          client: { id, name, known, imitates },
          redirect_host: new URL(asked.redirectUri).host,
          scopes: [...asked.scopes],
          redirect_to: 'refusal' in asked ? asked.refusal : null,
        };
      },
    }),
    route('POST /auth/oauth/approve', {
      operationId: 'approveAuthorization',
      summary: 'Allow a client to read a vault for a limited time',
      needs: 'session',
      body: oauth.consentBody,
      answer: oauth.redirection,
      handle: ({ as, body, site }) =>
        decided(body.request, site, async asked => ({ code: await grants.approve(as, asked, body) })),
    }),
    route('POST /auth/oauth/deny', {
      operationId: 'denyAuthorization',
      summary: 'Refuse a client’s request for access',
      needs: 'session',
      body: oauth.authorizationBody,
      answer: oauth.redirection,
      handle: ({ as, body, site }) =>
        decided(body.request, site, async asked => {
          await grants.deny(as, asked);
          return { error: 'access_denied' };
        }),
    }),
    route('GET /auth/oauth/grants', {
      operationId: 'listOAuthGrants',
      summary: 'List the clients that you allowed to read a vault',
      needs: 'session',
      answer: oauth.oauthGrantList,
      handle: async ({ as }) => ({ data: await grants.list(as) }),
    }),
    route('DELETE /auth/oauth/grants/{id}', {
      operationId: 'revokeOAuthGrant',
      summary: 'Revoke a client’s grant and its access key',
      needs: 'session',
      answer: deletion,
      handle: ({ as, id }) => deletedAfter(id, grants.revoke(as, id)),
    }),
  ];
}
