/** One call to another service: on which connection it goes, how often, what it sends, and what is told where it fails. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Egress } from '../src/access/egress.ts';
import type { BrokeredCall } from '../src/egress/brokered-answer.ts';
import { type Broker, brokerWith } from '../src/egress/brokered-call.ts';

const value = 'q7xz2mb9ck4wt1pl8vr3';
const answerOf = (body: string, head = '') =>
  `HTTP/1.1 200 OK\r\n${head}content-length: ${body.length}\r\n\r\n${body}`;
const everywhere = { permits: () => true, refusalOf: () => null } as unknown as Egress;

type Parts = Parameters<typeof brokerWith>[0];

/** What each connection was asked, and what is sent to each request. */
const connections: { asked: string[]; socket: Socket }[] = [];
let respond: (socket: Socket, asked: string, number: number) => void;
const server = createServer(socket => {
  const one = { asked: [] as string[], socket: socket.on('error', () => {}) };
  connections.push(one);
  socket.on('data', bytes => {
    one.asked.push(String(bytes));
    respond(socket, String(bytes), one.asked.length);
  });
});
let broker: Broker;
let port: number;

async function begin(parts: Partial<Parts> = {}): Promise<void> {
  await broker?.close();
  for (const { socket } of connections.splice(0)) socket.destroy();
  broker = brokerWith({ egress: everywhere, resolve: async () => ['127.0.0.1'], ...parts });
  respond = socket => socket.write(answerOf('fine'));
}
before(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
});
after(async () => {
  await begin();
  await broker.close();
  server.close();
});

const orderOf = (more: Partial<BrokeredCall>): BrokeredCall => ({
  ...{ secret: 'one', lane: { organization: 'one', key: 'one' }, isOnce: false, method: 'GET' },
  ...{ url: `http://upstream.example:${port}/x?y=1`, headers: {}, body: null, values: [value] },
  ...{
    responseHeaders: ['x-*'],
    maxResponse: 30_000,
    binary: false,
    response: 'full' as const,
    pointer: null,
  },
  ...{ patience: 5_000, ...more },
});

/** What comes of each call, one after the other. */
async function told(...orders: Partial<BrokeredCall>[]): Promise<string[]> {
  const results: string[] = [];
  for (const order of orders) {
    const { outcome, reason, status, body } = await broker.call(orderOf(order));
    results.push([outcome, reason ?? `${status} ${body}`].join(': '));
  }
  return results;
}

const fine = 'answered: 200 fine';
const counts = () => connections.map(({ asked }) => asked.length);

