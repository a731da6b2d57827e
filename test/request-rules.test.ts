/** What every request must satisfy, and who sent it: the decisions by themselves. */
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { describe, it } from 'node:test';
import type { Failure } from '../src/contract/errors.ts';
import {
  addressReader,
  bearerToken,
  clientCertificateOf,
  faultOf,
  hasUnreadBody,
  isRead,
  originOf,
  peerReader,
  senderOf,
} from '../src/http/listener/request.ts';

interface Sent {
  readonly url?: string;
  readonly minor?: number;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly complete?: boolean;
}

function requestOf({ url, minor = 1, headers = [], complete = false }: Sent): IncomingMessage {
  return {
    url,
    httpVersionMinor: minor,
    rawHeaders: headers.flat(),
    headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value])),
    complete,
  } as unknown as IncomingMessage;
}

const told = (fault: Failure | null) => fault && `${fault.code} ${fault.field} ${fault.reason}`;

describe('a request', () => {
  const path =
    'INVALID_REQUEST  the path must not contain dot segments, empty segments or encoded separators';
  const target = 'INVALID_REQUEST  the request target must be a path';
  const targets: [url: string | undefined, fault: string | null][] = [
    ['/', null],
    ['/v1/secrets', null],
    ['/v1/.hidden', null],
    ['/v1/a..b', null],
    ['/v1/secrets?a=//../%2e%2f%5c%00\\', null],
    [undefined, target],
    ['', target],
    ['*', target],
    ['http://here/v1', target],
    ['v1', target],
    ['/v1/../x', path],
    ['/v1/./x', path],
    ['/v1/..', path],
    ['/v1/.?a', path],
    ['//v1', path],
    ['/v1//x?', path],
    ['/v1/%2E/x', path],
    ['/v1/%2fx', path],
    ['/v1/%5Cx', path],
    ['/v1/%00', path],
    ['/v1\\x', path],
  ];
  for (const [url, fault] of targets)
    it(`to ${url} ${fault === null ? 'is in order' : `is refused: ${fault}`}`, () =>
      assert.equal(told(faultOf(requestOf(url === undefined ? {} : { url }))), fault));

  for (const [minor, isGood] of [
    [0, true],
    [1, true],
    [2, false],
    [9, false],
  ] as const)
    it(`of version 1.${minor} is ${isGood ? 'in order' : 'refused'}`, () =>
      assert.equal(
        told(faultOf(requestOf({ url: '/', minor }))),
        isGood ? null : 'INVALID_REQUEST  the request must name HTTP/1.0 or HTTP/1.1',
      ));

  for (const name of [
    'Host',
    'Authorization',
    'X-Vault-Token',
    'Content-Type',
    'Content-Length',
    'Mcp-Session-Id',
    'Origin',
    'Cookie',
  ])
    it(`has one ${name} at most, in whatever case it is written`, () => {
      const once = [name, ''] as const;
      const other = ['Accept', ''] as const;
      const faultWith = (...headers: (readonly [string, string])[]) =>
        told(faultOf(requestOf({ url: '/', headers, complete: true })));
      assert.equal(faultWith(once, other, other), null);
      for (const twice of [once, [name.toUpperCase(), 'x']] as const)
        assert.equal(
          faultWith(once, other, twice),
          `INVALID_REQUEST ${name.toLowerCase()} must be sent once`,
        );
    });
  it('may have every one of these once', () => {
    const headers = ['host', 'authorization', 'x-vault-token', 'content-length', 'origin', 'cookie'].map(
      name => [name, '0'] as const,
    );
    assert.equal(faultOf(requestOf({ url: '/', headers })), null);
  });

  for (const [expected, isMet] of [
    ['100-continue', true],
    ['100-Continue', true],
    ['200-ok', false],
    ['', false],
  ] as const)
    it(`that expects ${JSON.stringify(expected)} is ${isMet ? 'in order' : 'refused'}`, () =>
      assert.equal(
        faultOf(requestOf({ url: '/', headers: [['Expect', expected]] }))?.code ?? null,
        isMet ? null : 'EXPECTATION_FAILED',
      ));
});

