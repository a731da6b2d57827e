/**
 * Where people sign in: the service believes no address but its own. Every route of `/auth`, and every request with a
 * session, under addresses of others: another port of the same host above all, whose pages share its passkeys.
 */
import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { Authenticator } from './authenticator.ts';
import { answerOf } from './connection.ts';
import { type Answer, enginesInTurn } from './harness.ts';
import { Browser, cookieName, type EmptyService, startEmpty } from './people.ts';

interface Sent {
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

/** A client that says of itself what it likes, the Host header too. */
function send(url: string, method: string, path: string, { headers = {}, body }: Sent = {}): Promise<Answer> {
  const text = body === undefined || ['GET', 'DELETE'].includes(method) ? undefined : JSON.stringify(body);
  const type: Record<string, string> = text === undefined ? {} : { 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const sent = httpRequest(url + path, { method, headers: { ...type, ...headers }, agent: false });
    sent.once('error', reject).once('response', response => resolve(answerOf(response)));
    sent.end(text);
  });
}

/** Each route once, with an id where one belongs. */
function callsOf(service: EmptyService, under: string): (readonly [method: string, path: string])[] {
  return [...service.routes]
    .map(route => route.split(' ') as [string, string])
    .filter(([method, path]) => path.startsWith(under) && method !== 'HEAD')
    .map(([method, path]) => [method, path.replace(/:\w+/g, '01890000-0000-7000-8000-000000000000')]);
}

function hostileHosts(url: string): string[] {
  const port = Number(new URL(url).port);
  const other = port === 65_535 ? port - 1 : port + 1;
  return [
    `localhost:${other}`,
    `127.0.0.1:${other}`,
    `[::1]:${other}`,
    'localhost',
    '127.0.0.1',
    'evil.example',
    `evil.example:${port}`,
    `localhost.evil.example:${port}`,
    `evil.localhost:${port}`,
    `localhost.:${port}`,
    `localhost:${port}@evil.example`,
    `evil.example#localhost:${port}`,
    `evil.example/localhost:${port}`,
    `192.0.2.1:${port}`,
    `localhost:${port},evil.example`,
    'null',
  ];
}

const refusal = /not one of the service’s own addresses.*--public-url/;

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`addresses of others, on ${engine}`, () => {
    let service: EmptyService;
    let owner: Browser;
    let ownersKey: Authenticator;
    const site = () => service.url.replace('127.0.0.1', 'localhost');
    const otherPort = () => `http://${hostileHosts(service.url)[0]}`;

    before(async () => {
      service = await startEmpty(engine, [
        '--oauth',
        'offered',
        '--oidc-issuer',
        'http://127.0.0.1:1',
        '--oidc-client-id',
        'x',
      ]);
      owner = new Browser(site);
      ownersKey = new Authenticator(site());
      const token = service.setupToken;
      const email = 'owner@example.org';
      const { body: options } = await owner.post('/auth/setup/options', { token, email });
      const passkey = { name: 'Laptop', credential: ownersKey.create(options) };
      const made = await owner.post('/auth/setup', { token, email, organization: 'Acme', passkey });
      assert.equal(made.status, 200, made.text);
    });
    after(() => service.stop());

    const session = () => ({ cookie: `${cookieName}=${owner.cookie}` });

    it('no route of /auth answers a Host that is not the service’s own, signed in or not', async () => {
      const calls = callsOf(service, '/auth/');
      assert.ok(calls.length >= 40, String(calls.length));
      const hosts = hostileHosts(service.url);
      for (const [at, [method, path]] of calls.entries())
        for (const host of hosts.filter(
          (_, index) => index % calls.length === at % hosts.length || index < 6,
        )) {
          const headers = { host, origin: `http://${host}`, ...(at % 2 === 0 ? session() : {}) };
          const answer = await send(service.url, method, path, { headers, body: {} });
          assert.equal(answer.status, 403, `${method} ${path} for ${host}: ${answer.text}`);
          assert.match(answer.body.error.message, refusal);
          assert.deepEqual(answer.headers.getSetCookie(), []);
        }
    });

    it('each of these hosts is refused, also without a page', async () => {
      for (const host of hostileHosts(service.url)) {
        const state = await send(service.url, 'GET', '/auth/state', { headers: { host, ...session() } });
        assert.equal(state.status, 403, host);
        const listed = await send(service.url, 'GET', '/v1/vaults', { headers: { host, ...session() } });
        assert.equal(listed.status, 403, host);
      }
      assert.equal((await owner.get('/v1/vaults')).status, 200);
    });

    it('no route of /auth that changes something takes a page of another origin, at the right Host', async () => {
      const { host } = new URL(site());
      const origins = [
        ...hostileHosts(service.url).map(other => `http://${other}`),
        'null',
        `https://${host}`,
      ];
      origins.push(service.url); // The same service by its number is another origin.
      const calls = callsOf(service, '/auth/').filter(([method]) => method !== 'GET');
      for (const [at, [method, path]] of calls.entries())
        for (const origin of [origins[0]!, origins[at % origins.length]!, 'null', service.url]) {
          const headers = { host, origin, ...(at % 2 === 0 ? session() : {}) };
          const answer = await send(service.url, method, path, { headers, body: {} });
          assert.equal(answer.status, 403, `${method} ${path} from ${origin}: ${answer.text}`);
        }
    });

    it('a passkey that signed for a page on another port of the same host opens nothing and proves nothing', async () => {
      const hostile = otherPort();
      for (const host of [new URL(hostile).host, new URL(site()).host])
        for (const origin of [hostile, site()]) {
          const headers = { host, origin };
          const asked = await send(service.url, 'POST', '/auth/passkey/options', {
            headers: { host },
            body: {},
          });
          const given = asked.status === 200 ? asked : await owner.post('/auth/passkey/options');
          const credential = ownersKey.get(given.body, { origin: hostile });
          const answer = await send(service.url, 'POST', '/auth/passkey', { headers, body: { credential } });
          assert.ok([401, 403].includes(answer.status), `${host} ${origin}: ${answer.text}`);
          assert.deepEqual(answer.headers.getSetCookie(), []);
        }
      const { body: options } = await owner.post('/auth/proof/options');
      const credential = ownersKey.get(options, { origin: hostile });
      const forged = { host: new URL(hostile).host, origin: hostile, ...session() };
      const proof = await send(service.url, 'POST', '/auth/proof', { headers: forged, body: { credential } });
      assert.equal(proof.status, 403, proof.text);
      assert.equal((await owner.post('/auth/proof', { credential })).status, 400);
      const proven = await owner.once('POST', '/auth/totp/begin', {});
      assert.equal(proven.body.error?.code, 'PROOF_REQUIRED', proven.text);
    });

    it('a passkey from before still signs in at the service’s own page', async () => {
      const visitor = new Browser(site);
      const { body: options } = await visitor.post('/auth/passkey/options');
      const answer = await visitor.post('/auth/passkey', { credential: ownersKey.get(options) });
      assert.equal(answer.status, 200, answer.text);
    });

    it('no Host but its own names the issuer of access keys', async () => {
      const path = '/.well-known/oauth-authorization-server';
      for (const host of hostileHosts(service.url))
        assert.equal((await send(service.url, 'GET', path, { headers: { host } })).status, 404, host);
      const { host } = new URL(site());
      assert.equal((await send(service.url, 'GET', path, { headers: { host } })).body.issuer, site());
    });

    it('machines log in by whatever name their network has for the service', async () => {
      const headers = { host: 'strongroom.default.svc' };
      const answer = await send(service.url, 'POST', '/api/v1/login', { headers, body: {} });
      assert.notEqual(answer.status, 403, answer.text);
    });
  });
}