describe('a call', () => {
  it('goes on a connection that is kept if it may be sent again, and on one of its own if not', async () => {
    await begin();
    const once = { isOnce: true };
    const orders = [
      {},
      {},
      { method: 'POST' },
      {},
      once,
      { method: 'DELETE', ...once },
      { secret: 'two' },
      {},
    ];
    assert.deepEqual(
      await told(...orders),
      orders.map(() => fine),
    );
    assert.deepEqual(counts(), [4, 1, 1, 1, 1]);
  });

  it('is sent again where a kept connection was closed just when it was used, and only there', async () => {
    await begin();
    respond = (socket, _, number) =>
      number === 1 ? socket.write(answerOf('fine')) : socket.resetAndDestroy();
    assert.deepEqual(await told({}, {}), [fine, fine]);
    assert.deepEqual(counts(), [2, 1]);
    await begin();
    respond = socket => void socket.resetAndDestroy();
    assert.deepEqual(await told({}), ['failed: ECONNRESET']);
    assert.deepEqual(counts(), [1]);
    await begin();
    respond = (socket, _, number) => socket.write(number === 1 ? answerOf('fine') : 'nonsense\r\n\r\n');
    assert.match((await told({}, {})).join(), /^answered: 200 fine,failed: HPE_/);
    assert.deepEqual(counts(), [2]);
  });

  it('sends what was ordered, and a length with a body alone', async () => {
    await begin();
    await told({ headers: { a: 'b' } }, { method: 'DELETE', body: Buffer.from('body') });
    const [plain, withBody] = connections.map(({ asked }) => asked.join('').toLowerCase());
    assert.match(plain!, /^get \/x\?y=1 http\/1\.1\r\na: b\r\n/);
    assert.match(
      plain!,
      new RegExp(`host: upstream.example:${port}\r\naccept-encoding: identity\r\nuser-agent: strongroom`),
    );
    assert.doesNotMatch(plain!, /content-length|transfer-encoding/);
    assert.match(withBody!, /\r\ncontent-length: 4\r\n[\s\S]*\r\n\r\nbody$/);
  });

  it('goes to the port of its address, or to that of its protocol', async () => {
    await begin();
    const ports: number[] = [];
    const note = (message: unknown) => {
      const { socket } = message as { socket: Socket };
      socket.on('connectionAttempt', (_ip, to) => {
        ports.push(to);
        process.nextTick(() => socket.destroy(Object.assign(new Error(), { code: 'NOTED' })));
      });
    };
    subscribe('net.client.socket', note);
    try {
      const urls = [
        'http://a.example:8080/',
        'http://a.example/',
        'https://a.example/',
        'https://a.example:8443/',
      ];
      assert.deepEqual(
        await told(...urls.map(url => ({ url }))),
        urls.map(() => 'failed: NOTED'),
      );
    } finally {
      unsubscribe('net.client.socket', note);
    }
    assert.deepEqual(ports, [8_080, 80, 443, 8_443]);
  });

  it('is encrypted where its address says so', async () => {
    await begin();
    respond = socket => socket.destroy();
    await told({ url: `https://a.example:${port}/` }, { url: `http://a.example:${port}/` });
    assert.deepEqual(
      connections.map(({ asked }) => asked[0]!.charCodeAt(0)),
      [0x16, 'G'.charCodeAt(0)],
    );
  });

  it('leaves no connection behind that waits for the rest of an answer', async () => {
    for (const [order, head] of [
      [{ response: 'status-only' }, ''],
      [{}, 'content-range: bytes 0-1/2\r\n'],
    ] as const) {
      await begin();
      respond = socket => socket.write(answerOf('a body that is not read', head));
      await told(order);
      await once(connections[0]!.socket, 'close');
    }
  });

  it('has an answer with a head of 16 KiB at most', async () => {
    await begin();
    const headed = (length: number) => {
      const rest = answerOf('', 'x-a: \r\n').length;
      return answerOf('', `x-a: ${'x'.repeat(length - rest)}\r\n`);
    };
    // 24 bytes of this one are not counted: its first line, and what stands between names and values.
    let length = 16 * 1024 + 24;
    respond = socket => socket.write(headed(length));
    assert.match((await told({})).join(), /^answered/);
    length++;
    assert.deepEqual(await told({ secret: 'two' }), ['failed: HPE_HEADER_OVERFLOW']);
  });

  it('tells of what failed by a code alone, and of what it knows itself', async () => {
    const refused = { ...everywhere, refusalOf: () => 'is not allowed' } as unknown as Egress;
    const unpermitted = { ...everywhere, permits: () => false } as unknown as Egress;
    const rows: [what: string, parts: Partial<Parts>, order: Partial<BrokeredCall>, reason: string][] = [
      ['an address that is refused', { egress: refused }, {}, 'the address is not allowed'],
      ['where it leads to', { egress: unpermitted }, {}, 'the address is not allowed'],
      ['no name', { resolve: async () => [] }, {}, 'ENOTFOUND'],
      ['no code', { resolve: () => Promise.reject(new Error('private')) }, {}, 'the connection failed'],
      ['nobody there', {}, { url: 'http://a.example:1/' }, 'ECONNREFUSED'],
      [
        'nobody at two',
        { resolve: async () => ['127.0.0.1', '127.0.0.2'] },
        { url: 'http://a.example:1/' },
        'ECONNREFUSED',
      ],
    ];
    for (const [what, parts, order, reason] of rows) {
      await begin(parts);
      assert.deepEqual(await told(order), [`failed: ${reason}`], what);
      assert.deepEqual(counts(), [], what);
    }
  });

  it('fails where another protocol, no answer in time, or the end of the service comes', async () => {
    await begin();
    respond = socket =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n');
    assert.deepEqual(await told({}), ['failed: the connection failed']);
    respond = () => {};
    assert.deepEqual(await told({ patience: 30 }), ['failed: timed out']);
    const open = told({});
    await sleep(50);
    await broker.close();
    assert.deepEqual(await open, ['failed: the service stopped']);
  });

  it('tells the status, the length and the parts of an answer that is withheld', async () => {
    await begin();
    respond = socket => socket.write(answerOf(value.slice(0, 12)));
    const { outcome, status, bytes, parts, body } = await broker.call(orderOf({}));
    assert.deepEqual([outcome, status, bytes, parts, body], ['withheld', 200, 12, 1, null]);
    assert.equal(await broker.partsIn([value], Buffer.from(value), { organization: 'a', key: 'a' }), 1);
  });
});
