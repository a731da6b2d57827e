/** What a person approves is what is sent, byte for byte, but for the value; and the place of the value is left free. */
import assert from 'node:assert/strict';
import { verify } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { parsedCall } from '../src/domain/uses/judging.ts';
import { placed, shownPlaced } from '../src/domain/uses/placing.ts';
import { onEngines } from './at-once.ts';
import { callService } from './harness.ts';
import { Browser, password } from './people.ts';
import { startUsesWorld, type UsesWorld, value } from './uses-world.ts';

const json = { type: 'json', pointer: '/auth/token' } as const;
const form = { type: 'form', field: 'token' } as const;

/** Bodies that a parser would write differently. */
const jsonBodies = [
  '{}',
  ' { } ',
  '{"auth":{}}',
  '{"auth":{"user":"x"},"n":1}',
  '{"amount":12345678901234567890,"rate":1e400,"zero":-0.0,"long":1.00000000000000000001}',
  '{"name":"\\u0041\\/\\ud83d\\ude00","tab":"\\t"}',
  '{\r\n\t"b": 1,\r\n\t"a" : [ 1 , {"token":2} ]\r\n}',
  '{"1":1,"0":0,"__proto__":{"x":1},"constructor":null}',
  '{"deep":[[[{"auth":{"token":"not this one"}}]]],"s":"}{][,:\\""}',
  '{"ü":"ß","emoji":"😀","zero":"\u200b"}',
];
const formBodies = ['', 'a=1', 'a=1&a=2', 'a=%41+b&c', 'b=2&a=%7E~&=', 'x[token]=1&tokens=2'];
const refusedJson = [
  '{"amount":1,"amount":1000}',
  '{"a":{"b":1,"\\u0062":2}}',
  '{"auth":{"token":"mine"}}',
  '{"auth":{"t\\u006fken":"mine"}}',
  '{"auth":"mine"}',
  '{"auth":[]}',
  '{"auth":{"user":1},"auth":{}}',
  '[]',
  '"text"',
  'null',
  '{',
  '\ufeff{}',
];
const refusedForms = [
  'token=mine',
  'a=1&token=mine',
  'TOKEN=mine',
  '%74oken=mine',
  'a=1;token=mine',
  'token',
  'a b',
  'ü=1',
];

const sent = (body: string, type: string) =>
  parsedCall({
    method: 'POST',
    url: 'https://example.com/x?a=1',
    headers: { 'content-type': type },
    body,
  });

describe('the message that is placed', () => {
  for (const [place, type, bodies] of [
    [json, 'application/json', jsonBodies],
    [form, 'application/x-www-form-urlencoded', formBodies],
  ] as const) {
    for (const body of bodies) {
      it(`is the agent’s own, with the value in it: ${JSON.stringify(body)}`, () => {
        const call = sent(body, type);
        const [real, shown] = [placed(place, call, 'V'), shownPlaced(place, call)];
        assert.equal(shown.body!.toString().replace('[value]', 'V'), real.body!.toString());
        const field = real.body!.toString();
        const without = [/"auth":\{"token":"V"\},?/, /"token":"V",?/, /&?token=V$/].map(own =>
          field.replace(own, ''),
        );
        assert.ok(without.includes(body), `every other byte is as it was: ${field}`);
        if (type === 'application/json') assert.equal(JSON.parse(field).auth.token, 'V');
      });
    }
  }

  for (const [place, type, bodies] of [
    [json, 'application/json', refusedJson],
    [form, 'application/x-www-form-urlencoded', refusedForms],
  ] as const) {
    for (const body of bodies) {
      it(`is none where two could read it differently, or its place is taken: ${JSON.stringify(body)}`, () => {
        assert.throws(() => placed(place, sent(body, type), 'V'), { code: 'INVALID_REQUEST' });
      });
    }
  }

  it('is none where the parameter of a URL is taken, in whatever way', () => {
    const place = { type: 'query', name: 'key' } as const;
    for (const query of ['key=mine', 'KEY=mine', '%6bey=mine', 'a=1&key', 'a=1;key=mine'])
      assert.throws(
        () => placed(place, parsedCall({ url: `https://example.com/?${query}` }), 'V'),
        { code: 'INVALID_REQUEST' },
        query,
      );
    const { url } = placed(place, parsedCall({ url: 'https://example.com/x?b=%7e&a=1' }), 'V&W');
    assert.equal(url, 'https://example.com/x?b=%7e&a=1&key=V%26W');
  });
});

