import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { mintToken } from '../src/access/token.ts';
import { forged } from './forged.ts';
import { callService, enginesInTurn, eventually } from './harness.ts';
import {
  bareCall,
  bareSession,
  envelope,
  makeAccessKey,
  makeKey,
  modernCall,
  post,
  startWorld,
  type World,
} from './mcp-world.ts';

const rpc = (method: string, params?: unknown) => ({ jsonrpc: '2.0', id: 1, method, params });

describe('the tool endpoint refuses, clearly and without repeating what was sent', () => {
  let world: World;
  let url: string;
  let session: string;

  before(async () => {
    world = await startWorld();
    url = world.service.url;
    session = await bareSession(url);
  });
  after(() => world.service.stop());

  const fault = async (body: unknown, headers: Record<string, string> = {}) => {
    const answer = await post(url, body, { session, headers });
    assert.equal(answer.body.jsonrpc, '2.0', answer.text);
    assert.doesNotMatch(answer.text, /marker/);
    return [answer.status, answer.body.error?.code];
  };

  it('no JSON, broken JSON, JSON that hides something, and an array', async () => {
    assert.deepEqual(await fault('{"marker'), [400, -32700]);
    assert.deepEqual(await fault(''), [400, -32600]);
    assert.deepEqual(await fault('{"method":"marker","method":"b"}'), [400, -32700]);
    assert.deepEqual(await fault('{"__proto__":{"marker":1}}'), [400, -32700]);
    assert.deepEqual(await fault('['.repeat(100)), [400, -32700]);
    assert.deepEqual(await fault('marker', { 'content-type': 'text/plain' }), [415, -32000]);
    assert.deepEqual(await fault([rpc('tools/list')]), [400, -32600]);
    assert.deepEqual(await fault('"marker"'), [400, -32600]);
    assert.deepEqual(await fault('null'), [400, -32600]);
  });

  it('messages that are none', async () => {
    assert.deepEqual(await fault({}), [400, -32600]);
    assert.deepEqual(await fault({ method: 7 }), [400, -32600]);
    assert.deepEqual(await fault({ jsonrpc: '1.0', id: 1, method: 'marker' }), [400, -32600]);
    assert.deepEqual(await fault({ id: 1, method: 'tools/list' }), [400, -32600]);
    assert.deepEqual(await fault({ jsonrpc: '2.0', id: { marker: 1 }, method: 'tools/list' }), [400, -32600]);
    assert.deepEqual(await fault({ jsonrpc: '2.0', id: 1 }), [400, -32600]);
    assert.deepEqual(await fault(rpc('tools/call', 'marker')), [400, -32600]);
    assert.deepEqual(await fault(rpc('tools/call', [1])), [400, -32600]);
  });

  it('an unknown method and an unknown tool, with the codes of the protocol', async () => {
    assert.deepEqual(await fault(rpc('marker/none')), [200, -32601]);
    assert.deepEqual(await fault({ method: 'marker/none' }), [200, -32601]);
    assert.deepEqual(await fault(rpc('tools/call', { name: 'marker.tool' })), [200, -32602]);
    assert.deepEqual(await fault(rpc('tools/call', { name: { marker: 1 } })), [200, -32602]);
    assert.deepEqual(await fault({ method: 'tools/call', params: { name: '__proto__' } }), [200, -32602]);
    const modern = await modernCall(url, 'marker.tool', {});
    assert.deepEqual([modern.status, modern.body.error.code], [200, -32602]);
    assert.doesNotMatch(modern.text, /marker/);
    const mismatch = await modernCall(url, 'secrets.list', {}, { headers: { 'mcp-name': 'marker' } });
    assert.deepEqual([mismatch.status, mismatch.body.error.code], [400, -32020]);
    assert.doesNotMatch(mismatch.text, /marker/);
  });

  it('arguments of a wrong type, as a result that a model can read', async () => {
    const status = async (name: string, args: unknown) => {
      const answer = await bareCall(url, name, args, { session, key: world.accessKey });
      assert.doesNotMatch(answer.text, /marker/);
      return answer.body.error?.code ?? answer.body.result.structuredContent;
    };
    const refusal = (message: string) => ({ status: 400, message });
    assert.deepEqual(await status('secrets.get', {}), refusal('name is required'));
    assert.deepEqual(await status('secrets.get', { name: ['marker'] }), refusal('name must be a string'));
    assert.deepEqual(
      await status('secrets.get', { name: 'a', includeValue: 'marker' }),
      refusal('includeValue must be true or false'),
    );
    assert.deepEqual(
      await status('secrets.list', { namesOnly: 1 }),
      refusal('namesOnly must be true or false'),
    );
    assert.deepEqual(
      await status('secrets.list', { unknown: 'marker' }),
      refusal('unknown is not a field of this request'),
    );
    assert.deepEqual(await status('secrets.search', {}), refusal('name or tag is required'));
    assert.deepEqual(await status('keys.get', {}), refusal('id is required'));
    assert.deepEqual(await status('keys.get', { id: 7 }), refusal('id must be a string'));
    assert.deepEqual(
      await status('keys.get', { id: world.keyId, code: 7 }),
      refusal('code must be a string'),
    );
    assert.deepEqual(await status('secrets.list', { vault: 'marker' }), refusal('vault must be an object'));
    assert.deepEqual(
      await status('secrets.list', { vault: { accessKey: 7 } }),
      refusal('vault.accessKey must be a string'),
    );
    assert.equal(await status('secrets.list', 'marker'), -32602);
    assert.equal(await status('secrets.list', [1]), -32602);
  });

  it('two connections that disagree, whichever two they are', async () => {
    const other = await makeAccessKey(world.service, world.vaultId);
    const refused = async (args: object, key: string | null = null) => {
      const { result } = (await bareCall(url, 'secrets.list', args, { session, key })).body;
      assert.equal(result.structuredContent.status, 400, JSON.stringify(result));
      assert.match(result.structuredContent.message, /must be the same in vault, in credentials and in the/);
    };
    const ours = { accessKey: world.accessKey, vaultId: world.vaultId };
    await refused({ vault: ours, credentials: { ...ours, accessKey: other.token } });
    await refused({ vault: ours, credentials: { ...ours, vaultId: world.keyId } });
    await refused({ vault: ours }, other.token);
    await refused({ credentials: ours }, other.token);
    const logs = await world.service.call('GET', '/v1/request-logs?limit=1');
    assert.deepEqual([logs.body.data[0].tool, logs.body.data[0].status], ['secrets.list', 400]);
  });

  it('a foreign baseUrl, which gets no connection', async () => {
    let connections = 0;
    const listener = createServer(() => connections++).listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { port } = listener.address() as AddressInfo;
    const own = new URL(url);
    for (const baseUrl of [
      `http://127.0.0.1:${port}`,
      `http://localhost:${port}/api`,
      `http://${own.host}@127.0.0.1:${port}/`,
      `http://user@${own.host}/`,
      `https://${own.host}`,
      'http://169.254.169.254/latest/meta-data',
      'http://[::ffff:127.0.0.1]:1',
      'file:///etc/passwd',
      'no url',
    ]) {
      for (const where of ['vault', 'credentials']) {
        const args = { [where]: { vaultId: world.vaultId, accessKey: world.accessKey, baseUrl } };
        const { result } = (await modernCall(url, 'secrets.list', args)).body;
        assert.deepEqual(result.structuredContent, {
          status: 400,
          message: `${where}.baseUrl must be the address of this service`,
        });
      }
    }
    for (const baseUrl of [url, `${url}/`, `${url}/api/v1`, `http://localhost:${own.port}`]) {
      const args = { vault: { vaultId: world.vaultId, accessKey: world.accessKey, baseUrl } };
      assert.equal((await modernCall(url, 'secrets.list', args)).body.result.isError, undefined, baseUrl);
    }
    listener.close();
    assert.equal(connections, 0);
  });

  it('a code that is expired, revoked, of another key, of another kind, or none', async () => {
    const make = async (more = {}) =>
      (await world.service.call('POST', '/v1/public-tokens', { key_id: world.keyId, ...more })).body;
    const status = async (code: string, id: string | undefined = world.keyId) => {
      const answer = await modernCall(url, 'keys.get', { id, code, preferPublic: true });
      return answer.body.result.structuredContent.status;
    };
    const good = await make();
    assert.equal(await status(good.token), undefined);
    assert.equal((await modernCall(url, 'keys.get', { code: good.token })).body.result.isError, undefined);
    assert.equal(await status(good.token, await makeKey(world.service, world.vaultId, 'another')), 401);
    assert.equal(await status(good.token, world.vaultId), 401);
    assert.equal(await status(world.accessKey), 401);
    assert.equal(await status(world.service.key), 401);
    assert.equal(await status('sr_pub_marker'), 401);
    assert.equal(await status(mintToken('pub', world.vaultId)), 401);
    assert.equal(await status(forged(good.token)), 401);
    const brief = await make({ expiration_date: new Date(world.service.clock.now() + 60_000).toISOString() });
    world.service.clock.pass(120_000);
    assert.equal(await status(brief.token), 401);
    await world.service.call('DELETE', `/v1/public-tokens/${good.id}`);
    assert.equal(await status(good.token), 401);
    const list = await modernCall(url, 'secrets.list', { code: brief.token }, { key: world.accessKey });
    assert.equal(list.body.result.structuredContent.status, 400, 'only keys.get takes a code');
  });

  it('a body of 10 MB, without reading it to its end', async () => {
    const { host, hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    let text = '';
    socket.on('data', chunk => {
      text += chunk;
    });
    const length = 10 * 1024 * 1024;
    socket.write(
      `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n{"marker":"`,
    );
    await once(socket, 'close');
    assert.match(text, /^HTTP\/1\.1 413 /);
    assert.match(text, /"code":-32000/);
    assert.doesNotMatch(text, /marker/);
  });

  it('a Host or an Origin that is not this service, with 403', async () => {
    const { hostname, port, host } = new URL(url);
    const status = (headers: Record<string, string>) =>
      new Promise<number | undefined>((resolve, reject) => {
        const all = { 'content-type': 'application/json', ...headers };
        const asked = request({ hostname, port, path: '/mcp', method: 'POST', headers: all }, answer => {
          answer.resume();
          resolve(answer.statusCode);
        });
        asked.on('error', reject).end(JSON.stringify({ method: 'initialize' }));
      });
    for (const foreign of [
      'evil.example',
      `evil.example:${port}`,
      `${host}.evil.example`,
      'localhost:1',
      `user@${host}`,
    ]) {
      assert.equal(await status({ host: foreign }), 403, foreign);
    }
    for (const foreign of [
      'http://evil.example',
      `http://evil.example:${port}`,
      'null',
      'http://localhost:1',
      `https://${host}`,
      `http://${host}/x`,
    ]) {
      assert.equal(await status({ origin: foreign }), 403, foreign);
    }
    for (const own of [host, `localhost:${port}`, `LOCALHOST:${port}`, `[::1]:${port}`]) {
      assert.equal(await status({ host: own, origin: `http://localhost:${port}` }), 200, own);
    }
    const get = await callService(url, 'GET', '/mcp', undefined, null, { origin: 'http://evil.example' });
    assert.equal(get.status, 403);
  });

  it('a key that is sent and not good, with 401 on every method; no key at all is fine', async () => {
    const revoked = await makeAccessKey(world.service, world.vaultId);
    await world.service.call('DELETE', `/v1/access-keys/${revoked.id}`);
    const keys = [revoked.token, world.service.key, 'sr_vault_marker', session];
    const modern = {
      headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'server/discover' },
    };
    const messages: [body: unknown, call: object][] = [
      [{ method: 'initialize' }, {}],
      [
        rpc('initialize', {
          protocolVersion: '2025-06-18',
          capabilities: {},
          clientInfo: { name: 'x', version: '1' },
        }),
        {},
      ],
      [rpc('tools/list'), { session }],
      [rpc('ping'), { session }],
      [rpc('tools/call', { name: 'secrets.list' }), { session }],
      [{ jsonrpc: '2.0', method: 'notifications/initialized' }, { session }],
      [rpc('server/discover', { _meta: envelope }), modern],
    ];
    for (const [body, call] of messages) {
      for (const key of keys) {
        const answer = await post(url, body, { ...call, key });
        assert.equal(answer.status, 401, `${JSON.stringify(body)} ${answer.text}`);
        assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
        assert.doesNotMatch(answer.text, /marker/);
        assert.equal(answer.headers.get('mcp-session-id'), null);
      }
      const basic = {
        ...call,
        headers: { ...(call as { headers?: object }).headers, authorization: 'Basic eDp5' },
      };
      assert.equal((await post(url, body, basic)).status, 401);
      const none = await post(url, body, call);
      assert.ok(none.status === 200 || none.status === 202, `${JSON.stringify(body)} ${none.text}`);
      world.service.clock.pass(61_000); // So many failures in one minute would be limited.
    }
    const logs = await world.service.call('GET', `/v1/request-logs?access_key_id=${revoked.id}`);
    assert.equal(logs.body.pagination.total, messages.length, 'each is in the log of the key’s vault');
    assert.equal(logs.body.data[0].vault_id, world.vaultId);
  });

  it('a stream, because it opens none', async () => {
    const answer = await callService(url, 'GET', '/mcp', undefined, null, { accept: 'text/event-stream' });
    assert.equal(answer.status, 405);
    assert.equal(answer.headers.get('allow'), 'POST, DELETE');
  });

  it('a revision that nobody speaks', async () => {
    assert.deepEqual(await fault(rpc('tools/list'), { 'mcp-protocol-version': '2020-01-01' }), [400, -32000]);
    assert.deepEqual(await fault(rpc('tools/list'), { 'mcp-protocol-version': 'marker' }), [400, -32000]);
    const [status, code] = await fault(rpc('tools/list'), { 'mcp-protocol-version': '2026-07-28' });
    assert.deepEqual([status, code], [400, -32602]);
    const call = rpc('tools/call', { name: 'secrets.list' });
    assert.deepEqual(await fault(call, { 'mcp-protocol-version': '2026-07-28' }), [400, -32602]);
  });
});

