/** Who a caller is and what its access key matches: the decisions by themselves. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type Caller,
  isProven,
  makersOf,
  matchesPattern,
  memberBehind,
  type ProvenBy,
  provenFor,
  readerSeesKind,
  readerSeesName,
  trustedCaller,
  unstored,
} from '../src/access/caller.ts';

const operator = trustedCaller('operator', 'id', 'name', 'organization', 'request');
const rows: ProvenBy[] = [
  { table: 'credentials', id: 'key', revision: 1 },
  { table: 'members', id: 'person', revision: 1 },
  { table: 'credentials', id: 'maker', revision: 1 },
  { table: 'accounts', id: 'account', revision: 1 },
];
const callerOf = (more: Partial<Caller>): Caller => ({ ...operator, ...more });

describe('a proof of identity', () => {
  const now = 1_000_000_000;
  const proofs: [provenAt: number | null | undefined, isProof: boolean][] = [
    [undefined, true],
    [null, false],
    [0, false],
    [now, true],
    [now - 5 * 60_000 + 1, true],
    [now - 5 * 60_000, false],
  ];
  for (const [provenAt, isProof] of proofs)
    it(`given at ${provenAt} ${isProof ? 'counts' : 'does not count'}`, () =>
      assert.equal(
        isProven({ proof: { ...unstored, ...(provenAt === undefined ? {} : { provenAt }) } }, now),
        isProof,
      ));
  it('counts for five minutes, and what was never given does not count at any time', () => {
    assert.equal(provenFor, 300_000);
    assert.equal(isProven({ proof: { ...unstored, provenAt: null } }, 0), false);
  });
});

describe('a caller', () => {
  it('that is trusted may do everything in its organization, and no row can take it away', () => {
    assert.deepEqual(operator, {
      kind: 'operator',
      id: 'id',
      name: 'name',
      organizationId: 'organization',
      role: 'owner',
      vaultRoles: new Map(),
      scopes: null,
      vaultIds: null,
      until: null,
      within: null,
      proof: { rows: [], until: null },
      origin: { address: '', requestId: 'request', userAgent: '' },
    });
    assert.equal(trustedCaller('service', '', '', '', '', 'agent').origin.userAgent, 'agent');
  });

  it('acts for the member whose row proves it, and else for nobody', () => {
    assert.equal(memberBehind(callerOf({ proof: { rows, until: null } })), 'person');
    assert.equal(memberBehind(callerOf({ proof: { rows: [rows[0]!], until: null } })), null);
  });

  const makers: [
    kind: Caller['kind'],
    until: number | null,
    provenAt: number | null | undefined,
    ends: boolean,
  ][] = [
    ['api-key', 5, undefined, true],
    ['api-key', null, null, true],
    ['api-key', null, 3, true],
    ['api-key', 5, 3, true],
    ['api-key', null, undefined, false],
    ['member', 5, 3, false],
    ['operator', 5, 3, false],
  ];
  for (const [kind, until, provenAt, ends] of makers)
    it(`of kind ${kind} until ${until}, proven at ${provenAt}, ${ends ? 'ends' : 'does not end'} what it makes`, () => {
      const proof = { rows, until, ...(provenAt === undefined ? {} : { provenAt }) };
      assert.deepEqual(makersOf(callerOf({ kind, until, proof })), ends ? ['key', 'maker'] : []);
    });
});

describe('an access key', () => {
  it('sees every kind, or those that it names', () => {
    assert.equal(readerSeesKind({ kinds: null }, 'key'), true);
    assert.equal(readerSeesKind({ kinds: ['key', 'secret'] }, 'key'), true);
    assert.equal(readerSeesKind({ kinds: ['secret'] }, 'key'), false);
    assert.equal(readerSeesKind({ kinds: [] }, 'key'), false);
  });

  it('sees a name that one pattern of each of its lists matches', () => {
    assert.equal(readerSeesName({ names: [] }, 'a'), true);
    assert.equal(readerSeesName({ names: [['b', 'a*']] }, 'ax'), true);
    assert.equal(readerSeesName({ names: [['a*'], ['*x']] }, 'ax'), true);
    assert.equal(readerSeesName({ names: [['a*'], ['*y']] }, 'ax'), false);
    assert.equal(readerSeesName({ names: [['a*'], []] }, 'ax'), false);
  });

  it('matches as an expression would, for every short pattern and name', () => {
    const words = (letters: string, longest: number): string[] =>
      longest === 0
        ? ['']
        : ['', ...[...letters].flatMap(letter => words(letters, longest - 1).map(word => letter + word))];
    for (const pattern of words('ab*', 5)) {
      const expression = new RegExp(`^${pattern.replaceAll('*', '.*')}$`);
      for (const name of words('ab', 5))
        assert.equal(matchesPattern(pattern, name), expression.test(name), `${pattern} ${name}`);
    }
  });
});
