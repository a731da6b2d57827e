/** How the bare server answers those who have something in a vault used: who is read, and what is handed on. */
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import { approvalRequired } from '../src/domain/uses/approval-requests.ts';
import type { UseResult } from '../src/domain/uses/recorded-uses.ts';
import type { ReadingSurfaceParts } from '../src/http/surface/surface-parts.ts';
import { vaultUseHandler } from '../src/http/vault/use.ts';
import { answerTo, bareWorld, log, requestOf, type Sent } from './bare-world.ts';

const vault = '/api/v1/vaults/self';
const headers = { host: 'localhost:8080', authorization: 'Bearer key', 'content-type': 'application/json' };
const use = { secret: 'TOKEN', url: 'https://api.example.com/' };
const sign = { key: 'signing', alg: 'ES256', message: 'aGVsbG8' };
const done: UseResult<object> = { ...log, status: 200, answer: { done: true } };

interface World {
  readonly result?: UseResult<object> | Error;
  readonly failing?: Error;
  readonly isRemembered?: boolean;
  readonly draining?: boolean;
}

/** A double of the domain of uses, which notes what it was asked for. */
function world({ result = done, failing, isRemembered = false, draining = false }: World = {}) {
  const { parts, refused, errors } = bareWorld(undefined, draining);
  const calls: unknown[][] = [];
  const given = async () => {
    if (result instanceof Error) throw result;
    return result;
  };
  const proven = (name: string) => async (token: string, vaultId: unknown) => {
    calls.push([name, token, ...(typeof vaultId === 'string' ? [vaultId] : [])]);
    if (failing !== undefined) throw failing;
    return 'reader';
  };
  const domain = {
    ...parts.domain,
    vaultUses: {
      use: ({ call, route }: { call: unknown; route: string }) => calls.push(['use', route, call]) && given(),
    },
    keyUses: {
      use: ({ asked, route }: { asked: unknown; route: string }) =>
        calls.push(['key', route, asked]) && given(),
    },
    authenticate: {
      remembered: () => (isRemembered ? 'reader' : null),
      remember: (_socket: object, token: string, reader: string) => calls.push(['remember', token, reader]),
      accessKeyAnywhere: proven('anywhere'),
      accessKey: proven('in'),
    },
  };
  const addresses = { host: '127.0.0.1', publicUrls: ['https://vault.example.com'], baseUrls: [] };
  const handle = vaultUseHandler({ ...parts, domain, addresses } as unknown as ReadingSurfaceParts);
  const ask = (path: string, body: string | Buffer, more: Partial<Sent> = {}) => {
    const { method = 'POST', headers: sent = headers, complete = true } = more;
    const stream = Readable.from([Buffer.from(body)], { objectMode: false });
    // In place of a request from a socket: its body, and what is read of its head.
    const { socket: _socket, ...head } = requestOf({ url: path, method, headers: sent, complete });
    const request = Object.assign(stream, head, { socket: {} }) as unknown as IncomingMessage;
    return answerTo(handle, request);
  };
  return { ask, calls, refused, errors };
}
const post = (path: string, body: unknown, options: World = {}) => {
  const { ask, ...rest } = world(options);
  return { ...rest, answer: ask(path, JSON.stringify(body)) };
};

