import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isRedirect, matchesRedirect, redirection } from '../src/domain/oauth/redirects.ts';

describe('where a browser may be sent back to', () => {
  const uris: [uri: string, isAllowed: boolean][] = [
    ['https://app.example.com/back', true],
    ['https://app.example.com/back?a=1', true],
    ['http://127.0.0.1:4000/back', true],
    ['http://[::1]:4000/', true],
    ['http://localhost/back', true],
    ['http://app.example.com/back', false],
    ['http://localhost.example.com/', false],
    ['http://127.0.0.2/', true],
    ['ftp://localhost/', false],
    ['javascript:alert(1)', false],
    ['myapp://back', false],
    ['/back', false],
    ['', false],
    ['https://app.example.com/#', false],
    ['https://app.example.com/#part', false],
    ['https://user@app.example.com/', false],
    ['https://:word@app.example.com/', false],
  ];
  for (const [uri, isAllowed] of uris)
    it(`${isAllowed ? 'includes' : 'does not include'} ${uri || 'nothing'}`, () =>
      assert.equal(isRedirect(uri), isAllowed));

  const pairs: [known: string, sent: string, isSame: boolean][] = [
    ['https://a.example/b', 'https://a.example/b', true],
    ['https://a.example/b', 'https://a.example/b/', false],
    ['https://a.example/b', 'https://a.example:8443/b', false],
    ['https://a.example:1/b', 'https://a.example:2/b', false],
    ['http://127.0.0.1/b', 'http://127.0.0.1:5000/b', true],
    ['http://127.0.0.1:1/b', 'http://127.0.0.1:5000/b', true],
    ['http://[::1]:1/b', 'http://[::1]/b', true],
    ['http://localhost', 'http://localhost:80', true],
    ['http://localhost:1/b', 'http://127.0.0.1:1/b', false],
    ['http://localhost:1/b', 'http://localhost:1/c', false],
    ['http://localhost:1/b', 'https://localhost:1/b', false],
    ['http://localhost:1/b', 'http://LOCALHOST:1/b', false],
    ['http://localhost/b', 'http://localhost:1@evil.example/b', false],
    ['http://localhost/b', 'http://localhost:1x/b', false],
    ['http://127.9.8.7/b', 'http://127.9.8.7:5000/b', true],
    ['http://a.localhost/b', 'http://a.localhost:1/b', false],
  ];
  for (const [known, sent, isSame] of pairs)
    it(`${isSame ? 'takes' : 'does not take'} ${sent} for ${known}`, () =>
      assert.equal(matchesRedirect(known, sent), isSame));

  it('keeps its own query, and adds what the client is told and nothing else', () => {
    const told = { code: 'a b&c', state: null, iss: 'https://here' };
    assert.equal(
      redirection('https://a.example/b?x=1', told),
      'https://a.example/b?x=1&code=a+b%26c&iss=https%3A%2F%2Fhere',
    );
  });
});
