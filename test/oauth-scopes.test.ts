/** What the scopes of OAuth give, and which one a key lacks. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Reader, ResourceKind } from '../src/access/caller.ts';
import { granted, missingScope, restrictionsOf, scopesIn } from '../src/access/oauth-scopes.ts';
import { type OAuthScope, oauthScopes } from '../src/contract/names.ts';

describe('scopes', () => {
  const texts: [text: string, scopes: OAuthScope[]][] = [
    ['', []],
    ['secrets:names', ['secrets:names']],
    ['keys:read secrets:read keys:read', ['secrets:read', 'keys:read']],
    ['secrets:read,keys:read', []],
    ['Secrets:read unknown offline_access', []],
  ];
  for (const [text, scopes] of texts)
    it(`in ${JSON.stringify(text)} are ${scopes.join(' and ') || 'none'}`, () =>
      assert.deepEqual(scopesIn(text), scopes));

  const grants: [chosen: OAuthScope[], granted: OAuthScope[], kinds: ResourceKind[] | null, uses: boolean][] =
    [
      [[], ['secrets:names'], null, false],
      [['secrets:names'], ['secrets:names'], null, false],
      [['secrets:use'], ['secrets:use'], null, true],
      [['secrets:names', 'secrets:use'], ['secrets:use'], null, true],
      [['secrets:read'], ['secrets:read'], ['secret'], false],
      [['keys:read', 'secrets:names'], ['keys:read'], ['key'], false],
      [['certificates:read', 'secrets:use'], ['secrets:use', 'certificates:read'], ['certificate'], true],
      [[...oauthScopes], oauthScopes.slice(1), ['secret', 'key', 'certificate'], true],
    ];
  for (const [chosen, given, kinds, may_use] of grants)
    it(`${chosen.join(' ') || 'of nothing'} give ${given.join(' ')}`, () => {
      assert.deepEqual(granted(chosen), given);
      assert.deepEqual(restrictionsOf(chosen), { kinds, names_only: kinds === null, may_use });
    });

  const missing: [
    reader: [kinds: ResourceKind[] | null, namesOnly: boolean],
    kind: ResourceKind,
    onlyNames: boolean,
    scope: OAuthScope | null,
  ][] = [
    [[null, true], 'secret', true, null],
    [[null, true], 'secret', false, 'secrets:read'],
    [[null, true], 'key', false, 'keys:read'],
    [[['key'], false], 'key', false, null],
    [[['key'], false], 'secret', false, 'secrets:read'],
    [[['key'], false], 'secret', true, 'secrets:read'],
    [[['key'], false], 'certificate', true, 'certificates:read'],
    [[null, false], 'certificate', false, null],
  ];
  for (const [[kinds, namesOnly], kind, onlyNames, scope] of missing)
    it(`lack ${scope} for a ${kind}${onlyNames ? '’s name' : ''} with ${JSON.stringify([kinds, namesOnly])}`, () => {
      const reader = { kinds, namesOnly, byOAuth: true } as Reader;
      assert.equal(missingScope(reader, kind, onlyNames), scope);
      assert.equal(
        missingScope({ ...reader, byOAuth: false }, kind, onlyNames),
        null,
        'there is nobody to ask',
      );
    });
});