describe('the body of a request', () => {
  const types: [type: string, isRefused: boolean][] = [
    ['application/json', false],
    ['application/json; charset=utf-8', false],
    ['application/json;charset="UTF8"', false],
    ['text/plain; charset=us-ascii', false],
    ['application/json; charset=utf-16', true],
    ['application/json; a=b; CHARSET = latin1', true],
    ['application/json; charset=', true],
    ['application/json; charset=utf-8x', true],
  ];
  for (const [type, isRefused] of types)
    it(`of the type ${type} is ${isRefused ? 'refused where a body comes' : 'in order'}`, () => {
      const fault = 'INVALID_REQUEST content-type must not name a charset other than UTF-8';
      const typed = ['Content-Type', type] as const;
      const faultWith = (sent: Sent) => told(faultOf(requestOf({ url: '/', ...sent })));
      assert.equal(faultWith({ headers: [typed, ['content-length', '1']] }), isRefused ? fault : null);
      assert.equal(faultWith({ headers: [typed, ['content-length', '0']] }), null);
      assert.equal(faultWith({ headers: [typed, ['content-length', '1']], complete: true }), null);
    });

  const bodies: [headers: Record<string, string>, hasBody: boolean][] = [
    [{}, false],
    [{ 'content-length': '0' }, false],
    [{ 'content-length': '1' }, true],
    [{ 'transfer-encoding': 'chunked' }, true],
    [{ 'transfer-encoding': 'chunked', 'content-length': '0' }, true],
  ];
  for (const [headers, hasBody] of bodies)
    it(`with ${JSON.stringify(headers)} ${hasBody ? 'has' : 'has no'} body that may be unread`, () => {
      const request = requestOf({ headers: Object.entries(headers) });
      assert.equal(hasUnreadBody(request), hasBody);
      assert.equal(hasUnreadBody({ ...request, complete: true } as IncomingMessage), false);
    });

  it('reads by GET and HEAD alone', () => {
    assert.deepEqual(['GET', 'HEAD', 'get', 'POST', 'OPTIONS', undefined].map(isRead), [
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
  });
});

describe('a bearer token', () => {
  const headers: [header: string | undefined, token: string | null][] = [
    [undefined, null],
    ['', null],
    ['Bearer abc', 'abc'],
    ['bearer   abc  ', 'abc'],
    ['Bearer !~', '!~'],
    ['Bearer', null],
    ['Bearer ', null],
    ['Basic abc', null],
    ['Bearer a b', null],
    ['Bearer ä', null],
    [' Bearer abc', null],
  ];
  for (const [header, token] of headers)
    it(`in ${JSON.stringify(header)} is ${token}`, () => assert.equal(bearerToken(header), token));
  it('has 2,048 characters at most', () => {
    assert.equal(bearerToken(`Bearer ${'a'.repeat(2048)}`)?.length, 2048);
    assert.equal(bearerToken(`Bearer ${'a'.repeat(2049)}`), null);
    assert.equal(bearerToken(`Bearer ${'a'.repeat(2048)} `), null);
  });
});

describe('where a request comes from', () => {
  const from = (remoteAddress: string | undefined, forwarded?: string) =>
    ({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }) as unknown as IncomingMessage;
  const proxies = ['10.0.0.0/8', '2001:db8::/32'];
  const rows: [peer: string | undefined, forwarded: string | undefined, address: string][] = [
    ['198.51.100.1', undefined, '198.51.100.1'],
    ['198.51.100.1', '203.0.113.9', '198.51.100.1'],
    ['::ffff:10.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['10.0.0.1', '1.1.1.1, 203.0.113.9', '203.0.113.9'],
    ['10.0.0.1', '203.0.113.9, 10.2.2.2', '203.0.113.9'],
    ['10.0.0.1', '203.0.113.9,::ffff:10.2.2.2 , 2001:db8::1', '203.0.113.9'],
    ['10.0.0.1', '::ffff:203.0.113.9', '203.0.113.9'],
    ['10.0.0.1', '203.0.113.9, unknown', '10.0.0.1'],
    ['10.0.0.1', '203.0.113.9:4711', '10.0.0.1'],
    ['10.0.0.1', '10.2.2.2', '10.0.0.1'],
    ['10.0.0.1', '', '10.0.0.1'],
    ['10.0.0.1', undefined, '10.0.0.1'],
    [undefined, '203.0.113.9', ''],
  ];
  for (const [peer, forwarded, address] of rows)
    it(`is ${address || 'not known'} with the peer ${peer} and ${JSON.stringify(forwarded)}`, () => {
      assert.equal(addressReader(proxies, peerReader(false))(from(peer, forwarded)), address);
    });
  it('is the peer where no proxy was named', () => {
    const read = addressReader([], peerReader(false));
    assert.equal(read(from('::ffff:10.0.0.1', '203.0.113.9')), '10.0.0.1');
    assert.equal(read(from(undefined)), '');
  });
  it('is this machine over a Unix socket, whatever the connection says', () => {
    assert.equal(peerReader(true)({}), '127.0.0.1');
    assert.equal(
      addressReader(['127.0.0.1/32'], peerReader(true))(from(undefined, '203.0.113.9')),
      '203.0.113.9',
    );
  });
  it('is told with what the client calls itself', () => {
    const request = requestOf({ headers: [['User-Agent', 'curl']] });
    assert.deepEqual(
      senderOf(request, () => 'a'),
      { address: 'a', userAgent: 'curl' },
    );
    assert.deepEqual(
      originOf(requestOf({}), 'id', () => 'a'),
      { address: 'a', userAgent: '', requestId: 'id' },
    );
  });
  it('shows a certificate, or none', () => {
    const certificate = new Uint8Array(1);
    assert.equal(clientCertificateOf({ socket: { clientCertificate: certificate } } as never), certificate);
    assert.equal(clientCertificateOf({ socket: {} } as never), null);
  });
});
