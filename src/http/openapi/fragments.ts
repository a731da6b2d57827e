/** Parts that the operations of the OpenAPI document share: error responses, headers and ways to authenticate. */
import { Failure, type FailureCode, invalid, statusOf } from '../../contract/errors.ts';
import { sessionCookie, signOnCookie } from '../listener/browser.ts';
import { errorBody } from '../listener/errors.ts';
import type { AuthNeed, RouteDescription } from '../routes/route.ts';

export function refersTo(part: 'schemas' | 'responses' | 'headers', name: string) {
  return { $ref: `#/components/${part}/${name}` };
}

export const securitySchemes = {
  apiKey: { type: 'http', scheme: 'bearer', description: 'An API key, `sr_api_…`.' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: sessionCookie,
    description: 'The dashboard’s session. Requests must come from the service’s own pages.',
  },
  identity: {
    type: 'apiKey',
    in: 'cookie',
    name: signOnCookie,
    description: 'The identity confirmed by the single sign-on issuer, valid for ten minutes.',
  },
  publicToken: { type: 'http', scheme: 'bearer', description: 'A public token, `sr_pub_…`.' },
  vaultAccessKey: { type: 'http', scheme: 'bearer', description: 'A vault access key, `sr_vault_…`.' },
};

/** The requirements of `/auth` routes, in words and as OpenAPI security requirements. */
export const authNeeds: Readonly<Record<AuthNeed, { readonly text: string; readonly security: object[] }>> = {
  nothing: { text: 'no credential', security: [] },
  proof: { text: 'no credential: the body contains the proof', security: [] },
  identity: { text: 'an identity confirmed by the single sign-on issuer', security: [{ identity: [] }] },
  session: { text: 'the session of a signed-in person', security: [{ session: [] }] },
};

const count = { type: 'integer', minimum: 0 };

export const limitHeaders = {
  'X-RateLimit-Limit': {
    description:
      'Requests per minute that the plan allows. The three X-RateLimit headers are absent if the plan sets no limit.',
    schema: count,
  },
  'X-RateLimit-Remaining': { description: 'Requests left in this minute.', schema: count },
  'X-RateLimit-Reset': { description: 'When the minute ends, as a Unix time in seconds.', schema: count },
};

const retryAfter = {
  'Retry-After': { description: 'Seconds to wait before trying again.', schema: count },
};

export const errorAnswers = Object.fromEntries([
  answer(
    'The request is not valid or conflicts with existing data',
    [
      invalid('name', 'must be 1 to 255 characters long'),
      new Failure('CONFLICT', { field: 'name', reason: 'is already in use' }),
    ],
    {},
  ),
  answer('The credential is missing, malformed, unknown, expired or revoked', plain('UNAUTHORIZED'), {
    'WWW-Authenticate': { description: '`Bearer`', schema: { type: 'string' } },
  }),
  answer('The caller lacks the permission', plain('FORBIDDEN'), {}),
  answer('No resource with this id is visible to the caller', plain('NOT_FOUND'), {}),
  answer('Too many requests in this minute', plain('RATE_LIMITED'), { ...limitHeaders, ...retryAfter }),
  answer('Something went wrong on the server', plain('INTERNAL_ERROR'), {}),
  answer('The service is sealed, starting, stopping or overloaded', plain('UNAVAILABLE'), retryAfter),
]);

function plain(code: FailureCode): Failure[] {
  return [new Failure(code)];
}

function answer(description: string, failures: readonly Failure[], headers: object): [string, object] {
  const examples = Object.fromEntries(failures.map(failure => [failure.code, { value: errorBody(failure) }]));
  const content = { 'application/json': { schema: refersTo('schemas', 'Error'), examples } };
  return [String(statusOf[failures[0]!.code]), { description, headers, content }];
}

/** In the order in which they are shown: operations that most programs call come first, those for operators last. */
export function tags(routes: readonly RouteDescription[]): { name: string }[] {
  const names = new Set(['vault endpoint', ...routes.map(({ tag }) => tag), 'health']);
  return [...names].map(name => ({ name }));
}
