/** Which calls a use rule allows: the decision by itself. That it is asked for every call is tested over HTTP, in uses. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import {
  isWrite,
  matchesPath,
  notAllowed,
  parsedCall,
  patternFor,
  refusalBy,
} from '../src/domain/uses/judging.ts';
import type { CallRule } from '../src/domain/uses/rule-records.ts';

type Sent = Parameters<typeof parsedCall>[0];

const url = 'https://api.example.com/v1/items';

function refused(call: Sent): string | null {
  try {
    parsedCall(call);
    return null;
  } catch (error) {
    assert.ok(error instanceof Failure);
    return `${error.field} ${error.reason}`;
  }
}

const plain = 'url must have a plain path, without encoded separators';
const overrides = 'must not override the HTTP method';

describe('a call', () => {
  it('is understood as it is sent', () => {
    const call = parsedCall({
      method: 'POST',
      url: `${url}?a=1`,
      headers: { 'X-B': 'two', Accept: '*/*', 'X-A': 'one', 'X-C': 'three' },
      body: '{"a":1}',
    });
    assert.deepEqual(
      { ...call, url: call.url.href, body: call.body?.toString() },
      {
        method: 'POST',
        url: `${url}?a=1`,
        origin: 'api.example.com',
        headers: [
          ['accept', '*/*'],
          ['x-a', 'one'],
          ['x-b', 'two'],
          ['x-c', 'three'],
        ],
        body: '{"a":1}',
      },
    );
  });

  it('is a GET without headers and a body unless it says more', () => {
    const { method, headers, body } = parsedCall({ url });
    assert.deepEqual([method, headers, body], ['GET', [], null]);
  });

  it('names its scheme where that is not HTTPS, and its port where that is not the usual one', () => {
    assert.equal(parsedCall({ url: 'http://intern:8080/' }).origin, 'http://intern:8080');
    assert.equal(parsedCall({ url: 'https://api.example.com:8443/' }).origin, 'api.example.com:8443');
  });

  it('may have an empty body, and one in base64', () => {
    assert.equal(parsedCall({ url, method: 'PUT', body: '' }).body?.length, 0);
    assert.equal(parsedCall({ url, method: 'PUT', body_base64: 'AP8=' }).body?.toString('hex'), '00ff');
  });

  const urls: [url: string, reason: string | null][] = [
    ['not a url', 'url must be an absolute URL that begins with https://'],
    ['/v1/items', 'url must be an absolute URL that begins with https://'],
    ['ftp://api.example.com/', 'url must be an absolute URL that begins with https://'],
    ['https://API.example.com/', 'url must be written in its normal form'],
    ['https://api.example.com', 'url must be written in its normal form'],
    ['https://api.example.com/a/../b', 'url must be written in its normal form'],
    ['https://user@api.example.com/', 'url must not contain a user name or a password'],
    ['https://:word@api.example.com/', 'url must not contain a user name or a password'],
    ['https://api.example.com/#there', 'url must not contain a fragment'],
    ['https://api.example.com/#', 'url must not contain a fragment'],
    ['https://api.example.com/?', 'url must not have an empty query'],
    ['https://api.example.com/?a', null],
    [`https://api.example.com/${'a'.repeat(1023)}`, null],
    [`https://api.example.com/${'a'.repeat(1024)}`, 'url must have a path of at most 1024 characters'],
    ['https://api.example.com/a%2Fb', plain],
    ['https://api.example.com/a%5cb', plain],
    ['https://api.example.com/a%2eb', plain],
    ['https://api.example.com/a%252fb', plain],
    ['https://api.example.com/a%3Bb', plain],
    ['https://api.example.com/a%0db', plain],
    ['https://api.example.com/a%1fb', plain],
    ['https://api.example.com/a%7Fb', plain],
    ['https://api.example.com/a%zzb', plain],
    ['https://api.example.com/a//b', plain],
    ['https://api.example.com/a;b', plain],
    ['https://api.example.com/a%20b', null],
    ['https://api.example.com/%C3%A4', null],
    ['https://api.example.com/%C0%AF', 'url must have a path in UTF-8'],
    ['https://api.example.com/%FF', 'url must have a path in UTF-8'],
    ['https://api.example.com/?_method=DELETE', `url ${overrides}`],
    ['https://api.example.com/?.method=x', `url ${overrides}`],
    ['https://api.example.com/?a=1&http_method=x', `url ${overrides}`],
    ['https://api.example.com/?X-HTTP-Method-Override=x', `url ${overrides}`],
    ['https://api.example.com/?x-method-override=x', `url ${overrides}`],
    ['https://api.example.com/?%20method=%20delete', `url ${overrides}`],
    ['https://api.example.com/?method=patch', `url ${overrides}`],
    ['https://api.example.com/?method=card', null],
    ['https://api.example.com/?a=delete', null],
  ];
  for (const [sent, reason] of urls)
    it(`${reason === null ? 'may go to' : 'may not go to'} ${sent.length > 60 ? `a path of ${new URL(sent).pathname.length}` : sent}`, () =>
      assert.equal(refused({ url: sent }), reason));

  const bodies: [body: string, isRefused: boolean][] = [
    ['{"a":1}', false],
    ['{"_method":"x"}', true],
    ['{"\\u005fmethod":"x"}', true],
    ['_method=x', true],
    ['%5Fmethod=x', true],
    ['a=1&_method=x', true],
    ['a=1&.method=x', true],
    ['x-http-method-override=x', true],
    ['a+_method=x', true],
    ['method=delete', true],
    ['a=1&method=PUT&b=2', true],
    ['method=card', false],
    ['a=method', false],
    ['Content-Disposition: form-data; name="_method"\r\n\r\nx', true],
    ['Content-Disposition: form-data; name="method"\r\n\r\ndelete', true],
  ];
  for (const [body, isRefused] of bodies)
    it(`${isRefused ? 'may not' : 'may'} say ${JSON.stringify(body)}`, () => {
      const reason = isRefused ? `body ${overrides}` : null;
      assert.equal(refused({ url, method: 'POST', body }), reason);
      assert.equal(
        refused({ url, method: 'POST', body_base64: Buffer.from(body).toString('base64') }),
        reason,
      );
    });

  it('has one body, and none where the method has none', () => {
    assert.equal(
      refused({ url, method: 'POST', body: 'a', body_base64: 'YQ==' }),
      'body_base64 can’t be combined with body',
    );
    for (const method of ['GET', 'HEAD'] as const) {
      assert.equal(refused({ url, method, body: 'a' }), 'body can’t be sent with GET or HEAD');
      assert.equal(refused({ url, method, body_base64: 'YQ==' }), 'body can’t be sent with GET or HEAD');
    }
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const)
      assert.equal(refused({ url, method, body: 'a' }), null);
  });

  const headers: [headers: Record<string, string>, reason: string | null][] = [
    [{ accept: 'a', Accept: 'b' }, 'headers must be given once each'],
    [{ 'a b': 'c' }, 'headers must have valid names'],
    [{ '': 'c' }, 'headers must have valid names'],
    [{ 'a:': 'c' }, 'headers must have valid names'],
    [{ accept: 'a\r\nb: c' }, 'headers must have values of ASCII characters'],
    [{ accept: 'ä' }, 'headers must have values of ASCII characters'],
    [{ accept: '' }, null],
    [{ "x!#$%&'*+.^_`|~-9": '\t ~' }, null],
  ];
  for (const [sent, reason] of headers)
    it(`${reason === null ? 'may' : 'may not'} have the headers ${JSON.stringify(sent)}`, () =>
      assert.equal(refused({ url, headers: sent }), reason));

  it('changes something unless it is a GET or a HEAD', () => {
    assert.deepEqual((['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const).map(isWrite), [
      false,
      false,
      true,
      true,
      true,
      true,
    ]);
  });
});

