/** What the operations of the OpenAPI document share: error answers, headers and ways to authenticate. */
import { Failure, type FailureCode, invalid } from '../contract/errors.ts';
import { errorBody, statusOf } from './errors.ts';
import type { Route } from './route.ts';

export function refersTo(part: 'schemas' | 'responses' | 'headers', name: string) {
  return { $ref: `#/components/${part}/${name}` };
}

export const securitySchemes = {
  apiKey: { type: 'http', scheme: 'bearer', description: 'An API key, `sr_api_…`.' },
  vaultAccessKey: { type: 'http', scheme: 'bearer', description: 'A vault access key, `sr_vault_…`.' },
};

const count = { type: 'integer', minimum: 0 };

export const limitHeaders = {
  'X-RateLimit-Limit': {
    description: 'Requests that the plan allows a minute. Absent where it sets no limit, like the next two.',
    schema: count,
  },
  'X-RateLimit-Remaining': { description: 'Requests left in this minute.', schema: count },
  'X-RateLimit-Reset': { description: 'When the minute ends, in Unix seconds.', schema: count },
};

const retryAfter = {
  'Retry-After': { description: 'Seconds until trying again makes sense.', schema: count },
};

export const errorAnswers = Object.fromEntries([
  answer(
    'What was sent is not valid, or conflicts with what is stored',
    [
      invalid('name', 'must have 1 to 255 characters'),
      new Failure('CONFLICT', { field: 'name', reason: 'is already in use' }),
    ],
    {},
  ),
  answer('The API key is missing, malformed, unknown, expired or revoked', plain('UNAUTHORIZED'), {
    'WWW-Authenticate': { description: '`Bearer`', schema: { type: 'string' } },
  }),
  answer('The key has no permission for this', plain('FORBIDDEN'), {}),
  answer('There is nothing of this id for the key to see', plain('NOT_FOUND'), {}),
  answer('Too many requests in this minute', plain('RATE_LIMITED'), { ...limitHeaders, ...retryAfter }),
  answer('Something went wrong inside', plain('INTERNAL_ERROR'), {}),
  answer('Sealed, starting, stopping or overloaded', plain('UNAVAILABLE'), retryAfter),
]);

function plain(code: FailureCode): Failure[] {
  return [new Failure(code)];
}

function answer(description: string, failures: readonly Failure[], headers: object): [string, object] {
  const examples = Object.fromEntries(failures.map(failure => [failure.code, { value: errorBody(failure) }]));
  const content = { 'application/json': { schema: refersTo('schemas', 'Error'), examples } };
  return [String(statusOf[failures[0]!.code]), { description, headers, content }];
}

export function tags(routes: readonly Route[]): { name: string }[] {
  const names = new Set(['health', ...routes.map(({ tag }) => tag), 'vault endpoint']);
  return [...names].map(name => ({ name }));
}