describe('a use of what is in a vault', () => {
  const operations: [operation: string, body: object, call: unknown[]][] = [
    ['use', use, ['use', '/api/v1/vaults/{vault_id}/use', 'use']],
    ['keys/sign', sign, ['key', '/api/v1/vaults/{vault_id}/keys/sign', 'sign']],
    [
      'keys/verify',
      { ...sign, signature: 'MEUCIQ' },
      ['key', '/api/v1/vaults/{vault_id}/keys/verify', 'verify'],
    ],
    [
      'keys/decrypt',
      { key: 'k', alg: 'RSA-OAEP-256', ciphertext: 'aGVsbG8' },
      ['key', '/api/v1/vaults/{vault_id}/keys/decrypt', 'decrypt'],
    ],
  ];
  for (const [operation, body, [kind, route, of]] of operations) {
    it(`by ${operation} is made once the access key is proven, and answered`, async () => {
      const { answer, calls } = post(`${vault}/${operation}`, body);
      const { status, headers: said, body: text, keepsAlive } = (await answer)!;
      assert.deepEqual([status, text, keepsAlive], [200, '{"done":true}', true]);
      assert.deepEqual(
        [
          said['x-request-id'],
          said['strongroom-receipt'],
          said['cache-control'],
          said['content-type'],
          said['content-length'],
          said.connection,
          said['x-frame-options'],
        ],
        ['request', 'receipt', 'no-store', 'application/json; charset=utf-8', 13, undefined, 'DENY'],
      );
      assert.deepEqual(calls.slice(0, 2), [
        ['anywhere', 'key'],
        ['remember', 'key', 'reader'],
      ]);
      const [made] = calls.slice(2) as [[string, string, Record<string, unknown>]];
      assert.deepEqual(made.slice(0, 2), [kind, route]);
      if (kind === 'use') assert.equal(made[2].secret, 'TOKEN');
      else
        assert.deepEqual(
          [made[2].operation, (made[2].call as { key: string }).key],
          [of, (body as typeof sign).key],
        );
    });

    it(`by ${operation} that can’t be understood is told of by whoever records it`, async () => {
      const { calls, answer } = post(`${vault}/${operation}`, { more: 1 });
      await answer;
      const asked = calls.at(-1)![2];
      assert.ok(asked instanceof Failure);
      assert.equal(asked.code, 'INVALID_REQUEST');
    });
  }

  it('is one of these, by POST, and nothing else', async () => {
    for (const path of [
      vault,
      `${vault}/`,
      `${vault}/uses`,
      `${vault}/toString`,
      `${vault}/keys`,
      '/v1/use',
      `${vault}/use?x`,
    ])
      assert.equal(await world().ask(path, '{}'), null, path);
    assert.equal(await world().ask(`${vault}/use`, '{}', { method: 'GET' }), null);
  });

  it('is by the access key of that vault, and of a connection that showed it before', async () => {
    const named = post('/api/v1/vaults/one/use', use);
    await named.answer;
    assert.deepEqual(named.calls.slice(0, 2), [
      ['in', 'key', 'one'],
      ['remember', 'key', 'reader'],
    ]);
    const known = post(`${vault}/use`, use, { isRemembered: true });
    await known.answer;
    assert.deepEqual(
      known.calls.map(([name]) => name),
      ['use'],
    );
  });

  it('of a stranger is refused by its head, and recorded', async () => {
    const { answer, calls, refused } = post(`${vault}/use`, use, { failing: new Failure('UNAUTHORIZED') });
    const { status, body, headers: said } = (await answer)!;
    assert.deepEqual([status, body], [400, '{"message":"Unauthorized"}']); // The double of the log answers all with 400.
    assert.equal(said['www-authenticate'], 'Bearer');
    assert.deepEqual([calls.length, refused[0]![1].code, refused[0]![0].token], [1, 'UNAUTHORIZED', 'key']);
    const unsound = world();
    await unsound.ask(`${vault}/use`, '{}', { headers: { ...headers, expect: 'more' } });
    assert.deepEqual([unsound.calls, unsound.refused[0]![1].code], [[], 'EXPECTATION_FAILED']);
  });

  const bodies: [body: string | Buffer, type: string | undefined, field: string, reason: RegExp][] = [
    ['{}', undefined, 'content-type', /^must be application\/json$/],
    ['{}', 'text/plain', 'content-type', /^must be application\/json$/],
    ['{}', 'application/jsonp', 'content-type', /^must be application\/json$/],
    ['{', 'application/json', '', /JSON/],
    ['x'.repeat(262_145), 'application/json', '', /^the body must be at most 256 KiB$/],
    ['x'.repeat(262_144), 'application/json', '', /JSON/],
    ['{}', 'application/json', 'secret', /^is required$/],
    ['{}', 'Application/JSON ; charset=utf-8', 'secret', /^is required$/],
  ];
  for (const [body, type, field, reason] of bodies)
    it(`with ${String(body).slice(0, 10)} as ${type} is understood to lack ${field || 'something'}: ${reason}`, async () => {
      const { calls, ask } = world();
      const { 'content-type': _type, ...untyped } = headers;
      await ask(`${vault}/use`, body, {
        headers: type === undefined ? untyped : { ...headers, 'content-type': type },
      });
      const failure = calls.at(-1)![2] as Failure;
      assert.deepEqual([failure.code, failure.field], ['INVALID_REQUEST', field]);
      assert.match(failure.reason, reason);
    });

  const cause = new Error('disk');
  const refusals: [failure: Failure, status: number, told: 'cause' | 'itself' | null][] = [
    [new Failure('FORBIDDEN', { cause }), 403, null],
    [new Failure('RATE_LIMITED', { retryAfter: 5 }), 429, null],
    [new Failure('INTERNAL_ERROR', { cause }), 500, 'cause'],
    [new Failure('UNAVAILABLE', { retryAfter: 5 }), 503, 'itself'],
  ];
  for (const [failure, status, told] of refusals)
    it(`that fails by ${failure.code} is answered ${status}, and the operator told ${told}`, async () => {
      const { answer, errors } = post(`${vault}/use`, use, { result: { ...log, status, failure } });
      const { status: answered, body, headers: said } = (await answer)!;
      assert.deepEqual([answered, JSON.parse(body)], [status, { message: failure.message }]);
      assert.deepEqual(
        [said['strongroom-receipt'], said['retry-after']],
        ['receipt', failure.retryAfter === undefined ? undefined : '5'],
      );
      assert.deepEqual(errors, told === null ? [] : [told === 'cause' ? cause : failure]);
    });

  it('that succeeds with whatever status tells the operator nothing', async () => {
    const { answer, errors } = post(`${vault}/use`, use, {
      result: { ...log, status: 502, answer: {} } as unknown as UseResult<object>,
    });
    assert.deepEqual([(await answer)!.status, errors], [502, []]);
  });

  it('that a person has to approve says where', async () => {
    const failure = approvalRequired({ id: 'a', expires_at: 0 }, 'pending');
    const { answer } = post(`${vault}/use`, use, { result: { ...log, status: 403, failure } });
    assert.deepEqual(JSON.parse((await answer)!.body).approval, {
      id: 'a',
      url: 'https://vault.example.com/approvals/a',
      expires_at: '1970-01-01T00:00:00.000Z',
    });
  });

  it('that could not be recorded is not answered with what came of it', async () => {
    const { answer, errors } = post(`${vault}/use`, use, { result: cause });
    const { status, keepsAlive, headers: said } = (await answer)!;
    assert.deepEqual(
      [status, keepsAlive, said['x-request-id'], 'strongroom-receipt' in said, errors],
      [500, false, 'new', false, [cause]],
    );
  });

  it('closes the connection while the service stops, or where the body was not read', async () => {
    assert.equal((await post(`${vault}/use`, use, { draining: true }).answer)!.headers.connection, 'close');
    assert.equal(
      (await world().ask(`${vault}/use`, JSON.stringify(use), { complete: false }))!.keepsAlive,
      false,
    );
  });
});
