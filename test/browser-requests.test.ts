/** Requests of browsers: which site they are sent to, what cookies they bring, and whether our own page sent them. */
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { describe, it } from 'node:test';
import type { FastifyReply } from 'fastify';
import { Failure } from '../src/contract/errors.ts';
import {
  checkOwnPage,
  clearedSession,
  clearIfOver,
  cookieOf,
  setCookie,
  siteReader,
  takesPasskeys,
} from '../src/http/listener/browser.ts';

type Headers = Record<string, string | string[] | undefined>;

describe('the site that a browser sees', () => {
  const proxy = '10.0.0.1';
  const settings = {
    host: '0.0.0.0',
    publicUrls: ['https://vault.example.com', 'http://plain.example.com:8080', 'http://undefined'],
    baseUrls: [],
  };
  const siteOf = (headers: Headers, peer = '192.0.2.1', encrypted = false, proxies = ['10.0.0.0/8']) => {
    const read = siteReader({ addresses: settings, encrypted, proxies, peerOf: () => peer });
    const socket = { localAddress: '192.0.2.9', localPort: 8080, encrypted };
    const site = read({ headers, socket } as unknown as IncomingMessage);
    return site === null ? null : site.origin;
  };
  const local = 'http://localhost:8080';
  const direct: [host: string | undefined, encrypted: boolean, origin: string | null][] = [
    ['localhost:8080', false, local],
    ['localhost:8080', true, 'https://localhost:8080'],
    ['192.0.2.9:8080', false, 'http://192.0.2.9:8080'],
    ['vault.example.com', true, 'https://vault.example.com'],
    ['vault.example.com', false, null],
    ['localhost:8081', false, null],
    ['evil.example', false, null],
    ['localhost:8080/x', false, null],
    ['user@localhost:8080', false, null],
    ['localhost:8080#x', false, null],
    ['local host', false, null],
    ['', false, null],
    [undefined, false, null],
  ];
  for (const [host, encrypted, origin] of direct)
    it(`is ${origin} with the host ${host}, ${encrypted ? '' : 'not '}encrypted`, () =>
      assert.equal(siteOf({ host }, '192.0.2.1', encrypted), origin));

  const behind: [headers: Headers, origin: string | null][] = [
    [{ host: 'vault.example.com' }, 'https://vault.example.com'],
    [{ host: 'x', 'x-forwarded-host': 'vault.example.com' }, 'https://vault.example.com'],
    [
      { host: 'x', 'x-forwarded-host': 'vault.example.com', 'x-forwarded-proto': 'https' },
      'https://vault.example.com',
    ],
    [
      { host: 'x', 'x-forwarded-host': 'plain.example.com:8080', 'x-forwarded-proto': 'http' },
      'http://plain.example.com:8080',
    ],
    [{ host: 'x', 'x-forwarded-host': 'plain.example.com:8080' }, null],
    [{ host: 'x', 'x-forwarded-host': 'vault.example.com', 'x-forwarded-proto': 'http' }, null],
    [{ host: 'vault.example.com', 'x-forwarded-for': '192.0.2.1' }, 'https://vault.example.com'],
    // What is given twice is not believed: then the Host header counts.
    [{ host: 'vault.example.com', 'x-forwarded-host': 'a.example, b.example' }, 'https://vault.example.com'],
    [{ host: 'vault.example.com', 'x-forwarded-host': '' }, 'https://vault.example.com'],
    [{ host: 'vault.example.com', 'x-forwarded-host': ['a.example'] }, 'https://vault.example.com'],
    // A program beside the proxy speaks to the service directly, unless it says that it forwards.
    [{ host: 'localhost:8080' }, local],
    [{ host: 'localhost:8080', 'x-forwarded-for': '192.0.2.1' }, null],
    [{ host: 'localhost:8080', 'x-forwarded-host': 'evil.example' }, null],
    [{ host: 'localhost:8080', 'x-forwarded-proto': 'https' }, null],
  ];
  for (const [headers, origin] of behind)
    it(`is ${origin} behind a proxy with ${JSON.stringify(headers)}`, () =>
      assert.equal(siteOf(headers, proxy), origin));

  it('is not what anyone else than a proxy says', () => {
    const forwarded = {
      host: 'localhost:8080',
      'x-forwarded-host': 'vault.example.com',
      'x-forwarded-proto': 'https',
    };
    assert.equal(siteOf(forwarded, '192.0.2.1'), local);
    assert.equal(siteOf(forwarded, proxy, false, []), local, 'no proxy was named');
    assert.equal(siteOf(forwarded, proxy), 'https://vault.example.com');
    assert.equal(siteOf({ ...forwarded, host: 'vault.example.com' }, '192.0.2.1'), null);
  });
});

