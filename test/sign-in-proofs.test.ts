/** What a person signs in with: one-time codes, recovery codes, challenges for passkeys, addresses and passwords. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { emailKey, sameAddress } from '../src/domain/people/email.ts';
import { challengesWith } from '../src/domain/sign-in/challenges.ts';
import { passwordsWith } from '../src/domain/sign-in/passwords.ts';
import {
  base32,
  codeAt,
  codeUri,
  looksLikeRecoveryCode,
  makeRecoveryCodes,
  seedSize,
  stepAt,
  stepOf,
} from '../src/domain/sign-in/totp.ts';
import { Keyring } from '../src/keyring/keyring.ts';
import type { PasswordPool } from '../src/material/password-pool.ts';
import type { AccountRow } from '../src/store/records/accounts.ts';
import type { Store } from '../src/store/store.ts';

const keyring = Keyring.create('deployment');

describe('a one-time code', () => {
  const seed = Buffer.from('12345678901234567890');
  const now = 1_111_111_109_000;
  const current = stepAt(now);

  it('is that of RFC 6238, appendix B, and keeps its zeros', () => {
    for (const [seconds, code] of [
      [59, '287082'],
      [1_111_111_109, '081804'],
      [1_234_567_890, '005924'],
      [20_000_000_000, '353130'],
    ] as const)
      assert.equal(codeAt(seed, stepAt(seconds * 1_000)), code);
  });

  it('changes every 30 seconds', () => {
    assert.deepEqual([0, 29_999, 30_000, 59_999, 60_000, 3_000_000].map(stepAt), [0, 0, 1, 1, 2, 100]);
  });

  const rows: [off: number, lastUsed: number, isTaken: boolean][] = [
    [-2, 0, false],
    [-1, 0, true],
    [0, 0, true],
    [1, 0, true],
    [2, 0, false],
    [0, current - 1, true],
    [0, current, false],
    [1, current, true],
    [1, current + 1, false],
    [-1, current - 1, false],
    [-1, current - 2, true],
  ];
  for (const [off, lastUsed, isTaken] of rows)
    it(`${off} steps from now is ${isTaken ? '' : 'not '}taken where ${lastUsed === 0 ? 'none' : `that of ${lastUsed - current}`} was taken before`, () => {
      const step = stepOf(seed, codeAt(seed, current + off), now, lastUsed);
      assert.equal(step, isTaken ? current + off : null);
    });

  it('is taken exactly as it is shown', () => {
    const code = codeAt(seed, current);
    assert.equal(code, '081804');
    for (const other of ['', code.slice(1), `0${code}`, `${code} `, `${code}\n`, '081 804', '081805'])
      assert.equal(stepOf(seed, other, now, 0), null, JSON.stringify(other));
  });

  it('is of a seed that is as long as SHA-1, written for authenticators', () => {
    assert.equal(seedSize, 20);
    assert.equal(
      codeUri(seed, 'a+b@example.org'),
      'otpauth://totp/Strongroom:a%2Bb%40example.org?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Strongroom&algorithm=SHA1&digits=6&period=30',
    );
  });

  it('has a seed in base32 (RFC 4648, without padding)', () => {
    const words = ['', 'f', 'fo', 'foo', 'foob', 'fooba', 'foobar'];
    const written = ['', 'MY', 'MZXQ', 'MZXW6', 'MZXW6YQ', 'MZXW6YTB', 'MZXW6YTBOI'];
    assert.deepEqual(
      words.map(word => base32(Buffer.from(word))),
      written,
    );
  });
});

describe('recovery codes', () => {
  it('are ten, of 80 bits each, in four groups of four', () => {
    const sizes: number[] = [];
    const codes = makeRecoveryCodes(size => {
      sizes.push(size);
      return Buffer.alloc(size, sizes.length);
    });
    assert.deepEqual(sizes, Array(10).fill(10));
    assert.equal(new Set(codes).size, 10);
    assert.ok(codes.every(looksLikeRecoveryCode));
    for (const other of [
      '',
      '081804',
      'aaaa-aaaa-aaaa',
      'aaaa-aaaa-aaaa-aaa1',
      'AAAA-AAAA-AAAA-AAAA',
      'aaaaaaaaaaaaaaaa',
    ])
      assert.ok(!looksLikeRecoveryCode(other), other);
  });
});

describe('a challenge', () => {
  const spent: unknown[][] = [];
  const clock = { now: 1_700_000_000_000 };
  const store = { accounts: { spendChallenge: (...values: unknown[]) => [spent.push(values)] } };
  const challenges = challengesWith({
    store: store as unknown as Store,
    keyring,
    now: () => clock.now,
    random: size => Buffer.alloc(size, 7),
  });
  const issued = challenges.issue('sign in');
  const text = issued.toString('base64url');
  const until = clock.now + 5 * 60_000;

  it('holds for its purpose, for five minutes', () => {
    assert.ok(challenges.holds('sign in', text));
    assert.ok(!challenges.holds('another', text));
    clock.now = until - 1;
    assert.ok(challenges.holds('sign in', text));
    clock.now = until;
    assert.ok(!challenges.holds('sign in', text));
    clock.now = until - 1;
  });

  it('holds to the last bit, and only whole', () => {
    assert.equal(issued.length, 38, 'six bytes of time, sixteen random ones and a mark of sixteen');
    for (const at of issued.keys()) {
      const changed = Buffer.from(issued);
      changed[at]! ^= 1;
      assert.ok(!challenges.holds('sign in', changed.toString('base64url')), String(at));
    }
    for (const other of [
      issued.subarray(1),
      issued.subarray(0, -1),
      Buffer.concat([issued, Buffer.alloc(1)]),
      Buffer.alloc(0),
    ])
      assert.ok(!challenges.holds('sign in', other.toString('base64url')));
  });

  it('is written down in one form, with its time, when it is used', () => {
    challenges.use(`${text}==`);
    assert.deepEqual(spent, [[text, until, until - 1]]);
  });
});

describe('an address', () => {
  for (const [one, other, isSame, isAlike] of [
    ['me@example.org', 'me@example.org', true, true],
    ['Me@Example.ORG', 'mE@example.org', true, true],
    ['me@example.org', 'you@example.org', false, false],
    ['Ü@example.org', 'ü@example.org', false, true],
    ['\u212Aim@example.org', 'kim@example.org', false, true],
    ['ｍe@example.org', 'me@example.org', false, true],
    [' me@example.org', 'me@example.org', false, true],
  ] as const)
    it(`${one} ${isSame ? 'is' : 'is not'} ${other}, and ${isAlike ? 'looks' : 'does not look'} like it`, () => {
      assert.equal(sameAddress(one, other), isSame);
      assert.equal(emailKey(one) === emailKey(other), isAlike);
    });
});

describe('a password', () => {
  const asked: Record<string, unknown>[] = [];
  const pool = {
    derive: async (how: Record<string, unknown>) => {
      asked.push(how);
      return Buffer.alloc(32, 1);
    },
  } as unknown as PasswordPool;
  const costs = { memory: 1, passes: 2, parallelism: 3 };
  const passwords = passwordsWith(keyring, pool, costs);

  it('is derived to 32 bytes, at the given costs, with a salt of its address', async () => {
    for (const email of ['a', 'a', 'b']) await passwords.derive(email, 'pässword');
    const [one, same, other] = asked;
    const { nonce, message, ...rest } = one!;
    assert.deepEqual(rest, { ...costs, tagLength: 32 });
    assert.equal((message as Buffer).toString(), 'pässword');
    assert.equal((nonce as Buffer).length, 16);
    assert.deepEqual(one, same);
    assert.notDeepEqual(nonce, other!.nonce);
  });

  it('is that of the account whose mark it has, and of none that has no password', () => {
    const [right, wrong] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    const mark = passwords.mark('1', right);
    assert.equal(mark[0], 1, 'the number of its form');
    const account = (id: string, password: Uint8Array | null) => ({ id, password }) as AccountRow;
    assert.ok(passwords.matches(account('1', mark), right));
    assert.ok(!passwords.matches(account('1', mark), wrong));
    assert.ok(!passwords.matches(account('2', mark), right));
    assert.ok(!passwords.matches(account('1', null), right));
  });
});
