/** What the path and the query of the vault endpoint ask for: the decisions by themselves. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import { isBelowVaults, misplaced, operationIn, vaultIdIn } from '../src/http/vault/path.ts';
import { selectionIn } from '../src/http/vault/query.ts';

describe('a path of the vault endpoint', () => {
  const below: [url: string, isBelow: boolean][] = [
    ['/api/v1/vaults/x', true],
    ['/API/v1/Vaults/x', true],
    ['//api/v1/vaults/x', true],
    ['/./api//v1\\vaults/', true],
    ['/api/v1/vaults%2Fx', true],
    ['/api/v1/vaults%5cx', true],
    ['http://here:1/api/v1/vaults/x', true],
    ['api/v1/vaults/', true],
    ['/api/v1/vaults', false],
    ['/api/v1/vaultsx/', false],
    ['/v1/vaults/x', false],
    ['/x/api/v1/vaults/x', false],
    ['/x?/api/v1/vaults/x', false],
  ];
  for (const [url, isBelow] of below)
    it(`is ${isBelow ? '' : 'not '}${url}`, () => assert.equal(isBelowVaults(url), isBelow));

  const read: [url: string | undefined, isThere: boolean][] = [
    ['/api/v1/vaults/x', true],
    ['/api/v1/vaults/x/', true],
    ['/api/v1/vaults/x?a=/b', true],
    ['/api/v1/vaults/x/?a', true],
    ['/api/v1/vaults/', false],
    ['/api/v1/vaults//', false],
    ['/api/v1/vaults/?x', false],
    ['/api/v1/vaults/x/y', false],
    ['/api/v1/vaults/x/y/', false],
    ['/api/v1/vaults/x//', false],
    ['/api//v1/vaults/x', false],
    ['/API/v1/vaults/x', false],
    [undefined, false],
  ];
  for (const [url, isThere] of read)
    it(`${isThere ? 'can' : 'can’t'} be read at ${url}`, () => {
      for (const method of ['GET', 'HEAD', 'POST', undefined]) {
        const isGood = isThere && (method === 'GET' || method === 'HEAD');
        assert.equal(misplaced({ method, url })?.code ?? null, isGood ? null : 'NOT_FOUND', `${method}`);
      }
    });

  const operations: [url: string | undefined, operation: string | null][] = [
    ['/api/v1/vaults/x/use', 'use'],
    ['/api/v1/vaults/x/keys/sign', 'keys/sign'],
    ['/api/v1/vaults/x/', ''],
    ['/api/v1/vaults/x', null],
    ['/api/v1/vaults//use', null],
    ['/api/v1/vaults/x/use?a', null],
    ['/api/v1/Vaults/x/use', null],
    [undefined, null],
  ];
  for (const [url, operation] of operations)
    it(`${url} means ${JSON.stringify(operation)} by a POST, and nothing otherwise`, () => {
      assert.equal(operationIn({ method: 'POST', url }), operation);
      assert.equal(operationIn({ method: 'GET', url }), null);
    });

  it('names a vault, or that of the access key', () => {
    assert.equal(vaultIdIn('/api/v1/vaults/x/use?self'), 'x');
    assert.equal(vaultIdIn('/api/v1/vaults/x?/y'), 'x');
    assert.equal(vaultIdIn('//api/v1\\vaults/x'), 'x');
    assert.equal(vaultIdIn('/api/v1/vaults/self'), null);
    assert.equal(vaultIdIn('/api/v1/vaults/self?a'), null);
    assert.equal(vaultIdIn('/api/v1/vaults/Self'), 'Self');
  });
});

describe('the query of the vault endpoint', () => {
  const whole = { of: 'vault', namesOnly: false, keys: false, certificates: false };
  const asked: [query: string, selection: object][] = [
    ['', whole],
    ['?', whole],
    ['?secrets=names', { ...whole, namesOnly: true }],
    ['?include=keys', { ...whole, keys: true }],
    ['?include=certificates', { ...whole, certificates: true }],
    ['?include=%20keys%20,+certificates', { ...whole, keys: true, certificates: true }],
    [
      '?include=certificates,keys&secrets=names',
      { ...whole, namesOnly: true, keys: true, certificates: true },
    ],
    ['?resource=x', { of: 'resource', id: 'x' }],
    ['?resource=x&name=y&format=map&secrets=names', { of: 'resource', id: 'x' }],
    ['?name=y', { of: 'item', kind: 'secret', nameOrId: 'y', fields: 'value' }],
    ['?name=y&format=map&secrets=names', { of: 'item', kind: 'secret', nameOrId: 'y', fields: 'value' }],
    ['?format=env', { of: 'values', format: 'env' }],
    ['?format=map', { of: 'values', format: 'map' }],
    ['?format=map&include=keys', { of: 'values', format: 'map' }],
  ];
  for (const [query, selection] of asked)
    it(`${query || 'that is missing'} asks for ${JSON.stringify(selection)}`, () => {
      for (const path of ['/api/v1/vaults/self', '/', ''])
        assert.deepEqual(selectionIn(`${path}${query}`), selection);
    });

  const long = 'a'.repeat(40);
  const wrong: [query: string, field: string, reason: RegExp][] = [
    ['?format=map&secrets=names', 'format', /^can’t be combined with secrets=names/],
    ['?secrets=values', 'secrets', /: names$/],
    ['?include=keys,keys', 'include', /^must be given once/],
    ['?include=', 'include', /^must be given once/],
    ['?format=json', 'format', /: map, env$/],
    ['?name=', 'name', /./],
    ['?unknown=1', 'unknown', /./],
    ['?name=a&name=a', 'name', /^must be given once$/],
    ['?resource=a&resource=b', 'resource', /^must be given once$/],
    [`?${long}=1&${long}=1`, long.slice(0, 32), /^must be given once$/],
  ];
  for (const [query, field, reason] of wrong)
    it(`${query} is at fault in ${field}`, () => {
      const fault = selectionIn(`/api/v1/vaults/self${query}`);
      assert.ok(fault instanceof Failure);
      assert.equal(fault.code, 'INVALID_REQUEST');
      assert.equal(fault.field, field);
      assert.match(fault.reason, reason);
    });
});
