/** Under which names the service answers, and whom it believes: the decisions by themselves. */
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { describe, it } from 'node:test';
import type { Site } from '../src/domain/sign-in/passkeys.ts';
import { oauthSurface, signInWith } from '../src/http/surface/oauth-issuer.ts';
import { type AddressSettings, ownAddresses } from '../src/mcp/addresses.ts';

interface From {
  readonly host?: string;
  readonly origin?: string;
  readonly localAddress?: string;
  readonly localPort?: number;
  readonly encrypted?: boolean;
}

function requestOf({ host, origin, ...socket }: From, on: object = {}): IncomingMessage {
  return { headers: { host, origin }, socket: Object.assign(on, socket) } as unknown as IncomingMessage;
}

const settings: AddressSettings = { host: '192.0.2.7', publicUrls: [], baseUrls: [] };
const named: AddressSettings = {
  host: '::',
  publicUrls: ['https://vault.example.com/', 'https://other.example.com:8443'],
  baseUrls: ['https://former.example.com/x'],
};
const plain = { localAddress: '10.0.0.5', localPort: 8200 };
const secure = { ...plain, encrypted: true };

describe('a request', () => {
  const rows: [where: string, settings: AddressSettings, from: From, foreign: 'host' | 'origin' | null][] = [
    ['as localhost', settings, { ...plain, host: 'localhost:8200' }, null],
    ['in capitals', settings, { ...plain, host: 'LOCALHOST:8200' }, null],
    ['by loopback', settings, { ...plain, host: '127.0.0.1:8200' }, null],
    ['by loopback in IPv6', settings, { ...plain, host: '[::1]:8200' }, null],
    ['by the address of the socket', settings, { ...plain, host: '10.0.0.5:8200' }, null],
    ['by the address of the listener', settings, { ...plain, host: '192.0.2.7:8200' }, null],
    [
      'by an address of IPv6',
      settings,
      { ...plain, localAddress: '2001:db8::1', host: '[2001:db8::1]:8200' },
      null,
    ],
    [
      'by an address of IPv4 in IPv6',
      settings,
      { ...plain, localAddress: '::ffff:10.0.0.5', host: '10.0.0.5:8200' },
      null,
    ],
    [
      'by a listener in brackets',
      { ...settings, host: '[2001:db8::2]' },
      { ...plain, host: '[2001:db8::2]:8200' },
      null,
    ],
    ['with another port', settings, { ...plain, host: 'localhost:8201' }, 'host'],
    ['without a port', settings, { ...plain, host: 'localhost' }, 'host'],
    ['without a port at the usual one', settings, { ...plain, localPort: 80, host: 'localhost' }, null],
    [
      'without a port at the usual one of TLS',
      settings,
      { ...secure, localPort: 443, host: 'localhost' },
      null,
    ],
    ['without a port where there is none', settings, { host: 'localhost' }, null],
    ['with a port where there is none', settings, { host: 'localhost:8200' }, 'host'],
    ['with a user where there is no address', settings, { host: 'me@localhost' }, 'host'],
    ['from an empty origin where there is no address', settings, { host: 'localhost', origin: '' }, 'origin'],
    ['without a host', settings, { ...plain }, 'host'],
    ['with an empty host', settings, { ...plain, host: '' }, 'host'],
    ['with a foreign host', settings, { ...plain, host: 'evil.example.com:8200' }, 'host'],
    ['with a user', settings, { ...plain, host: 'me@localhost:8200' }, 'host'],
    ['with a password', settings, { ...plain, host: ':word@localhost:8200' }, 'host'],
    ['by a public name', named, { ...plain, host: 'vault.example.com' }, null],
    ['by a public name in capitals', named, { ...plain, host: 'Vault.Example.com' }, null],
    ['by a public name with its port', named, { ...plain, host: 'other.example.com:8443' }, null],
    ['by a public name without its port', named, { ...plain, host: 'other.example.com' }, 'host'],
    ['by what a baseUrl may name', named, { ...plain, host: 'former.example.com' }, 'host'],
    [
      'from its own page',
      settings,
      { ...plain, host: 'localhost:8200', origin: 'http://localhost:8200' },
      null,
    ],
    [
      'from a page of another name of its own',
      settings,
      { ...plain, host: 'localhost:8200', origin: 'http://10.0.0.5:8200' },
      null,
    ],
    [
      'from its own page over TLS',
      settings,
      { ...secure, host: 'localhost:8200', origin: 'https://localhost:8200' },
      null,
    ],
    [
      'from a page without TLS',
      settings,
      { ...secure, host: 'localhost:8200', origin: 'http://localhost:8200' },
      'origin',
    ],
    [
      'from a page with TLS',
      settings,
      { ...plain, host: 'localhost:8200', origin: 'https://localhost:8200' },
      'origin',
    ],
    [
      'from a page of a public name',
      named,
      { ...plain, host: 'localhost:8200', origin: 'https://vault.example.com' },
      null,
    ],
    [
      'from a page in capitals',
      named,
      { ...plain, host: 'localhost:8200', origin: 'https://Vault.example.com' },
      null,
    ],
    [
      'from a path',
      named,
      { ...plain, host: 'localhost:8200', origin: 'https://vault.example.com/' },
      'origin',
    ],
    [
      'from a page of a public name without TLS',
      named,
      { ...plain, host: 'localhost:8200', origin: 'http://vault.example.com' },
      'origin',
    ],
    ['from nowhere', settings, { ...plain, host: 'localhost:8200', origin: 'null' }, 'origin'],
    ['from an empty origin', settings, { ...plain, host: 'localhost:8200', origin: '' }, 'origin'],
    [
      'from an extension',
      settings,
      { ...plain, host: 'localhost:8200', origin: 'ftp://localhost:8200' },
      'origin',
    ],
    [
      'from a user',
      settings,
      { ...plain, host: 'localhost:8200', origin: 'http://me@localhost:8200' },
      'origin',
    ],
    [
      'from a foreign page',
      settings,
      { ...plain, host: 'localhost:8200', origin: 'http://evil.example.com' },
      'origin',
    ],
    [
      'from a foreign page at a foreign name',
      settings,
      { ...plain, host: 'evil', origin: 'http://evil' },
      'host',
    ],
  ];
  for (const [where, settings, from, foreign] of rows)
    it(`${where} is ${foreign === null ? 'answered' : `refused for its ${foreign}`}`, () =>
      assert.equal(ownAddresses(settings).foreignHeader(requestOf(from)), foreign));

  it('is judged by itself, whatever its connection said before', () => {
    const own = ownAddresses(settings);
    const socket = {};
    const judged = (from: From) => own.foreignHeader(requestOf({ ...plain, ...from }, socket));
    const [host, origin] = ['localhost:8200', 'http://localhost:8200'];
    for (let time = 0; time < 2; time++) {
      assert.equal(judged({ host }), null);
      assert.equal(judged({ host, origin }), null);
      assert.equal(judged({ host, origin: 'http://evil' }), 'origin');
      assert.equal(judged({ host: 'evil', origin }), 'host');
      assert.equal(judged({ host: 'evil' }), 'host');
    }
  });

  it('is judged by the socket that took it, however many there are', () => {
    const own = ownAddresses(settings);
    for (let time = 0; time < 2; time++)
      for (let localPort = 1; localPort <= 300; localPort++) {
        const at = (port: number, from: From) =>
          own.foreignHeader(requestOf({ ...from, host: `localhost:${port}` }));
        assert.equal(at(localPort, { localAddress: '::1', localPort }), null);
        assert.equal(at(localPort + 1, { localAddress: '::1', localPort }), 'host');
      }
    const with10 = (from: From) => own.foreignHeader(requestOf({ ...from, host: '10.0.0.5:8200' }));
    assert.equal(with10(plain), null);
    assert.equal(with10({ ...plain, localAddress: '10.0.0.6' }), 'host');
    const page = { host: 'localhost:8200', origin: 'https://localhost:8200' };
    assert.equal(own.foreignHeader(requestOf({ ...secure, ...page })), null);
    assert.equal(own.foreignHeader(requestOf({ ...plain, ...page })), 'origin');
  });
});

