/** Who is let in by the doors of the general API and of `/auth`, and what a route is handed of what was sent. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { type Caller, trustedCaller } from '../src/access/caller.ts';
import { asker } from '../src/base/fair-line.ts';
import { Failure } from '../src/contract/errors.ts';
import type { Permit } from '../src/domain/kernel/permits.ts';
import { mountGeneral } from '../src/http/routes/api-callers.ts';
import { mountAuth } from '../src/http/routes/auth-visitors.ts';
import { type AuthNeed, type Permissions, type Route, route } from '../src/http/routes/route.ts';
import { appTime, bareApp } from './bare-app.ts';

const id = '0199a3c4-7f00-7abc-8def-000000000001';
const bearer = { authorization: 'Bearer key' };
const session = { cookie: '__Host-strongroom=session' };
const ownPage = { origin: 'http://localhost:8080' };
const caller: Caller = {
  ...trustedCaller('operator', 'caller', 'ci', 'organization', 'request'),
  scopes: ['vaults:read'],
};
const before = new Date(appTime - 1_000).toISOString();
const unauthorized = new Failure('UNAUTHORIZED');
type Failing = Readonly<Record<string, (times: number) => Error | null>>;

/** Notes what the domain was asked for, and fails where it is told to. */
function noting(failing: Failing) {
  const calls: string[] = [];
  const note = (name: string, ...given: unknown[]) => {
    calls.push([name, ...given].join(' '));
    const error = failing[name]?.(calls.filter(one => one.startsWith(name)).length);
    if (error) throw error;
  };
  return { calls, note };
}

