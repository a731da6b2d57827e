/** Tokens, logins and probes in Vault's dialect: what is asked of the domain, and what is answered. */
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import type { Logins } from '../src/domain/identities/logins.ts';
import { errorsOf, statusFor } from '../src/http/dialect/forms.ts';
import { healthWith } from '../src/http/dialect/health.ts';
import { LoginRefused, loginCall } from '../src/http/dialect/logins.ts';
import type { Probe, TokenCall } from '../src/http/dialect/target.ts';
import { tokenCallsWith } from '../src/http/dialect/tokens.ts';
import type { AppParts, ReadingSurfaceParts } from '../src/http/surface/surface-parts.ts';
import { answerTo, requestOf } from './bare-world.ts';

const keyId = '0199a3c4-7f00-7abc-8def-0123456789ab';
const now = Date.parse('2026-01-01T00:00:00.000Z');
const origin = { address: '192.0.2.1', userAgent: '', requestId: 'request' };
const call = (method: string, body?: unknown) => ({
  method,
  url: '',
  body,
  token: 'sr_vault_token',
  origin,
});

async function refusalOf(answer: Promise<unknown>): Promise<[status: number, error: string | undefined]> {
  const error = await answer.then(
    () => assert.fail('it was not refused'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof Failure)) throw error;
  return [statusFor(error), errorsOf(error).errors[0]];
}

