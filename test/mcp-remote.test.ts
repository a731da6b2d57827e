/** The tools over stdio: what is wrong with a service before it starts, what a client is told, and when it is done. And whose vault a call means. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { mintToken } from '../src/access/token.ts';
import { narrow } from '../src/client/narrow.ts';
import type { Failure } from '../src/contract/errors.ts';
import { problemWith } from '../src/mcp/remote-check.ts';
import { serveOverStdio } from '../src/mcp/stdio.ts';
import { StdioTransport } from '../src/mcp/stdio-transport.ts';
import { type ConnectionSources, connectionOf } from '../src/mcp/vault-connection.ts';

const accessKey = mintToken('vault', randomUUID());
const remote = { url: 'https://vault.test:8443/mcp', accessKey, version: '1.2.3' };

type Answers = () => Response | Error;

/** Doubles the runtime's fetch, and keeps what it was asked for. */
function doubleFetch(t: TestContext, answers: Answers) {
  const asked: { url: string; headers: Record<string, string>; body: Record<string, unknown> }[] = [];
  t.mock.method(globalThis, 'fetch', async (url: string, { headers, body }: RequestInit) => {
    asked.push({ url, headers: headers as Record<string, string>, body: JSON.parse(String(body)) });
    const answer = answers();
    if (answer instanceof Error) throw answer;
    return answer;
  });
  const waits = t.mock.method(AbortSignal, 'timeout').mock;
  return { asked, waited: () => waits.calls.map(call => call.arguments[0]) };
}

const json = (status: number, body: unknown) => new Response(JSON.stringify(body), { status });

describe('what is wrong with a service', () => {
  it('its address is a placeholder', async t => {
    const { asked } = doubleFetch(t, () => json(200, { result: {} }));
    for (const host of ['example.com', 'vault.example.org', 'vault.example'])
      assert.match(
        (await problemWith({ ...remote, url: `https://${host}/mcp` }))!,
        /^STRONGROOM_URL is a placeholder/,
      );
    assert.equal(asked.length, 0);
    assert.equal(await problemWith({ ...remote, url: 'https://notexample.com/mcp' }), null);
  });

  it('its access key is none, by what it looks like, and goes nowhere then', async t => {
    const { asked } = doubleFetch(t, () => json(200, { result: {} }));
    const rows: readonly [key: string, problem: RegExp][] = [
      [
        mintToken('api', randomUUID()),
        /^STRONGROOM_ACCESS_KEY must be a vault access key .* not another token$/,
      ],
      [mintToken('pub', randomUUID()), /not another token$/],
      ['sr_vault_…', /^STRONGROOM_ACCESS_KEY is a placeholder/],
      ['{env:KEY}', /is a placeholder/],
      [
        accessKey.slice(0, -1),
        /^STRONGROOM_ACCESS_KEY is not a vault access key: it is incomplete or mistyped$/,
      ],
      ['', /incomplete or mistyped$/],
    ];
    for (const [key, problem] of rows)
      assert.match((await problemWith({ ...remote, accessKey: key }))!, problem);
    assert.equal(asked.length, 0);
    const { token } = await narrow(accessKey, { names: ['A'] });
    assert.equal(await problemWith({ ...remote, accessKey: token }), null);
    assert.equal(await problemWith(remote), null);
    assert.deepEqual(
      asked.map(({ headers, body }) => [headers.authorization, body.method]),
      [token, accessKey].map(key => [`Bearer ${key}`, 'server/discover']),
    );
  });

  const host = 'vault\\.test:8443';
  const noEndpoint = (status: number) =>
    new RegExp(`^${host} does not answer as a tool endpoint \\(status ${status}\\): check STRONGROOM_URL$`);
  const notReady = (status: number) => new RegExp(`^${host} is not ready: it answers with status ${status}$`);
  const redirects = new RegExp(`^${host} redirects to another address`);
  const result = { result: {} };
  const rows: readonly [status: number, body: unknown, problem: RegExp | null][] = [
    [200, result, null],
    [299, result, null],
    [200, {}, noEndpoint(200)],
    [200, { error: {} }, noEndpoint(200)],
    [200, null, noEndpoint(200)],
    [300, result, redirects],
    [399, result, redirects],
    [400, result, noEndpoint(400)],
    [404, result, noEndpoint(404)],
    [401, result, /^STRONGROOM_ACCESS_KEY was refused: the access key is unknown, revoked or expired$/],
    [403, result, new RegExp(`^${host} refuses requests under this name: start it with --public-url$`)],
    [429, {}, null],
    [499, result, noEndpoint(499)],
    [500, result, notReady(500)],
    [503, {}, notReady(503)],
  ];
  for (const [status, body, problem] of rows)
    it(`its answer is ${status} with ${JSON.stringify(body)}: ${problem ?? 'nothing'}`, async t => {
      doubleFetch(t, () => json(status, body));
      const found = await problemWith(remote);
      if (problem === null) assert.equal(found, null);
      else assert.match(found!, problem);
    });

  it('its answer is a page', async t => {
    doubleFetch(t, () => new Response('<html>'));
    assert.match((await problemWith(remote))!, noEndpoint(200));
  });

  it('it can’t be reached, and why', async t => {
    const failing = (code?: string) =>
      Object.assign(new TypeError('fetch failed'), { cause: code === undefined ? undefined : { code } });
    const late = new DOMException('late', 'TimeoutError');
    const failures: readonly [error: Error, problem: string][] = [
      [failing('ECONNREFUSED'), 'vault.test:8443 can’t be reached: the connection was refused'],
      [failing('ENOTFOUND'), 'vault.test:8443 can’t be reached: there is no such host'],
      [failing('EOTHER'), 'vault.test:8443 can’t be reached: the connection failed'],
      [failing(), 'vault.test:8443 can’t be reached: the connection failed'],
      [late, 'vault.test:8443 can’t be reached: it did not answer within 8 seconds'],
      [failing('CERT_HAS_EXPIRED'), 'the certificate of vault.test:8443 has expired'],
    ];
    let next: Error = late;
    const { waited } = doubleFetch(t, () => next);
    for (const [error, problem] of failures) {
      next = error;
      assert.equal(await problemWith(remote), problem);
    }
    assert.deepEqual(new Set(waited()), new Set([8000]));
  });
});