describe('an address of its own', () => {
  const request = requestOf({ ...plain, host: 'localhost:8200' });
  const urls: [url: string, isNamed: boolean, isSetting: boolean][] = [
    ['http://localhost:8200', true, true],
    ['http://localhost:8200/any/path', true, true],
    ['http://10.0.0.5:8200/', true, true],
    ['https://localhost:8200', false, false],
    ['https://vault.example.com/mcp', true, false],
    ['https://former.example.com', true, false],
    ['http://former.example.com', false, false],
    ['https://me@former.example.com', false, false],
    ['https://:word@former.example.com', false, false],
    ['ftp://former.example.com', false, false],
    ['blob:http://localhost:8200/x', false, false],
    ['data:,', false, false],
    ['https://evil.example.com', false, false],
    ['no address', false, false],
    ['', false, false],
  ];
  for (const [url, isNamed, isSetting] of urls)
    it(`is ${isNamed ? '' : 'not '}${url || 'nothing'}`, () => {
      assert.equal(ownAddresses(named).isOurs(url, request), isNamed);
      assert.equal(ownAddresses(settings).isOurs(url, request), isSetting);
    });

  it('is an origin that it was given, or that its socket has', () => {
    const { isOwnOrigin } = ownAddresses(named);
    assert.equal(isOwnOrigin('https://vault.example.com', request), true);
    assert.equal(isOwnOrigin('http://localhost:8200', request), true);
    assert.equal(isOwnOrigin('https://former.example.com', request), false);
  });

  it('leads people to the dashboard: the operator’s first, or the one that the request names', () => {
    const at = (host: string) => ownAddresses(settings).dashboardOf(requestOf({ ...plain, host }));
    assert.equal(ownAddresses(named).dashboardOf(request), 'https://vault.example.com');
    assert.equal(at('10.0.0.5:8200'), 'http://10.0.0.5:8200');
    assert.equal(at('evil.example.com'), 'http://localhost:8200');
  });
});

