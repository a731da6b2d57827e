import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { egressInto, isPublicAddress } from '../src/access/egress.ts';
import { type Delivery, type Sender, senderWith } from '../src/events/sender.ts';
import { selfSign } from '../src/material/certificate.ts';
import { type Service, startService } from './harness.ts';
import { type Receiver, startReceiver, until } from './receiver.ts';

/** Counts whoever gets through, on every address of this machine that a listener can have. */
let listener: Server;
let port: number;
let connections = 0;

before(async () => {
  listener = createServer(socket => {
    connections++;
    socket.on('error', () => {}).destroy();
  });
  listener.listen(0, '::');
  await new Promise(resolve => listener.once('listening', resolve));
  port = (listener.address() as { port: number }).port;
});
after(() => void listener.close());

const evasions = [
  '127.0.0.1',
  '127.1',
  '127.255.255.254',
  '2130706433',
  '017700000001',
  '0177.0.0.1',
  '0x7f000001',
  '0x7f.0.0.1',
  '127.0.0.1.',
  '①②⑦.0.0.1',
  '0.0.0.0',
  '0',
  '[::]',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b:1::127.0.0.1]',
  '[2002:7f00:1::]',
  '[2002:7f00:1::1]',
  '[2001:0:7f00:1::]',
  '[2001::80ff:fffe]',
  '[fe80::1]',
  '[fc00::1]',
  '[fec0::1]',
  '[ff02::1]',
  '10.0.0.1',
  '100.64.0.1',
  '169.254.169.254',
  '172.16.0.1',
  '192.168.0.1',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
  'localhost',
  'localhost.',
  'LOCALHOST',
  'hooks.localhost',
  'hooks.localhost.',
];

/** Names whose owner lets them lead inside. */
const leading: Readonly<Record<string, readonly string[]>> = {
  'inner.example': ['127.0.0.1'],
  'inner6.example': ['::1'],
  'mapped.example': ['::ffff:127.0.0.1'],
  'nat64.example': ['64:ff9b::7f00:1'],
  'zero.example': ['0.0.0.0'],
  'unspecified.example': ['::'],
  'metadata.example': ['169.254.169.254'],
  'many.example': ['10.0.0.1', '127.0.0.1', '::1'],
};

function messageTo(url: string): Delivery {
  return {
    id: 'test',
    method: 'POST',
    url,
    body: '{}',
    headers: {},
    at: Date.now(),
    secrets: ['whsec_c2VjcmV0'],
  };
}

function sending(t: { after(close: () => void): void }, sender: Sender): Sender {
  t.after(sender.close);
  return sender;
}

