/** What somebody without a credential can cost: memory, connections, parsing, and the word of the listener. */
import assert from 'node:assert/strict';
import { tracingChannel } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import { networkInterfaces } from 'node:os';
import { after, before, describe, it } from 'node:test';
import { defaultTimeouts } from '../src/http/listener/server.ts';
import { connectionsOf } from '../src/service/listener/listening.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { type Service, startService } from './harness.ts';
import { type Held, hold, post, statusIn } from './sockets.ts';

const behind = ['--behind-proxy', '127.0.0.0/8'];
const wholeAnswer = /\r\n\r\n[\s\S]*\}$/;

/** Whatever a test holds open is closed with it. */
class Holding {
  readonly #all: Held[] = [];

  open(url: string, text: string): Held {
    const held = hold(url, text);
    this.#all.push(held);
    return held;
  }

  async end(): Promise<void> {
    await Promise.all(this.#all.splice(0).map(held => held.end()));
  }
}

describe('a stranger’s body', () => {
  let service: Service;
  const holding = new Holding();
  before(async () => {
    // However slowly this machine opens the connections, none of them is late.
    const timeouts = { ...defaultTimeouts, headers: 600_000, request: 600_000, stranger: 600_000 };
    service = await startService({ flags: behind, timeouts });
    service.clock.standInNewMinute();
  });
  after(() => service.stop());

  let minute = 0;
  const nextMinute = () => {
    minute += 1;
    service.clock.pass(60_000);
  };
  const from = (address: string, more: Record<string, string> = {}) => ({
    host: new URL(service.url).host,
    'x-forwarded-for': address,
    'x-forwarded-proto': 'http',
    ...more,
  });

  it('is refused unread on every route under /auth and at the login of machines, where it says that it has more than 16 KiB', async () => {
    const routes = [...service.routes].filter(route => /^POST (\/auth\/|\/api\/v1\/login$)/.test(route));
    assert.ok(routes.length > 10);
    for (const route of routes) {
      const path = route.slice('POST '.length);
      const held = holding.open(
        service.url,
        post(path, { host: new URL(service.url).host, 'content-length': '20000' }),
      );
      const answer = await held.closed();
      assert.ok([400, 401].includes(statusIn(answer)), `${path}: ${answer}`);
      assert.match(answer, /connection: close/i, path);
    }
    nextMinute();
  });

  it('is cut off where it grows past that without having said so', async () => {
    const chunked = post('/auth/password', from('203.0.113.1', { 'transfer-encoding': 'chunked' }));
    const held = holding.open(service.url, `${chunked}4100\r\n${'a'.repeat(0x4100)}\r\n`);
    const answer = await held.closed();
    assert.equal(statusIn(answer), 400);
    assert.match(answer, /16 KiB/);
    nextMinute();
  });

  const limits: readonly [path: string, kibibytes: number][] = [
    ['/auth/password', 16],
    ['/api/v1/login', 16],
    ['/vault/v1/auth/jwt/login', 64],
    ['/mcp', 128],
  ];
  for (const [path, kibibytes] of limits)
    it(`has ${kibibytes} KiB at ${path}, said or not, and not one byte more`, async () => {
      const largest = kibibytes * 1024;
      const send = async (length: number, isSaid: boolean) => {
        const how = isSaid ? { 'content-length': String(length) } : { 'transfer-encoding': 'chunked' };
        const text = `"${'a'.repeat(length - 2)}"`;
        const body = isSaid ? text : `${length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
        const address = `203.0.113.${40 + minute}`;
        const head = post(
          path,
          from(address, { ...how, 'content-type': 'application/json', connection: 'close' }),
        );
        return holding.open(service.url, head + body).closed();
      };
      for (const isSaid of [true, false]) {
        assert.doesNotMatch(await send(largest, isSaid), /too large/);
        assert.match(await send(largest + 1, isSaid), /too large/);
      }
      nextMinute();
    });

  for (const [path, garbage] of [
    ['/auth/password', '{"email":'],
    ['/auth/password', '{"email":"a@b.example","password":"x","unheard-of":1}'],
    ['/auth/invitation', '[[[['],
    ['/mcp', '{"method":'],
    ['/mcp', '[]'],
  ] as const) {
    it(`that is ${garbage} ends in 429 at ${path}, ahead of any parsing`, async () => {
      const address = `203.0.113.${20 + minute}`;
      const send = () => service.call('POST', path, garbage, null, from(address));
      for (let at = 0; at < 60; at++) assert.equal((await send()).status, 400);
      // Its body never comes, so nobody can have looked at it.
      const held = holding.open(service.url, post(path, from(address, { 'content-length': '10' })));
      const answer = await held.closed();
      assert.equal(statusIn(answer), 429, answer);
      assert.match(answer, /retry-after: 60/i);
      assert.equal((await service.call('POST', path, garbage, null, from('203.0.113.9'))).status, 400);
      nextMinute();
      assert.equal((await send()).status, 400);
      nextMinute();
    });
  }

  it('is not counted against whoever sends a good key in the head', async () => {
    const vault = await service.call('POST', '/v1/vaults', { name: 'garbled' });
    const made = await service.call('POST', '/v1/access-keys', { vault_id: vault.body.id, name: 'garbled' });
    const address = from('203.0.113.60');
    for (let at = 0; at < 70; at++) {
      const answer = await service.call('POST', '/mcp', '{"method":', made.body.token, address);
      assert.equal(answer.status, 400);
    }
    const greet = { method: 'initialize' };
    assert.equal((await service.call('POST', '/mcp', greet, null, address)).status, 200);
    nextMinute();
  });

  /** Says that it sends so much, and waits for the word to do so, which comes once there is room for it. */
  const ask = (address: string, length = 128 * 1024) =>
    holding.open(
      service.url,
      post('/mcp', from(address, { 'content-length': String(length), expect: '100-continue' })),
    );
  const fill = async (address: string) => {
    const held = Array.from({ length: 32 }, () => ask(address));
    for (const one of held) assert.match(await one.until(/\r\n\r\n/), /^HTTP\/1\.1 100 /);
    return held;
  };
  const refused = async (address: string) => {
    const answer = await ask(address).closed();
    assert.equal(statusIn(answer), 503, answer);
    assert.match(answer, /retry-after: 1\b/i);
  };

  it('waits its turn: so many bytes are held for one address, so many for all, and no more', async () => {
    const addresses = [1, 2, 3, 4].map(last => `198.51.100.${last}`);
    const [first] = await fill(addresses[0]!);
    await refused(addresses[0]!);
    for (const address of addresses.slice(1)) await fill(address);
    await refused('198.51.100.5');
    assert.equal((await service.call('POST', '/v1/vaults', { name: 'known' })).status, 200);
    await first!.end();
    // The service hears of the closed connection when it comes to it.
    let status = 503;
    for (let turn = 0; turn < 200 && status === 503; turn++)
      status = statusIn(await ask('198.51.100.5').until(/\r\n\r\n/));
    assert.equal(status, 100, 'there is room again');
    await holding.end();
  });

  it('never stands in the way of a key in the head: that one is judged before the body', async () => {
    const vault = await service.call('POST', '/v1/vaults', { name: 'in the head' });
    const made = await service.call('POST', '/v1/access-keys', { vault_id: vault.body.id, name: 'head' });
    const address = '198.51.100.40';
    const held = await fill(address);
    const greet = (key: string | null) =>
      service.call('POST', '/mcp', { method: 'initialize' }, key, from(address));
    assert.equal((await greet(null)).status, 503);
    assert.equal((await greet(made.body.token)).status, 200);
    assert.ok(held.every(one => !one.socket.destroyed));
    await holding.end();
  });
});

describe('a stranger’s time', () => {
  it('is shorter than that of whoever brought a credential', async () => {
    const timeouts = { headers: 20_000, request: 20_000, stranger: 100, silence: 60_000, checkEvery: 50 };
    const service = await startService({ timeouts });
    const holding = new Holding();
    try {
      const authorization = `Bearer ${service.key}`;
      const body = '{"name":"late"}';
      const length = { 'content-length': String(body.length) };
      const known = holding.open(service.url, post('/v1/vaults', { authorization, ...length }, '{'));
      const answer = await holding
        .open(service.url, post('/auth/password', { host: new URL(service.url).host, ...length }, '{'))
        .closed();
      assert.equal(statusIn(answer), 408);
      assert.match(answer, /took too long to arrive/);
      known.socket.write(body.slice(1));
      assert.equal(statusIn(await known.until(wholeAnswer)), 200);
    } finally {
      await holding.end();
      await service.stop();
    }
  });
});

describe('connections', () => {
  it('of one address are bounded; one that closes makes room', async () => {
    const service = await startService({ flags: ['--connections-per-address', '5'] });
    const holding = new Holding();
    try {
      const ask = 'GET /v1/health HTTP/1.1\r\nHost: a\r\n\r\n';
      const open = Array.from({ length: 5 }, () => holding.open(service.url, ask));
      for (const held of open) assert.equal(statusIn(await held.until(wholeAnswer)), 200);
      assert.equal(await holding.open(service.url, ask).until(wholeAnswer), '', 'one too many');
      await open[0]!.end();
      let answer = '';
      // The listener may hear of the new connection before it hears of the end of the old one.
      for (let turn = 0; turn < 100 && answer === ''; turn++) {
        answer = await holding.open(service.url, ask).until(wholeAnswer);
      }
      assert.equal(statusIn(answer), 200);
    } finally {
      await holding.end();
      await service.stop();
    }
  });

  it('of a proxy are not counted: it speaks for many', async () => {
    const service = await startService({ flags: [...behind, '--connections-per-address', '2'] });
    const holding = new Holding();
    try {
      const ask = 'GET /v1/health HTTP/1.1\r\nHost: a\r\n\r\n';
      const open = Array.from({ length: 6 }, () => holding.open(service.url, ask));
      for (const held of open) assert.equal(statusIn(await held.until(wholeAnswer)), 200);
    } finally {
      await holding.end();
      await service.stop();
    }
  });

  it('in the clear are for the named proxy and this machine alone', async () => {
    const config = (...flags: string[]) => readConfig(serveOptions, flags, {});
    const clear = connectionsOf(config('--behind-proxy', '203.0.113.0/24,2001:db8::/64'), false);
    const served = ['203.0.113.7', '2001:db8::1', '127.0.0.1', '::1', '::ffff:203.0.113.7'];
    for (const peer of served) assert.ok(clear.admits(peer), peer);
    for (const peer of ['203.0.114.7', '10.0.0.1', '2001:db9::1', '']) assert.ok(!clear.admits(peer), peer);
    assert.ok(connectionsOf(config('--behind-proxy', '203.0.113.0/24'), true).admits('10.0.0.1'), 'over TLS');
    assert.ok(connectionsOf(config(), false).admits('10.0.0.1'), 'it listens on loopback only');

    const service = await startService({ flags: ['--host', '0.0.0.0', '--behind-proxy', '203.0.113.0/24'] });
    try {
      const { port } = new URL(service.url);
      const ask = 'GET /v1/health HTTP/1.1\r\nHost: a\r\n\r\n';
      const own = hold(`http://127.0.0.1:${port}`, ask);
      assert.equal(statusIn(await own.until(wholeAnswer)), 200);
      await own.end();
      for (const address of outerAddresses()) {
        const outer = hold(`http://${address}:${port}`, ask);
        assert.equal(await outer.until(wholeAnswer), '', address);
      }
    } finally {
      await service.stop();
    }
  });
});

/** By which this machine reaches itself as if from elsewhere, where it has any. */
function outerAddresses(): string[] {
  const all = Object.values(networkInterfaces()).flatMap(list => list ?? []);
  return all.filter(({ internal, family }) => !internal && family === 'IPv4').map(({ address }) => address);
}

describe('the listener', () => {
  it('keeps its own limits where nobody sets others', async () => {
    const servers: Server[] = [];
    const heard = (message: unknown) => servers.push((message as { server: Server }).server);
    const channel = tracingChannel('net.server.listen');
    channel.asyncStart.subscribe(heard);
    const service = await startService();
    channel.asyncStart.unsubscribe(heard);
    try {
      const { port } = new URL(service.url);
      const server = servers.find(one => (one.address() as { port: number } | null)?.port === Number(port))!;
      const { headersTimeout, requestTimeout, timeout, keepAliveTimeout, maxConnections } = server;
      assert.deepEqual(
        { headersTimeout, requestTimeout, timeout, keepAliveTimeout, maxConnections },
        {
          headersTimeout: 10_000,
          requestTimeout: 30_000,
          timeout: 120_000,
          keepAliveTimeout: 72_000,
          maxConnections: 10_000,
        },
      );
    } finally {
      await service.stop();
    }
  });

  it('gives no 100 before the credential is judged, a 100 after it, and 417 to whatever else is expected', async () => {
    const service = await startService();
    const holding = new Holding();
    const { key } = service;
    const body = '{"name":"continued"}';
    const length = { 'content-length': String(body.length) };
    try {
      for (const [expect, ...statuses] of [
        ['100-continue', 401, 404],
        ['100-Continue', 401, 404],
        ['something-else', 417],
      ] as const) {
        for (const path of ['/v1/vaults', '/auth/sessions', '/nowhere']) {
          const held = holding.open(
            service.url,
            post(path, { host: new URL(service.url).host, expect, ...length }),
          );
          const answer = await held.closed();
          assert.ok(
            (statuses as readonly number[]).includes(statusIn(answer)),
            `${expect} at ${path}: ${answer}`,
          );
          assert.ok(!answer.includes(' 100 '));
          assert.match(
            answer,
            /cache-control: no-store/i,
            'the service answered, and not the runtime before it',
          );
        }
        const read = `GET /api/v1/vaults/x HTTP/1.1\r\nHost: a\r\nExpect: ${expect}\r\nConnection: close\r\n\r\n`;
        assert.equal(statusIn(await holding.open(service.url, read).closed()), statuses[0]);
      }
      const authorization = `Bearer ${key}`;
      const known = holding.open(
        service.url,
        post('/v1/vaults', { expect: '100-continue', authorization, ...length }),
      );
      assert.equal(await known.until(/\r\n\r\n/), 'HTTP/1.1 100 Continue\r\n\r\n');
      known.socket.write(body);
      assert.match(await known.until(/continued/), /HTTP\/1\.1 200 /);
      const odd = post('/v1/vaults', { expect: 'odd', authorization, ...length }, body.replace('ed', 'ud'));
      assert.equal(statusIn(await holding.open(service.url, odd).until(wholeAnswer)), 417);
    } finally {
      await holding.end();
      await service.stop();
    }
  });
});

describe('one address', () => {
  let service: Service;
  before(async () => {
    service = await startService({ flags: behind });
    service.clock.standInNewMinute();
  });
  after(() => service.stop());

  it('of IPv6 is its network of 64 bits, however it is written', async () => {
    const fail = async (address: string) =>
      (await service.call('GET', '/v1/vaults', undefined, 'sr_api_wrong', { 'x-forwarded-for': address }))
        .status;
    for (let at = 0; at < 60; at++) {
      const address = at % 2 === 0 ? `2001:db8:1:2::${at + 1}` : `2001:0db8:1:2:${at}:0:0:1`;
      assert.equal(await fail(address), 401, address);
    }
    assert.equal(await fail('2001:db8:1:2:ffff::1'), 429);
    assert.equal(await fail('2001:db8:1:3::1'), 401, 'a neighbour is another');
    assert.equal(await fail('2001:db8::2:0:0:0:1'), 401);
  });

  it('opens so many tool sessions a minute, and no more', async () => {
    const open = async (address: string) => {
      const { status } = await service.call('POST', '/mcp', { method: 'initialize' }, null, {
        'x-forwarded-for': address,
      });
      return status;
    };
    const statuses: number[] = [];
    for (let batch = 0; batch < 12; batch++) {
      statuses.push(...(await Promise.all(Array.from({ length: 50 }, () => open('203.0.113.5')))));
    }
    assert.deepEqual(new Set(statuses), new Set([200]));
    assert.equal(await open('203.0.113.5'), 429);
    assert.equal(await open('203.0.113.6'), 200);
    service.clock.pass(60_000);
    assert.equal(await open('203.0.113.5'), 200);
  });
});
