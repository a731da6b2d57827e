/** The reading plane's side of a request that it hands over: how many, what crosses, and how much of it at a time. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { ToExchange } from '../src/service/planes/messages.ts';
import { RequestForwarder } from '../src/service/planes/request-forwarder.ts';

const flight = 64 * 1024;

interface Sent {
  readonly headers?: Record<string, string>;
  readonly socket?: object;
}

function world() {
  const posted: ToExchange[] = [];
  const told: string[] = [];
  let isUp = true;
  const forwarding = new RequestForwarder({
    post: (message, transfer = []) => {
      posted.push(message);
      if (message.kind === 'body')
        assert.deepEqual(transfer, message.piece.length < 4096 ? [] : [message.piece.buffer]);
    },
    isUp: () => isUp,
    refuse: () => told.push('refused'),
    onLate: () => told.push('late'),
  });
  const send = ({ headers = {}, socket = {} }: Sent = {}) => {
    const connection = new Socket();
    for (const [name, value] of Object.entries(socket)) Object.defineProperty(connection, name, { value });
    const request = new IncomingMessage(connection);
    Object.assign(request, {
      method: 'POST',
      url: '/v1/x',
      httpVersionMinor: 1,
      headers,
      rawHeaders: Object.entries(headers).flat(),
    });
    const response = new ServerResponse(request);
    forwarding.forward(request, response);
    return { request, response };
  };
  return { forwarding, posted, told, send, goDown: () => (isUp = false) };
}
const headIn = (posted: ToExchange[]) => {
  const [first] = posted;
  assert.equal(first?.kind, 'request');
  return first.head;
};

describe('requests that are handed over', () => {
  it('are 2,000 at once of all callers, and each that ends makes room', () => {
    const { send, told, posted } = world();
    const sent = Array.from({ length: 2_000 }, (_, at) =>
      send({ headers: { authorization: `Bearer ${at % 10}` } }),
    );
    assert.deepEqual([told.length, posted.length], [0, 2_000]);
    send();
    assert.equal(told.length, 1);
    sent[0]!.response.emit('close');
    send();
    assert.equal(told.length, 1);
  });

  const callers: [one: Sent, other: Sent, isSame: boolean][] = [
    [{ headers: { authorization: 'a' } }, { headers: { authorization: 'a' } }, true],
    [{ headers: { authorization: 'a' } }, { headers: { authorization: 'b' } }, false],
    [{ headers: { cookie: 'a' } }, { headers: { cookie: 'b' } }, false],
    [
      { headers: { 'x-vault-token': 'a', authorization: 'x' } },
      { headers: { 'x-vault-token': 'b', authorization: 'x' } },
      false,
    ],
    [
      { headers: { authorization: 'a', cookie: 'x' } },
      { headers: { authorization: 'b', cookie: 'x' } },
      false,
    ],
    [{}, {}, true],
    [{}, { headers: { authorization: 'a' } }, false],
    [{ socket: { remoteAddress: 'a' } }, { socket: { remoteAddress: 'a' } }, true],
    [{ socket: { remoteAddress: 'a' } }, { socket: { remoteAddress: 'b' } }, false],
  ];
  for (const [one, other, isSame] of callers)
    it(`of ${JSON.stringify(one)} and ${JSON.stringify(other)} are of ${isSame ? 'one caller' : 'two callers'}, who have 500 each`, () => {
      const { send, told } = world();
      const first = Array.from({ length: 500 }, () => send(one))[0]!;
      assert.equal(told.length, 0);
      send(other);
      assert.equal(told.length, isSame ? 1 : 0);
      first.response.emit('close');
      send(one);
      assert.equal(told.length, isSame ? 1 : 0);
      send(one);
      assert.equal(told.length, isSame ? 2 : 1, 'one that ended makes room for one');
    });

  it('are refused while the other plane is gone, and those that wait are too', () => {
    const { send, told, forwarding, goDown, posted } = world();
    const waiting = send();
    forwarding.failAll();
    assert.deepEqual(told, ['refused']);
    forwarding.take({
      kind: 'answer',
      id: 1,
      head: { status: 200, rawHeaders: [] },
      piece: 'a',
      isLast: false,
    });
    forwarding.failAll();
    assert.equal(waiting.response.destroyed, true, 'what has begun to be answered is cut');
    assert.equal(told.length, 1);
    goDown();
    send();
    assert.deepEqual([told.length, posted.filter(({ kind }) => kind === 'request').length], [2, 1]);
  });
});

describe('the head of a request that is handed over', () => {
  const bodies: [headers: Record<string, string>, hasBody: boolean][] = [
    [{}, false],
    [{ 'content-length': '0' }, false],
    [{ 'content-length': '1' }, true],
    [{ 'transfer-encoding': 'chunked' }, true],
  ];
  for (const [headers, hasBody] of bodies)
    it(`with ${JSON.stringify(headers)} ${hasBody ? 'promises a' : 'promises no'} body`, () => {
      const { send, posted } = world();
      const { request } = send({ headers });
      assert.equal(headIn(posted).hasBody, hasBody);
      assert.equal(request.listenerCount('data'), hasBody ? 1 : 0);
    });

  it('promises no body where that was read already', async () => {
    const { forwarding, posted } = world();
    const request = new IncomingMessage(new Socket());
    Object.assign(request, { method: 'POST', url: '/', headers: { 'content-length': '1' } });
    request.push('x');
    request.push(null);
    request.resume();
    await once(request, 'end');
    forwarding.forward(request, new ServerResponse(request));
    assert.equal(headIn(posted).hasBody, false);
  });

  it('says what came, and over which connection', () => {
    const { send, posted } = world();
    const raw = Buffer.from('certificate');
    send({
      headers: { host: 'a' },
      socket: { encrypted: true, remoteAddress: '192.0.2.1', getPeerX509Certificate: () => ({ raw }) },
    });
    const { certificate, ...head } = headIn(posted);
    assert.deepEqual(head, {
      method: 'POST',
      url: '/v1/x',
      rawHeaders: ['host', 'a'],
      httpVersionMinor: 1,
      address: '192.0.2.1',
      localAddress: undefined,
      localPort: undefined,
      encrypted: true,
      hasBody: false,
    });
    assert.equal(String(Buffer.from(certificate!)), 'certificate');
    assert.equal(certificate!.buffer.byteLength, raw.length, 'a copy has no neighbours');
  });

  it('shows no certificate where there is none', () => {
    const { send, posted } = world();
    send();
    assert.deepEqual(
      [headIn(posted).certificate, headIn(posted).encrypted, headIn(posted).address],
      [null, false, ''],
    );
    const tls = world();
    tls.send({ socket: { encrypted: true, getPeerX509Certificate: () => undefined } });
    assert.equal(headIn(tls.posted).certificate, null);
  });
});

describe('an exchange', () => {
  const body = { headers: { 'content-length': '1000000' } };

  it('sends the body piece by piece, and waits while 64 KiB are unread', async () => {
    const { send, posted, forwarding } = world();
    const { request } = send(body);
    request.push(Buffer.alloc(flight - 1));
    await turn();
    assert.equal(request.isPaused(), false);
    request.push(Buffer.alloc(1));
    await turn();
    assert.equal(request.isPaused(), true);
    forwarding.take({ kind: 'read', id: 1, bytes: 0 });
    assert.equal(request.isPaused(), true);
    forwarding.take({ kind: 'read', id: 1, bytes: 1 });
    assert.equal(request.isPaused(), false);
    request.push(null);
    await turn();
    assert.deepEqual(
      posted.map(({ kind }) => kind),
      ['request', 'body', 'body', 'body-end'],
    );
  });

  /** In place of the response: what is written, and whether there is room. */
  class Written extends EventEmitter {
    readonly calls: unknown[][] = [];
    hasRoom = true;
    headersSent = false;
    writableFinished = false;
    writeHead(...given: unknown[]) {
      this.calls.push(['head', ...given]);
    }
    write(piece: unknown) {
      this.calls.push(['write', piece]);
      return this.hasRoom;
    }
    end(piece: unknown) {
      this.calls.push(['end', piece]);
    }
    writeContinue() {
      this.calls.push(['continue']);
    }
    destroy() {
      this.calls.push(['destroy']);
    }
  }
  function answering() {
    const { forwarding, posted, told } = world();
    const request = new IncomingMessage(new Socket());
    Object.assign(request, { method: 'GET', url: '/' });
    const response = new Written();
    forwarding.forward(request, response as unknown as ServerResponse);
    posted.length = 0;
    return { forwarding, posted, told, response };
  }
  const answer = { kind: 'answer', id: 1, head: null, piece: null, isLast: false } as const;

  it('hands the answer to the client, and says when that took it', () => {
    const { forwarding, posted, response } = answering();
    forwarding.take({ ...answer, head: { status: 201, rawHeaders: ['A', 'b'] } });
    forwarding.take({ ...answer, piece: 'ä' });
    assert.deepEqual(posted, [{ kind: 'taken', id: 1, bytes: 2 }]);
    response.hasRoom = false;
    forwarding.take({ ...answer, piece: Buffer.from('abc') });
    assert.equal(posted.length, 1);
    response.emit('drain');
    response.emit('drain');
    assert.deepEqual(posted.slice(1), [{ kind: 'taken', id: 1, bytes: 3 }]);
    forwarding.take({ ...answer, isLast: true });
    assert.deepEqual(response.calls, [
      ['head', 201, ['A', 'b']],
      ['write', 'ä'],
      ['write', Buffer.from('abc')],
      ['end', undefined],
    ]);
  });

  it('ends with the last piece', () => {
    const { forwarding, posted, response } = answering();
    forwarding.take({ ...answer, head: { status: 200, rawHeaders: [] }, piece: 'all', isLast: true });
    assert.deepEqual([response.calls.at(-1), posted], [['end', 'all'], []]);
  });

  it('does what it is told, and nothing for a number that is over', () => {
    const { forwarding, told, response } = answering();
    forwarding.take({ kind: 'continue', id: 1 });
    forwarding.take({ kind: 'late', id: 1 });
    forwarding.take({ kind: 'cut', id: 1 });
    assert.deepEqual([response.calls, told], [[['continue'], ['destroy']], ['late']]);
    response.emit('close');
    forwarding.take({ kind: 'continue', id: 1 });
    assert.equal(response.calls.length, 2);
  });

  for (const isFinished of [true, false])
    it(`${isFinished ? 'says nothing' : 'says that the client is gone'} where it ends ${isFinished ? 'after' : 'before'} its answer`, () => {
      const { posted, response } = answering();
      response.writableFinished = isFinished;
      response.emit('close');
      assert.deepEqual(posted, isFinished ? [] : [{ kind: 'gone', id: 1 }]);
    });

  it('fails by a refusal before its answer began, and by a cut after that', () => {
    for (const headersSent of [true, false]) {
      const { forwarding, told, response } = answering();
      response.headersSent = headersSent;
      forwarding.failAll();
      assert.deepEqual([told, response.calls], headersSent ? [[], [['destroy']]] : [['refused'], []]);
    }
  });
});