describe('an access key’s own token', () => {
  /** A double of the domain, which notes what it was asked for. */
  function world(
    result: object = { status: 200, body: Buffer.from('{"access_key":{"expiration_date":null}}') },
  ) {
    const calls: unknown[][] = [];
    const domain = {
      vaultReads: {
        read: async (asked: object) => {
          calls.push(['read', asked]);
          return result;
        },
      },
      ownAccessKeys: {
        createChild: async (
          token: string,
          _origin: object,
          child: { name: string; maxUses: number | null; lifetime: number },
        ) => {
          calls.push(['createChild', token, child]);
          const { name, maxUses, lifetime } = child;
          return { token: 'child', id: keyId, name, maxUses, expiresAt: now + lifetime };
        },
        revokeItself: async (token: string) => void calls.push(['revokeItself', token]),
      },
      authenticate: {
        accessKeyAnywhere: async (token: string) => {
          calls.push(['accessKeyAnywhere', token]);
          return { id: keyId, name: 'web', expirationDate: now + 90_000, maxUses: 7 };
        },
      },
    };
    return { calls, ...tokenCallsWith({ domain, now: () => now } as unknown as AppParts) };
  }
  const created = async (body?: unknown) => {
    const { calls, answer } = world();
    const { status, auth } = await answer(call('POST', body), 'create');
    assert.equal(status, 200);
    const [[name, token, child]] = calls as [
      [string, string, { name: string; lifetime: number; maxUses: number | null }],
    ];
    assert.deepEqual([name, token], ['createChild', 'sr_vault_token']);
    return { child, auth: JSON.parse(auth!) };
  };

  const hour = 3_600;
  const lifetimes: [body: unknown, seconds: number][] = [
    [undefined, hour],
    [null, hour],
    [{}, hour],
    [{ ttl: null }, hour],
    [{ ttl: '' }, hour],
    [{ ttl: '0s', explicit_max_ttl: '0s', period: '0s' }, hour],
    [{ ttl: 0 }, hour],
    [{ ttl: '0' }, hour],
    [{ ttl: 90 }, 90],
    [{ ttl: '90' }, 90],
    [{ ttl: '90s' }, 90],
    [{ ttl: '20m' }, 1_200],
    [{ ttl: '1h30m' }, 5_400],
    [{ ttl: '1h1m1s' }, 3_661],
    [{ ttl: '1d' }, 86_400],
    [{ ttl: '25h' }, 86_400],
    [{ ttl: 86_401 }, 86_400],
    [{ ttl: '7d' }, 86_400],
    [{ ttl: '2h', explicit_max_ttl: '1h' }, hour],
    [{ ttl: '1m', explicit_max_ttl: '1h' }, 60],
    [{ explicit_max_ttl: '2h' }, hour],
    [{ explicit_max_ttl: '20m' }, 1_200],
    [{ ttl: '12h', explicit_max_ttl: '48h' }, 43_200],
    [{ ttl: '48h', explicit_max_ttl: '48h' }, 86_400],
    [{ ttl: '1s'.repeat(16) }, 16],
  ];
  for (const [body, seconds] of lifetimes)
    it(`has a child for ${seconds} seconds, asked with ${JSON.stringify(body)}`, async () => {
      const { child, auth } = await created(body);
      assert.deepEqual([child.lifetime, auth.lease_duration], [seconds * 1000, seconds]);
    });

  it('has a child by a name and for a number of uses, where they are given', async () => {
    for (const [body, name, uses] of [
      [{}, 'token', null],
      [{ display_name: '', num_uses: 0 }, 'token', null],
      [{ display_name: null, num_uses: null }, 'token', null],
      [{ display_name: 'terraform', num_uses: 1 }, 'terraform', 1],
      [{ display_name: 'x'.repeat(255), num_uses: 1_000_000_000 }, 'x'.repeat(255), 1_000_000_000],
      [{ no_parent: false, policies: ['default'] }, 'token', null],
    ] as const) {
      const { child, auth } = await created(body);
      assert.deepEqual([child.name, child.maxUses], [name, uses]);
      assert.deepEqual([auth.client_token, auth.orphan, auth.num_uses], ['child', false, uses ?? 0]);
    }
  });

  const duration = 'must be a duration such as 3600, 20m or 1h30m';
  const refused: [body: unknown, error: RegExp | string][] = [
    [[], 'the body must be an object'],
    ['text', 'the body must be an object'],
    [{ ttl: 'soon' }, `ttl ${duration}`],
    [{ ttl: '1h soon' }, `ttl ${duration}`],
    [{ ttl: '1.5h' }, `ttl ${duration}`],
    [{ ttl: 1.5 }, `ttl ${duration}`],
    [{ ttl: -1 }, `ttl ${duration}`],
    [{ ttl: '1234567890' }, `ttl ${duration}`],
    [{ explicit_max_ttl: 'never' }, `explicit_max_ttl ${duration}`],
    [{ period: 'x' }, `period ${duration}`],
    [{ period: '1h' }, 'period is not supported'],
    [{ ttl: `0${'1s'.repeat(16)}` }, /^ttl /],
    [{ num_uses: -1 }, /^num_uses /],
    [{ num_uses: 1_000_000_001 }, /^num_uses /],
    [{ no_parent: true }, 'no_parent can’t be true: a token ends with the token that created it'],
    [{ display_name: 'x'.repeat(256) }, /^display_name /],
  ];
  for (const [body, error] of refused)
    it(`has no child by ${JSON.stringify(body).slice(0, 60)}: ${error}`, async () => {
      const { calls, answer } = world();
      const [status, said] = await refusalOf(answer(call('POST', body), 'create'));
      assert.equal(status, 400);
      if (typeof error === 'string') assert.equal(said, error);
      else assert.match(said!, error);
      assert.deepEqual(calls, []);
    });

  it('is renewed, and told when it ends', async () => {
    const { calls, answer } = world();
    const auth = JSON.parse((await answer(call('PUT'), 'renew-self')).auth!);
    assert.deepEqual(
      [auth.client_token, auth.accessor, auth.lease_duration, auth.num_uses, auth.orphan],
      ['sr_vault_token', keyId, 90, 7, true],
    );
    assert.deepEqual(calls, [['accessKeyAnywhere', 'sr_vault_token']]);
  });

  it('revokes itself', async () => {
    for (const method of ['POST', 'PUT']) {
      const { calls, answer } = world();
      assert.deepEqual(await answer(call(method), 'revoke-self'), { status: 204 });
      assert.deepEqual(calls, [['revokeItself', 'sr_vault_token']]);
    }
  });

  it('is asked for with POST or PUT, and for nothing that there is not', async () => {
    const rows: [method: string, of: TokenCall][] = [
      ['GET', 'create'],
      ['DELETE', 'revoke-self'],
      ['PATCH', 'renew-self'],
      ['POST', 'lookup-self'],
    ];
    for (const [method, of] of rows) {
      const { calls, answer } = world();
      assert.deepEqual(await refusalOf(answer(call(method, {}), of)), [404, undefined]);
      assert.deepEqual(calls, []);
    }
  });

  it('is admitted by a recorded read of itself, or not at all', async () => {
    const { calls, admit } = world();
    await admit(call('PUT'), 'renew-self');
    const [[, read]] = calls as [[string, Record<string, unknown>]];
    assert.deepEqual(
      [read.by, read.route, read.method, read.token, read.requestId, read.selection],
      [
        'access-key',
        '/vault/v1/auth/token/renew-self',
        'PUT',
        'sr_vault_token',
        'request',
        { of: 'access-key' },
      ],
    );
    const refusal = world({ status: 401, failure: new Failure('UNAUTHORIZED') });
    assert.deepEqual(await refusalOf(refusal.admit(call('PUT'), 'renew-self')), [403, 'permission denied']);
    const unasked = world({ status: 304, digest: 'x' });
    await assert.rejects(unasked.admit(call('PUT'), 'create'), /unexpected 304: no digest was sent/);
  });
});

