import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { tokenPart, type WantedToken } from '../src/domain/uses/web-token-shape.ts';

const now = 1_800_000_000;
const shape = { issuer: 'app', audiences: ['one', 'two'], longest_lifetime: 600 };
const claims = { iss: 'app', aud: 'one', iat: now, exp: now + 600 };
const wanted: WantedToken = { alg: 'ES256', kid: 'k1', claims, shape, now: now * 1000 };

function parts(token: Partial<WantedToken>): unknown[] {
  const text = Buffer.from(tokenPart({ ...wanted, ...token }), 'base64url').toString();
  return text.split('.').map(part => JSON.parse(Buffer.from(part, 'base64url').toString()));
}

describe('the claims that a key signs', () => {
  it('are signed as they are, behind a header that names the key', () => {
    assert.deepEqual(parts({}), [{ alg: 'ES256', kid: 'k1', typ: 'JWT' }, claims]);
    assert.deepEqual(parts({ shape: { ...shape, typ: 'at+jwt' } })[0], {
      alg: 'ES256',
      kid: 'k1',
      typ: 'at+jwt',
    });
  });

  it('may be any where the rule demands none', () => {
    assert.deepEqual(parts({ shape: null, claims: { a: 1 } })[1], { a: 1 });
  });

  const good: Record<string, unknown>[] = [
    { aud: ['one'] },
    { aud: ['one', 'two'] },
    { iat: now - 60, exp: now + 1 },
    { iat: now + 60, exp: now + 61 },
    { exp: now + 1 },
    { sub: 'anything else' },
  ];
  for (const change of good)
    it(`may be ${JSON.stringify(change)}`, () =>
      assert.ok(tokenPart({ ...wanted, claims: { ...claims, ...change } })));

  const bad: [reason: RegExp, change: Record<string, unknown>][] = [
    [/as iss/, { iss: 'other' }],
    [/as iss/, { iss: undefined }],
    [/as iss/, { iss: ['app'] }],
    [/as aud/, { aud: 'three' }],
    [/as aud/, { aud: undefined }],
    [/as aud/, { aud: [] }],
    [/as aud/, { aud: ['one', 'three'] }],
    [/as aud/, { aud: [['one']] }],
    [/iat and exp/, { iat: undefined }],
    [/iat and exp/, { exp: undefined }],
    [/iat and exp/, { iat: now + 0.5 }],
    [/iat and exp/, { exp: String(now + 10) }],
    [/at most 600/, { iat: now - 61, exp: now + 1 }],
    [/at most 600/, { iat: now + 61, exp: now + 62 }],
    [/at most 600/, { exp: now }],
    [/at most 600/, { exp: now - 1 }],
    [/at most 600/, { exp: now + 601 }],
  ];
  for (const [reason, change] of bad)
    it(`may not be ${JSON.stringify(change, (_, value) => value ?? null)}`, () =>
      assert.throws(() => tokenPart({ ...wanted, claims: { ...claims, ...change } }), {
        field: 'claims',
        reason,
      }));
});
