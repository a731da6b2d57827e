/** Documents of other services: from where they are fetched, how long they may be, and what is said where they are not. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createPlain } from 'node:net';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { Egress } from '../src/access/egress.ts';
import { boundedFetch } from '../src/egress/bounded-fetch.ts';
import type { Resolve } from '../src/egress/connections.ts';
import { type DocumentParts, documentsWith } from '../src/egress/documents.ts';

const largest = 256 * 1024;
/** A text in JSON of so many bytes. */
const jsonOf = (length: number) => JSON.stringify('x'.repeat(length - 2));

let answer: RequestListener;
const server = createServer((request, response) => answer(request, response));
let port: number;
before(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
});
after(() => {
  server.closeAllConnections();
  server.close();
});
const sends =
  (body: string, status = 200): RequestListener =>
  (_, response) =>
    response.writeHead(status, { location: '/elsewhere' }).end(body);

describe('a document', () => {
  const everywhere = { permits: () => true, refusalOf: () => null } as unknown as Egress;
  const resolve: Resolve = async () => ['127.0.0.1'];
  async function fetched(
    t: TestContext,
    url = `http://localhost:${port}/a?b`,
    parts: Partial<DocumentParts> = {},
  ) {
    const documents = documentsWith({ egress: everywhere, resolve, ...parts });
    t.after(() => documents.close());
    return documents.fetch(url);
  }

  it('is fetched as JSON from where it is', async t => {
    let asked = '';
    answer = (request, response) => {
      asked = `${request.method} ${request.url} ${request.headers.host} ${request.headers.accept}`;
      response.end('{"a":1}');
    };
    assert.deepEqual(await fetched(t), { a: 1 });
    assert.equal(asked, `GET /a?b localhost:${port} application/json`);
  });

  const refusals: [what: string, answer: RequestListener, told: string][] = [
    ['another status', sends('{}', 404), 'the answer has the status 404'],
    ['a redirect', sends('{}', 302), 'the answer has the status 302'],
    ['no JSON', sends('{'), 'the answer is not JSON'],
    ['more than 256 KiB', sends(jsonOf(largest + 1)), 'the answer is too long'],
    ['the end of the connection', (_, response) => void response.socket!.destroy(), 'ECONNRESET'],
  ];
  for (const [what, given, told] of refusals)
    it(`is none where the answer is ${what}`, async t => {
      answer = given;
      await assert.rejects(fetched(t), { message: told });
    });

  it('has 256 KiB at most', async t => {
    answer = sends(jsonOf(largest));
    assert.equal(((await fetched(t)) as string).length, largest - 2);
  });

  it('comes in its time', async t => {
    answer = () => {};
    await assert.rejects(fetched(t, undefined, { patience: 30 }), { message: 'timed out' });
    const times: number[] = [];
    t.mock.method(AbortSignal, 'timeout', (time: number) => {
      times.push(time);
      return new AbortController().signal;
    });
    answer = sends('{}');
    await fetched(t);
    assert.deepEqual(times, [5_000]);
  });

  it('is at an address that may be connected to', async t => {
    await assert.rejects(fetched(t, 'nothing'), { message: 'the address is not a URL' });
    const refusing = { permits: () => true, refusalOf: () => 'is not allowed' } as unknown as Egress;
    await assert.rejects(fetched(t, undefined, { egress: refusing }), {
      message: 'the address is not allowed',
    });
    const nowhere = { permits: () => false, refusalOf: () => null } as unknown as Egress;
    await assert.rejects(fetched(t, undefined, { egress: nowhere }), {
      message: 'the address is not allowed',
    });
  });

  it('is not there where nobody answers, which is told by a code alone', async t => {
    const closed = createPlain().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port: free } = closed.address() as AddressInfo;
    closed.close();
    await once(closed, 'close');
    for (const addresses of [['127.0.0.1'], ['127.0.0.1', '127.0.0.2']])
      await assert.rejects(fetched(t, `http://localhost:${free}/`, { resolve: async () => addresses }), {
        message: 'ECONNREFUSED',
      });
    const unknown = () => Promise.reject(new Error('of a name that nobody should read'));
    await assert.rejects(fetched(t, undefined, { resolve: unknown }), { message: 'the connection failed' });
  });

  it('is fetched by the protocol of its address, at the port of that', async t => {
    const greetings: Buffer[] = [];
    const listener = createPlain(socket =>
      socket.once('data', (bytes: Buffer) => {
        greetings.push(Buffer.from(bytes));
        socket.destroy();
      }),
    ).listen(0, '127.0.0.1');
    t.after(() => listener.close());
    await once(listener, 'listening');
    const { port: other } = listener.address() as AddressInfo;
    await assert.rejects(fetched(t, `https://localhost:${other}/`));
    assert.equal(greetings[0]![0], 0x16, 'the beginning of TLS');
    await assert.rejects(fetched(t, `http://localhost:${other}/`));
    assert.equal(greetings[1]!.toString('latin1', 0, 4), 'GET ');
  });
});

describe('an answer that a library reads whole', () => {
  const url = () => `http://127.0.0.1:${port}/`;

  it('is as long as a document may be, and no longer', async () => {
    answer = sends(jsonOf(largest), 201);
    const { status, headers, ...response } = await boundedFetch(url());
    assert.deepEqual([status, headers.get('location')], [201, '/elsewhere']);
    assert.ok(response);
    assert.equal((await (await boundedFetch(url())).text()).length, largest);
    answer = sends(jsonOf(largest + 1));
    await assert.rejects(boundedFetch(url()), { message: `the answer is longer than ${largest} bytes` });
  });

  for (const status of [204, 304])
    it(`has no body with ${status}`, async () => {
      answer = sends('', status);
      const response = await boundedFetch(url());
      assert.deepEqual([response.status, response.body], [status, null]);
    });

  it('has none to HEAD, and an empty one where it is empty', async () => {
    answer = sends('');
    assert.equal((await boundedFetch(url(), { method: 'HEAD' })).body, null);
    assert.equal(await (await boundedFetch(url())).text(), '');
  });
});
