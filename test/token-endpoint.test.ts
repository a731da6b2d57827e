/** Where clients exchange codes and refresh tokens: what is asked of the domain, and the errors of RFC 6749. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import { OAuthError } from '../src/contract/oauth.ts';
import { mountTokenEndpoint } from '../src/http/oauth/token-endpoint.ts';
import { bareApp } from './bare-app.ts';

const issuer = 'https://vault.example.com';
const resource = `${issuer}/mcp`;
const form = 'application/x-www-form-urlencoded';
const issued = { accessToken: 'access', refreshToken: 'refresh', lifetime: 900, scope: 'vault' };

function world({
  failing = {},
  isOwnName = true,
  mayRegister = true,
}: {
  failing?: Record<string, Error>;
  isOwnName?: boolean;
  mayRegister?: boolean;
} = {}) {
  const calls: unknown[][] = [];
  const does =
    <T>(name: string, answer: T) =>
    (sent: unknown) => {
      calls.push([name, sent]);
      if (failing[name] !== undefined) throw failing[name];
      return answer;
    };
  const later = <T>(name: string, answer: T) => {
    const act = does(name, answer);
    return async (sent: unknown) => act(sent);
  };
  const domain = {
    oauth: {
      grants: { revokeByToken: later('revokeByToken', null) },
      tokens: { refresh: later('refresh', issued), exchange: later('exchange', issued) },
      clients: {
        register: does('register', { id: 'client', name: 'Client', redirectUris: ['http://localhost/'] }),
      },
    },
  };
  const oauth = {
    mode: 'offered',
    mayRegister,
    issuerAt: () => issuer,
    issuerOf: () => (isOwnName ? issuer : null),
  } as const;
  const app = bareApp(domain, (surface, parts, strangers) =>
    mountTokenEndpoint(surface, parts, oauth, strangers),
  );
  const post = (path: string, body: Record<string, string> | string | [string, string][], type = form) =>
    app.send(
      'POST',
      `/oauth/${path}`,
      typeof body === 'string' ? body : new URLSearchParams(body).toString(),
      { 'content-type': type },
    );
  return { calls, post, ...app };
}
const refresh = { grant_type: 'refresh_token', refresh_token: 'r' };
const code = {
  grant_type: 'authorization_code',
  code: 'c',
  client_id: 'client',
  redirect_uri: 'http://localhost/',
  code_verifier: 'v',
};
const exchanged = {
  token: 'c',
  clientId: 'client',
  redirectUri: 'http://localhost/',
  verifier: 'v',
  resource,
};

describe('the token endpoint', () => {
  const rows: [fields: Record<string, string> | [string, string][], call: unknown[]][] = [
    [refresh, ['refresh', { token: 'r', clientId: null, resource }]],
    [{ ...refresh, client_id: 'client' }, ['refresh', { token: 'r', clientId: 'client', resource }]],
    [{ ...refresh, client_id: '' }, ['refresh', { token: 'r', clientId: '', resource }]],
    [code, ['exchange', exchanged]],
    [{ ...code, resource }, ['exchange', exchanged]],
    [
      [...Object.entries(code), ['resource', resource], ['resource', `${resource}/`]],
      ['exchange', exchanged],
    ],
  ];
  for (const [fields, call] of rows)
    it(`issues for ${new URLSearchParams(fields)}`, async () => {
      const { post, calls, strangers } = world();
      const { status, body, headers } = await post('token', fields);
      assert.deepEqual(
        [status, body],
        [
          200,
          {
            access_token: 'access',
            token_type: 'Bearer',
            expires_in: 900,
            refresh_token: 'refresh',
            scope: 'vault',
          },
        ],
      );
      assert.deepEqual([calls, headers.pragma, headers['cache-control']], [[call], 'no-cache', 'no-store']);
      assert.deepEqual([strangers.admitted, strangers.malformed], [[['192.0.2.1', 16_384]], 0]);
    });

  const without = (name: keyof typeof code) => Object.entries(code).filter(([one]) => one !== name);
  const refused: [
    fields: Record<string, string> | string | [string, string][],
    error: string,
    description: string,
  ][] = [
    [{}, 'invalid_request', 'grant_type is required'],
    [{ ...refresh, refresh_token: '' }, 'invalid_request', 'refresh_token is required'],
    [{ grant_type: 'refresh_token' }, 'invalid_request', 'refresh_token is required'],
    [
      { ...code, grant_type: 'password' },
      'unsupported_grant_type',
      'grant_type must be authorization_code or refresh_token',
    ],
    [without('code'), 'invalid_request', 'code is required'],
    [without('client_id'), 'invalid_request', 'client_id is required'],
    [without('redirect_uri'), 'invalid_request', 'redirect_uri is required'],
    [without('code_verifier'), 'invalid_request', 'code_verifier is required'],
    [[...Object.entries(code), ['code', 'd']], 'invalid_request', 'a parameter is given twice'],
    [
      [...Object.entries(code), ['x', '1'], ['x', '1'], ['x', '1']],
      'invalid_request',
      'a parameter is given twice',
    ],
    [{ ...code, resource: 'https://evil.example' }, 'invalid_target', 'resource must be the tool endpoint'],
  ];
  for (const [fields, error, error_description] of refused)
    it(`refuses ${new URLSearchParams(fields)}: ${error_description}`, async () => {
      const { post, calls, strangers } = world();
      const { status, body } = await post('token', fields);
      assert.deepEqual([status, body, calls], [400, { error, error_description }, []]);
      assert.equal(strangers.malformed, 0, 'it was understood');
    });

  it('takes forms only, of 16 KiB at most, and counts what can’t be understood', async () => {
    const { post, calls, strangers } = world();
    const json = await post('token', JSON.stringify(code), 'application/json');
    assert.deepEqual(
      [json.status, json.body],
      [400, { error: 'invalid_request', error_description: `the body must be ${form}` }],
    );
    const sized = (length: number) => `${new URLSearchParams(refresh)}&x=`.padEnd(length, 'x');
    assert.equal((await post('token', sized(16_384))).status, 200);
    assert.equal(strangers.malformed, 0);
    const large = await post('token', sized(16_385));
    assert.deepEqual([large.status, large.body, strangers.malformed], [400, { error: 'invalid_request' }, 1]);
    assert.equal((await post('token', '{', 'application/json')).status, 400);
    assert.deepEqual([strangers.malformed, calls.length], [2, 1]);
  });

  it('issues nothing under a name that is not its own', async () => {
    const { post, calls } = world({ isOwnName: false });
    const { status, body } = await post('token', code);
    assert.deepEqual([status, body, calls], [404, { error: 'invalid_request' }, []]);
  });

  const cause = new Error('disk');
  const failures: [
    error: Error,
    status: number,
    body: object,
    told: 'cause' | 'itself' | null,
    malformed: number,
  ][] = [
    [
      new OAuthError('invalid_grant', 'no such code'),
      400,
      { error: 'invalid_grant', error_description: 'no such code' },
      null,
      0,
    ],
    [new Failure('UNAUTHORIZED', { cause }), 400, { error: 'invalid_grant' }, null, 0],
    [new Failure('RATE_LIMITED', { retryAfter: 5 }), 429, { error: 'temporarily_unavailable' }, null, 0],
    [new Failure('INVALID_REQUEST'), 400, { error: 'invalid_request' }, null, 1],
    [new Failure('FORBIDDEN', { cause }), 403, { error: 'server_error' }, null, 0],
    [new Failure('INTERNAL_ERROR', { cause }), 500, { error: 'server_error' }, 'cause', 0],
    [new Failure('UNAVAILABLE', { retryAfter: 5 }), 503, { error: 'temporarily_unavailable' }, 'itself', 0],
    [cause, 500, { error: 'server_error' }, 'itself', 0],
  ];
  for (const [error, status, answer, told, malformed] of failures)
    it(`answers ${status} ${JSON.stringify(answer)} where the domain fails by ${error}`, async () => {
      const { post, errors, strangers } = world({ failing: { exchange: error } });
      const { status: answered, body, headers } = await post('token', code);
      assert.deepEqual([answered, body], [status, answer]);
      assert.deepEqual(errors, told === null ? [] : [told === 'cause' ? cause : error]);
      assert.equal(strangers.malformed, malformed);
      assert.equal(headers['retry-after'], error instanceof Failure && error.retryAfter ? '5' : undefined);
    });

  it('revokes a grant by one of its tokens', async () => {
    const { post, calls } = world();
    assert.deepEqual([(await post('revoke', { token: 't' })).body, calls], [{}, [['revokeByToken', 't']]]);
    assert.deepEqual((await post('revoke', {})).body, {
      error: 'invalid_request',
      error_description: 'token is required',
    });
  });

  it('registers clients only where the operator allows it', async () => {
    const { send, calls } = world();
    const answer = await send('POST', '/oauth/register', { redirect_uris: [] });
    assert.deepEqual(
      [answer.status, answer.body.client_id, calls],
      [201, 'client', [['register', { redirect_uris: [] }]]],
    );
    assert.equal((await world({ mayRegister: false }).send('POST', '/oauth/register', {})).status, 404);
  });

  it('closes the connection of a refused body that is not read', async () => {
    const { post, send } = world();
    assert.equal((await post('token', { x: 'y' })).headers.connection, 'close');
    assert.notEqual((await send('POST', '/oauth/token')).headers.connection, 'close');
  });
});