describe('the issuer', () => {
  const siteOf = (origin: string): Site => ({ origin, host: new URL(origin).hostname }) as Site;
  const surface = (publicUrls: string[], site: Site | null = null) =>
    oauthSurface({ mode: 'required', mayRegister: true, publicUrls, siteOf: () => site })!;
  const rows: [site: string | null, unnamed: string | null, named: string][] = [
    ['https://vault.example.com', 'https://vault.example.com', 'https://vault.example.com'],
    ['http://localhost:8200', 'http://localhost:8200', 'http://localhost:8200'],
    ['http://127.0.0.1:8200', 'http://127.0.0.1:8200', 'http://127.0.0.1:8200'],
    ['http://vault.example.com', null, 'https://named.example.com'],
    [null, null, 'https://named.example.com'],
  ];
  for (const [site, unnamed, named] of rows)
    it(`at ${site} is ${unnamed}, and ${named} with an address that the operator named`, () => {
      const asked = site === null ? null : siteOf(site);
      assert.equal(surface([]).issuerAt(asked), unnamed);
      assert.equal(surface(['https://named.example.com/x', 'https://second']).issuerAt(asked), named);
      assert.equal(surface([], asked).issuerOf({} as IncomingMessage), unnamed);
    });

  it('is nobody where the operator did not turn it on', () => {
    const siteOf = () => null;
    assert.equal(oauthSurface({ mode: null, mayRegister: true, publicUrls: [], siteOf }), null);
    const { mode, mayRegister } = surface([]);
    assert.deepEqual([mode, mayRegister], ['required', true]);
  });

  it('tells clients where its document is, what is wrong, and what to ask for', () => {
    const { mode, challengeOf } = signInWith(surface([], siteOf('https://a.example')));
    assert.equal(mode, 'required');
    const document = 'resource_metadata="https://a.example/.well-known/oauth-protected-resource/mcp"';
    const told = (error: 'invalid_token' | null) =>
      challengeOf({} as IncomingMessage, { error, scope: 'secrets:names' });
    assert.equal(told(null), `Bearer ${document}, scope="secrets:names"`);
    assert.equal(told('invalid_token'), `Bearer error="invalid_token", ${document}, scope="secrets:names"`);
    const unknown = signInWith(surface([])).challengeOf({} as IncomingMessage, {
      error: null,
      scope: 'keys:read',
    });
    assert.equal(unknown, null);
  });
});