describe('passkeys', () => {
  const hosts: [host: string, takes: boolean][] = [
    ['localhost', true],
    ['vault.example.com', true],
    ['127.0.0.1', false],
    ['[::1]', false],
    ['', false],
  ];
  for (const [host, takes] of hosts)
    it(`are ${takes ? '' : 'not '}taken at ${JSON.stringify(host)}`, () =>
      assert.equal(takesPasskeys({ host, origin: '' }), takes));
});

describe('a cookie', () => {
  const cookies: [header: string | undefined, value: string | null][] = [
    [undefined, null],
    ['', null],
    ['own=a', 'a'],
    ['other=b; own=a', 'a'],
    ['own=a;other=b', 'a'],
    ['own=', ''],
    ['own=a=b', 'a=b'],
    ['own=a; own=b', null],
    ['own=a; own=a', null],
    ['xown=a', null],
    ['owner=a', null],
  ];
  for (const [cookie, value] of cookies)
    it(`is ${value} in ${JSON.stringify(cookie)}`, () =>
      assert.equal(cookieOf({ headers: { cookie } } as IncomingMessage, 'own'), value));

  it('is set for one site, over TLS, out of reach of scripts, in whole seconds', () => {
    assert.equal(
      setCookie('own', 'a', 1_999, 'Lax'),
      'own=a; Path=/; Max-Age=1; HttpOnly; Secure; SameSite=Lax',
    );
    assert.equal(clearedSession, '__Host-strongroom=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Strict');
  });

  const outcomes: [error: Error | null, isCleared: boolean][] = [
    [null, false],
    [new Failure('UNAUTHORIZED'), true],
    [new Failure('RATE_LIMITED'), true],
    [new Failure('FORBIDDEN'), false],
    [new Failure('UNAVAILABLE'), false],
    [Object.assign(new Error('broken'), { code: 'UNAUTHORIZED' }), false],
  ];
  for (const [error, isCleared] of outcomes)
    it(`of a session ${isCleared ? 'is removed' : 'stays'} after ${error ?? 'success'}`, async () => {
      const set: unknown[] = [];
      const reply = { header: (...given: unknown[]) => set.push(given) } as unknown as FastifyReply;
      const session = error === null ? Promise.resolve('session') : Promise.reject(error);
      const cleared = clearIfOver(reply, session);
      if (error === null) assert.equal(await cleared, 'session');
      else await assert.rejects(cleared, reason => reason === error);
      assert.deepEqual(set, isCleared ? [['set-cookie', clearedSession]] : []);
    });
});

describe('a request that may change something', () => {
  const site = { origin: 'https://vault.example.com', host: 'vault.example.com' };
  const own = [site.origin, 'same-origin'];
  const judged = (method: string, sent: readonly (string | undefined)[], strict: boolean) => {
    const headers = { origin: sent[0], 'sec-fetch-site': sent[1] };
    checkOwnPage({ method, headers } as unknown as IncomingMessage, site, strict);
  };
  const told = [undefined, site.origin, 'https://evil.example', 'null'].flatMap(origin =>
    [undefined, 'same-origin', 'same-site', 'cross-site', 'none'].map(fetchSite => [origin, fetchSite]),
  );
  const refusal = { code: 'FORBIDDEN', message: 'The request does not come from a page of this service' };
  for (const sent of told)
    it(`with the origin ${sent[0]} and Sec-Fetch-Site ${sent[1]}`, () => {
      const isForeign = sent.some((one, at) => one !== undefined && one !== own[at]);
      const saysNothing = sent.every(one => one === undefined);
      for (const method of ['POST', 'PUT', 'DELETE']) {
        if (isForeign) assert.throws(() => judged(method, sent, false), refusal);
        else judged(method, sent, false);
        if (isForeign || saysNothing) assert.throws(() => judged(method, sent, true), refusal);
        else judged(method, sent, true);
      }
      for (const method of ['GET', 'HEAD']) judged(method, sent, true);
    });
});