describe('messages that nobody thought of', () => {
  it('are answered, never with an inner error and never with a secret', async () => {
    const world = await startWorld();
    const { url } = world.service;
    const session = await bareSession(url);
    const word = fc.constantFrom(
      'tools/call',
      'tools/list',
      'initialize',
      'ping',
      'server/discover',
      'secrets.list',
      'x',
    );
    const leaf = fc.oneof(word, fc.jsonValue({ maxDepth: 2 }), fc.constant(envelope));
    const params = fc.record(
      { name: leaf, arguments: leaf, _meta: leaf, protocolVersion: leaf },
      { requiredKeys: [] },
    );
    const message = fc.record(
      {
        jsonrpc: fc.oneof(fc.constant('2.0'), leaf),
        id: leaf,
        method: fc.oneof(word, leaf),
        params: fc.oneof(params, leaf),
        result: leaf,
      },
      { requiredKeys: [] },
    );
    const headers = fc.record(
      {
        'mcp-protocol-version': fc.constantFrom('2026-07-28', '2025-11-25', 'x'),
        'mcp-method': word,
        'mcp-name': word,
      },
      { requiredKeys: [] },
    );
    try {
      await fc.assert(
        fc.asyncProperty(message, headers, async (body, given) => {
          const call = { session, key: world.accessKey, headers: given as Record<string, string> };
          const answer = await post(url, body, call);
          assert.ok(answer.status < 429, `${answer.status} ${JSON.stringify(body)}`);
          assert.doesNotMatch(answer.text, /hunter2/);
        }),
        { numRuns: 400, timeout: 5000 },
      );
      assert.deepEqual(world.service.reports, []);
    } finally {
      await world.service.stop();
    }
  });
});

