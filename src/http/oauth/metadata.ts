/**
 * The metadata for clients that only know an address: which server grants access to the tool endpoint (RFC 9728), and
 * how to request it (RFC 8414). Any page may read both; they contain nothing about people or data.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Failure } from '../../contract/errors.ts';
import { oauthScopes } from '../../contract/names.ts';
import { resourceOf } from '../../domain/oauth/authorization-requests.ts';
import type { OAuthSurface } from '../surface/oauth-issuer.ts';

export const paths = {
  authorize: '/oauth/authorize',
  token: '/oauth/token',
  revoke: '/oauth/revoke',
  register: '/oauth/register',
} as const;

export function mountOAuthMetadata(app: FastifyInstance, oauth: OAuthSurface): void {
  const documentOf = (describe: (issuer: string) => object) => async (request: FastifyRequest) => {
    const issuer = oauth.issuerOf(request.raw);
    if (issuer === null) throw new Failure('NOT_FOUND');
    return describe(issuer);
  };
  const resource = documentOf(describeResource);
  const documents = {
    '/.well-known/oauth-protected-resource': resource,
    '/.well-known/oauth-protected-resource/mcp': resource,
    '/.well-known/oauth-authorization-server': documentOf(issuer => describeServer(issuer, oauth)),
  };
  for (const [path, describe] of Object.entries(documents)) {
    app.get(path, async (request, reply) => {
      const body = await describe(request);
      return reply.header('access-control-allow-origin', '*').send(body);
    });
  }
}

function describeResource(issuer: string) {
  return {
    resource: resourceOf(issuer),
    authorization_servers: [issuer],
    scopes_supported: oauthScopes,
    bearer_methods_supported: ['header'],
    resource_name: 'Strongroom',
    resource_documentation: `${issuer}/docs`,
  };
}

function describeServer(issuer: string, { mayRegister }: OAuthSurface) {
  return {
    issuer,
    authorization_endpoint: issuer + paths.authorize,
    token_endpoint: issuer + paths.token,
    revocation_endpoint: issuer + paths.revoke,
    ...(mayRegister ? { registration_endpoint: issuer + paths.register } : {}),
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    client_id_metadata_document_supported: true,
    authorization_response_iss_parameter_supported: true,
    scopes_supported: [...oauthScopes, 'offline_access'],
  };
}