describe('the door of the general API', () => {
  const about = { tag: 'x', summary: '', answer: z.any() };
  const body = z.strictObject({ name: z.string().optional(), expiration_date: z.string().optional() });
  const readOnly = {
    members: new Set(['id']),
    needs: { all: ['keys:read'] } as const,
    shown: async () => ({ id, expiration_date: before }),
  };
  const needs: Permissions = { all: ['vaults:read', 'vaults:write'] };
  const handed = async (call: object) => {
    const { caller: _caller, reply: _reply, permits, ...rest } = call as Record<string, unknown>;
    return { ...rest, permits: (permits as Permit[]).map(({ action }) => action), lane: asker() };
  };
  const routes = [
    route('GET /v1/plain', { ...about, operationId: 'a', needs, handle: handed }),
    route('GET /v1/any', {
      ...about,
      operationId: 'b',
      needs: { anyOf: ['secrets:read', 'vaults:read'] },
      handle: handed,
    }),
    route('GET /v1/together', {
      ...about,
      operationId: 'c',
      needs: { together: ['vaults:read', 'secrets:read'] },
      handle: handed,
    }),
    route('GET /v1/one/{id}', {
      ...about,
      operationId: 'd',
      needs,
      query: z.strictObject({ q: z.string() }),
      handle: handed,
    }),
    route('POST /v1/empty', { ...about, operationId: 'e', needs, handle: handed }),
    route('POST /v1/body', { ...about, operationId: 'f', needs, body, handle: handed }),
    route('POST /v1/optional', {
      ...about,
      operationId: 'g',
      needs,
      body,
      bodyOptional: true,
      needsOf: ({ body: { name } }) => ({ all: name === 'more' ? ['secrets:write'] : ['secrets:read'] }),
      handle: handed,
    }),
    route('PUT /v1/one/{id}', {
      ...about,
      operationId: 'h',
      needs,
      body,
      readOnly,
      handle: handed,
    }),
  ] as Route<Permissions>[];
  interface World {
    readonly failing?: Failing;
    readonly limit?: number | null;
    readonly more?: object;
  }
  function world({ failing = {}, limit = null, more = {} }: World = {}) {
    const { calls, note } = noting(failing);
    const proven = (name: string) => async (token: string | null) => {
      note(name, token);
      return name === 'require' ? { caller } : caller;
    };
    const domain = {
      organizations: { limit: async () => limit },
      authenticate: { apiKey: proven('apiKey') },
      accounts: { sessions: { require: proven('require') } },
      guard: {
        admit: async (_caller: object, action: string, ...others: string[]) => {
          note('admit', action, ...others);
          return { action };
        },
        admitAny: async (_caller: object, actions: readonly string[]) => {
          note('admit any', ...actions);
          return { action: actions[0] };
        },
        withdrawn: async (_caller: object, verb: string) => note('withdrawn', verb),
      },
    };
    const counted = { countRequests: async () => note('count') ?? 6, ...more };
    return { calls, ...bareApp(domain, (app, parts) => mountGeneral(app, parts, routes), counted) };
  }
  const admitted = ['admit vaults:read', 'admit vaults:write'];

  it('takes an API key, or a session where no key is sent', async () => {
    const rows: [headers: Record<string, string>, proof: string][] = [
      [bearer, 'apiKey key'],
      [{ ...bearer, ...session }, 'apiKey key'],
      [{ authorization: 'Basic x', ...session }, 'apiKey '],
      [{}, 'apiKey '],
      [session, 'require session'],
    ];
    for (const [headers, proof] of rows) {
      const { send, calls } = world();
      assert.equal((await send('GET', '/v1/plain', undefined, headers)).status, 200);
      assert.deepEqual(calls, [proof, ...admitted], 'without a body, once');
    }
  });

  it('counts an API key against the plan, and no session', async () => {
    const { send, calls } = world({ limit: 5 });
    const answer = await send('GET', '/v1/plain', undefined, bearer);
    assert.deepEqual(
      [answer.status, answer.body.error.code, calls],
      [429, 'RATE_LIMITED', ['apiKey key', 'count']],
    );
    assert.equal((await send('GET', '/v1/plain', undefined, session)).status, 200);
    assert.ok(!calls.slice(2).includes('count'));
    const within = await world({ limit: 6 }).send('GET', '/v1/plain', undefined, bearer);
    assert.deepEqual([within.status, within.headers['x-ratelimit-remaining']], [200, '0']);
  });

  it('takes a session from our own pages only, under our own address', async () => {
    const { send, calls } = world();
    const foreign = await send('POST', '/v1/empty', undefined, session);
    assert.deepEqual(
      [foreign.status, foreign.body.error.message],
      [403, 'The request does not come from a page of this service'],
    );
    assert.deepEqual(calls, []);
    assert.equal((await send('POST', '/v1/empty', undefined, { ...session, ...ownPage })).status, 200);
    const elsewhere = world({ more: { siteOf: () => null } });
    const unknown = await elsewhere.send('GET', '/v1/plain', undefined, session);
    assert.equal(unknown.status, 403);
    assert.match(unknown.body.error.message, /not one of the service’s own addresses/);
    assert.equal((await elsewhere.send('GET', '/v1/plain', undefined, bearer)).status, 200);
  });

  it('removes the cookie of a session that is over', async () => {
    const { send } = world({ failing: { require: () => unauthorized } });
    const answer = await send('GET', '/v1/plain', undefined, session);
    assert.deepEqual(
      [answer.status, String(answer.headers['set-cookie']).startsWith('__Host-strongroom=;')],
      [401, true],
    );
  });

  it('judges the caller again once the body is there, and says where authority was withdrawn', async () => {
    const late = (error: Error) => (times: number) => (times === 2 ? error : null);
    const { send, calls } = world({ failing: { apiKey: late(unauthorized) } });
    assert.equal((await send('PUT', `/v1/one/${id}`, {}, bearer)).status, 401);
    assert.deepEqual(calls.slice(2), ['withdrawn PUT /v1/one/:id']);
    for (const error of [
      new Failure('UNAVAILABLE'),
      Object.assign(new Error('broken'), { code: 'UNAUTHORIZED' }),
    ]) {
      const other = world({ failing: { apiKey: late(error) } });
      assert.ok((await other.send('PUT', `/v1/one/${id}`, {}, bearer)).status >= 500);
      assert.equal(other.calls.length, 2);
    }
  });

  it('asks for all permissions, or for one of them, before the handler runs', async () => {
    const { send, calls } = world();
    assert.equal((await send('GET', '/v1/any', undefined, bearer)).status, 200);
    assert.deepEqual(calls.slice(1), ['admit any secrets:read vaults:read']);
    const { body: together } = await send('GET', '/v1/together', undefined, bearer);
    assert.deepEqual(calls.slice(3), ['admit vaults:read secrets:read'], 'one question for both');
    assert.deepEqual(together.permits, ['vaults:read']);
    const refusing = world({ failing: { admit: times => (times === 2 ? new Failure('FORBIDDEN') : null) } });
    assert.equal((await refusing.send('GET', '/v1/plain', undefined, bearer)).status, 403);
    const sent = async (name: string) => {
      const { send: post, calls: asked } = world();
      await post('POST', '/v1/optional', { name }, bearer);
      return asked.at(-1);
    };
    assert.deepEqual([await sent('more'), await sent('less')], ['admit secrets:write', 'admit secrets:read']);
  });

  it('asks who may be shown a record that is sent back, once, and before what it takes to change it', async () => {
    const { send, calls } = world();
    const sent = { id, expiration_date: before };
    assert.equal((await send('PUT', `/v1/one/${id}`, sent, bearer)).status, 200);
    assert.deepEqual(calls, ['apiKey key', 'apiKey key', 'admit keys:read', ...admitted]);
  });

  it('hands over what was asked, as the work of the caller', async () => {
    const { send } = world();
    const { body: handedOver } = await send('GET', `/v1/one/${id}?q=a`, undefined, bearer);
    assert.deepEqual(handedOver, {
      id,
      query: { q: 'a' },
      url: `/v1/one/${id}?q=a`,
      askedAt: appTime,
      permits: ['vaults:read', 'vaults:write'],
      lane: { organization: 'organization', key: 'caller' },
    });
    assert.equal((await send('GET', '/v1/plain', undefined, bearer)).body.id, '');
  });

  const rows: [method: string, path: string, body: unknown, status: number, expected: unknown][] = [
    ['GET', '/v1/one/no-id?q=a', undefined, 404, ''],
    ['GET', `/v1/one/${id}`, undefined, 400, 'q'],
    ['GET', '/v1/plain?q=a', undefined, 400, 'q'],
    ['POST', '/v1/empty', undefined, 200, undefined],
    ['POST', '/v1/empty', 'null', 200, undefined],
    ['POST', '/v1/empty', {}, 200, {}],
    ['POST', '/v1/empty', { name: 'x' }, 400, 'name'],
    ['POST', '/v1/body', { name: 'x' }, 200, { name: 'x' }],
    ['POST', '/v1/body', undefined, 400, ''],
    ['POST', '/v1/body', 'null', 400, ''],
    ['POST', '/v1/body', { more: 'x' }, 400, 'more'],
    ['POST', '/v1/body', { id }, 400, 'id'],
    ['POST', '/v1/optional', undefined, 200, {}],
    ['POST', '/v1/optional', 'null', 200, {}],
    ['POST', '/v1/optional', { name: 'x' }, 200, { name: 'x' }],
    ['POST', '/v1/optional', '[]', 400, ''],
    ['PUT', `/v1/one/${id}`, { id, name: 'x' }, 200, { name: 'x' }],
    ['PUT', `/v1/one/${id}`, { id: 'other' }, 400, 'id'],
    ['POST', '/v1/body', { expiration_date: before }, 400, 'expiration_date'],
    ['PUT', `/v1/one/${id}`, { expiration_date: before }, 200, { expiration_date: before }],
    [
      'PUT',
      `/v1/one/${id}`,
      { expiration_date: new Date(appTime - 2_000).toISOString() },
      400,
      'expiration_date',
    ],
  ];
  for (const [method, path, sent, status, expected] of rows)
    it(`${method} ${path} with ${JSON.stringify(sent)}: ${status} ${JSON.stringify(expected)}`, async () => {
      const json = typeof sent === 'string' ? { 'content-type': 'application/json' } : {};
      const answer = await world().send(method, path, sent, { ...bearer, ...json });
      assert.equal(answer.status, status, answer.text);
      assert.deepEqual(status === 200 ? answer.body.body : answer.body.error.details.field, expected);
    });
});

