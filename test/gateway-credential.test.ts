/** Where a request to the gateway carries its access key, and that the key never leaves. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { harmlessHeaders, tokenIn } from '../src/http/gateway/credential.ts';
import { targetIn, withPlainScope } from '../src/http/gateway/target.ts';

const token = 'sr_vault_0199a3c4_secret';
const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;

describe('the access key of a request to the gateway', () => {
  it('is found wherever programs put a key', () => {
    const places: [Record<string, string>, string | null][] = [
      [{ authorization: `Bearer ${token}` }, token],
      [{ authorization: `token ${token}` }, token],
      [{ authorization: basic(`x:${token}`) }, token],
      [{ authorization: basic(`${token}:`) }, token],
      [{ authorization: basic(`${token}:x-oauth-basic`) }, token],
      [{ authorization: basic('no colon') }, null],
      [{ authorization: 'Digest x' }, null],
      [{ 'x-api-key': token }, token],
      [{ 'x-goog-api-key': token }, token],
      [{}, null],
    ];
    for (const [headers, found] of places)
      assert.equal(tokenIn({ headers }, null), found, JSON.stringify(headers));
    assert.equal(
      tokenIn({ headers: { authorization: 'Bearer other' } }, token),
      token,
      'the path comes first',
    );
  });

  it('is dropped from every header, and so are credentials of any kind', () => {
    const rawHeaders = [
      'Accept',
      'a',
      'Authorization',
      'x',
      'X-Api-Key',
      token,
      'X-Other',
      `a ${token} b`,
      'Cookie',
      'c',
      'Proxy-Authorization',
      'p',
      'X-Vault-Token',
      'v',
    ];
    assert.deepEqual(harmlessHeaders({ rawHeaders }, token), [['accept', 'a']]);
  });
});

describe('the target of a request to the gateway', () => {
  it('is a rule, an access key if there is one, and the rest as it was sent', () => {
    const targets: [string, unknown][] = [
      ['/via/github/repos?a=1', { rule: 'github', token: null, path: '/repos?a=1' }],
      ['/via/github', { rule: 'github', token: null, path: '/' }],
      ['/via/github?a=1', { rule: 'github', token: null, path: '/?a=1' }],
      ['/via/issues%20of%20acme/x', { rule: 'issues of acme', token: null, path: '/x' }],
      [`/via/github/~${token}/v1/`, { rule: 'github', token, path: '/v1/' }],
      [`/via/github/~${token}`, { rule: 'github', token, path: '/' }],
      ['/via/', null],
      ['/via/%ff/x', null],
    ];
    for (const [url, target] of targets) assert.deepEqual(targetIn(url), target, url);
  });

  it('has the scope of a package as registries read it, and no other encoded slash', () => {
    assert.equal(withPlainScope('/via/npm/@acme%2fshop'), '/via/npm/@acme/shop');
    assert.equal(
      withPlainScope('/via/npm/@acme%2Fshop/-/shop-1.0.0.tgz'),
      '/via/npm/@acme/shop/-/shop-1.0.0.tgz',
    );
    for (const other of ['/via/npm/a%2fb', '/via/npm/x?q=/@a%2fb', '/via/npm/%40a%2fb'])
      assert.equal(withPlainScope(other), other);
  });
});
