/** The management plane's side of a request that the reading plane hands over: what the router sees, and what goes back. */
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { FromExchange, RequestHead } from '../src/service/planes/messages.ts';
import { RequestReceiver } from '../src/service/planes/request-receiver.ts';

const plain: RequestHead = {
  method: 'POST',
  url: '/v1/secrets',
  rawHeaders: [],
  httpVersionMinor: 1,
  address: '192.0.2.1',
  localAddress: '10.0.0.5',
  localPort: 8200,
  encrypted: true,
  certificate: null,
  hasBody: true,
};
const flight = 64 * 1024;

function begun(head: Partial<RequestHead> = {}) {
  const posted: FromExchange[] = [];
  const transfers: (readonly ArrayBuffer[])[] = [];
  let seen: [IncomingMessage, ServerResponse] | undefined;
  const requests = new RequestReceiver(
    (request, response) => {
      seen = [request, response];
    },
    (message, transfer = []) => {
      posted.push(message);
      transfers.push(transfer);
    },
  );
  requests.take({ kind: 'request', id: 7, head: { ...plain, ...head } });
  const [request, response] = seen!;
  return { requests, posted, transfers, request, response };
}
const answers = (posted: FromExchange[]) => posted.filter(message => message.kind === 'answer');

describe('a request that was handed over', () => {
  it('looks as it came', () => {
    const certificate = new Uint8Array(2);
    const { request } = begun({ rawHeaders: ['Host', 'a', 'X-B', 'c'], httpVersionMinor: 0, certificate });
    const { method, url, rawHeaders, headers, httpVersion, httpVersionMinor } = request;
    assert.deepEqual(
      { method, url, rawHeaders, headers: { ...headers }, httpVersion, httpVersionMinor },
      {
        method: 'POST',
        url: '/v1/secrets',
        rawHeaders: ['Host', 'a', 'X-B', 'c'],
        headers: { host: 'a', 'x-b': 'c' },
        httpVersion: '1.0',
        httpVersionMinor: 0,
      },
    );
    const { remoteAddress, localAddress, localPort, encrypted, clientCertificate } =
      request.socket as unknown as Record<string, unknown>;
    assert.deepEqual(
      [remoteAddress, localAddress, localPort, encrypted, clientCertificate],
      ['192.0.2.1', '10.0.0.5', 8200, true, certificate],
    );
  });

  it('has headers that are joined as a server joins them', () => {
    const { headers } = begun({
      rawHeaders: [
        'Host',
        'first',
        'HOST',
        'second',
        'Cookie',
        'a=1',
        'cookie',
        'b=2',
        'Accept',
        'x',
        'accept',
        'y',
        'Age',
        '',
        'Age',
        '1',
        '__proto__',
        'own',
      ],
    }).request;
    assert.deepEqual(
      [headers.host, headers.cookie, headers.accept, headers.age],
      ['first', 'a=1; b=2', 'x, y', ''],
    );
    assert.equal(Object.getPrototypeOf(headers), null);
  });

  it('is complete at once where it has no body, and else once that ended', async () => {
    assert.equal(begun({ hasBody: false }).request.complete, true);
    const { requests, request, posted } = begun();
    assert.equal(request.complete, false);
    requests.take({ kind: 'body', id: 7, piece: Buffer.from('ab') });
    requests.take({ kind: 'body', id: 7, piece: Buffer.from('cde') });
    assert.equal(posted.length, 0, 'nobody has read it');
    const read: Buffer[] = [];
    request.on('data', chunk => read.push(chunk));
    await turn();
    requests.take({ kind: 'body-end', id: 7 });
    await turn();
    assert.equal(String(Buffer.concat(read)), 'abcde');
    assert.equal(request.complete, true);
    assert.equal(
      posted.reduce((sum, message) => sum + (message.kind === 'read' ? message.bytes : 0), 0),
      5,
    );
    assert.ok(posted.every(message => message.kind === 'read' && message.bytes > 0 && message.id === 7));
  });

  it('says nothing of what it reads before anything came', async () => {
    const { requests, request, posted } = begun();
    request.resume();
    await turn();
    assert.equal(posted.length, 0);
    requests.take({ kind: 'body', id: 7, piece: Buffer.from('ab') });
    await turn();
    assert.deepEqual(posted, [{ kind: 'read', id: 7, bytes: 2 }]);
  });

  it('whose client is gone fails where its body is not whole, and ends either way', async () => {
    for (const hasBody of [true, false]) {
      const { requests, request, response, posted } = begun({ hasBody });
      const errors: string[] = [];
      request.on('error', error => errors.push((error as NodeJS.ErrnoException).code!));
      let isClosed = false;
      response.on('close', () => {
        isClosed = true;
      });
      requests.take({ kind: 'gone', id: 7 });
      await turn();
      await turn();
      assert.deepEqual(errors, hasBody ? ['ECONNRESET'] : []);
      assert.equal(isClosed, true);
      assert.deepEqual(posted.at(-1), { kind: 'cut', id: 7 });
    }
  });

  it('that is late is told by its number, and a stranger not at all', () => {
    const { requests, request, posted } = begun();
    requests.late(begun().request);
    assert.deepEqual(posted, []);
    requests.late(request);
    assert.deepEqual(posted, [{ kind: 'late', id: 7 }]);
  });

  it('of an unknown number is nobody’s', () => {
    const { requests, posted } = begun();
    requests.take({ kind: 'body-end', id: 8 });
    assert.deepEqual(posted, []);
  });
});

