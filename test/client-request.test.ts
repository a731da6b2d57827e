/** One request of the client: where its key may go, what it sends, what it takes for an answer, and how it says what failed. */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import type { Fetch, Receipt, StrongroomError } from '../src/client/client.ts';
import { connect, json, positive, segment, send } from '../src/client/request.ts';
import { codeIs, ManualClock } from './client-world.ts';

const place = { url: 'https://vault.example', key: 'sr_vault_x' };
const failed = (asked: Promise<unknown>): Promise<StrongroomError> =>
  asked.then(
    () => assert.fail('it succeeded'),
    (error: StrongroomError) => error,
  );

type Answered = { status?: number; said?: string; headers?: Readonly<Record<string, string>> };

/** A service with one answer. */
const answering =
  ({ status = 200, said = '', headers = {} }: Answered): Fetch =>
  async () => ({ status, headers: { get: name => headers[name] ?? null }, text: async () => said });
const asking = (answered: Answered, etag: string | null = null) =>
  send(connect({ ...place, fetch: answering(answered), clock: new ManualClock() }), '/', { etag });

describe('the address', () => {
  const noAddress = 'url must be an http or https address.';
  const noPassword = 'url can’t contain a user name or password.';
  const noHttp = 'url must be https, except on this machine; insecureHttp: true allows it.';
  const rows: readonly [url: string, expected: string, insecureHttp?: boolean][] = [
    ['https://vault.example', 'https://vault.example'],
    ['https://vault.example:8443/', 'https://vault.example:8443'],
    ['https://vault.example/under//', 'https://vault.example/under'],
    ['http://localhost:1', 'http://localhost:1'],
    ['http://a.localhost', noHttp],
    ['http://127.9.8.7', 'http://127.9.8.7'],
    ['http://[::1]:1', 'http://[::1]:1'],
    ['http://vault.example', noHttp],
    ['http://vault.example', noHttp, false],
    ['http://vault.example', 'http://vault.example', true],
    ['https://vault.example', 'https://vault.example', true],
    ['http://localhost.example', noHttp],
    ['http://.localhost.example', noHttp],
    ['http://127.0.0.1.example', noHttp],
    ['vault.example', noAddress],
    ['', noAddress],
    ['ftp://vault.example', noAddress],
    ['file:///etc/passwd', noAddress],
    ['https://user@vault.example', noPassword],
    ['https://:hunter2@vault.example', noPassword],
    ['http://user:hunter2@localhost', noPassword, true],
  ];
  for (const [url, expected, insecureHttp] of rows)
    it(`${JSON.stringify(url)}, insecureHttp ${insecureHttp}: ${expected}`, () => {
      const open = () => connect({ ...place, url, insecureHttp }).url;
      if (expected.startsWith('http')) assert.equal(open(), expected);
      else assert.throws(open, { code: 'INVALID_OPTIONS', message: expected });
    });
});

describe('the other options', () => {
  const fails = (message: RegExp) => (error: StrongroomError) =>
    error.code === 'INVALID_OPTIONS' && message.test(error.message) && !/hunter/.test(error.message);

  it('the key is of printable characters without a space, but for those around it', () => {
    for (const key of ['k', '!~', ' k\n', '\tk ']) assert.equal(connect({ ...place, key }).key, key.trim());
    for (const key of ['', ' ', 'hunter 2', 'hunter\n2', 'hunter\u007f', 'huntér', undefined, null, 7])
      assert.throws(() => connect({ ...place, key: key as string }), fails(/^key must be an access key/));
  });

  it('a time is a number above 0, and 10 seconds if omitted', () => {
    assert.equal(connect(place).timeout, 10_000);
    assert.equal(connect({ ...place, timeoutSeconds: 0.5 }).timeout, 500);
    assert.equal(positive('x', 1), 1);
    for (const timeoutSeconds of [0, -1, Number.NaN])
      assert.throws(
        () => connect({ ...place, timeoutSeconds }),
        fails(/^timeoutSeconds must be a number above 0/),
      );
  });

  it('an id never leads to another path', () => {
    for (const id of ['', '.', '..']) assert.throws(() => segment(id), fails(/id is required/));
    assert.deepEqual(['...', 'a', 'a/../b', '?x'].map(segment), ['...', 'a', 'a%2F..%2Fb', '%3Fx']);
  });
});

