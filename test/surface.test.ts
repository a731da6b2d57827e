/** What holds for every request that goes through a router: what is refused, read, counted and answered how. */
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { Failure } from '../src/contract/errors.ts';
import { toRouter } from '../src/http/surface/surface.ts';
import { bareApp } from './bare-app.ts';

const json = { 'content-type': 'application/json' };

function world(more: object = {}, mount: (app: FastifyInstance) => void = () => {}) {
  const seen: { continued: number; started: boolean } = { continued: 0, started: false };
  const mounted = (app: FastifyInstance) => {
    app.setNotFoundHandler(async ({ url }) => {
      if (url === '/page') return { some: 'page' };
      throw new Failure('NOT_FOUND');
    });
    app.get('/livez', async () => ({ status: 'ok' }));
    app.get('/text', async () => ({ some: 'text' }));
    app.get('/stream', async (_request, reply) => {
      const pieces = async function* () {
        seen.started = true;
        yield 'piece';
      };
      return reply.send(Readable.from(pieces()));
    });
    app.post('/echo', async request => ({ body: request.body ?? 'none' }));
    mount(app);
  };
  return { seen, ...bareApp({}, mounted, more) };
}

describe('the surface', () => {
  it('gives every answer an id, and keeps it from caches and browsers', async () => {
    const { send } = world();
    for (const path of ['/text', '/nowhere', '/%zz']) {
      const { headers } = await send('GET', path);
      assert.deepEqual(
        [headers['x-request-id'], headers['cache-control'], headers['x-frame-options'], headers.connection],
        ['new', 'no-store', 'DENY', 'keep-alive'],
      );
    }
  });

  it('tells of every route, where somebody wants to know', async () => {
    const routes: string[] = [];
    const { app } = world({ onRoute: ({ url }: { url: string }) => routes.push(url) });
    await app.ready();
    assert.deepEqual([...new Set(routes)], ['/livez', '/text', '/stream', '/echo']);
  });

  it('takes no route with a schema of the framework', async () => {
    for (const schema of [{ body: { type: 'object' } }, { response: { 200: { type: 'object' } } }]) {
      const { app } = world({}, routes => routes.post('/schema', { schema }, async () => ({})));
      await assert.rejects(async () => app.ready(), /no route has a schema of the framework/);
    }
  });

  const sound: [
    method: string,
    path: string,
    headers: Record<string, string>,
    status: number,
    code: string | undefined,
  ][] = [
    ['GET', '/text', {}, 200, undefined],
    ['GET', '/text/', {}, 200, undefined],
    ['GET', '//text', {}, 400, 'INVALID_REQUEST'],
    ['GET', '/text', { expect: 'more' }, 417, 'EXPECTATION_FAILED'],
    ['GET', '/nowhere', {}, 404, 'NOT_FOUND'],
    ['GET', '/page', {}, 200, undefined],
    ['POST', '/page', {}, 404, 'NOT_FOUND'],
    ['POST', '/nowhere', {}, 404, 'NOT_FOUND'],
    ['DELETE', '/text', {}, 404, 'NOT_FOUND'],
    ['GET', '/%zz', {}, 400, 'INVALID_REQUEST'],
  ];
  for (const [method, path, headers, status, code] of sound)
    it(`answers ${method} ${path} ${JSON.stringify(headers)}: ${status}`, async () => {
      const answer = await world().send(method, path, undefined, headers);
      assert.deepEqual([answer.status, answer.body.error?.code], [status, code]);
    });

  it('reads no body for an unknown path', async () => {
    const { send } = world();
    const garbled = await send('POST', '/nowhere', '{', json);
    assert.deepEqual([garbled.status, garbled.headers.connection], [404, 'close']);
    assert.equal((await send('GET', '/nowhere')).headers.connection, 'keep-alive');
  });

  it('serves nothing but probes while it stops, and closes connections', async () => {
    const { send } = world({ draining: () => true });
    for (const path of ['/text', '/nowhere']) {
      const { status, body, headers } = await send('GET', path);
      assert.deepEqual(
        [status, body.error.code, headers['retry-after'], headers.connection],
        [503, 'UNAVAILABLE', '1', 'close'],
      );
    }
    const probe = await send('GET', '/livez');
    assert.deepEqual([probe.status, probe.headers.connection], [200, 'close']);
  });

  const bodies: [body: string | undefined, type: string, status: number, field: string, read: unknown][] = [
    ['{"a":1}', 'application/json', 200, '', { a: 1 }],
    ['', 'application/json', 200, '', 'none'],
    [undefined, 'application/json', 200, '', 'none'],
    ['{', 'application/json', 400, '', undefined],
    ['{"a":1,"a":2}', 'application/json', 400, 'a', undefined],
    ['{"a":1}', 'text/plain', 400, 'content-type', undefined],
    ['', 'text/plain', 200, '', 'none'],
  ];
  for (const [body, type, status, field, read] of bodies)
    it(`reads ${JSON.stringify(body)} as ${type}: ${status}`, async () => {
      const answer = await world().send('POST', '/echo', body, { 'content-type': type });
      assert.equal(answer.status, status, answer.text);
      if (status === 200) assert.deepEqual(answer.body, { body: read });
      else assert.deepEqual(answer.body.error.details.field, field);
    });

  it('reads bodies of 1 MiB at most', async () => {
    const sized = (length: number) => `"${'x'.repeat(length - 2)}"`;
    assert.equal((await world().send('POST', '/echo', sized(1_048_576), json)).status, 200);
    const { status, body } = await world().send('POST', '/echo', sized(1_048_577), json);
    assert.deepEqual([status, body.error.code], [400, 'INVALID_REQUEST']);
  });

  it('answers a HEAD without a body, and does not even begin to make one', async () => {
    const { send, seen } = world();
    assert.deepEqual([(await send('HEAD', '/text')).status, (await send('HEAD', '/text')).text], [200, '']);
    const head = await send('HEAD', '/stream');
    assert.deepEqual([head.status, head.text, seen.started], [200, '', false]);
    assert.equal((await send('GET', '/stream')).text, 'piece');
  });

  it('lets a client send its body that waits for permission, once it was let in', async () => {
    const rows: [expect: string | undefined, minor: number, continued: number][] = [
      ['100-continue', 1, 1],
      ['100-Continue', 1, 1],
      [undefined, 1, 0],
      ['100-continue', 0, 0],
    ];
    for (const [expect, minor, continued] of rows) {
      let times = 0;
      const { send } = world({}, app => {
        const onRequest = (
          request: { raw: IncomingMessage },
          reply: { raw: ServerResponse },
          done: () => void,
        ) => {
          request.raw.httpVersionMinor = minor;
          reply.raw.writeContinue = () => times++;
          done();
        };
        app.post('/waits', { onRequest }, async () => ({}));
      });
      assert.equal(
        (await send('POST', '/waits', '{}', { ...json, ...(expect ? { expect } : {}) })).status,
        200,
      );
      assert.equal(times, continued, `${expect} in HTTP/1.${minor}`);
    }
  });

  it('holds 4 MiB of bodies at a time, but for those of strangers, who have room of their own', async () => {
    const begun: string[] = [];
    const hold = Promise.withResolvers<void>();
    const { app, send, strangers } = world({}, surface => {
      const stranger = async (request: { raw: IncomingMessage }) =>
        strangers.admit(request.raw, '192.0.2.1', 1024 * 1024);
      const handle = (name: string) => async () => {
        begun.push(name);
        await hold.promise;
        return {};
      };
      surface.post('/large', handle('large'));
      surface.post('/stranger', { onRequest: stranger }, handle('stranger'));
    });
    await app.ready();
    const large = `"${'x'.repeat(1_048_574)}"`;
    const waitsFor = async (count: number) => {
      for (let turns = 0; turns < 500 && begun.length < count; turns++) await pause(5);
      await pause(20);
      return begun.length;
    };
    const sent = Array.from({ length: 5 }, () => send('POST', '/large', large, json));
    assert.equal(await waitsFor(4), 4, 'the fifth waits');
    sent.push(send('POST', '/stranger', large, json));
    assert.equal(await waitsFor(5), 5);
    assert.equal(begun[4], 'stranger');
    hold.resolve();
    assert.deepEqual(
      (await Promise.all(sent)).map(({ status }) => status),
      Array(6).fill(200),
    );
  });

  const cause = new Error('disk');
  const failures: [error: Error, status: number, told: 'cause' | 'itself' | null][] = [
    [cause, 500, 'cause'],
    [new Failure('INTERNAL_ERROR', { cause }), 500, 'cause'],
    [new Failure('INTERNAL_ERROR'), 500, 'itself'],
    [new Failure('UNAVAILABLE', { retryAfter: 5 }), 503, 'itself'],
    [new Failure('UNAUTHORIZED', { cause }), 401, null],
    [new Failure('NOT_FOUND', { cause }), 404, null],
  ];
  for (const [error, status, told] of failures)
    it(`answers ${status} to ${error instanceof Failure ? error.code : 'a fault'}, and tells the operator ${told}`, async () => {
      const { send, errors } = world({}, app => {
        for (const path of ['/failing', '/api/failing'])
          app.get(path, async () => {
            throw error;
          });
      });
      const answer = await send('GET', '/failing');
      assert.deepEqual(
        [answer.status, Object.keys(answer.body), errors],
        [status, ['error'], told === null ? [] : [told === 'cause' ? cause : error]],
      );
      assert.doesNotMatch(answer.text, /disk/);
      assert.deepEqual(Object.keys((await send('GET', '/api/failing')).body), ['message']);
    });
});

describe('on its way to a router, a request', () => {
  const rows: [request: object, headers: Record<string, string>, type: string | undefined][] = [
    [{ readableEnded: true }, {}, undefined],
    [{ readableEnded: false }, { 'content-length': '0' }, undefined],
    [{ readableEnded: false }, { 'content-length': '1' }, 'text/plain'],
    [{ readableEnded: false }, {}, 'text/plain'],
  ];
  for (const [request, headers, type] of rows)
    it(`with ${JSON.stringify({ ...request, ...headers })} has the type ${type}`, () => {
      const seen: (string | undefined)[] = [];
      const sent = { ...request, headers: { 'content-type': 'text/plain', ...headers } };
      toRouter(({ headers: given }) => seen.push(given['content-type']))(
        sent as unknown as IncomingMessage,
        {} as ServerResponse,
      );
      assert.deepEqual(seen, [type]);
    });
});