describe('a rule', () => {
  const rule = {
    hosts: ['api.example.com', 'http://intern:8080'],
    methods: ['GET', 'POST'],
    paths: ['/v1/items', '/v1/items/*/parts', '/files/**'],
    request_headers: ['accept', 'content-type', 'cookie'],
    max_request: 10,
  } as unknown as CallRule;
  const judged = (call: Sent) => refusalBy(rule, parsedCall(call))?.field ?? null;

  it('allows what it names', () => {
    assert.equal(judged({ url }), null);
    assert.equal(judged({ url: 'http://intern:8080/files/a/b' }), null);
    assert.equal(judged({ url, method: 'POST', headers: { accept: 'a' }, body: '0123456789' }), null);
  });

  const refusals: [field: string, call: Sent][] = [
    ['url', { url: 'https://other.example.com/v1/items' }],
    ['url', { url: 'http://api.example.com/v1/items' }],
    ['url', { url: 'https://api.example.com:8443/v1/items' }],
    ['url', { url: 'https://intern:8080/files/a' }],
    ['method', { url, method: 'DELETE' }],
    ['url', { url: `${url}/1` }],
    ['headers', { url, headers: { 'x-other': 'a' } }],
    ['headers', { url, headers: { accept: 'a', 'x-other': 'a' } }],
    ['headers', { url, headers: { cookie: 'reserved, whatever the rule says' } }],
    ['body', { url, method: 'POST', body: '01234567890' }],
  ];
  for (const [field, call] of refusals)
    it(`refuses ${JSON.stringify(call)} for its ${field}`, () => assert.equal(judged(call), field));

  it('is told by the pattern that the path matches first', () => {
    const pattern = (path: string) => patternFor(rule, parsedCall({ url: `https://a${path}` }));
    assert.equal(pattern('/v1/items'), '/v1/items');
    assert.equal(pattern('/v1/items/7/parts'), '/v1/items/*/parts');
    assert.equal(pattern('/files/'), '/files/**');
    assert.equal(pattern('/v2'), undefined);
  });

  it('says why, where one reason is enough, and never what was sent', () => {
    const of = (...refusals: { field: string; reason: string }[]) => notAllowed(refusals).message;
    const first = { field: 'url', reason: 'matches no path of the rule' };
    assert.equal(of(), 'Forbidden: there is no use rule for it');
    assert.equal(of(first), 'Forbidden: url matches no path of the rule');
    assert.equal(of(first, first), 'Forbidden: no use rule allows this call; a dry run says why');
    assert.equal(notAllowed([]).code, 'FORBIDDEN');
  });
});

describe('a path pattern', () => {
  /** What the stars mean, as an expression: the slow way. */
  const expected = (pattern: string, path: string) => {
    const parts = pattern.split(/(\*\*?)/).map(part => {
      if (part === '**') return '.*';
      return part === '*' ? '[^/]*' : part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&');
    });
    return new RegExp(`^${parts.join('')}$`, 's').test(path);
  };

  it('means what its stars say, for every short pattern and path', () => {
    const words = (letters: string, longest: number): string[] =>
      longest === 0
        ? ['']
        : words(letters, longest - 1).flatMap(word => ['', ...[...letters].map(letter => word + letter)]);
    const patterns = [...new Set(words('a/*', 5))].filter(word => !word.includes('***'));
    const paths = [...new Set(words('a/b', 5))];
    for (const pattern of patterns)
      for (const path of paths)
        assert.equal(matchesPath(pattern, path), expected(pattern, path), `${pattern} ${path}`);
  });

  it('is matched in time that grows with the path alone', () => {
    const [pattern, path] = [`/${'*a'.repeat(10)}`, `/${'a'.repeat(1000)}b`];
    const begun = performance.now();
    assert.equal(matchesPath(pattern, path), false);
    assert.ok(performance.now() - begun < 1_000);
  });
});