describe('the door of /auth', () => {
  const about = { tag: 'x', summary: '', answer: z.any() };
  const handle = async (call: object) => {
    const { token, site, as, origin, id: given } = call as Record<string, { [name: string]: string }>;
    return {
      token,
      site: site!.origin,
      isSignedIn: as !== undefined,
      address: origin!.address,
      id: given,
      lane: asker(),
    };
  };
  const routes = (['nothing', 'proof', 'identity', 'session'] as const).flatMap(needs =>
    (['GET', 'POST'] as const).map(method =>
      route(`${method} /auth/${needs}`, {
        ...about,
        operationId: needs,
        needs,
        body: z.any(),
        bodyOptional: true,
        handle,
      }),
    ),
  ) as Route<AuthNeed>[];
  const machine = route('POST /v1/login', {
    ...about,
    operationId: 'login',
    needs: 'proof',
    body: z.strictObject({}),
    handle,
  }) as Route<AuthNeed>;
  function world(failing: Failing = {}, more: object = {}) {
    const { calls, note } = noting(failing);
    const domain = {
      guard: { withdrawn: async (_caller: object, verb: string) => note('withdrawn', verb) },
      accounts: {
        checkAddress: ({ address }: { address: string }) => note('checkAddress', address),
        sessions: {
          require: async (token: string | null) => {
            note('require', token);
            return { caller };
          },
        },
      },
    };
    return {
      calls,
      ...bareApp(
        domain,
        (app, parts, strangers) => mountAuth(app, parts, strangers, [...routes, machine]),
        more,
      ),
    };
  }
  const body = { any: 'body' };

  it('takes what a session is needed for from who is signed in, before and after the body', async () => {
    const { send, calls, strangers } = world();
    const answer = await send('POST', '/auth/session', body, { ...session, ...ownPage });
    assert.deepEqual([answer.status, answer.body.isSignedIn, answer.body.token], [200, true, 'session']);
    assert.deepEqual([calls, strangers.admitted], [['require session', 'require session'], []]);
    const late = world({ require: times => (times === 2 ? unauthorized : null) });
    const refused = await late.send('POST', '/auth/session', body, { ...session, ...ownPage });
    assert.deepEqual([refused.status, late.calls.slice(2)], [401, ['withdrawn POST /auth/session']]);
    assert.ok(String(refused.headers['set-cookie']).startsWith('__Host-strongroom=;'));
    const never = world({ require: () => unauthorized });
    assert.equal((await never.send('POST', '/auth/session', body)).status, 401);
    assert.deepEqual(never.calls, ['require ']);
  });

  it('holds up to 16 KiB of a stranger, and asks first whether the address may try to prove something', async () => {
    for (const [need, calls] of [
      ['nothing', []],
      ['proof', ['checkAddress 192.0.2.1']],
      ['identity', []],
    ] as const) {
      const { send, calls: asked, strangers } = world();
      const answer = await send('POST', `/auth/${need}`, body, ownPage);
      assert.deepEqual(
        [answer.status, answer.body.isSignedIn, answer.body.address, asked],
        [200, false, '192.0.2.1', calls],
      );
      assert.deepEqual(strangers.admitted, [['192.0.2.1', 16_384]]);
      assert.deepEqual(answer.body.lane, { organization: '', key: '' });
      assert.equal((await send('GET', `/auth/${need}`)).status, 200);
      assert.equal(strangers.admitted.length, 1, 'a read has no body');
    }
    const { send } = world({ checkAddress: () => new Failure('RATE_LIMITED', { retryAfter: 5 }) });
    assert.equal((await send('POST', '/auth/proof', body, ownPage)).status, 429);
    const sized = (length: number) => `"${'x'.repeat(length - 2)}"`;
    const json = { ...ownPage, 'content-type': 'application/json' };
    assert.equal((await world().send('POST', '/auth/nothing', sized(16_384), json)).status, 200);
    assert.equal((await world().send('POST', '/auth/nothing', sized(16_385), json)).status, 400);
  });

  it('counts what can’t be understood against the address, and nothing else', async () => {
    const { send, strangers } = world({
      checkAddress: times => (times === 1 ? new Failure('RATE_LIMITED') : null),
    });
    const json = { ...ownPage, 'content-type': 'application/json' };
    await send('POST', '/auth/proof', body, ownPage);
    await send('POST', '/auth/nothing', body, ownPage);
    assert.equal(strangers.malformed, 0);
    assert.equal((await send('POST', '/auth/nothing', '{', json)).status, 400);
    assert.equal(strangers.malformed, 1);
    assert.equal((await send('POST', '/v1/login', body, ownPage)).status, 400);
    assert.equal(strangers.malformed, 2);
  });

  const pages: [need: AuthNeed, headers: Record<string, string>, status: number][] = [
    ['nothing', {}, 200],
    ['nothing', session, 403],
    ['nothing', { ...session, ...ownPage }, 200],
    ['nothing', { origin: 'http://evil.example' }, 403],
    ['proof', {}, 200],
    ['proof', session, 403],
    ['identity', {}, 403],
    ['identity', ownPage, 200],
    ['session', session, 403],
  ];
  for (const [need, headers, status] of pages)
    it(`answers ${need} with ${JSON.stringify(headers)}: ${status}`, async () => {
      const { send, calls } = world();
      assert.equal((await send('POST', `/auth/${need}`, body, headers)).status, status);
      if (status === 403) assert.deepEqual(calls, []);
    });

  it('knows no other address than its own, but for machines', async () => {
    const { send } = world({}, { siteOf: () => null });
    const answer = await send('GET', '/auth/nothing');
    assert.deepEqual([answer.status, answer.body.error.code], [403, 'FORBIDDEN']);
    assert.match(answer.body.error.message, /not one of the service’s own addresses/);
    const login = await send('POST', '/v1/login', {});
    assert.deepEqual([login.status, login.body.site], [200, '']);
    assert.equal((await world().send('POST', '/v1/login', {})).body.site, 'http://localhost:8080');
  });
});