describe('a client over stdio', () => {
  const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };

  /** One call after the handshake, and the answer to it. */
  async function called(t: TestContext, params: object, answers: Answers) {
    const { asked, waited } = doubleFetch(t, answers);
    const [input, output] = [new PassThrough(), new PassThrough()];
    const serving = serveOverStdio(remote, 'dotted', new StdioTransport(input, output));
    for (const [id, method, given] of [
      [0, 'initialize', hello],
      [1, 'tools/call', params],
    ] as const)
      input.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params: given })}\n`);
    input.end();
    await serving;
    output.end();
    const answered = (await text(output))
      .trim()
      .split('\n')
      .map(line => JSON.parse(line));
    t.mock.restoreAll();
    return { asked, waited: waited(), answer: answered.find(({ id }) => id === 1) };
  }

  it('has its call made with the key, and gets the result', async t => {
    const content = [{ type: 'text', text: '{}' }];
    const result = { resultType: 'complete', _meta: {}, content, structuredContent: { a: 1 } };
    const params = { name: 'secrets.get', arguments: { name: 'A' } };
    const { asked, waited, answer } = await called(t, params, () => json(200, { result }));
    const [{ url, headers, body }] = asked as [(typeof asked)[0]];
    assert.deepEqual(
      [url, headers.authorization, headers['mcp-name']],
      [remote.url, `Bearer ${accessKey}`, 'secrets.get'],
    );
    assert.deepEqual([body.method, (body.params as typeof params).arguments], ['tools/call', { name: 'A' }]);
    assert.deepEqual(answer.result, { content, structuredContent: { a: 1 } });
    assert.deepEqual(waited, [30_000]);
    const bare = await called(t, { name: 'vault.describe' }, () => json(200, { result }));
    assert.deepEqual((bare.asked[0]!.body.params as typeof params).arguments, {});
  });

  const error = { code: -32_602, message: 'said' };
  const page = 'The address does not answer as a tool endpoint';
  const rows: readonly [
    what: string,
    answers: Answers,
    told: { status: number; message: string } | typeof error,
  ][] = [
    [
      'no answer',
      () => new TypeError('fetch failed'),
      { status: 503, message: 'The service can’t be reached' },
    ],
    ['an error of the protocol', () => json(200, { error }), error],
    ['a refusal', () => json(403, { error }), { status: 403, message: 'said' }],
    ['nothing', () => json(200, {}), { status: 200, message: page }],
    ['a page', () => new Response('<html>', { status: 502 }), { status: 502, message: page }],
  ];
  for (const [what, answers, told] of rows)
    it(`is told of ${what}`, async t => {
      const { answer } = await called(t, { name: 'secrets.list' }, answers);
      if ('code' in told)
        return assert.deepEqual([answer.error.code, answer.error.message], [told.code, told.message]);
      assert.deepEqual([answer.result.structuredContent, answer.result.isError], [told, true]);
      assert.deepEqual(JSON.parse(answer.result.content[0].text), told);
    });
});

describe('messages in lines', () => {
  const request = (id: number, method = 'ping', params = {}) => ({
    jsonrpc: '2.0' as const,
    id,
    method,
    params,
  });
  const result = (id: number) => ({ jsonrpc: '2.0' as const, id, result: {} });
  const cancel = (requestId: number, method = 'notifications/cancelled') => ({
    jsonrpc: '2.0',
    method,
    params: { requestId },
  });

  async function started() {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const transport = new StdioTransport(input, output);
    const taken: JSONRPCMessage[] = [];
    const events: string[] = [];
    transport.onmessage = message => taken.push(message);
    transport.onerror = () => events.push('error');
    transport.onclose = () => events.push('close');
    let isDone = false;
    transport.finished.then(() => {
      isDone = true;
    });
    await transport.start();
    const settled = async () => {
      for (let turn = 0; turn < 5; turn++) await setImmediate();
      return isDone;
    };
    const write = (...messages: readonly unknown[]) =>
      input.write(messages.map(one => `${typeof one === 'string' ? one : JSON.stringify(one)}\n`).join(''));
    return { input, output, transport, taken, events, settled, write };
  }

  it('are taken one by one, the last without its end too, and what is none is passed over', async () => {
    const { input, taken, events, write, settled } = await started();
    write(request(1), 'no message', '{"id":7}', cancel(9));
    input.end(JSON.stringify(request(2)));
    await settled();
    assert.deepEqual(taken, [request(1), cancel(9), request(2)]);
    assert.ok(events.every(event => event === 'error') && events.length > 0);
  });

  it('are all answered before it is done, by results and by errors', async () => {
    const { input, transport, write, settled } = await started();
    write(request(1), request(2), request(2));
    assert.equal(await settled(), false);
    input.end();
    assert.equal(await settled(), false);
    await transport.send(request(1));
    await transport.send({ jsonrpc: '2.0', id: 9, result: {} });
    await transport.send({ jsonrpc: '2.0', method: 'notifications/message' });
    await transport.send(result(2));
    await transport.send(result(2));
    assert.equal(await settled(), false);
    await transport.send({ jsonrpc: '2.0', id: 1, error: { code: 1, message: '' } });
    assert.equal(await settled(), true);
  });

  it('nothing is done before the input ends, and without a request it is done then', async () => {
    const { input, transport, write, settled } = await started();
    const note = { jsonrpc: '2.0', method: 'notifications/initialized' };
    write(request(1), ...Array.from({ length: 9 }, () => note));
    await settled();
    await transport.send(result(1));
    assert.equal(await settled(), false);
    input.end();
    assert.equal(await settled(), true);
  });

  it('a subscription and a cancelled request are not waited for; nothing else cancels one', async () => {
    const listening = await started();
    listening.write(request(1, 'subscriptions/listen'));
    listening.input.end();
    assert.equal(await listening.settled(), true);

    const { input, transport, write, settled } = await started();
    write(request(1, 'tools/call', { requestId: 1 }), cancel(1, 'notifications/progress'));
    write(request(2, 'notifications/cancelled', { requestId: 1 }), request(3), cancel(3));
    input.end();
    await settled();
    await transport.send(result(2));
    assert.equal(await settled(), false);
    await transport.send(result(1));
    assert.equal(await settled(), true);
  });

  it('end once, and nothing is written after that', async () => {
    const { transport, output, taken, events, write, settled } = await started();
    await transport.close();
    await transport.close();
    assert.deepEqual([await settled(), events], [true, ['close']]);
    await transport.send(result(1));
    assert.equal(output.read(), null);
    write(request(1));
    await settled();
    assert.deepEqual(taken, []);
  });

  it('end when nobody reads the answers', async () => {
    const { output, events, settled } = await started();
    output.emit('error', new Error('EPIPE'));
    assert.deepEqual([await settled(), events], [true, ['error']]);
  });
});

describe('the connection of a call', () => {
  const isOurs = (url: string) => url === 'https://ours';
  const of = (given: Partial<ConnectionSources>) => connectionOf({ header: null, isOurs, ...given });
  const [a, b, none] = [{ accessKey: 'a' }, { accessKey: 'b' }, { token: null, vaultId: null }];
  const same = 'must be the same in vault, in credentials and in the Authorization header';
  const rows: readonly [
    given: Partial<ConnectionSources>,
    expected: object | [field: string, reason: string],
  ][] = [
    [{}, none],
    [{ header: 'h' }, { ...none, token: 'h' }],
    [{ vault: {} }, none],
    [
      { vault: {}, header: 'h' },
      { ...none, token: 'h' },
    ],
    [{ vault: a }, { ...none, token: 'a' }],
    [{ credentials: a }, { ...none, token: 'a' }],
    [
      { vault: a, credentials: a, header: 'a' },
      { ...none, token: 'a' },
    ],
    [{ vault: a, credentials: b }, ['accessKey', same]],
    [{ vault: a, header: 'b' }, ['accessKey', same]],
    [{ credentials: a, header: 'b' }, ['accessKey', same]],
    [{ vault: { vaultId: 'v', id: 'i' } }, { ...none, vaultId: 'v' }],
    [{ vault: { id: 'i' } }, { ...none, vaultId: 'i' }],
    [{ credentials: { vaultId: 'v' } }, { ...none, vaultId: 'v' }],
    [
      { vault: { id: 'v' }, credentials: { vaultId: 'v' } },
      { ...none, vaultId: 'v' },
    ],
    [{ vault: { id: 'v' }, credentials: { vaultId: 'w' } }, ['vaultId', same]],
    [{ vault: { ...a, baseUrl: 'https://ours' } }, { ...none, token: 'a' }],
    [{ vault: { baseUrl: 'https://x' } }, ['vault.baseUrl', 'must be the address of this service']],
    [
      { credentials: { baseUrl: 'https://x' } },
      ['credentials.baseUrl', 'must be the address of this service'],
    ],
    [{ vault: 'v' }, ['vault', 'must be an object']],
    [{ credentials: null }, ['credentials', 'must be an object']],
  ];
  for (const [given, expected] of rows)
    it(`${JSON.stringify(given)} is ${JSON.stringify(expected)}`, () => {
      if (!Array.isArray(expected)) return assert.deepEqual(of(given), expected);
      assert.throws(
        () => of(given),
        ({ code, field, reason }: Failure) => {
          assert.deepEqual([code, field, reason], ['INVALID_REQUEST', ...expected]);
          return true;
        },
      );
    });
});
