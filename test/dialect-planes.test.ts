/** Vault's dialect on both planes: who is let in, by which way, and how answers and refusals leave. */
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { trustedCaller } from '../src/access/caller.ts';
import { Failure } from '../src/contract/errors.ts';
import type { ReadResult } from '../src/domain/reads/vault-request.ts';
import { mountDialect } from '../src/http/dialect/management-plane.ts';
import { dialectHandler } from '../src/http/dialect/reading-plane.ts';
import { bareApp } from './bare-app.ts';
import { answerTo, bareWorld, log, requestOf, type Sent } from './bare-world.ts';

const vaultId = '0199a3c4-7f00-7abc-8def-000000000001';
const keyId = '0199a3c4-7f00-7abc-8def-0123456789ab';
const apiKey = { 'x-vault-token': 'sr_api_key' };
const accessKey = { 'x-vault-token': 'sr_vault_key' };
const denied = '{"errors":["permission denied"]}';

describe('the dialect on the management plane', () => {
  interface World {
    /** Of the calls of the domain by name. */
    readonly failing?: Record<string, Error | ((times: number) => Error | null)>;
    readonly limit?: number | null;
    readonly taken?: number;
  }
  /** A double of the domain, which notes what it was asked for. */
  function world({ failing = {}, limit = null, taken = 1 }: World = {}) {
    const calls: string[] = [];
    const note = (name: string, ...given: unknown[]) => {
      calls.push([name, ...given].join(' '));
      const failure = failing[name];
      const error =
        typeof failure === 'function' ? failure(calls.filter(one => one.startsWith(name)).length) : failure;
      if (error instanceof Error) throw error;
    };
    const caller = {
      ...trustedCaller('operator', keyId, 'ci', 'organization', 'request'),
      kind: 'api-key',
      vaultIds: [vaultId],
    };
    const domain = {
      organizations: { limit: async () => limit },
      authenticate: {
        apiKey: async (token: string) => {
          note('apiKey', token);
          return caller;
        },
        accessKeyAnywhere: async (token: string) => {
          note('accessKeyAnywhere', token);
          return { id: keyId, name: 'web', expirationDate: null, maxUses: null };
        },
      },
      guard: { withdrawn: async (_caller: object, verb: string) => note('withdrawn', verb) },
      namedSecrets: {
        checkVault: async () => note('checkVault'),
        write: async (
          _caller: object,
          { name }: { name: string },
          next: (before: null) => { value: string },
        ) => {
          note('write', name, next(null).value);
          return { version: 1, version_created_at: '' };
        },
        remove: async () => note('remove'),
      },
      vaultReads: {
        read: async ({ route, method }: { route: string; method: string }) => {
          note('read', method, route);
          return { ...log, status: 200, body: Buffer.from('{"access_key":{"expiration_date":null}}') };
        },
      },
      ownAccessKeys: { revokeItself: async (token: string) => note('revokeItself', token) },
      logins: {
        login: async ({ proof }: { proof: { method: string } }) => {
          note('login', proof.method);
          const accessKey = {
            token: 'new',
            id: keyId,
            name: 'web',
            created_at: new Date(0).toISOString(),
            expiration_date: new Date(60_000).toISOString(),
            max_uses: null,
          };
          return { accessKey, identity: { name: 'worker' } };
        },
      },
    };
    const more = { countRequests: async () => taken };
    return { calls, ...bareApp(domain, mountDialect, more) };
  }
  const rows: [
    method: string,
    path: string,
    headers: Record<string, string>,
    body: unknown,
    status: number,
    calls: string[],
  ][] = [
    ['GET', 'v1/secret/config', apiKey, undefined, 200, ['apiKey sr_api_key', 'checkVault']],
    [
      'PUT',
      'v1/secret/data/a',
      apiKey,
      { data: { value: 'x' } },
      200,
      ['apiKey sr_api_key', 'apiKey sr_api_key', 'write a x'],
    ],
    ['DELETE', 'v1/secret/data/a', apiKey, undefined, 204, ['apiKey sr_api_key', 'remove']],
    // An API key's own token is judged as an API key, an access key's by a read of itself.
    ['GET', 'v1/auth/token/lookup-self', apiKey, undefined, 200, ['apiKey sr_api_key']],
    ['PUT', 'v1/auth/token/renew-self', apiKey, {}, 200, ['apiKey sr_api_key', 'apiKey sr_api_key']],
    [
      'PUT',
      'v1/auth/token/renew-self',
      accessKey,
      undefined,
      200,
      ['read PUT /vault/v1/auth/token/renew-self', 'accessKeyAnywhere sr_vault_key'],
    ],
    [
      'POST',
      'v1/auth/token/revoke-self',
      accessKey,
      {},
      204,
      ['read POST /vault/v1/auth/token/revoke-self', 'revokeItself sr_vault_key'],
    ],
    ['POST', 'v1/auth/approle/login', {}, {}, 200, ['login secret_id']],
    ['PUT', 'v1/auth/jwt/login', {}, undefined, 200, ['login jwt']],
    ['POST', 'v1/auth/jwt/login', apiKey, {}, 200, ['login jwt']],
    ['GET', 'v1/auth/approle/login', {}, undefined, 404, []],
    ['DELETE', 'v1/auth/approle/login', apiKey, {}, 404, []],
    ['GET', 'v1/secret/data/a', accessKey, undefined, 403, []],
    ['PUT', 'v1/secret/data/a', {}, { data: {} }, 403, []],
    ['GET', '', {}, undefined, 403, []],
    ['GET', '', apiKey, undefined, 404, ['apiKey sr_api_key']],
    // What asks for more than there is comes after the proof, and before the call.
    [
      'GET',
      'v1/secret/config',
      { ...apiKey, 'x-vault-wrap-ttl': '60' },
      undefined,
      400,
      ['apiKey sr_api_key'],
    ],
    [
      'GET',
      'v1/secret/config',
      { ...apiKey, 'x-vault-namespace': 'team' },
      undefined,
      404,
      ['apiKey sr_api_key'],
    ],
    [
      'PUT',
      'v1/auth/token/renew-self',
      { ...accessKey, 'x-vault-wrap-ttl': '60' },
      undefined,
      400,
      ['read PUT /vault/v1/auth/token/renew-self'],
    ],
    ['GET', 'v1/secret/config', { 'x-vault-wrap-ttl': '60' }, undefined, 403, []],
  ];
  for (const [method, path, headers, body, status, calls] of rows)
    it(`${method} ${path} with ${JSON.stringify(headers)}: ${status}`, async () => {
      const { send, calls: asked } = world();
      const answer = await send(method, path === '' ? '/vault' : `/vault/${path}`, body, headers);
      assert.deepEqual([answer.status, asked], [status, calls], answer.text);
      if (status === 403) assert.equal(answer.text, denied);
      if (status === 204) assert.deepEqual([answer.text, answer.headers['content-type']], ['', undefined]);
      else assert.equal(answer.headers['content-type'], 'application/json');
      if (status === 200) {
        assert.equal(answer.body.request_id.slice(0, 3), 'new');
        assert.equal(answer.body.data === null, path.includes('auth/') && !path.includes('lookup'));
      }
    });

  it('is within the plan’s limit, for API keys', async () => {
    const within = world({ limit: 5, taken: 5 });
    const allowed = await within.send('GET', '/vault/v1/secret/config', undefined, apiKey);
    assert.deepEqual([allowed.status, allowed.headers['x-ratelimit-remaining']], [200, '0']);
    const beyond = world({ limit: 5, taken: 6 });
    const answer = await beyond.send('PUT', '/vault/v1/secret/data/a', { data: {} }, apiKey);
    assert.deepEqual([answer.status, answer.text], [429, '{"errors":["rate limit quota exceeded"]}']);
    assert.ok(Number(answer.headers['retry-after']) > 0);
    assert.deepEqual(beyond.calls, ['apiKey sr_api_key']);
    assert.equal((await beyond.send('PUT', '/vault/v1/auth/token/renew-self', {}, accessKey)).status, 200);
    assert.equal((await beyond.send('POST', '/vault/v1/auth/jwt/login', {})).status, 200);
  });

  it('judges an API key again once the body is there, and says so where its authority is withdrawn', async () => {
    const unauthorized = new Failure('UNAUTHORIZED');
    const { send, calls } = world({ failing: { apiKey: times => (times === 2 ? unauthorized : null) } });
    const answer = await send('PUT', '/vault/v1/secret/data/a', { data: {} }, apiKey);
    assert.deepEqual([answer.status, answer.text], [403, denied]);
    assert.deepEqual(calls.slice(2), ['withdrawn PUT /vault/*']);
    const first = world({ failing: { apiKey: unauthorized } });
    assert.equal((await first.send('PUT', '/vault/v1/secret/data/a', { data: {} }, apiKey)).status, 403);
    assert.deepEqual(first.calls, ['apiKey sr_api_key']);
  });

  it('takes 64 KiB of a stranger who logs in, and counts what can’t be understood against their address', async () => {
    const { send, strangers, calls } = world({ failing: { login: new Failure('UNAUTHORIZED') } });
    assert.equal((await send('POST', '/vault/v1/auth/jwt/login', {})).status, 400);
    assert.deepEqual(
      [strangers.admitted, strangers.malformed],
      [[['192.0.2.1', 65_536]], 0],
      'a failed proof is well understood',
    );
    for (const [body, malformed] of [
      ['{', 1],
      ['[]', 2],
      ['"text"', 3],
    ] as const) {
      assert.equal((await send('POST', '/vault/v1/auth/jwt/login', body)).status, 400);
      assert.equal(strangers.malformed, malformed, body);
    }
    assert.equal((await send('GET', '/vault/v1/auth/jwt/login')).status, 404);
    assert.equal(strangers.malformed, 3);
    assert.equal(calls.length, 1);
    assert.equal((await send('PUT', '/vault/v1/secret/data/a', '{', apiKey)).status, 400);
    assert.deepEqual(
      [strangers.malformed, strangers.admitted.length],
      [3, 4],
      'who has a key is no stranger',
    );
  });

  it('reads every body as JSON, whatever it is said to be, and none as nothing', async () => {
    const { send, calls } = world();
    const typed = { ...apiKey, 'content-type': 'application/x-www-form-urlencoded' };
    const put = (body: string, headers = typed) => send('PUT', '/vault/v1/secret/data/a', body, headers);
    assert.equal((await put('{"data":{"n":1.0,"m":2}}')).status, 200);
    assert.equal(calls.at(-1), 'write a {"n":1.0,"m":2}');
    for (const body of ['{', '{"data":{"a":1},"data":{"b":2}}', '', '1'])
      assert.equal((await put(body)).status, 400, body);
    const empty = { ...accessKey, 'content-type': 'text/plain', 'content-length': '0' };
    assert.equal((await send('POST', '/vault/v1/auth/token/revoke-self', '', empty)).status, 204);
  });

  it('tells the operator of what is wrong inside, and the caller that something is', async () => {
    const cause = new Error('disk');
    const failures: [error: Error, status: number, told: unknown[]][] = [
      [cause, 500, [cause]],
      [new Failure('INTERNAL_ERROR', { cause }), 500, [cause]],
      [new Failure('UNAVAILABLE', { retryAfter: 3 }), 503, ['itself']],
      [new Failure('NOT_FOUND', { cause }), 404, []],
      [new Failure('RATE_LIMITED', { retryAfter: 3 }), 429, []],
    ];
    for (const [error, status, told] of failures) {
      const { send, errors } = world({ failing: { checkVault: error } });
      const answer = await send('GET', '/vault/v1/secret/config', undefined, apiKey);
      assert.deepEqual([answer.status, errors], [status, told.map(one => (one === 'itself' ? error : one))]);
      assert.doesNotMatch(answer.text, /disk/);
      assert.equal(
        answer.headers['retry-after'],
        error instanceof Failure && error.retryAfter ? '3' : undefined,
      );
    }
  });

  it('closes the connection of a refused body that is not read', async () => {
    const { send } = world();
    assert.equal((await send('PUT', '/vault/v1/secret/data/a', { data: {} })).headers.connection, 'close');
    assert.notEqual((await send('GET', '/vault/v1/secret/data/a')).headers.connection, 'close');
  });
});