onEngines('an approved call', engine => {
  let world: UsesWorld;
  let person: Browser;
  after(() => world.stop());
  before(async () => {
    world = await startUsesWorld(engine);
    const { body } = await world.service.call('POST', '/v1/members', {
      email: `a@${engine}.example`,
      role: 'editor',
    });
    person = new Browser(() => world.service.url);
    await person.post('/auth/invitation/accept', { token: body.token, password });
  });

  for (const [place, write, bodies] of [
    [json, JSON.stringify, jsonBodies],
    [form, (text: string) => new URLSearchParams({ v: text }).toString().slice(2), formBodies],
  ] as const) {
    it(`is sent as it was shown, with the value in the ${place.type}`, async () => {
      const rule = await world.rule({ place, methods: ['POST'], approval: 'always' });
      for (const body of bodies) {
        const call = { rule, method: 'POST', url: `${world.upstream.url}/own/x`, body };
        const { approval } = (await world.use(call)).body;
        const { request } = (await person.get(`/v1/approvals/${approval.id}`)).body;
        assert.equal((await person.post(`/auth/approvals/${approval.id}/approve`)).status, 200);
        assert.equal((await world.use(call)).status, 200);
        const shown = request.body.replace(place.type === 'json' ? '"[value]"' : '[value]', () =>
          write(value),
        );
        assert.equal(world.upstream.requests.at(-1)!.body, shown);
        assert.equal(
          request.headers['content-type'],
          world.upstream.requests.at(-1)!.headers['content-type'],
        );
      }
    });
  }

  it('of a key is made on the very bytes that were shown', async () => {
    const { service, vaultId } = world;
    const generate = { key_type: 'EC', curve: 'P-256' };
    const { body: key } = await service.call('POST', '/v1/keys', { vault_id: vaultId, name: 'k', generate });
    const operations = ['sign', 'verify'];
    const rule = { key_id: key.id, name: 'k', operations, algorithms: ['ES256'], approval: 'always' };
    assert.equal((await service.call('POST', '/v1/use-rules', rule)).status, 200);
    const use = (operation: string, call: object) =>
      callService(
        service.url,
        'POST',
        `/api/v1/vaults/${vaultId}/keys/${operation}`,
        { key: 'k', alg: 'ES256', ...call },
        world.agent,
      );
    const shownOf = async (operation: string, call: object) => {
      const asked = await use(operation, call);
      assert.equal(asked.status, 403, asked.text);
      const { approval } = asked.body;
      const { request } = (await person.get(`/v1/approvals/${approval.id}`)).body;
      assert.equal((await person.post(`/auth/approvals/${approval.id}/approve`)).status, 200);
      return request;
    };
    const isSigned = (bytes: string | Buffer, signature: string) =>
      verify(
        'sha256',
        Buffer.from(bytes as string),
        { key: key.public_pem, dsaEncoding: 'ieee-p1363' },
        Buffer.from(signature, 'base64url'),
      );

    for (const body of jsonBodies.filter(one => !one.includes('__proto__'))) {
      const claims = JSON.parse(body);
      const request = await shownOf('sign', { claims });
      const { token } = (await use('sign', { claims })).body;
      const [header, payload, signature] = token.split('.');
      const decoded = [header, payload].map(part => Buffer.from(part, 'base64url').toString());
      assert.deepEqual([request.body, request.body_base64], [decoded.join('.'), null]);
      assert.ok(isSigned(`${header}.${payload}`, signature));
    }
    // The last is written in a form of base64url that leaves bits over.
    for (const message of ['', 'aGVsbG8', '_w', '4oCu', 'Z4', 'aGVsbG9']) {
      const request = await shownOf('sign', { message });
      const bytes =
        request.body === null ? Buffer.from(request.body_base64, 'base64') : Buffer.from(request.body);
      const { signature } = (await use('sign', { message })).body;
      assert.ok(isSigned(bytes, signature), JSON.stringify(request));
    }
    const proof = { message: 'aGVsbG8', signature: 'AAAA' };
    assert.deepEqual((await shownOf('verify', proof)).headers, { signature: 'AAAA' });
    assert.equal((await use('verify', { ...proof, signature: 'BBBB' })).status, 403, 'that is another call');
    assert.equal((await use('verify', proof)).body.valid, false);
  });

  it('shows where the value goes, in headers and in the URL', async () => {
    const shownAt = async (place: object) => {
      const rule = await world.rule({ place, approval: 'always' });
      const { approval } = (await world.use({ rule, url: `${world.upstream.url}/own/x?a=1` })).body;
      return (await person.get(`/v1/approvals/${approval.id}`)).body.request;
    };
    const bearer = await shownAt({ type: 'bearer' });
    assert.equal(bearer.headers.authorization, 'Bearer [value]');
    const pair = await shownAt({ type: 'basic', username: 'me' });
    assert.equal(pair.headers.authorization, 'Basic me:[value], in base64');
    assert.equal(
      (await shownAt({ type: 'query', name: 'key' })).url,
      `${world.upstream.url}/own/x?a=1&key=[value]`,
    );
  });
});