describe('a request', () => {
  it('goes over the runtime’s own fetch, with the key, and only what it needs', async t => {
    const seen: (readonly unknown[])[] = [];
    const read = async (request: IncomingMessage) => (await request.toArray()).join('');
    const server = createServer(async (request, response) => {
      const { authorization, accept, 'if-none-match': etag, 'content-type': type } = request.headers;
      seen.push([request.method, request.url, { authorization, accept, etag, type }, await read(request)]);
      response.writeHead(200, { etag: '"2"', 'content-type': 'text/x' }).end('said');
    });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const connection = connect({ url, key: 'k' });
    assert.deepEqual(await send(connection, '/a'), {
      status: 200,
      etag: '"2"',
      type: 'text/x',
      text: 'said',
    });
    await send(connection, '/b', { etag: '"1"' });
    await send(connection, '/c', { method: 'PUT', body: { a: [null] }, etag: null });
    const common = { authorization: 'Bearer k', accept: 'application/json' };
    const none = { etag: undefined, type: undefined };
    assert.deepEqual(seen, [
      ['GET', '/a', { ...common, ...none }, ''],
      ['GET', '/b', { ...common, ...none, etag: '"1"' }, ''],
      ['PUT', '/c', { ...common, ...none, type: 'application/json' }, '{"a":[null]}'],
    ]);
  });

  it('never asks for a redirect to be followed, and sends no header or body in vain', async () => {
    const inits: unknown[] = [];
    const fetch: Fetch = (url, { signal: _, ...init }) => {
      inits.push(init);
      return answering({})(url, { ...init, signal: null });
    };
    const headers = { authorization: 'Bearer sr_vault_x', accept: 'application/json' };
    await send(connect({ ...place, fetch }), '/');
    await send(connect({ ...place, fetch }), '/', { body: null });
    const typed = { ...headers, 'content-type': 'application/json' };
    assert.deepEqual(inits, [
      { method: 'GET', headers, redirect: 'manual' },
      { method: 'GET', headers: typed, body: 'null', redirect: 'manual' },
    ]);
  });

  it('succeeds with 200, and with 304 only if an ETag was sent', async () => {
    const rows: readonly [status: number, etag: string | null, succeeds: boolean][] = [
      [200, null, true],
      [200, '"1"', true],
      [304, '"1"', true],
      [304, null, false],
      [304, '', false],
      [201, '"1"', false],
      [500, '"1"', false],
    ];
    for (const [status, etag, succeeds] of rows) {
      const asked = asking({ status }, etag);
      if (succeeds) assert.deepEqual(await asked, { status, etag: null, type: '', text: '' });
      else assert.equal((await failed(asked)).status, status);
    }
  });

  it('hands over the receipt of whatever was recorded, refusals too', async () => {
    const clock = new ManualClock();
    const receipts: Receipt[] = [];
    const ask = (answered: Answered) =>
      send(
        connect({ ...place, clock, fetch: answering(answered), onReceipt: one => receipts.push(one) }),
        '/',
      );
    await ask({ headers: { 'x-request-id': 'without a receipt' } });
    await ask({ headers: { 'strongroom-receipt': 'r', 'x-request-id': 'q' } });
    await failed(ask({ status: 403, headers: { 'strongroom-receipt': 's' } }));
    const at = clock.now();
    assert.deepEqual(receipts, [
      { receipt: 'r', requestId: 'q', status: 200, at },
      { receipt: 's', requestId: '', status: 403, at },
    ]);
    await send(connect({ ...place, fetch: answering({ headers: { 'strongroom-receipt': 'r' } }) }), '/');
  });
});

describe('a request that is not answered', () => {
  /** Ends as fetch does, when it is told to. */
  const hanging: Fetch = (_, { signal }) =>
    new Promise((_, reject) => {
      const end = () => reject(new Error('aborted'));
      if (signal.aborted) end();
      signal.addEventListener('abort', end);
    });

  it('says that the vault can’t be reached, with the cause', async () => {
    const cause = new TypeError('fetch failed');
    const error = await failed(send(connect({ ...place, fetch: () => Promise.reject(cause) }), '/'));
    assert.deepEqual([error.code, error.message], ['UNREACHABLE', 'The vault can’t be reached.']);
    assert.equal(error.cause, cause);
  });

  it('ends after its time, and not before', async () => {
    const clock = new ManualClock();
    let isOver = false;
    const asked = failed(send(connect({ ...place, clock, timeoutSeconds: 5, fetch: hanging }), '/'));
    asked.then(() => {
      isOver = true;
    });
    await clock.pass(4);
    assert.equal(isOver, false);
    await clock.pass(1);
    const error = await asked;
    assert.deepEqual([error.code, error.message], ['UNREACHABLE', 'The vault did not answer in time.']);
  });

  it('ends when the connection is closed, and so does one that begins later', async () => {
    const connection = connect({ ...place, clock: new ManualClock(), fetch: hanging });
    const asked = failed(send(connection, '/'));
    connection.closing.abort();
    for (const error of [await asked, await failed(send(connection, '/'))])
      assert.deepEqual([error.code, error.message], ['UNREACHABLE', 'The store is closed.']);
  });
});