describe('the service’s own addresses', () => {
  async function states(
    flags: readonly string[],
    tried: readonly (readonly [Record<string, string>, string | null])[],
  ) {
    const service = await startEmpty('sqlite', flags);
    const { port } = new URL(service.url);
    try {
      for (const [given, origin] of tried) {
        const headers = Object.fromEntries(
          Object.entries(given).map(([name, value]) => [name, value.replace('PORT', port)]),
        );
        const { status, body } = await send(service.url, 'GET', '/auth/state', { headers });
        assert.equal(status, origin === null ? 403 : 200, JSON.stringify(headers));
        if (origin !== null) assert.equal(body.base_url, origin.replace('PORT', port));
      }
      return service.reports;
    } finally {
      await service.stop();
    }
  }

  it('are, without any flag, the names and numbers of this machine with the port that it listens on', async () => {
    const own = ['localhost:PORT', '127.0.0.1:PORT', '[::1]:PORT', 'LOCALHOST:PORT'];
    const reports = await states(
      [],
      own.map(host => [{ host }, `http://${host.replace('LOCALHOST', 'localhost')}`] as const),
    );
    assert.deepEqual(reports, []);
  });

  it('are also those that --public-url names, of which the scheme counts too', async () => {
    await states(
      ['--public-url', 'https://vault.example.com', '--behind-proxy', '127.0.0.1/32'],
      [
        [
          { 'x-forwarded-host': 'vault.example.com', 'x-forwarded-proto': 'https' },
          'https://vault.example.com',
        ],
        [{ host: 'vault.example.com' }, 'https://vault.example.com'],
        [{ host: 'vault.example.com', 'x-forwarded-for': '203.0.113.9' }, 'https://vault.example.com'],
        [{ host: 'vault.example.com', 'x-forwarded-proto': 'http' }, null],
        [{ host: 'vault.example.com:8443' }, null],
        [{ 'x-forwarded-host': 'vault.example.com:8443' }, null],
        [{ 'x-forwarded-host': 'vault.example.com, evil.example' }, null],
        [{ host: 'vault.example.com', 'x-forwarded-host': 'evil.example' }, null],
        // A program beside the proxy, and a stranger who tells the proxy that they are one.
        [{ host: 'localhost:PORT' }, 'http://localhost:PORT'],
        [{ host: 'localhost:PORT', 'x-forwarded-for': '203.0.113.9' }, null],
        [{ host: 'localhost:PORT', 'x-forwarded-proto': 'https' }, null],
      ],
    );
  });

  it('are never what a proxy says, unless --public-url names it; the operator is told at the start', async () => {
    const reports = await states(
      ['--behind-proxy', '127.0.0.1/32'],
      [[{ 'x-forwarded-host': 'vault.example.com', 'x-forwarded-proto': 'https' }, null]],
    );
    assert.match(reports.join('\n'), /without --public-url/);
  });

  it('from a peer that is no proxy, forwarded headers name nothing', async () => {
    const forwarded = {
      host: 'localhost:PORT',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
    };
    await states([], [[forwarded, 'http://localhost:PORT']]);
  });
});
