/** What a request in Vault's dialect asks for: the decisions by themselves. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorsOf } from '../src/http/dialect/forms.ts';
import {
  isApiKey,
  isDialect,
  isForReadingPlane,
  isProbe,
  routeOf,
  type Target,
  targetOf,
  tokenIn,
  unmetHeader,
  versionIn,
} from '../src/http/dialect/target.ts';

/** What is asked, in one line. */
function shown(url: string): string {
  const asked = targetOf(url);
  if (asked.of === 'nothing') return `${asked.failure.code} ${errorsOf(asked.failure).errors}`.trim();
  if (asked.of === 'store')
    return `${asked.verb} ${asked.mount} ${asked.path}${asked.isList ? ' list' : ''}`.trim();
  return Object.values(asked).join(' ');
}

describe('a target of the dialect', () => {
  const unsupported = 'NOT_FOUND unsupported path';
  const unversioned = 'NOT_FOUND this is a versioned key/value store (version 2): read {mount}/data/{path}';
  const malformed = 'INVALID_REQUEST the path must be text in UTF-8, percent-encoded';
  const rows: [url: string, asked: string, route: string][] = [
    ['sys/health', 'health', 'sys/health'],
    ['sys/health/?standbyok=true', 'health', 'sys/health'],
    ['sys/seal-status', 'seal-status', 'sys/seal-status'],
    ['sys/init', 'init', 'sys/init'],
    ['sys/leader', 'leader', 'sys/leader'],
    ['sys/mounts', unsupported, ''],
    ['sys/healthy', unsupported, ''],
    ['sys', unsupported, ''],
    ['sys/internal/ui/mounts/secret/data/a', 'mount secret/data/a', 'sys/internal/ui/mounts/{path}'],
    ['sys/internal/ui/mounts', unsupported, ''],
    ['auth/token/lookup-self', 'token lookup-self', 'auth/token/lookup-self'],
    ['auth/token/renew-self/', 'token renew-self', 'auth/token/renew-self'],
    ['auth/token/revoke-self', 'token revoke-self', 'auth/token/revoke-self'],
    ['auth/token/create', 'token create', 'auth/token/create'],
    ['auth/token/lookup', unsupported, ''],
    ['auth/jwt/login', 'login jwt', 'auth/{mount}/login'],
    ['auth/a/b/login/', 'login a/b', 'auth/{mount}/login'],
    ['auth/login', unsupported, ''],
    ['auth/jwt/login/x', unsupported, ''],
    ['secret/data/a', 'data secret a', '{mount}/data/{path}'],
    ['secret/data/a/b%2Fc?version=2', 'data secret a/b/c', '{mount}/data/{path}'],
    ['secret/data/', 'data secret', '{mount}/data/{path}'],
    ['secret/data', 'data secret', '{mount}/data/{path}'],
    ['my/vault/metadata/a', 'metadata my/vault a', '{mount}/metadata/{path}'],
    ['data/data/data', 'data data data', '{mount}/data/{path}'],
    ['secret/subkeys/a', 'subkeys secret a', '{mount}/subkeys/{path}'],
    ['secret/delete/a', 'delete secret a', '{mount}/delete/{path}'],
    ['secret/undelete/a', 'undelete secret a', '{mount}/undelete/{path}'],
    ['secret/destroy/a', 'destroy secret a', '{mount}/destroy/{path}'],
    ['secret/config', 'config secret', '{mount}/config'],
    ['secret/config/', 'config secret', '{mount}/config'],
    ['secret/config/a', unsupported, ''],
    ['secret/a', unversioned, ''],
    ['data/a', unversioned, ''],
    ['', unversioned, ''],
    ['secret/data/%ff', malformed, ''],
    ['secret/data/%', malformed, ''],
    ['secret/data/a?b=%ff', 'data secret a', '{mount}/data/{path}'],
    ['transit/encrypt/a', 'transit  encrypt a ', 'transit/encrypt/{key}'],
    ['transit/encrypt/a/b', unsupported, ''],
    ['transit/encrypt/', unsupported, ''],
    ['transit/encrypt/a%2Fb', 'transit  encrypt a/b ', 'transit/encrypt/{key}'],
    ['transit/sign/a/sha2-256', 'transit  sign a sha2-256', 'transit/sign/{key}'],
    ['transit/datakey/wrapped/a', 'transit  datakey a wrapped', 'transit/datakey/wrapped/{key}'],
    ['transit/datakey/open/a', unsupported, ''],
    ['transit/datakey/wrapped', unsupported, ''],
    ['transit/keys?list=true', 'transit  keys  ', 'transit/keys'],
    ['transit/keys/?list=true', 'transit  keys  ', 'transit/keys'],
    ['transit/keys', unsupported, ''],
    ['transit/keys/config/rotate', 'transit  keys config rotate', 'transit/keys/{key}/rotate'],
    ['transit/keys/a/trim', unsupported, ''],
    ['a/b/transit/keys/c', 'transit a/b keys c ', '{mount}/transit/keys/{key}'],
    ['transit/random/all/16', 'transit  random all,16', 'transit/random'],
    ['transit/random/a/b/c', unsupported, ''],
    ['transit/data/a', 'data transit a', '{mount}/data/{path}'],
    ['secret/data/transit/keys/a', 'data secret transit/keys/a', '{mount}/data/{path}'],
    ['transit/export/a', unversioned, ''],
    ...['1', 't', 'T', 'true', 'TRUE', 'True'].map((yes): [string, string, string] => [
      `secret/metadata/a?list=${yes}`,
      'metadata secret a list',
      '{mount}/metadata/{path}',
    ]),
    ...['0', 'false', 'yes', '', '11', 'tr'].map((no): [string, string, string] => [
      `secret/metadata/a?list=${no}`,
      'metadata secret a',
      '{mount}/metadata/{path}',
    ]),
    ['secret/metadata?x&list=true', 'metadata secret  list', '{mount}/metadata/{path}'],
    ['secret/data/a?list=true', 'data secret a', '{mount}/data/{path}'],
    ['secret/metadata/a&list=true', 'metadata secret a&list=true', '{mount}/metadata/{path}'],
    ['secret/metadata/a?b=?&list=true', 'metadata secret a list', '{mount}/metadata/{path}'],
    ['secret/metadata/list=true', 'metadata secret list=true', '{mount}/metadata/{path}'],
  ];
  for (const [url, asked, route] of rows)
    it(`${url || 'of nothing'} asks for ${asked}`, () => {
      assert.equal(shown(`/vault/v1/${url}`), asked);
      assert.equal(routeOf(targetOf(`/vault/v1/${url}`)), `/vault/v1${route && `/${route}`}`);
    });

  for (const url of [
    '/vault/v2/secret/data/a',
    '/vault',
    '/vault?/vault/v1/sys/health',
    '/VAULT/v1/sys/health',
    '//vault/v1/sys/health',
  ])
    it(`${url} is one, and asks for nothing`, () => {
      assert.equal(isDialect(url), true);
      assert.equal(shown(url), 'NOT_FOUND');
    });
  const odd: [url: string, isOne: boolean][] = [
    ['/vault/v1/x', true],
    ['/vault%2fv1', true],
    ['/vault\\v1', true],
    ['http://here/vault/v1', true],
    ['vault', true],
    ['/vaults', false],
    ['/v1/vault', false],
    ['/', false],
    ['/x?/vault/v1/', false],
  ];
  for (const [url, isOne] of odd)
    it(`${url} is ${isOne ? 'one' : 'none'}`, () => assert.equal(isDialect(url), isOne));

  it('that probes the service needs no credential', () => {
    for (const probe of ['health', 'seal-status', 'init', 'leader'] as const)
      assert.equal(isProbe({ of: probe }), true);
    for (const url of ['auth/jwt/login', 'secret/data/a', 'auth/token/create', 'x'])
      assert.equal(isProbe(targetOf(`/vault/v1/${url}`)), false);
  });

  const versions: [query: string, version: number | null | string][] = [
    ['', null],
    ['?', null],
    ['?version=', null],
    ['?version=0', null],
    ['?version=7', 7],
    ['?version=999999999', 999_999_999],
    ['?version=1000000000', 'version must be a whole number'],
    ['?version=-1', 'version must be a whole number'],
    ['?version=1.5', 'version must be a whole number'],
    ['?version=a', 'version must be a whole number'],
    ['?list=1', null],
    ['&version=7', null],
    ['?a=?&version=7', 7],
  ];
  for (const [query, version] of versions)
    it(`${query || 'without a query'} asks for version ${version}`, () => {
      const url = `/vault/v1/secret/data/a${query}`;
      if (typeof version === 'string') {
        const [field, ...reason] = version.split(' ');
        assert.throws(() => versionIn(url), { field, reason: reason.join(' ') });
      } else assert.equal(versionIn(url), version);
    });
});

