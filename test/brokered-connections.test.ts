/** No byte of one secret's exchange reaches another's, whatever the other service sends and whenever; nor a second time. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { createServer as createPlain, type Server } from 'node:http';
import { createServer as createEncrypted } from 'node:https';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { egressInto } from '../src/access/egress.ts';
import type { BrokeredCall } from '../src/egress/brokered-answer.ts';
import { type Broker, brokerWith } from '../src/egress/brokered-call.ts';
import { selfSign } from '../src/material/certificate.ts';

const execute = promisify(execFile);
const value = 'ghp_7Qx2mZr9Lk4Tn8VbcW1sYd6Hf3Jg0Ae5';
const foreign = 'SESSION-OF-ANOTHER-CALLER';
const forged = `HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: ${foreign.length}\r\n\r\n${foreign}`;
const own = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\nmine';

/** What an upstream sends to the first call on a connection; what follows comes late. */
const heads: Readonly<Record<string, readonly [method: string, answer: string]>> = {
  HEAD: ['HEAD', 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\n'],
  'a 204': ['GET', 'HTTP/1.1 204 No Content\r\n\r\n'],
  'a 205': ['GET', 'HTTP/1.1 205 Reset Content\r\ncontent-length: 0\r\n\r\n'],
  'a 304': ['GET', 'HTTP/1.1 304 Not Modified\r\n\r\n'],
  'early hints': ['GET', `HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n${own}`],
  'a plain answer': ['GET', own],
};

async function startBroker(t: TestContext): Promise<Broker> {
  const broker = brokerWith({ egress: egressInto(['127.0.0.0/8']), resolve: async () => ['127.0.0.1'] });
  t.after(() => broker.close());
  return broker;
}

function orderOf(port: number, more: Partial<BrokeredCall> = {}): BrokeredCall {
  return {
    secret: 'one',
    lane: { organization: 'one', key: 'one' },
    isOnce: false,
    method: 'GET',
    url: `http://upstream.example:${port}/x`,
    headers: { authorization: `Bearer ${value}` },
    body: null,
    values: [value],
    responseHeaders: ['content-type'],
    maxResponse: 1000,
    binary: false,
    response: 'full',
    pointer: null,
    patience: 5_000,
    ...more,
  };
}

async function listen(t: TestContext, server: Server | ReturnType<typeof createServer>): Promise<number> {
  server.listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  t.after(() => new Promise(resolve => server.close(resolve)));
  return (server.address() as AddressInfo).port;
}

/** One that answers the first call of each connection as told, and sends the forged answer a moment later. */
async function startForger(t: TestContext, first: string, late: number) {
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer(socket => {
    sockets.add(socket.on('error', () => {}));
    const isFirst = ++connections === 1;
    let asked = 0;
    socket.on('data', () => {
      if (!isFirst || ++asked > 1) return void socket.write(own);
      socket.write(first);
      setTimeout(() => socket.write(forged), late);
    });
  });
  const port = await listen(t, server);
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  return { port, connections: () => connections };
}

describe('connections to other services', () => {
  for (const [name, [method, first]] of Object.entries(heads)) {
    for (const late of [0, 30]) {
      it(`carry nothing over to another secret after ${name}, ${late} ms late`, async t => {
        const broker = await startBroker(t);
        const { port } = await startForger(t, first, late);
        await broker.call(orderOf(port, { method }));
        for (let call = 0; call < 3; call++) {
          const { outcome, body } = await broker.call(orderOf(port, { secret: 'other' }));
          assert.deepEqual([outcome, body], ['answered', 'mine']);
        }
      });

      if (name === 'a plain answer') continue;
      it(`are not used again after ${name}, ${late} ms late`, async t => {
        const broker = await startBroker(t);
        const { port, connections } = await startForger(t, first, late);
        await broker.call(orderOf(port, { method }));
        const { body } = await broker.call(orderOf(port));
        assert.deepEqual([body, connections()], ['mine', 2]);
      });
    }
  }

  it('are closed if anything comes while nothing was asked', async t => {
    const broker = await startBroker(t);
    const { port, connections } = await startForger(t, own, 20);
    assert.equal((await broker.call(orderOf(port))).body, 'mine');
    await sleep(100);
    assert.equal((await broker.call(orderOf(port))).body, 'mine');
    assert.equal(connections(), 2);
  });

  it('are used again by calls with the same secret, and by no other; how many are kept is bounded', async t => {
    const broker = await startBroker(t);
    const open = new Set<Socket>();
    const server = createPlain((_request, response) => response.end('fine'));
    server.keepAliveTimeout = 60_000;
    let connections = 0;
    server.on('connection', socket => {
      connections++;
      open.add(socket.on('close', () => open.delete(socket)));
    });
    const port = await listen(t, server);
    t.after(() => server.closeAllConnections());
    for (const secret of ['one', 'one', 'two', 'two', 'one']) await broker.call(orderOf(port, { secret }));
    assert.equal(connections, 2);
    for (let secret = 0; secret < 300; secret++) await broker.call(orderOf(port, { secret: String(secret) }));
    await sleep(100);
    assert.equal(open.size, 256);
  });

  it('verify certificates, whatever the environment says', async t => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const about = { privatePem: key, subject: 'CN=upstream.example', sans: ['dns:upstream.example'] };
    const cert = await selfSign({ ...about, notBefore: new Date(Date.now() - 60_000), days: 2 });
    let calls = 0;
    const server = createEncrypted({ key, cert }, (_request, response) => {
      calls++;
      response.end('fine');
    });
    const port = await listen(t, server);
    const call = { ...orderOf(port), url: `https://upstream.example:${port}/x` };
    const script = `
      import { egressInto } from '${new URL('../src/access/egress.ts', import.meta.url)}';
      import { brokerWith } from '${new URL('../src/egress/brokered-call.ts', import.meta.url)}';
      const broker = brokerWith({ egress: egressInto(['127.0.0.0/8']), resolve: async () => ['127.0.0.1'] });
      console.log(JSON.stringify(await broker.call(${JSON.stringify(call)})));
      await broker.close();`;
    const env = { ...process.env, NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_NO_WARNINGS: '1' };
    const { stdout } = await execute(process.execPath, ['--input-type=module', '-e', script], { env });
    const { outcome, reason } = JSON.parse(stdout);
    assert.deepEqual([outcome, reason, calls], ['failed', 'DEPTH_ZERO_SELF_SIGNED_CERT', 0]);
  });

  it('carry an approved call once, whatever becomes of them', async t => {
    const broker = await startBroker(t);
    let calls = 0;
    const server = createPlain((request, response) => {
      calls++;
      if (request.url === '/reset') return void request.socket.resetAndDestroy();
      response.end('fine');
    });
    const port = await listen(t, server);
    t.after(() => server.closeAllConnections());
    const url = `http://upstream.example:${port}/reset`;
    await broker.call(orderOf(port));
    const { outcome } = await broker.call(orderOf(port, { url, isOnce: true }));
    assert.deepEqual([outcome, calls], ['failed', 2]);
  });
});