describe('addresses that the operator names', () => {
  it('are accepted as Host, as Origin and as baseUrl; what else a baseUrl may be is a list of its own', async () => {
    const flags = [
      '--public-url',
      'https://vault.example.com',
      '--mcp-base-url',
      'https://old.example.com/api',
    ];
    const world = await startWorld('sqlite', flags);
    try {
      const { url } = world.service;
      const { hostname, port } = new URL(url);
      const headers = {
        host: 'vault.example.com',
        origin: 'https://vault.example.com',
        'content-type': 'application/json',
      };
      const asked = request({ hostname, port, path: '/mcp', method: 'POST', headers });
      asked.end(JSON.stringify({ method: 'initialize' }));
      const [answer] = await once(asked, 'response');
      answer.resume();
      assert.equal(answer.statusCode, 200);
      const status = async (baseUrl: string) =>
        (await modernCall(url, 'secrets.list', { vault: { baseUrl } }, { key: world.accessKey })).body.result
          .structuredContent.status;
      assert.equal(await status('https://vault.example.com/api/v1'), undefined);
      assert.equal(await status('https://old.example.com/api'), undefined);
      assert.equal(await status('https://new.example.com'), 400);
    } finally {
      await world.service.stop();
    }
  });
});

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`sessions on ${engine}`, () => {
    let world: World;
    let url: string;

    before(async () => {
      world = await startWorld(engine);
      url = world.service.url;
    });
    after(() => world.service.stop());

    const list = (session: string | undefined, key: string, at = url) =>
      bareCall(at, 'secrets.list', {}, { session, key });
    const status = async (session: string | undefined, key = world.accessKey, at = url) =>
      (await list(session, key, at)).status;

    it('are asked for where they are missing, and not found where they are unknown or over', async () => {
      const session = await bareSession(url);
      assert.match(session, /^sr_mcp_/);
      assert.equal(await status(undefined), 400);
      assert.equal(await status('sr_mcp_unknown'), 404);
      assert.equal(await status(mintToken('mcp', world.vaultId)), 404);
      assert.equal(await status(forged(session)), 404);
      assert.equal(await status(world.accessKey), 404);
      assert.equal(await status(`${session.slice(0, -1)}${session.endsWith('A') ? 'B' : 'A'}`), 404);
      assert.equal(await status(session), 200);
      const end = () => callService(url, 'DELETE', '/mcp', undefined, null, { 'mcp-session-id': session });
      assert.equal((await end()).status, 200);
      assert.equal(await status(session), 404);
      assert.equal((await end()).status, 404);
      assert.equal((await callService(url, 'DELETE', '/mcp')).status, 400);
    });

    it('never authorise', async () => {
      const session = await bareSession(url);
      assert.equal(await status(session), 200);
      const { result } = (await bareCall(url, 'secrets.list', {}, { session })).body;
      assert.equal(result.structuredContent.status, 401);
    });

    it('opened with a key in the header refuse any other in a later one, on every method', async () => {
      const session = await bareSession(url, world.accessKey);
      const other = await makeAccessKey(world.service, world.vaultId);
      assert.equal(await status(session), 200);
      const refused = await list(session, other.token);
      assert.equal(refused.status, 403);
      assert.doesNotMatch(refused.text, /DATABASE_URL/);
      const logs = await world.service.call('GET', '/v1/request-logs?limit=1');
      assert.deepEqual([logs.body.data[0].status, logs.body.data[0].access_key_id], [403, other.id]);
      assert.equal((await post(url, rpc('tools/list'), { session, key: other.token })).status, 403);
      assert.equal((await post(url, rpc('tools/list'), { session })).status, 200, 'no key is no other key');
      const end = (key: string | null) =>
        callService(url, 'DELETE', '/mcp', undefined, key, { 'mcp-session-id': session });
      assert.equal((await end(other.token)).status, 403);
      assert.equal((await end(null)).status, 403, 'its id alone does not end it');
      assert.equal(await status(session), 200, 'its owner is served as before');
      assert.equal((await end(world.accessKey)).status, 200);
    });

    it('carry calls to several vaults, each by its own arguments', async () => {
      const second = (await world.service.call('POST', '/v1/vaults', { name: 'second' })).body.id;
      await world.service.call('POST', '/v1/secrets', { vault_id: second, name: 'ONE', value: 'x' });
      const { token } = await makeAccessKey(world.service, second);
      const connections = [
        { vaultId: world.vaultId, accessKey: world.accessKey },
        { vaultId: second, accessKey: token },
        { vaultId: world.vaultId, accessKey: world.accessKey },
      ];
      for (const session of [await bareSession(url), await bareSession(url, world.accessKey)]) {
        for (const vault of connections) {
          const { result } = (await bareCall(url, 'secrets.list', { vault }, { session })).body;
          assert.equal(result.structuredContent.vault?.id, vault.vaultId, JSON.stringify(result));
        }
      }
    });

    it('that were opened without a key belong to none', async () => {
      const session = await bareSession(url);
      const other = await makeAccessKey(world.service, world.vaultId);
      assert.deepEqual([await status(session), await status(session, other.token)], [200, 200]);
    });

    it('are over after 24 hours without use, and live as long as they are used', async () => {
      const hour = 3_600_000;
      const [idle, used] = [await bareSession(url), await bareSession(url)];
      world.service.clock.pass(23 * hour);
      assert.equal(await status(used), 200);
      world.service.clock.pass(2 * hour);
      assert.equal(await status(idle), 404);
      assert.equal(await status(used), 200);
    });

    it('outlive a restart, and are stored as digests', async () => {
      const session = await bareSession(url, world.accessKey);
      assert.equal(await status(session), 200);
      for (const file of await readdir(world.service.data)) {
        assert.equal((await readFile(join(world.service.data, file))).includes(session), false, file);
      }
      await world.service.restart();
      url = world.service.url;
      assert.equal(await status(session), 200);
      const other = await makeAccessKey(world.service, world.vaultId);
      assert.equal(await status(session, other.token), 403);
    });

    it('are opened by an address so often in a minute, and no more often; a good key has a share of its own', async () => {
      world.service.clock.standInNewMinute();
      const open = async (key: string | null = null) =>
        (await post(url, { method: 'initialize' }, { key })).status;
      const statuses: number[] = [];
      for (const key of [null, world.accessKey]) {
        for (let batch = 0; batch < 60; batch++)
          statuses.push(...(await Promise.all(Array.from({ length: 10 }, () => open(key)))));
        assert.equal(await open(key), 429);
      }
      assert.deepEqual(new Set(statuses), new Set([200]));
      world.service.clock.pass(60_000);
      assert.equal(await open(), 200);
      world.service.clock.run();
    });

    if (engine === 'postgres') {
      it('are known to every replica, and end in all of them', async () => {
        const replica = await world.service.replica();
        const session = await bareSession(url, world.accessKey);
        const other = await makeAccessKey(world.service, world.vaultId);
        assert.equal(await status(session, world.accessKey, replica.url), 200);
        assert.equal(await status(session, other.token), 403);
        const named = { 'mcp-session-id': session };
        await callService(replica.url, 'DELETE', '/mcp', undefined, world.accessKey, named);
        await eventually(
          'the session that a replica ended is gone',
          async () => (await status(session)) === 404,
        );
      });
    }
  });
}