describe('a login', () => {
  const id = '0199a3c4-7f00-7abc-8def-000000000001';
  const nobody = '00000000-0000-7000-8000-000000000000';
  const bySecretId = (identityId: string, secretId: string) => ({
    identityId,
    proof: { method: 'secret_id', secretId },
  });
  const byToken = (identityId: string, jwt: string) => ({ identityId, proof: { method: 'jwt', jwt } });
  async function logged(mount: string, body: unknown, error?: Error) {
    const asked: unknown[] = [];
    const logins = {
      login: async (request: unknown) => {
        asked.push(request);
        if (error !== undefined) throw error;
        const accessKey = {
          token: 'new',
          id: keyId,
          name: 'web',
          created_at: new Date(now).toISOString(),
          expiration_date: new Date(now + 60_000).toISOString(),
          max_uses: 3,
        };
        return { accessKey, identity: { name: 'worker' } };
      },
    };
    const answer = loginCall(call('POST', body), mount, logins as unknown as Logins);
    return { asked, answer };
  }
  const rows: [mount: string, body: unknown, asked: unknown][] = [
    ['approle', { role_id: id, secret_id: 's' }, bySecretId(id, 's')],
    ['approle', { role: id, jwt: 'j' }, bySecretId(nobody, '')],
    ['approle', undefined, bySecretId(nobody, '')],
    ['jwt', { role: id, jwt: 'j' }, byToken(id, 'j')],
    ['jwt', { role: id, jwt: 'j', role_id: id, secret_id: 's' }, byToken(id, 'j')],
    ['kubernetes', { role: id, jwt: 'j', role_id: id }, byToken(id, 'j')],
    // Elsewhere what is sent tells.
    ['ours', { role_id: id, secret_id: 's' }, bySecretId(id, 's')],
    ['ours', { role: id, jwt: 'j' }, byToken(id, 'j')],
    ['ours', {}, byToken(nobody, '')],
    // What is no id is looked up like one that never was.
    ['jwt', { role: 'no id', jwt: 'j' }, byToken(nobody, 'j')],
    ['jwt', { role: 5, jwt: ['j'] }, byToken(nobody, '')],
    ['approle', { role_id: { id }, secret_id: null }, bySecretId(nobody, '')],
  ];
  for (const [mount, body, request] of rows)
    it(`at ${mount} with ${JSON.stringify(body)}`, async () => {
      const { asked, answer } = await logged(mount, body);
      const { status, auth } = await answer;
      assert.deepEqual(asked, [request]);
      const { client_token, accessor, lease_duration, num_uses, orphan, metadata } = JSON.parse(auth!);
      assert.deepEqual(
        [status, client_token, accessor, lease_duration, num_uses, orphan, metadata],
        [200, 'new', keyId, 60, 3, true, { role_name: 'worker' }],
      );
    });

  const refusals: [mount: string, body: object, status: number, error: string][] = [
    ['approle', {}, 400, 'invalid role or secret ID'],
    ['ours', { role_id: id }, 400, 'invalid role or secret ID'],
    ['jwt', {}, 400, 'error validating token'],
    ['ours', {}, 400, 'error validating token'],
    ['kubernetes', {}, 403, 'permission denied'],
  ];
  for (const [mount, body, status, error] of refusals)
    for (const code of ['UNAUTHORIZED', 'NOT_FOUND'] as const)
      it(`at ${mount} that fails by ${code} is answered ${status}`, async () => {
        const { answer } = await logged(mount, body, new Failure(code));
        await assert.rejects(answer, LoginRefused);
        assert.deepEqual(await refusalOf(answer), [status, error]);
      });

  it('is refused in its own words where it is not the proof that fails', async () => {
    for (const error of [
      new Failure('RATE_LIMITED'),
      new Failure('UNAVAILABLE'),
      Object.assign(new Error('broken'), { code: 'NOT_FOUND' }),
    ]) {
      const { answer } = await logged('approle', {}, error);
      await assert.rejects(answer, reason => reason === error);
    }
  });
});