describe('the credential of a request in the dialect', () => {
  const long = 'a'.repeat(2048);
  const rows: [
    own: string | string[] | undefined,
    authorization: string | undefined,
    token: string | null,
  ][] = [
    [undefined, undefined, null],
    ['a', undefined, 'a'],
    ['', undefined, null],
    ['', 'Bearer b', 'b'],
    [undefined, 'bearer  b ', 'b'],
    [undefined, 'Basic b', null],
    [undefined, 'Bearer', null],
    ['a', 'Bearer a', 'a'],
    ['a', 'Bearer b', null],
    ['a', 'Basic b', 'a'],
    [['a', 'b'], undefined, null],
    [undefined, `Bearer ${long}`, long],
  ];
  for (const [own, authorization, token] of rows)
    it(`of ${JSON.stringify([own, authorization?.slice(0, 20)])} is ${token?.slice(0, 20)}`, () =>
      assert.equal(tokenIn({ 'x-vault-token': own, authorization } as never), token));

  it('is an API key by how it begins, and then for the other plane, as logging in and changing tokens are', () => {
    assert.deepEqual(['sr_api_x', 'sr_vault_x', 'xsr_api_', '', null].map(isApiKey), [
      true,
      false,
      false,
      false,
      false,
    ]);
    const asked = (url: string): Target => targetOf(`/vault/v1/${url}`);
    const rows: [asked: Target, method: string, token: string | null, isReading: boolean][] = [
      [asked('secret/data/a'), 'GET', 'sr_vault_x', true],
      [asked('secret/data/a'), 'GET', null, true],
      [asked('secret/data/a'), 'POST', 'sr_vault_x', true],
      [asked('secret/data/a'), 'GET', 'sr_api_x', false],
      [asked('auth/jwt/login'), 'POST', null, false],
      [asked('auth/jwt/login'), 'GET', 'sr_vault_x', false],
      [asked('auth/token/lookup-self'), 'GET', 'sr_vault_x', true],
      [asked('auth/token/lookup-self'), 'HEAD', 'sr_vault_x', true],
      [asked('auth/token/lookup-self'), 'POST', 'sr_vault_x', false],
      [asked('auth/token/create'), 'PUT', null, false],
    ];
    for (const [what, method, token, isReading] of rows)
      assert.equal(isForReadingPlane(what, method, token), isReading, JSON.stringify([what, method, token]));
  });

  const headers: [headers: Record<string, string>, refusal: string | null][] = [
    [{}, null],
    [{ 'x-vault-wrap-ttl': '' }, null],
    [{ 'x-vault-wrap-ttl': '60' }, 'INVALID_REQUEST X-Vault-Wrap-TTL is not supported'],
    [{ 'x-vault-namespace': '' }, null],
    [{ 'x-vault-namespace': '/' }, null],
    [{ 'x-vault-namespace': 'root' }, null],
    [{ 'x-vault-namespace': 'root/' }, null],
    [{ 'x-vault-namespace': 'team' }, 'NOT_FOUND'],
  ];
  for (const [sent, refusal] of headers)
    it(`with ${JSON.stringify(sent)} is ${refusal === null ? 'answered' : `refused: ${refusal}`}`, () => {
      const failure = unmetHeader(sent);
      assert.equal(failure && `${failure.code} ${failure.field} ${failure.reason}`.trim(), refusal);
    });
});