describe('an answer that goes back', () => {
  it('is one message where it is short, with its head as it was spelled', () => {
    const { response, posted, transfers } = begun();
    response.setHeader('X-First', 'a');
    response.writeHead(201, 'Fine', { 'Set-Cookie': ['a', 'b'], 'Content-Length': 2, 'X-Not': undefined });
    response.end('ok');
    assert.deepEqual(posted, [
      {
        kind: 'answer',
        id: 7,
        head: { status: 201, rawHeaders: ['X-First', 'a', 'Set-Cookie', ['a', 'b'], 'Content-Length', '2'] },
        piece: 'ok',
        isLast: true,
      },
    ]);
    assert.deepEqual(transfers, [[]]);
  });

  it('has the head of its status where none was written', () => {
    const { response, posted } = begun();
    response.statusCode = 404;
    response.end();
    assert.deepEqual(posted, [
      { kind: 'answer', id: 7, head: { status: 404, rawHeaders: [] }, piece: null, isLast: true },
    ]);
  });

  it('has its head once, its pieces in order, and nothing after its end', () => {
    const { response, posted } = begun();
    response.writeHead(200);
    response.write('a');
    response.write(Buffer.from('b'));
    response.end(() => {});
    response.on('error', () => {});
    response.end('late');
    assert.deepEqual(
      answers(posted).map(({ head, piece, isLast }) => [
        head?.status ?? null,
        piece === null ? null : String(Buffer.from(piece)),
        isLast,
      ]),
      [
        [200, 'a', false],
        [null, 'b', false],
        [null, null, true],
      ],
    );
  });

  const bare: [why: string, head: Partial<RequestHead>, status: number, hasBody: boolean][] = [
    ['of a GET', { method: 'GET' }, 200, true],
    ['of a HEAD', { method: 'HEAD' }, 200, false],
    ['of 204', {}, 204, false],
    ['of 304', {}, 304, false],
    ['of 404', {}, 404, true],
  ];
  for (const [why, head, status, hasBody] of bare)
    it(`${why} has ${hasBody ? 'a' : 'no'} body`, () => {
      const { response, posted } = begun(head);
      response.writeHead(status);
      response.write('x');
      response.end('y');
      assert.deepEqual(
        answers(posted).map(({ piece }) => piece),
        hasBody ? ['x', 'y'] : [null, null],
      );
    });

  const pieces: [
    what: string,
    write: (response: ServerResponse) => void,
    expected: string,
    isText: boolean,
  ][] = [
    ['short text', response => response.end('ä'), 'ä', true],
    ['text in UTF-8', response => response.end('ä', 'utf8'), 'ä', true],
    ['text in utf-8', response => response.end('ä', 'utf-8'), 'ä', true],
    ['text of no encoding', response => response.end('ä', null as never), 'ä', true],
    ['text of 4,095 characters', response => response.end('x'.repeat(4095)), 'x'.repeat(4095), true],
    ['text of 4,096 characters', response => response.end('x'.repeat(4096)), 'x'.repeat(4096), false],
    ['text of bytes', response => response.end('c3a4', 'hex'), 'ä', false],
    ['bytes', response => response.end(Buffer.from('ä')), 'ä', false],
    ['4,096 bytes', response => response.end(Buffer.alloc(4096, 'x')), 'x'.repeat(4096), false],
    ['no bytes', response => response.end(Buffer.alloc(0)), '', false],
  ];
  for (const [what, write, expected, isText] of pieces)
    it(`takes ${what} along as ${isText ? 'text' : 'its own bytes'}`, () => {
      const { response, posted, transfers } = begun();
      write(response);
      const piece = answers(posted)[0]!.piece!;
      assert.equal(typeof piece === 'string', isText);
      assert.equal(Buffer.from(piece).toString(), expected);
      // Short bytes are copied, which costs less than moving them.
      assert.deepEqual(transfers[0], typeof piece === 'string' || piece.length < 4096 ? [] : [piece.buffer]);
      if (typeof piece !== 'string') assert.equal(piece.buffer.byteLength, piece.length);
    });

  it('waits while the client has 64 KiB to take, and goes on below that', async () => {
    const { requests, response } = begun();
    let written = 0;
    const write = (size: number) => response.write(Buffer.alloc(size), () => written++);
    write(flight - 1);
    await turn();
    assert.equal(written, 1, 'one byte less than it takes');
    write(1);
    await turn();
    assert.equal(written, 1, 'as much as it takes');
    requests.take({ kind: 'taken', id: 7, bytes: 0 });
    await turn();
    assert.equal(written, 1);
    requests.take({ kind: 'taken', id: 7, bytes: 1 });
    await turn();
    assert.equal(written, 2);
  });

  it('tells whoever writes when there is room again, and when the connection ends', async () => {
    const { requests, response } = begun();
    let drains = 0;
    response.on('drain', () => drains++);
    assert.equal(response.write(Buffer.alloc(flight)), false);
    await turn();
    assert.equal(drains, 0);
    requests.take({ kind: 'taken', id: 7, bytes: flight });
    await turn();
    assert.ok(drains > 0);
    response.write(Buffer.alloc(flight));
    requests.take({ kind: 'gone', id: 7 });
    await turn();
    await turn();
    assert.equal(response.destroyed || response.closed, true);
  });

  it('that was given whole is not cut, and its connection ends with it', async () => {
    const { requests, request, response, posted } = begun({ hasBody: false });
    response.end(Buffer.alloc(flight));
    await turn();
    await turn();
    assert.equal(request.socket.destroyed, true);
    assert.deepEqual(
      posted.map(({ kind }) => kind),
      ['answer'],
    );
    requests.take({ kind: 'taken', id: 7, bytes: 4 });
  });

  it('may begin with a word that the body is welcome', () => {
    const { response, posted } = begun();
    response.writeContinue();
    assert.deepEqual(posted, [{ kind: 'continue', id: 7 }]);
  });
});