describe('a probe in the dialect', () => {
  const target = '/vault/v1/sys/';
  async function probed(of: Probe, query = '', { isReady = true as boolean | Error, draining = false } = {}) {
    const errors: unknown[] = [];
    const health = healthWith({
      storeReady: async () => {
        if (isReady instanceof Error) throw isReady;
        return isReady;
      },
      draining: () => draining,
      now: () => now + 999,
      newId: () => 'new',
      onError: (error: unknown) => errors.push(error),
    } as unknown as ReadingSurfaceParts);
    const handle = (request: IncomingMessage, response: ServerResponse) => {
      health(of, request, response, { own: 'header' });
      return true;
    };
    const answer = (await answerTo(handle, requestOf({ url: `${target}${of}${query}` })))!;
    assert.deepEqual(
      [answer.headers.own, answer.headers['cache-control'], answer.headers['x-request-id']],
      ['header', 'no-store', 'new'],
    );
    return {
      status: answer.status,
      body: JSON.parse(answer.body),
      connection: answer.headers.connection,
      errors,
    };
  }

  const rows: [of: Probe, query: string, serving: number, sealed: number][] = [
    ['health', '', 200, 503],
    ['health', '?activecode=204&sealedcode=299', 204, 299],
    ['health', '?activecode=599&sealedcode=200', 599, 200],
    ['health', '?activecode=600&sealedcode=199', 200, 503],
    ['health', '?activecode=2000&sealedcode=', 200, 503],
    ['seal-status', '?sealedcode=299', 200, 200],
    ['init', '', 200, 200],
    ['leader', '?sealedcode=299&activecode=299', 200, 503],
  ];
  for (const [of, query, serving, sealed] of rows)
    it(`${of}${query} is answered ${serving}, and ${sealed} where it can’t serve`, async () => {
      const up = await probed(of, query);
      assert.deepEqual([up.status, up.connection, up.errors], [serving, undefined, []]);
      const down = await probed(of, query, { isReady: false });
      assert.deepEqual([down.status, down.connection], [sealed, undefined]);
      const stopping = await probed(of, query, { draining: true });
      assert.deepEqual([stopping.status, stopping.connection], [sealed, 'close']);
      const failed = await probed(of, query, { isReady: new Error('disk') });
      assert.deepEqual([failed.status, String(failed.errors)], [sealed, 'Error: disk']);
    });

  it('says in the words of its kind whether it can serve', async () => {
    for (const [isReady, sealed] of [
      [true, false],
      [false, true],
    ] as const) {
      const health = (await probed('health', '', { isReady })).body;
      assert.deepEqual(
        [health.sealed, health.server_time_utc, health.cluster_name],
        [sealed, now / 1000, 'strongroom'],
      );
      const seal = (await probed('seal-status', '', { isReady })).body;
      assert.deepEqual([seal.sealed, seal.type, seal.storage_type], [sealed, 'shamir', 'strongroom']);
      assert.deepEqual((await probed('init', '', { isReady })).body, { initialized: true });
      const leader = (await probed('leader', '', { isReady })).body;
      if (sealed) assert.deepEqual(leader, { errors: ['Vault is sealed'] });
      else assert.deepEqual([leader.ha_enabled, leader.is_self, leader.leader_address], [false, false, '']);
    }
  });
});