describe('where a webhook may lead', () => {
  it('no inner address in any spelling is connected to', async t => {
    const resolve = async (name: string) => leading[name] ?? ['127.0.0.1'];
    const sender = sending(t, senderWith({ egress: egressInto([]), resolve, patience: 2_000 }));
    for (const host of [...evasions, ...Object.keys(leading)]) {
      for (const scheme of ['https', 'http']) {
        const { status, error } = await sender.send(messageTo(`${scheme}://${host}:${port}/`));
        assert.equal(status, null, host);
        assert.match(
          error!,
          /^(must lead to a public address|must begin with https|the address is not allowed)/,
          host,
        );
      }
    }
    assert.equal(connections, 0);
    const open = sending(t, senderWith({ egress: egressInto(['0.0.0.0/0', '::/0']), resolve }));
    await open.send(messageTo(`http://127.0.0.1:${port}/`));
    assert.equal(connections, 1, 'the listener hears those who are let through');
  });

  it('a name that answers differently a moment later gains nothing: what was judged is what is dialled', async t => {
    const judged = await startReceiver('127.0.0.1');
    const inner = await startReceiver('127.0.0.2', Number(new URL(judged.url).port));
    t.after(judged.close);
    t.after(inner.close);
    judged.answer = (_arrival, response) => response.writeHead(204, { connection: 'close' }).end();
    let asked = 0;
    const resolve = async () => (++asked % 2 === 1 ? ['127.0.0.1'] : ['127.0.0.2']);
    const sender = sending(t, senderWith({ egress: egressInto(['127.0.0.1/32']), resolve, patience: 2_000 }));
    const url = judged.url.replace('127.0.0.1', 'rebinding.example');
    const statuses: (number | null)[] = [];
    for (let send = 0; send < 6; send++) statuses.push((await sender.send(messageTo(url))).status);
    assert.deepEqual(statuses, [204, null, 204, null, 204, null]);
    assert.equal(inner.connections, 0);
  });

  it('the peer of the open connection is judged before a byte is sent', async t => {
    const inner = await startReceiver();
    t.after(inner.close);
    // Whoever judges is lied to until the connection is there.
    let judged = 0;
    const egress = { permits: () => ++judged === 1, refusalOf: () => null };
    const sender = sending(t, senderWith({ egress, resolve: async () => ['127.0.0.1'], patience: 2_000 }));
    const result = await sender.send(messageTo(inner.url));
    assert.equal(result.error, 'the address is not allowed');
    assert.equal(judged, 2);
    assert.equal(inner.arrivals.length, 0);
  });

  it('a user name or a password in the URL is refused', () => {
    const { refusalOf } = egressInto([]);
    for (const url of [
      'https://user@example.com/',
      'https://user:pass@example.com/',
      'https://:pass@example.com/',
    ]) {
      assert.match(refusalOf(new URL(url))!, /user name/);
    }
    assert.equal(refusalOf(new URL('https://example.com:8443/any/port')), null);
  });

  it('a port of another protocol is refused, in ranges that were opened too', () => {
    for (const { refusalOf } of [egressInto([]), egressInto(['127.0.0.0/8'])]) {
      for (const port of [1, 22, 25, 110, 143, 389, 587, 636, 993, 2049, 6000, 6667, 10_080])
        assert.match(refusalOf(new URL(`https://example.com:${port}/`))!, /another protocol/, String(port));
      for (const port of [80, 443, 3000, 8080, 8443, 9000])
        assert.equal(refusalOf(new URL(`https://example.com:${port}/`)), null, String(port));
    }
  });

  it('public addresses are public', () => {
    for (const address of [
      '1.1.1.1',
      '93.184.216.34',
      '172.15.0.1',
      '172.32.0.1',
      '2606:4700::1111',
      '2a00::1',
    ]) {
      assert.equal(isPublicAddress(address), true, address);
    }
  });

  it('over https the receiver’s certificate must hold for the name in the URL', async t => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const about = { privatePem: key, subject: 'CN=hooks.example', sans: ['dns:hooks.example'] };
    const cert = await selfSign({ ...about, notBefore: new Date(Date.now() - 60_000), days: 2 });
    const server = createHttpsServer({ key, cert }, (_request, response) => response.writeHead(204).end());
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const { port: secure } = server.address() as AddressInfo;
    const parts = { egress: egressInto(['127.0.0.0/8']), resolve: async () => ['127.0.0.1'] };
    const stranger = await sending(t, senderWith(parts)).send(messageTo(`https://hooks.example:${secure}/`));
    assert.equal(stranger.error, 'DEPTH_ZERO_SELF_SIGNED_CERT');
    const trusted = getCACertificates('default');
    t.after(() => setDefaultCACertificates(trusted));
    setDefaultCACertificates([...trusted, cert]);
    const sender = sending(t, senderWith(parts));
    assert.equal((await sender.send(messageTo(`https://hooks.example:${secure}/`))).status, 204);
    const another = await sender.send(messageTo(`https://other.example:${secure}/`));
    assert.equal(another.error, 'ERR_TLS_CERT_ALTNAME_INVALID');
  });

  it('an opened range may be sent to, by http as well, and nothing beside it', async t => {
    const opened = await startReceiver('127.0.0.1');
    const beside = await startReceiver('127.0.0.2');
    t.after(opened.close);
    t.after(beside.close);
    const resolve = async () => ['127.0.0.2', '127.0.0.1'];
    const sender = sending(t, senderWith({ egress: egressInto(['127.0.0.1/32']), resolve, patience: 2_000 }));
    assert.equal((await sender.send(messageTo(opened.url))).status, 204);
    assert.equal((await sender.send(messageTo(beside.url))).status, null);
    const byName = opened.url.replace('127.0.0.1', 'both.example');
    assert.equal((await sender.send(messageTo(byName))).status, 204);
    assert.equal((await sender.send(messageTo(byName.replace('http:', 'https:')))).status, null);
    assert.equal(beside.connections, 0);
    assert.equal(opened.arrivals[1]!.headers.host, new URL(byName).host);
  });
});

describe('where a webhook may lead, through the API', () => {
  let service: Service;
  let receiver: Receiver;

  before(async () => {
    service = await startService({ flags: [] });
    receiver = await startReceiver();
  });
  after(async () => {
    await receiver.close();
    await service.stop();
  });

  it('an inner address in any spelling is refused when it is given', async () => {
    const seen = connections;
    for (const host of evasions) {
      const body = { url: `https://${host}:${port}/`, events: ['resource.created'] };
      const answer = await service.call('POST', '/v1/webhooks', body);
      assert.equal(answer.status, 400, host);
      assert.equal(answer.body.error.details.field, 'url', host);
    }
    const plain = { url: receiver.url.replace('127.0.0.1', 'example.com'), events: ['resource.created'] };
    assert.equal((await service.call('POST', '/v1/webhooks', plain)).status, 400);
    assert.equal(connections, seen);
  });

  it('what was opened once and is closed again gets no connection', async t => {
    const opened = await startService();
    t.after(() => opened.stop());
    const body = { url: receiver.url, events: ['resource.created'] };
    const { body: hook } = await opened.call('POST', '/v1/webhooks', body);
    await opened.restart(['--allow-private-webhooks', '10.0.0.0/8']);
    const { body: sent } = await opened.call('POST', `/v1/webhooks/${hook.id}/test`);
    const path = `/v1/webhook-deliveries/${sent.id}`;
    await until(async () => (await opened.call('GET', path)).body.state === 'dead');
    assert.equal((await opened.call('GET', path)).body.attempts[0].error, 'must lead to a public address');
    assert.equal(receiver.connections, 0);
  });
});
