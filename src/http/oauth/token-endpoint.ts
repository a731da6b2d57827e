/**
 * The endpoints where clients exchange codes and refresh tokens, revoke a grant, and register themselves if the operator
 * allows it. Clients have no secret: a code is worthless without its verifier. Errors are those of RFC 6749. A parameter
 * that is given twice is refused, and errors never repeat a value.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure, statusOf } from '../../contract/errors.ts';
import { OAuthError } from '../../contract/oauth.ts';
import { resourceIn } from '../../domain/oauth/authorization-requests.ts';
import type { Issued } from '../../domain/oauth/token-requests.ts';
import { failureHeaders, failureOf } from '../listener/errors.ts';
import { hasUnreadBody, originOf } from '../listener/request.ts';
import type { UnauthenticatedBodies } from '../listener/unauthenticated-bodies.ts';
import type { OAuthSurface } from '../surface/oauth-issuer.ts';
import type { AppParts } from '../surface/surface-parts.ts';
import { paths } from './metadata.ts';

const largestBody = 16 * 1024;
const form = 'application/x-www-form-urlencoded';

type Fields = ReadonlyMap<string, readonly string[]>;

export function mountTokenEndpoint(
  app: FastifyInstance,
  parts: AppParts,
  oauth: OAuthSurface,
  strangers: UnauthenticatedBodies,
): void {
  const { grants, tokens, clients } = parts.domain.oauth;
  const from = ({ raw, id }: FastifyRequest) => originOf(raw, id, parts.addressOf);

  function issuerOf({ raw }: FastifyRequest): string {
    const issuer = oauth.issuerOf(raw);
    if (issuer === null) throw new Failure('NOT_FOUND');
    return issuer;
  }

  function issue(request: FastifyRequest): Promise<Issued> {
    const fields = fieldsOf(request);
    const resource = resourceIn(fields.get('resource') ?? [], issuerOf(request));
    const clientId = optional(fields, 'client_id');
    const grantType = required(fields, 'grant_type');
    if (grantType === 'refresh_token')
      return tokens.refresh({ token: required(fields, 'refresh_token'), clientId, resource }, from(request));
    if (grantType !== 'authorization_code')
      throw new OAuthError(
        'unsupported_grant_type',
        'grant_type must be authorization_code or refresh_token',
      );
    const code = {
      token: required(fields, 'code'),
      clientId: required(fields, 'client_id'),
      redirectUri: required(fields, 'redirect_uri'),
      verifier: required(fields, 'code_verifier'),
      resource,
    };
    return tokens.exchange(code, from(request));
  }

  app.register(async scope => {
    scope.addContentTypeParser(form, { parseAs: 'string' }, (_request, body, done) => {
      done(null, new URLSearchParams(body as string));
    });
    scope.setErrorHandler((error, request, reply) => answerError(parts, error, request, reply));
    scope.addHook('onRequest', async request => {
      const { address } = from(request);
      strangers.admit(request.raw, address, largestBody);
    });
    scope.addHook('onError', async ({ raw }, _reply, error) => {
      if (failureOf(error).code === 'INVALID_REQUEST') strangers.garbled(raw);
    });
    const options = { bodyLimit: largestBody };
    scope.post(paths.token, options, async (request, reply) => {
      const { accessToken, refreshToken, lifetime, scope: granted } = await issue(request);
      return reply.header('pragma', 'no-cache').send({
        access_token: accessToken,
        token_type: 'Bearer',
        expires_in: lifetime,
        refresh_token: refreshToken,
        scope: granted,
      });
    });
    scope.post(paths.revoke, options, async (request, reply) => {
      await grants.revokeByToken(required(fieldsOf(request), 'token'), from(request));
      return reply.send({});
    });
    if (oauth.mayRegister)
      scope.post(paths.register, options, async (request, reply) => {
        const { id, name, redirectUris } = clients.register(request.body);
        return reply.code(201).send({
          client_id: id,
          client_name: name,
          redirect_uris: redirectUris,
          token_endpoint_auth_method: 'none',
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
        });
      });
  });
}

function fieldsOf({ body }: FastifyRequest): Fields {
  if (!(body instanceof URLSearchParams)) throw new OAuthError('invalid_request', `the body must be ${form}`);
  const names = new Set(body.keys());
  const fields = new Map([...names].map(name => [name, body.getAll(name)]));
  const isDoubled = [...fields].some(([name, values]) => name !== 'resource' && values.length > 1);
  if (isDoubled) throw new OAuthError('invalid_request', 'a parameter is given twice');
  return fields;
}

function optional(fields: Fields, name: string): string | null {
  return fields.get(name)?.[0] ?? null;
}

/** The error may contain `name`, which is one that we expect and not input. */
function required(fields: Fields, name: string): string {
  const value = optional(fields, name);
  if (value === null || value === '') throw new OAuthError('invalid_request', `${name} is required`);
  return value;
}

function answerError(parts: AppParts, error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  if (hasUnreadBody(request.raw)) reply.header('connection', 'close');
  if (error instanceof OAuthError) {
    reply.code(400).send({ error: error.error, error_description: error.message });
    return;
  }
  const failure = failureOf(error);
  const status = statusOf[failure.code];
  if (status >= 500) parts.onError(failure.cause ?? failure, request.id);
  reply.headers(failureHeaders(failure));
  // The access that the grant depends on was withdrawn in the meantime.
  if (failure.code === 'UNAUTHORIZED') reply.code(400).send({ error: 'invalid_grant' });
  else reply.code(status).send({ error: oauthCodes[status] ?? 'server_error' });
}

const oauthCodes: Readonly<Record<number, string>> = {
  400: 'invalid_request',
  404: 'invalid_request',
  429: 'temporarily_unavailable',
  503: 'temporarily_unavailable',
};
