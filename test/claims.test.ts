import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { unmetClaim } from '../src/domain/identities/conditions.ts';

const claims = {
  sub: 'repo:acme/app:ref:refs/heads/main',
  run: 42,
  protected: true,
  groups: ['viewers', 7, ['nested'], { admin: true }],
  empty: [],
  nothing: null,
  huge: Number.MAX_SAFE_INTEGER + 1,
  low: Number.MIN_SAFE_INTEGER - 1,
  '/odd': 'by its own name only',
  'a/b~c': 'escaped',
  object: { team: { name: 'platform' }, list: ['zero'], text: 'long', none: null },
};

const met: [name: string, pattern: string][] = [
  ['sub', 'repo:acme/app:*'],
  ['run', '42'],
  ['protected', 'true'],
  ['groups', 'viewers'],
  ['groups', '7'],
  ['/sub', 'repo:acme/app:*'],
  ['/object/team/name', 'platform'],
  ['/object/list', 'zero'],
  ['/a~1b~0c', 'escaped'],
  ['a/b~c', 'escaped'],
];

const unmet: [name: string, pattern: string][] = [
  ['sub', 'repo:acme/other:*'],
  ['run', '43'],
  ['protected', 'false'],
  ['groups', 'admins'],
  ['groups', 'nested'],
  ['groups', '*Object*'],
  ['empty', '*'],
  ['nothing', '*'],
  ['nothing', 'null'],
  ['absent', '*'],
  ['absent', 'undefined'],
  ['huge', '*'],
  ['low', '*'],
  ['object', '*'],
  ['toString', '*'],
  ['/object/team/constructor/name', '*'],
  ['/object/absent/name', '*'],
  ['/object/none/name', '*'],
  ['/object/text/length', '4'],
  ['/object/text/0', 'l'],
  ['/object/list/0', 'zero'],
  ['/object/list/length', '1'],
  ['/odd', '*'],
  ['object/team/name', 'platform'],
];

describe('a condition on a token’s claims', () => {
  for (const [name, pattern] of met)
    it(`is met by ${name} as ${pattern}`, () =>
      assert.equal(unmetClaim({ [name]: [pattern] }, claims), null));

  for (const [name, pattern] of unmet)
    it(`is not met by ${name} as ${pattern}`, () =>
      assert.equal(unmetClaim({ [name]: [pattern] }, claims), name));

  it('is named where it is the first that does not hold; one of its patterns is enough', () => {
    assert.equal(
      unmetClaim({ sub: ['no', 'repo:*'], run: ['42'], protected: ['no'], empty: ['*'] }, claims),
      'protected',
    );
    assert.equal(unmetClaim({ sub: [] }, claims), 'sub');
    assert.equal(unmetClaim({}, claims), null);
  });

  it('takes only what the token says itself', () => {
    assert.equal(unmetClaim({ sub: ['*'] }, Object.create({ sub: 'inherited' })), 'sub');
    assert.equal(unmetClaim({ '/a/sub': ['*'] }, { a: Object.create({ sub: 'inherited' }) }), '/a/sub');
  });

  it('takes numbers up to the largest that can be told from the next one', () => {
    for (const [number, isMet] of [
      [Number.MAX_SAFE_INTEGER, true],
      [-Number.MAX_SAFE_INTEGER, true],
      [Number.MAX_SAFE_INTEGER + 1, false],
      [Number.MIN_SAFE_INTEGER - 1, false],
      [Number.NaN, false],
    ] as const)
      assert.equal(unmetClaim({ n: ['*'] }, { n: number }), isMet ? null : 'n');
  });
});
