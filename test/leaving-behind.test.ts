/** Who may leave something behind, and for how long: the decision by itself. That each change asks is tested over HTTP, in lasting-access. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Caller, type Proof, provenFor, trustedCaller } from '../src/access/caller.ts';
import { type Lasts, refusalToLeave } from '../src/domain/kernel/lasting.ts';

const now = Date.parse('2026-01-01T00:00:00Z');
const end = now + 60_000;

const operator = trustedCaller('operator', 'operator', 'operator', 'org', '');
const rows: Proof['rows'] = [{ table: 'credentials', id: 'key', revision: 1 }];
const key = (until: number | null, proof: Partial<Proof> = {}): Caller => ({
  ...operator,
  kind: 'api-key',
  id: 'key',
  until,
  proof: { rows, until, ...proof },
});
const session = (provenAt: number | null): Caller => ({
  ...operator,
  kind: 'member',
  id: 'member',
  proof: { rows: [{ table: 'sessions', id: 'session', revision: 1 }], until: end, provenAt },
});

const ending: Lasts = { until: end, madeWith: ['other', 'key'] };
const things: Readonly<Record<string, Lasts>> = {
  'as before': 'as before',
  'without end': 'without end',
  'with it': ending,
  'with it, and earlier': { ...ending, until: end - 1 },
  'with it, but later': { ...ending, until: end + 1 },
  'with it, but never by itself': { ...ending, until: null },
  'with another': { ...ending, madeWith: ['other'] },
};
type What = keyof typeof things;

/** What may be left; all else is refused for this reason. */
const callers: readonly [string, Caller, readonly What[] | 'anything', 'FORBIDDEN' | 'PROOF_REQUIRED'][] = [
  ['the operator', operator, 'anything', 'FORBIDDEN'],
  ['an API key without an end', key(null), 'anything', 'FORBIDDEN'],
  ['an API key that ends', key(end), ['as before', 'with it', 'with it, and earlier'], 'FORBIDDEN'],
  ['a person who never proved themselves', session(null), ['as before'], 'PROOF_REQUIRED'],
  ['a person whose proof is over', session(now - provenFor), ['as before'], 'PROOF_REQUIRED'],
  ['a person who proved themselves', session(now - provenFor + 1), 'anything', 'PROOF_REQUIRED'],
  [
    'a command line that was never proven',
    key(end, { provenAt: null }),
    ['as before', 'with it', 'with it, and earlier'],
    'PROOF_REQUIRED',
  ],
  ['a command line of a person who proved themselves', key(end, { provenAt: now }), 'anything', 'FORBIDDEN'],
];

describe('what is left behind', () => {
  for (const [who, caller, allowed, refusal] of callers) {
    for (const [what, lasts] of Object.entries(things)) {
      const expected = allowed === 'anything' || allowed.includes(what) ? null : refusal;
      it(`by ${who}, ${what}, is ${expected ?? 'allowed'}`, () => {
        assert.equal(refusalToLeave(caller, 'webhook.created', lasts, now), expected);
        assert.equal(refusalToLeave(caller, 'key.created', lasts, now), null, 'a key gives nothing');
      });
    }
  }

  it('has to say for how long, unless it gives nothing', () => {
    assert.throws(() => refusalToLeave(operator, 'api-key.created', undefined, now), /for how long/);
    assert.equal(refusalToLeave(session(null), 'key.updated', undefined, now), null);
  });
});