describe('the dialect on the reading plane', () => {
  const envelope = Buffer.from(`{"request_id":"00000000-0000-0000-0000-000000000000","data":{}}`);
  const whole: ReadResult = { ...log, status: 200, format: 'json', digest: 'digest', body: envelope };
  function world(result: ReadResult | Error = whole, draining = false) {
    const { parts, ...noted } = bareWorld(result, draining);
    const forwarded: (string | undefined)[] = [];
    const probing = { ...parts, now: () => 0, storeReady: async () => true };
    const forward = ({ url }: IncomingMessage, response: ServerResponse) => {
      forwarded.push(url);
      response.writeHead(299, {}).end('forwarded');
    };
    const handle = dialectHandler(probing, forward);
    const ask = (path: string, more: Partial<Sent> = {}) =>
      answerTo(handle, requestOf({ url: `/vault/v1/${path}`, ...more }));
    return { ...noted, forwarded, handle, ask };
  }

  type Way = 'read' | 'probe' | 'forwarded' | 'refused';
  const ways: [method: string, path: string, token: Record<string, string>, way: Way][] = [
    ['GET', 'secret/data/a', accessKey, 'read'],
    ['HEAD', 'secret/data/a', accessKey, 'read'],
    ['GET', 'secret/data/a', {}, 'read'],
    ['PUT', 'secret/data/a', accessKey, 'read'],
    ['GET', 'secret/data/a', apiKey, 'forwarded'],
    ['PUT', 'secret/data/a', apiKey, 'forwarded'],
    ['GET', 'auth/token/lookup-self', accessKey, 'read'],
    ['PUT', 'auth/token/renew-self', accessKey, 'forwarded'],
    ['POST', 'auth/jwt/login', {}, 'forwarded'],
    ['GET', 'auth/jwt/login', accessKey, 'forwarded'],
    ['GET', 'sys/health', {}, 'probe'],
    ['HEAD', 'sys/health', apiKey, 'probe'],
    ['GET', 'sys/leader', accessKey, 'probe'],
    ['PUT', 'sys/health', accessKey, 'read'],
    ['PUT', 'sys/health', apiKey, 'forwarded'],
    ['GET', 'secret/data/%2e%2e/a', accessKey, 'refused'],
    ['GET', 'secret/data/%2e%2e/a', apiKey, 'refused'],
    ['POST', '/auth/jwt/login', {}, 'refused'],
    ['GET', '/sys/health', {}, 'refused'],
  ];
  for (const [method, path, headers, way] of ways)
    it(`${method} ${path} with ${JSON.stringify(headers)} is ${way}`, async () => {
      const { read, refused, forwarded, ask } = world();
      const answer = (await ask(path, { method, headers }))!;
      const counts = { read: read.length, refused: refused.length, forwarded: forwarded.length };
      assert.deepEqual(counts, {
        read: 0,
        refused: 0,
        forwarded: 0,
        ...(way === 'probe' ? {} : { [way]: 1 }),
      });
      assert.equal(answer.status, { read: 200, probe: 200, forwarded: 299, refused: 400 }[way]);
      if (way === 'refused') assert.equal(refused[0]![0].method, method);
    });

  it('leaves every other path', async () => {
    const { handle } = world();
    assert.equal(await answerTo(handle, requestOf({ url: '/v1/vaults' })), null);
    assert.equal(await answerTo(handle, requestOf({ url: '/api/v1/vaults/self' })), null);
  });

  const code = (selection: unknown) =>
    selection instanceof Failure ? selection.code : (selection as { of: string }).of;
  const selections: [method: string, path: string, headers: Record<string, string>, selection: string][] = [
    ['GET', 'secret/data/a', {}, 'item'],
    ['HEAD', 'secret/data/a', {}, 'item'],
    // Who holds an access key reads: a write is refused as such, whatever else is wrong with it.
    ['PUT', 'secret/data/a', {}, 'FORBIDDEN'],
    ['DELETE', 'secret/nothing', {}, 'NOT_FOUND'],
    ['POST', 'secret/data/a', { 'x-vault-wrap-ttl': '60' }, 'FORBIDDEN'],
    ['POST', 'sys/internal/ui/mounts/secret', {}, 'FORBIDDEN'],
    ['GET', 'sys/internal/ui/mounts/secret', {}, 'access-key'],
    ['PUT', 'sys/mounts', {}, 'NOT_FOUND'],
    ['GET', 'secret/data/a', { 'x-vault-wrap-ttl': '60' }, 'INVALID_REQUEST'],
    ['GET', 'secret/data/a', { 'x-vault-namespace': 'team' }, 'NOT_FOUND'],
    ['GET', 'auth/token/lookup-self', {}, 'access-key'],
  ];
  for (const [method, path, headers, selection] of selections)
    it(`asks with ${method} ${path} ${JSON.stringify(headers)} for ${selection}`, async () => {
      const { read, ask } = world();
      await ask(path, { method, headers: { ...accessKey, ...headers } });
      assert.equal(code(read[0]!.selection), selection);
      assert.deepEqual(
        [read[0]!.by, read[0]!.token, read[0]!.method],
        ['access-key', 'sr_vault_key', method],
      );
    });

  it('answers with the id of the request, its receipt, and nothing to be kept', async () => {
    const { ask } = world();
    const { status, headers, body } = (await ask('secret/data/a'))!;
    assert.deepEqual(
      [
        status,
        headers['content-type'],
        headers['content-length'],
        headers['cache-control'],
        headers['x-request-id'],
        headers['strongroom-receipt'],
        headers.connection,
        headers['x-frame-options'],
      ],
      [200, 'application/json', String(envelope.length), 'no-store', 'request', 'receipt', undefined, 'DENY'],
    );
    assert.equal(body.slice(0, 22), '{"request_id":"request');
  });

  it('refuses in Vault’s words, and tells the operator of what is wrong inside', async () => {
    const cause = new Error('disk');
    const rows: [failure: Failure, status: number, body: string, told: 'cause' | 'itself' | null][] = [
      [new Failure('UNAUTHORIZED'), 403, denied, null],
      [new Failure('NOT_FOUND', { cause }), 404, '{"errors":[]}', null],
      [new Failure('RATE_LIMITED', { retryAfter: 3 }), 429, '{"errors":["rate limit quota exceeded"]}', null],
      [
        new Failure('INTERNAL_ERROR', { cause }),
        500,
        '{"errors":["Something went wrong on the server"]}',
        'cause',
      ],
      [
        new Failure('UNAVAILABLE', { retryAfter: 3 }),
        503,
        '{"errors":["The service is unavailable"]}',
        'itself',
      ],
    ];
    for (const [failure, status, body, told] of rows) {
      const { ask, errors } = world({ ...log, status, failure });
      const answer = (await ask('secret/data/a'))!;
      assert.deepEqual([answer.status, answer.body], [status, body]);
      assert.deepEqual(
        [
          answer.headers['x-request-id'],
          answer.headers['strongroom-receipt'],
          answer.headers['retry-after'],
          answer.headers['cache-control'],
          answer.headers.connection,
        ],
        ['request', 'receipt', failure.retryAfter === undefined ? undefined : '3', 'no-store', undefined],
      );
      assert.deepEqual(errors, told === null ? [] : [told === 'cause' ? cause : failure]);
    }
  });

  it('gives nothing away that could not be recorded, and no receipt for it', async () => {
    const { ask, errors } = world(new Error('disk'));
    const answer = (await ask('secret/data/a'))!;
    assert.deepEqual(
      [answer.status, answer.headers['x-request-id'], 'strongroom-receipt' in answer.headers, errors.length],
      [500, 'new', false, 1],
    );
    const unasked = world({ ...log, status: 304, digest: 'x' });
    assert.equal((await unasked.ask('secret/data/a'))!.status, 500);
    assert.match(String(unasked.errors), /unexpected 304: no digest was sent/);
  });

  it('closes connections while it stops', async () => {
    assert.equal((await world(whole, true).ask('secret/data/a'))!.headers.connection, 'close');
    const failure = new Failure('NOT_FOUND');
    assert.equal(
      (await world({ ...log, status: 404, failure }, true).ask('secret/data/a'))!.headers.connection,
      'close',
    );
  });

  it('keeps a connection unless a body comes that nobody reads', async () => {
    const body = { headers: { ...accessKey, 'content-length': '5' }, complete: false };
    const keeps = async (path: string, more: Partial<Sent>) => (await world().ask(path, more))!.keepsAlive;
    assert.equal(await keeps('secret/data/a', { complete: false, headers: accessKey }), true);
    assert.equal(await keeps('secret/data/a', { method: 'PUT', ...body }), false);
    assert.equal(
      await keeps('secret/data/%2e%2e/a', {
        method: 'PUT',
        ...body,
        headers: { ...apiKey, 'content-length': '5' },
      }),
      false,
    );
    // What is handed on is read over there.
    assert.equal(
      await keeps('secret/data/a', { method: 'PUT', ...body, headers: { ...apiKey, 'content-length': '5' } }),
      true,
    );
  });

  it('takes a request that repeats the one before for the same, and no other', async () => {
    const { read, encodings, ask } = world();
    const socket = {};
    const sent = { headers: accessKey, socket };
    await ask('secret/data/a', sent);
    await ask('secret/data/a', sent);
    assert.equal(read[0], read[1], 'it was parsed once');
    assert.deepEqual([encodings[1], encodings[1]?.name], [encodings[0], 'vault-data 0']);
    await ask('secret/data/a', { ...sent, headers: { 'x-vault-token': 'sr_vault_two' } });
    await ask('secret/data/b', sent);
    await ask('secret/data/b', { ...sent, socket: {} });
    assert.deepEqual(
      read.slice(2).map(({ token, selection }) => [token, (selection as { nameOrId: string }).nameOrId]),
      [
        ['sr_vault_two', 'a'],
        ['sr_vault_key', 'b'],
        ['sr_vault_key', 'b'],
      ],
    );
    await ask('secret/data/c', { ...sent, method: 'HEAD' });
    await ask('secret/data/b', sent);
    assert.equal(read[6], read[3], 'a HEAD is not remembered');
    await ask('secret/data/b', { ...sent, method: 'PUT' });
    assert.equal(code(read[7]!.selection), 'FORBIDDEN');
  });
});
