/**
 * The tool endpoint between a request and the domain, which is doubled in memory: who is admitted, who is led to sign in,
 * and which form a body has.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import { Refused } from '../src/domain/credentials/authentication.ts';
import {
  address,
  anyReader,
  call,
  contentOf,
  endpoint,
  envelope,
  facts,
  type Given,
  key,
  modern,
  modernCall,
  modernHeaders,
  note,
  revision,
  rpc,
  session,
  unknownSession,
  withKey,
} from './mcp-doubles.ts';

describe('who is admitted to the tool endpoint', () => {
  it('only requests that name this service, before anything else is looked at', async () => {
    for (const [headers, header] of [
      [{ host: 'evil.example' }, 'host'],
      [{ origin: 'https://evil.example' }, 'origin'],
    ] as const) {
      const { post, seen } = endpoint();
      const { status, body } = await post(call('secrets.list'), { ...withKey, ...headers });
      assert.deepEqual(
        [status, body.error],
        [403, { code: -32_000, message: `Forbidden: the ${header} header does not name this service` }],
      );
      assert.deepEqual([seen.authenticated, seen.admitted, seen.garbled], [[], [], 0]);
    }
  });

  it('a key in the header is proven, once for a connection', async () => {
    const first = endpoint();
    assert.equal((await first.post(call('secrets.list'), withKey)).status, 200);
    assert.deepEqual([first.seen.authenticated, first.seen.remembered], [[key], [key]]);
    assert.deepEqual(first.seen.admitted, []);
    const later = endpoint({ remembered: anyReader });
    await later.post(call('secrets.list'), withKey);
    assert.deepEqual([later.seen.authenticated, later.seen.remembered], [[], []]);
    await later.post(
      rpc('initialize', {
        protocolVersion: revision,
        capabilities: {},
        clientInfo: { name: 'c', version: '1' },
      }),
      withKey,
    );
    assert.equal(later.seen.opened[0]![1], anyReader);
  });

  it('without a key, a body of 128 KiB at most is read', async () => {
    const { post, seen } = endpoint();
    assert.equal((await post(call('secrets.list'))).status, 200);
    assert.deepEqual([seen.admitted, seen.authenticated], [[[address, 131_072]], []]);
    const padded = (length: number) => {
      const text = JSON.stringify(rpc('ping', { pad: '' }));
      return text.replace('""', `"${'x'.repeat(length - text.length)}"`);
    };
    assert.equal((await post(padded(131_072))).status, 200);
    const { status, body } = await post(padded(131_073));
    assert.deepEqual([status, body.error.code], [413, -32_000]);
  });

  it('a key that is refused is recorded before the body is read; a failure to judge it is not', async () => {
    const refused = new Refused(0, null, 'revoked');
    const first = endpoint({ reader: refused });
    const { status, headers } = await first.post('{"not', withKey);
    assert.deepEqual([status, headers['www-authenticate']], [401, 'Bearer']);
    assert.deepEqual(first.seen.refused, [[{ ...facts, token: key }, refused]]);
    assert.deepEqual([first.seen.remembered, first.seen.garbled], [[], 0]);
    const cause = new Error('no store');
    const second = endpoint({ reader: new Failure('UNAVAILABLE', { cause }) });
    assert.equal((await second.post(call('secrets.list'), withKey)).status, 503);
    assert.deepEqual([second.seen.refused, second.seen.errors], [[], [cause]]);
  });

  it('counts what can’t be read, and nothing else', async () => {
    const rows: readonly [payload: unknown, status: number, garbled: number, given?: Given][] = [
      ['{"a":1,"a":2}', 400, 1],
      ['{"not', 400, 1],
      [{ method: 7 }, 400, 1],
      [[], 400, 1],
      [call('secrets.list'), 200, 0],
      [call('secrets.list'), 404, 0, { session: unknownSession }],
      [call('secrets.list'), 500, 0, { session: new Error('inner') }],
      [call('secrets.list'), 401, 0, { signIn: 'required' }],
    ];
    for (const [payload, status, garbled, given] of rows) {
      const { post, seen } = endpoint(given);
      assert.equal((await post(payload)).status, status, JSON.stringify(payload));
      assert.equal(seen.garbled, garbled, JSON.stringify(payload));
    }
  });

  it('opens no stream', async () => {
    const { status, headers, body } = await endpoint().send('GET', undefined);
    assert.deepEqual([status, headers.allow, body.error.code], [405, 'POST, DELETE', -32_000]);
  });
});

describe('where signing in is required', () => {
  const initialize = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'c', version: '1' } };
  const rows: readonly [what: string, payload: unknown, headers: object, isLed: boolean][] = [
    ['initialize', rpc('initialize', initialize), {}, true],
    ['a list', rpc('tools/list'), {}, true],
    ['a call', call('secrets.list'), {}, true],
    ['a notification', note, {}, true],
    ['a call in an envelope', modernCall('secrets.list'), modernHeaders('secrets.list'), true],
    ['a batch', [call('secrets.list', { vault: { accessKey: key } })], {}, true],
    ['the bare form', { method: 'tools/list' }, {}, false],
    ['a bare initialize', { method: 'initialize' }, {}, false],
    ['a call with a key in its arguments', call('secrets.list', { vault: { accessKey: key } }), {}, false],
    ['a call with a public token', call('keys.get', { code: 'c' }), {}, false],
    ['a call with a key in its header', call('secrets.list'), withKey, false],
    ['a batch with a key in its header', [call('secrets.list')], withKey, false],
  ];
  for (const [what, payload, headers, isLed] of rows)
    it(`${what} is ${isLed ? 'led to sign in' : 'answered'}, and where it is offered each is answered`, async () => {
      const { post, seen } = endpoint({ signIn: 'required' });
      const answer = await post(payload, headers);
      assert.equal(answer.status, isLed ? 401 : 200, answer.text);
      assert.deepEqual(seen.challenges, isLed ? [{ error: null, scope: 'secrets:names' }] : []);
      if (isLed) assert.equal(answer.headers['www-authenticate'], 'Bearer realm="there"');
      for (const signIn of ['offered', null] as const) {
        const { status } = await endpoint({ signIn }).post(payload, headers);
        assert.ok(status === 200 || status === 202, `${signIn} ${status}`);
      }
    });

  it('a refusal for want of any key leads there too, one of a key that was sent does not', async () => {
    const rows: readonly ['offered' | null, status: number, args: object, led: boolean][] = [
      ['offered', 401, {}, true],
      [null, 401, {}, false],
      ['offered', 403, {}, false],
      ['offered', 401, { vault: { accessKey: key } }, false],
    ];
    for (const [signIn, status, args, isLed] of rows) {
      const failure = new Failure(status === 401 ? 'UNAUTHORIZED' : 'FORBIDDEN');
      const refusal = () => ({ status, failure, receipt: 'refused' });
      const { post } = endpoint({ signIn, read: refusal, used: refusal });
      for (const payload of [
        call('secrets.list', args),
        call('keys.verify', { key: 'k', alg: 'ES256', message: '', signature: '', ...args }),
      ]) {
        const answer = await post(payload);
        if (isLed) assert.deepEqual([answer.status, answer.body.error.code], [401, -32_000]);
        else assert.equal(contentOf(answer.body).status, status, answer.text);
      }
    }
  });
});

describe('the forms of a request', () => {
  it('are told by their answers: the id of a session’s request, null of a bare one, the server of an envelope', async () => {
    const { post } = endpoint();
    const inSession = (await post(call('secrets.list', {}, 'a'))).body;
    assert.deepEqual([inSession.id, Object.keys(inSession.result)], ['a', ['content', 'structuredContent']]);
    const bare = (await post({ method: 'tools/call', params: { name: 'secrets.list' } })).body;
    assert.equal(bare.id, null);
    const alone = (await post(modernCall('secrets.list'), modernHeaders('secrets.list'))).body;
    assert.equal(alone.result.resultType, 'complete');
    const identity = { name: 'strongroom', title: 'Strongroom', version: '1.2.3' };
    assert.deepEqual(alone.result._meta, { 'io.modelcontextprotocol/serverInfo': identity });
    const silent = await post(note);
    assert.deepEqual([silent.status, silent.text], [202, '']);
    assert.equal((await endpoint({ session: unknownSession }).post(note)).status, 404);
  });

  it('an answer names its entry in the log, if there is one', async () => {
    const { post } = endpoint();
    for (const [payload, headers, receipt] of [
      [call('secrets.list'), {}, 'read'],
      [modernCall('secrets.list'), modernHeaders('secrets.list'), 'read'],
      [call('no.tool'), {}, undefined],
      [rpc('tools/list'), {}, undefined],
      [rpc('ping'), {}, undefined],
    ] as const)
      assert.equal((await post(payload, headers)).headers['strongroom-receipt'], receipt);
  });

  it('an envelope that is in doubt is judged, and nothing that was sent is repeated', async () => {
    const { post, seen } = endpoint();
    const mismatch = await post(modernCall('secrets.list'), modernHeaders('marker'));
    assert.deepEqual(
      [mismatch.status, mismatch.body.error],
      [400, { code: -32_020, message: 'Bad Request: the request headers and the body disagree' }],
    );
    const bare = await post(rpc('tools/list'), {
      'mcp-protocol-version': modern,
      'mcp-method': 'tools/list',
    });
    assert.deepEqual([bare.status, bare.body.error.code], [400, -32_602]);
    const unknown = await post(modernCall('no.tool'), modernHeaders('no.tool'));
    assert.deepEqual([unknown.status, unknown.body.error.code], [200, -32_602]);
    assert.match(unknown.body.error.message, /^Unknown tool: see tools\/list$/);
    assert.deepEqual(seen.reads, []);
    const discovered = await post(
      rpc('server/discover', { _meta: envelope() }),
      modernHeaders('', 'server/discover'),
    );
    assert.equal(discovered.status, 200, discovered.text);
  });

  it('a revision in the header is one that is served', async () => {
    const { post } = endpoint();
    for (const [version, status] of [
      ['2025-11-25', 200],
      ['2024-10-07', 200],
      ['2025-01-01', 400],
      ['x', 400],
    ] as const) {
      const { status: found, body } = await post(rpc('ping'), { 'mcp-protocol-version': version });
      assert.equal(found, status, version);
      if (status === 400)
        assert.match(body.error.message, /^Bad Request: the MCP-Protocol-Version header names/);
    }
  });

  it('initialize opens a session with what was agreed on, and only if it is understood', async () => {
    const { post, seen } = endpoint();
    const params = {
      protocolVersion: revision,
      capabilities: {},
      clientInfo: { name: 'c\u202e', version: '1' },
    };
    const opened = await post(rpc('initialize', params, 'i'));
    assert.deepEqual([opened.body.id, opened.headers['mcp-session-id']], ['i', 'sr_mcp_new']);
    const able = { ...params, capabilities: { elicitation: { url: {} } } };
    await post(rpc('initialize', able), withKey);
    await post({ method: 'initialize' });
    assert.deepEqual(seen.opened, [
      [{ revision, client: 'c\ufffd' }, null],
      [{ revision, client: 'c\ufffd', elicits: true }, anyReader],
      [{ revision: '2025-11-25', client: 'bare' }, null],
    ]);
    for (const missing of ['protocolVersion', 'capabilities', 'clientInfo', 'all']) {
      const given = missing === 'all' ? undefined : { ...params, [missing]: undefined };
      const refused = await post(rpc('initialize', given));
      assert.deepEqual([refused.status, refused.body.id], [200, 1], missing);
      assert.notEqual(refused.body.error, undefined, missing);
      assert.equal(refused.headers['mcp-session-id'], undefined);
    }
    assert.equal(seen.opened.length, 3);
  });

  it('a session is ended by its id and key', async () => {
    const { send, seen } = endpoint();
    assert.equal((await send('DELETE', undefined, withKey)).status, 200);
    assert.deepEqual(seen.ended, [[session, anyReader]]);
  });

  it('the list has the names that a client takes, and the connection for those who sent no key', async () => {
    const owned = { ...session, credentialId: 'key-id' };
    const listed = async (given: Given, headers: object, query = '') => {
      const { body } = await endpoint(given).post(rpc('tools/list'), headers, query);
      const { name, inputSchema } = body.result.tools[0];
      return [name, 'vault' in inputSchema.properties];
    };
    assert.deepEqual(await listed({}, {}), ['secrets.use', true]);
    assert.deepEqual(await listed({}, withKey), ['secrets.use', false]);
    assert.deepEqual(await listed({ session: owned }, {}), ['secrets.use', false]);
    assert.deepEqual(await listed({}, {}, '?names=underscore'), ['secrets_use', true]);
    assert.deepEqual(await listed({}, {}, '?names=other'), ['secrets.use', true]);
    const alone = await endpoint().post(
      rpc('tools/list', { _meta: envelope() }),
      modernHeaders('', 'tools/list'),
    );
    assert.ok('vault' in alone.body.result.tools[0].inputSchema.properties, alone.text);
  });
});
