/** Bounds of uses, each at its last good place and one past it; and second lines of defence that others stand before. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { approversWith } from '../src/domain/uses/approvers.ts';
import { parsedCall, refusalBy } from '../src/domain/uses/judging.ts';
import { callRuleOf } from '../src/domain/uses/rule-records.ts';
import { tokenPart } from '../src/domain/uses/web-token-shape.ts';
import { isRecognisable, isTooLong } from '../src/egress/scrubbing.ts';
import { onEngines } from './at-once.ts';
import { callService } from './harness.ts';
import { startUsesWorld, type UsesWorld, value } from './uses-world.ts';

const ruleWith = (fields: object) =>
  callRuleOf({
    id: 'one',
    name: 'one',
    revision: 1,
    rule: JSON.stringify({
      hosts: ['example.com'],
      methods: ['GET', 'POST'],
      paths: ['/**'],
      request_headers: ['accept'],
      max_request: 10,
      ...fields,
    }),
  } as never);

describe('a rule', () => {
  const url = 'https://example.com/x';
  it('allows a body as long as it says, and none that is a byte longer', () => {
    const post = (body: string) => refusalBy(ruleWith({}), parsedCall({ method: 'POST', url, body }));
    assert.equal(post('x'.repeat(10)), null);
    assert.deepEqual(post('x'.repeat(11)), { field: 'body', reason: 'must be at most 10 bytes' });
    assert.deepEqual(post('é'.repeat(6)), { field: 'body', reason: 'must be at most 10 bytes' });
  });

  it('that allowed a header which decides where a message goes would not have it sent', () => {
    for (const name of ['host', 'content-length', 'cookie', 'authorization', 'x-forwarded-for', 'expect']) {
      const call = parsedCall({ url, headers: { [name]: 'x' } });
      assert.equal(refusalBy(ruleWith({ request_headers: [name] }), call)?.field, 'headers', name);
    }
  });

  it('matches a path of 1,024 characters, and none of one more', () => {
    const path = (length: number) => parsedCall({ url: `https://example.com/${'a'.repeat(length - 1)}` });
    assert.equal(refusalBy(ruleWith({}), path(1_024)), null);
    assert.throws(() => path(1_025), { code: 'INVALID_REQUEST' });
  });
});

describe('a token', () => {
  const now = 1_800_000_000;
  const shape = { issuer: 'agents', audiences: ['payments', 'mail'], longest_lifetime: 600 };
  const claims = { iss: 'agents', aud: 'payments', iat: now, exp: now + 600 };
  const part = (changes: object) =>
    tokenPart({
      alg: 'ES256',
      kid: 'k',
      claims: { ...claims, ...changes },
      shape: shape as never,
      now: now * 1000,
    });
  it('is signed at the last moments that its rule allows', () => {
    for (const changes of [
      {},
      { iat: now - 60, exp: now + 540 },
      { iat: now + 60, exp: now + 660 },
      { exp: now + 1 },
      { aud: ['payments', 'mail'] },
    ])
      assert.ok(part(changes));
  });
  for (const changes of [
    { iat: now - 61, exp: now + 500 },
    { iat: now + 61, exp: now + 500 },
    { exp: now + 601 },
    { exp: now },
    { exp: now - 1 },
    { iat: now + 0.5 },
    { exp: Number.MAX_SAFE_INTEGER + 2 },
    { aud: [] },
    { aud: null },
    { aud: ['payments', 'other'] },
    { iss: ['agents'] },
    { iss: undefined },
  ])
    it(`is not signed with ${JSON.stringify(changes)}`, () =>
      assert.throws(() => part(changes), { code: 'INVALID_REQUEST' }));
});

it('an approver has to be a member who may approve there, whatever the clocks say', async () => {
  const group = { updated_at: 5, grants: '[]' };
  const good = { member: { state: 'active', role: 'editor', grants: '[]', updated_at: 5 }, groups: [group] };
  const isGood = (holder: object | undefined) =>
    approversWith({
      store: {} as never,
      holders: { byMember: async () => holder } as never,
      now: () => 5,
    }).isGood({
      vault_id: 'one',
      updated_at: 5,
      decided_by: 'them',
    } as never);
  const member = (changes: object) => ({ ...good, member: { ...good.member, ...changes } });
  assert.equal(await isGood(good), true);
  assert.equal(await isGood(undefined), false);
  assert.equal(await isGood(member({ state: 'invited' })), false);
  assert.equal(await isGood(member({ role: 'viewer' })), false);
  assert.equal(await isGood(member({ updated_at: 6 })), false);
  assert.equal(await isGood({ ...good, groups: [group, { ...group, updated_at: 6 }] }), false);
});

it('a value is looked for that has twelve letters and digits, and 16 KiB at most', () => {
  assert.deepEqual(
    [isRecognisable('a-b-c-d-e-f-1-2-3-4-5'), isRecognisable('a-b-c-d-e-f-1-2-3-4-5-6')],
    [false, true],
  );
  assert.deepEqual([isTooLong('x'.repeat(16_384)), isTooLong('x'.repeat(16_385))], [false, true]);
});

onEngines('guards of uses', engine => {
  const started = async (t: { after(run: () => unknown): void }): Promise<UsesWorld> => {
    const world = await startUsesWorld(engine);
    t.after(() => world.stop());
    return world;
  };

  it('no rule shows sessions, challenges, or how long an answer was', async t => {
    const world = await started(t);
    const response_headers = ['set-*', 'content-*', 'www-*', 'proxy-*', 'digest', 'x-*', 'repr-*'];
    await world.rule({ response_headers: response_headers.filter(name => name !== 'proxy-*') });
    const hidden = {
      'set-cookie': 'session=1',
      'www-authenticate': 'Basic realm="x"',
      'content-md5': 'abc',
      'content-digest': 'sha-256=:abc:',
      'repr-digest': 'sha-256=:abc:',
      digest: 'sha-256=abc',
    };
    world.upstream.answer = (_request, _body, response) =>
      response
        .writeHead(200, { ...hidden, 'content-type': 'text/plain', 'content-length': '4', 'x-one': '1' })
        .end('fine');
    const { body } = await world.use({ url: `${world.upstream.url}/own/x` });
    assert.deepEqual(body.headers, { 'content-type': 'text/plain', 'x-one': '1' });
  });

  it('an answer is shown as long as the rule says, and withheld a byte longer, packed or not', async t => {
    const world = await started(t);
    await world.rule({ max_response: 1_000 });
    const sent = async (length: number, pack: (bytes: Buffer) => Buffer, more: object) => {
      world.upstream.answer = (_request, _body, response) =>
        response
          .writeHead(200, { 'content-type': 'text/plain', ...more })
          .end(pack(Buffer.alloc(length, 'x')));
      return (await world.use({ url: `${world.upstream.url}/own/x` })).body.outcome;
    };
    const plain = (bytes: Buffer) => bytes;
    const gzip = { 'content-encoding': 'gzip' };
    const thrice = { 'content-encoding': 'gzip, gzip, gzip' };
    const packed = (bytes: Buffer) => gzipSync(gzipSync(gzipSync(bytes)));
    assert.deepEqual([await sent(1_000, plain, {}), await sent(1_001, plain, {})], ['answered', 'withheld']);
    assert.deepEqual(
      [await sent(1_000, gzipSync, gzip), await sent(1_001, gzipSync, gzip)],
      ['answered', 'withheld'],
    );
    assert.equal(await sent(10, packed, thrice), 'answered');
    const often = { 'content-encoding': 'gzip, gzip, gzip, gzip' };
    assert.equal(await sent(10, bytes => gzipSync(packed(bytes)), often), 'withheld');
    assert.equal(await sent(10, plain, { 'content-range': 'bytes 0-9/20' }), 'withheld');
    assert.equal(await sent(10, plain, { 'x-long': 'y'.repeat(15_000) }), 'answered');
    assert.notEqual(await sent(10, plain, { 'x-long': 'y'.repeat(17_000) }), 'answered');
  });

  it('an answer that is not text comes back in base64 where the rule says so, and without the value', async t => {
    const world = await started(t);
    const [shown, hidden] = [await world.rule({ binary: true }), await world.rule()];
    const bytes = Buffer.concat([Buffer.from([0xff, 0xfe, 0, 1]), Buffer.from(value), Buffer.from([0xff])]);
    const answerAs = (type: string) => {
      world.upstream.answer = (_request, _body, response) =>
        response.writeHead(200, { 'content-type': type }).end(bytes);
    };
    const call = { url: `${world.upstream.url}/own/x` };
    answerAs('application/octet-stream');
    const { body } = await world.use({ rule: shown, ...call });
    const expected = Buffer.concat([bytes.subarray(0, 4), Buffer.from('[redacted]'), Buffer.from([0xff])]);
    assert.deepEqual([body.body, body.body_base64], [null, expected.toString('base64')]);
    assert.equal((await world.use({ rule: hidden, ...call })).body.outcome, 'withheld');
    answerAs('text/plain; charset=utf-16');
    assert.equal(
      (await world.use({ rule: shown, ...call })).body.outcome,
      'withheld',
      'a charset that is not read',
    );
    answerAs('text/plain; charset="UTF-8"');
    assert.equal((await world.use({ rule: shown, ...call })).body.body_base64, null);
  });

  it('a call with the value or a part of it in any of its fields is refused, whichever field that is', async t => {
    const world = await started(t);
    const rule = await world.rule({ request_headers: ['accept', 'x-note'] });
    const part = value.replace(/[^a-z0-9]/gi, '').slice(5, 20);
    const url = `${world.upstream.url}/own/x`;
    const calls = [
      { url: `${url}/${part}` },
      { url: `${url}?a=${part}` },
      { url: `${url}?${part}=a` },
      { url, headers: { 'x-note': part } },
      { url, method: 'POST', body: part },
      { url, method: 'POST', body_base64: Buffer.from(`\xff${part}`).toString('base64') },
    ];
    for (const call of calls) {
      const requests = world.upstream.requests.length;
      assert.equal((await world.use({ rule, ...call })).status, 403, JSON.stringify(call));
      assert.equal(world.upstream.requests.length, requests);
      const { body } = await world.service.call('GET', '/v1/request-logs?limit=1');
      assert.equal(body.data[0].reason, 'value_in_request');
      await world.service.call('PUT', `/v1/use-rules/${rule}`, { timeout: 20 });
    }
    const alone = await world.rule({ response: 'status-only' });
    const blind = { rule: alone, url: `${url}?a=${part}` };
    assert.equal((await world.use(blind)).status, 200, 'where nothing comes back, nothing is looked for');
  });

  it('a call ends when the time of its rule is over', async t => {
    const world = await started(t);
    await world.rule({ timeout: 1 });
    world.upstream.answer = () => {};
    const { body } = await world.use({ url: `${world.upstream.url}/own/x` });
    assert.deepEqual([body.outcome, body.reason], ['failed', 'timed out']);
  });

  it('a token goes into a secret that is still there, and only from an answer that gave one', async t => {
    const world = await started(t);
    const { service, vaultId, upstream } = world;
    const { body: target } = await service.call('POST', '/v1/secrets', {
      vault_id: vaultId,
      name: 'T',
      value: 'none',
    });
    const store = { secret_id: target.id, pointer: '/token' };
    await world.rule({ response: 'store', store });
    let answer: [status: number, body: unknown] = [200, { token: 'minted' }];
    upstream.answer = (_request, _body, response) =>
      response.writeHead(answer[0], { 'content-type': 'application/json' }).end(JSON.stringify(answer[1]));
    const mint = () => world.use({ url: `${upstream.url}/own/x` });
    assert.equal((await mint()).body.stored.version, 2);
    answer = [302, { token: 'minted' }];
    assert.deepEqual([(await mint()).body.outcome, (await mint()).body.stored], ['answered', null]);
    for (const body of [{}, { token: 1 }, { token: '' }, { token: 'x'.repeat(65_537) }, [], null]) {
      answer = [200, body];
      assert.equal((await mint()).body.outcome, 'withheld', JSON.stringify(body).slice(0, 40));
    }
    answer = [200, { token: 'x'.repeat(65_536) }];
    assert.equal((await mint()).body.stored.version, 3);
    await service.call('DELETE', `/v1/secrets/${target.id}`);
    assert.equal((await mint()).status, 404);
  });

  it('a key does what its rule names, by the algorithms that it names', async t => {
    const world = await started(t);
    const { service, vaultId, agent } = world;
    const generate = { key_type: 'RSA', key_size: 2048 };
    const { body: key } = await service.call('POST', '/v1/keys', { vault_id: vaultId, name: 'k', generate });
    const rule = {
      key_id: key.id,
      name: 'r',
      operations: ['sign'],
      algorithms: ['RS256'],
      approval: 'never',
    };
    const { body: made } = await service.call('POST', '/v1/use-rules', rule);
    const call = async (operation: string, more: object) =>
      (
        await callService(
          service.url,
          'POST',
          `/api/v1/vaults/self/keys/${operation}`,
          { key: 'k', alg: 'RS256', ...more },
          agent,
        )
      ).status;
    const message = 'aGk';
    assert.equal(await call('sign', { message }), 200);
    assert.equal(await call('sign', { message, rule: made.id }), 200);
    assert.equal(await call('sign', { message, rule: vaultId }), 403, 'a rule that is none');
    for (const alg of ['PS256', 'RS512']) assert.equal(await call('sign', { message, alg }), 403, alg);
    assert.equal(await call('verify', { message, signature: 'aGk' }), 403);
    assert.equal(await call('decrypt', { alg: 'RSA-OAEP', ciphertext: 'aGk' }), 403);
    assert.equal(await call('sign', {}), 400);
    assert.equal(await call('sign', { message, claims: {} }), 400);
    const { body: half } = await service.call('POST', '/v1/keys', {
      vault_id: vaultId,
      name: 'half',
      pem: key.public_pem,
    });
    await service.call('POST', '/v1/use-rules', { ...rule, key_id: half.id });
    assert.equal(await call('sign', { message, key: 'half' }), 400, 'it has no private key');
  });

  it('a rule is refused whose parts don’t go together', async t => {
    const world = await started(t);
    const { service, vaultId, secretId } = world;
    const generate = { key_type: 'EC', curve: 'P-256' };
    const { body: key } = await service.call('POST', '/v1/keys', { vault_id: vaultId, name: 'k', generate });
    const ofKey = { key_id: key.id, name: 'r', operations: ['sign'], algorithms: ['ES256'] };
    const jwt = { issuer: 'a', audiences: ['b'], longest_lifetime: 60 };
    const store = { secret_id: secretId, pointer: '/token' };
    const { body: elsewhere } = await service.call('POST', '/v1/vaults', { name: 'elsewhere' });
    const { body: far } = await service.call('POST', '/v1/secrets', {
      vault_id: elsewhere.id,
      name: 'F',
      value,
    });
    const bad: [field: string, rule: object][] = [
      ['algorithms', { ...ofKey, algorithms: ['RSA-OAEP'] }],
      ['algorithms', { ...ofKey, operations: ['decrypt'] }],
      ['jwt', { ...ofKey, operations: ['verify'], jwt }],
      ['store', { ...ofKey, store }],
      ['hosts', { ...ofKey, hosts: ['example.com'] }],
      ['operations', { key_id: key.id, name: 'r', algorithms: ['ES256'] }],
    ];
    for (const [field, rule] of bad) {
      const { status, text } = await service.call('POST', '/v1/use-rules', rule);
      assert.ok(status >= 400 && text.includes(`"field":"${field}`), `${JSON.stringify(rule)}: ${text}`);
    }
    const ofSecret: [field: string, more: Record<string, unknown>][] = [
      ['jwt', { jwt }],
      ['store', { store }],
      ['store', { response: 'store', store: { ...store, pointer: 'token' } }],
      ['store', { response: 'store', store: { ...store, secret_id: far.id } }],
      ['request_headers', { place: { type: 'header', name: 'x-key' }, request_headers: ['x-key'] }],
      ['place', { methods: ['POST'], place: { type: 'json', pointer: '/a~2' } }],
      ['methods', { methods: ['HEAD', 'POST'], place: { type: 'json', pointer: '/a' } }],
    ];
    for (const [field, more] of ofSecret)
      await assert.rejects(world.rule(more), new RegExp(`"field":"${field}`), JSON.stringify(more));
  });
});