describe('an answer that is a failure', () => {
  const redirect = 'The address redirects; use the address that it redirects to.';
  const bare = (status: number) => `The vault answered with status ${status}.`;
  const rows: readonly [status: number, said: unknown, code: string, message: string][] = [
    [0, { message: 'm' }, 'INVALID_ANSWER', redirect],
    [300, { message: 'm' }, 'INVALID_ANSWER', redirect],
    [399, { message: 'm' }, 'INVALID_ANSWER', redirect],
    [299, {}, 'INVALID_ANSWER', bare(299)],
    [299, { message: 'm' }, 'INVALID_ANSWER', 'm'],
    [400, { message: 'm' }, 'INVALID_REQUEST', 'm'],
    [400, { error: { code: 'CONFLICT', message: 'm' } }, 'CONFLICT', 'm'],
    [400, { code: 'CONFLICT', message: 'm' }, 'CONFLICT', 'm'],
    [400, { code: 'OTHER', message: 'm' }, 'INVALID_REQUEST', 'm'],
    [400, { error: { message: 'm', details: { field: 'f', reason: 'r' } } }, 'INVALID_REQUEST', 'm: f r'],
    [400, { message: 'm', details: { field: '', reason: 'r' } }, 'INVALID_REQUEST', 'm: r'],
    [400, { message: 'm', details: { field: 7, reason: '' } }, 'INVALID_REQUEST', 'm'],
    [400, { message: 'm', details: { field: 'f' } }, 'INVALID_REQUEST', 'm: f'],
    [400, { message: ['m'] }, 'INVALID_REQUEST', bare(400)],
    [400, { details: { field: 'f' } }, 'INVALID_REQUEST', bare(400)],
    [400, { message: `a\u001bb\u202e${'x'.repeat(400)}` }, 'INVALID_REQUEST', `a b ${'x'.repeat(296)}`],
    [400, null, 'INVALID_REQUEST', bare(400)],
    [401, {}, 'UNAUTHORIZED', bare(401)],
    [403, {}, 'FORBIDDEN', bare(403)],
    [404, {}, 'NOT_FOUND', bare(404)],
    [410, {}, 'GONE', bare(410)],
    [418, {}, 'INVALID_ANSWER', bare(418)],
    [429, {}, 'RATE_LIMITED', bare(429)],
    [499, {}, 'INVALID_ANSWER', bare(499)],
    [500, {}, 'INTERNAL_ERROR', bare(500)],
    [502, {}, 'UNAVAILABLE', bare(502)],
    [503, {}, 'UNAVAILABLE', bare(503)],
    [504, {}, 'UNAVAILABLE', bare(504)],
    [505, {}, 'INTERNAL_ERROR', bare(505)],
  ];
  for (const [status, said, code, message] of rows)
    it(`${status} with ${JSON.stringify(said).slice(0, 70)} is ${code}`, async () => {
      const error = await failed(asking({ status, said: JSON.stringify(said) }));
      assert.deepEqual([error.code, error.message, error.status], [code, message, status]);
      assert.equal(error.retryAfterSeconds, null);
    });

  it('says how long to wait: seconds or a date, from now to an hour', async () => {
    const dated = (seconds: number) => new Date(new ManualClock().now() + seconds * 1000).toUTCString();
    const rows: readonly [header: string, expected: number | null][] = [
      ['0', 0],
      ['1', 1],
      ['3600', 3600],
      ['3601', 3600],
      [dated(7), 7],
      [dated(-7), 0],
      [dated(3601), 3600],
      ['soon', null],
    ];
    for (const [header, expected] of rows) {
      const { retryAfterSeconds } = await failed(asking({ status: 429, headers: { 'retry-after': header } }));
      assert.equal(retryAfterSeconds, expected, header);
    }
  });

  it('is no JSON', () => {
    assert.deepEqual(json('{"a":1}'), { a: 1 });
    for (const text of ['', '{', '<html>hunter2</html>'])
      assert.throws(() => json(text), { code: 'INVALID_ANSWER', message: 'The answer is not JSON.' });
    assert.throws(() => json('{'), codeIs('INVALID_ANSWER'));
  });
});
