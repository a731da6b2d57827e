/** How often an access key is taken: in a minute, and at all. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Reader } from '../src/access/caller.ts';
import type { Parts } from '../src/domain/kernel/parts.ts';
import { stampsWith } from '../src/domain/kernel/stamps.ts';
import { keyLimitsWith } from '../src/domain/reads/key-limits.ts';
import { Keyring } from '../src/keyring/keyring.ts';
import type { CredentialRow } from '../src/store/records/credentials.ts';

const stamps = stampsWith(Keyring.create('deployment'));
const now = 1_700_000_000_000;
const origin = { address: '', userAgent: '', requestId: '' };
const reader = { id: 'key', kind: 'access-key', name: 'K', vaultId: 'v', organizationId: 'o' } as Reader;

function world(row: Partial<CredentialRow> | null, taken = 0) {
  const stored =
    row &&
    stamps.credential.stamp({
      revision: 4,
      uses: 0,
      max_uses: null,
      revoked_at: null,
      expiration_date: null,
      ...row,
    } as CredentialRow);
  const asked: unknown[][] = [];
  const updates: CredentialRow[] = [];
  const details: unknown[] = [];
  const store = {
    credentials: {
      byId: async () => updates.at(-1) ?? stored ?? undefined,
      update: (after: CredentialRow) => after,
    },
    limits: {
      take: async (...values: unknown[]) => {
        asked.push(values);
        return ++taken;
      },
      taken: async () => taken,
    },
  };
  const guard = {
    used: async (
      _: unknown,
      verb: string,
      { statements, subjects, touches }: Record<string, CredentialRow[]>,
    ) => {
      updates.push(...statements!);
      details.push([verb, (subjects![0] as unknown as { details: unknown }).details, touches]);
    },
  };
  // What the audit log holds of a record is compared elsewhere.
  const believed = { ...stamps, credential: { ...stamps.credential, believe: stamps.credential.vouched } };
  const limits = keyLimitsWith({ store, guard, stamps: believed, now: () => now } as unknown as Parts);
  return { limits, updates, asked, details, taken: () => taken };
}

describe('an access key', () => {
  it('is taken so often a minute, and is told when the next one begins', async () => {
    const { limits, asked } = world({});
    for (let times = 0; times < 3; times++) await limits.countRequest('key', 3);
    const refused = { code: 'RATE_LIMITED', retryAfter: 40 };
    await assert.rejects(limits.countRequest('key', 3), refused);
    assert.deepEqual(asked, Array(4).fill(['key', now / 1_000 - 20, 1]));
  });

  it('is refused without being counted where it would be one too many', async () => {
    const refused = { code: 'RATE_LIMITED', retryAfter: 40 };
    const { limits, taken } = world({}, 2);
    await limits.refuseOver('key', 3);
    await assert.rejects(limits.refuseOver('key', 2), refused);
    await assert.rejects(limits.refuseOver('key', 1), refused);
    assert.equal(taken(), 2);
  });

  it('is counted at each use, and is a bad key once it is used up', async () => {
    const { limits, updates, details } = world({ max_uses: 2 });
    const uses = await Promise.allSettled(Array.from({ length: 4 }, () => limits.countUse(reader, origin)));
    assert.deepEqual(
      uses.map(use => (use.status === 'fulfilled' ? null : use.reason.because)),
      [null, null, 'used_up', 'used_up'],
    );
    assert.deepEqual(
      updates.map(({ uses, revision }) => [uses, revision]),
      [
        [1, 5],
        [2, 6],
      ],
    );
    assert.deepEqual(
      details,
      [1, 2].map(uses => ['access-key.used', { uses }, ['key']]),
    );
  });

  for (const [what, row, because] of [
    ['without a limit', { uses: 1_000 }, null],
    ['that is gone', null, 'revoked'],
    ['that was revoked', { revoked_at: 1 }, 'revoked'],
    ['that expires now', { expiration_date: now }, 'expired'],
    ['that expires later', { expiration_date: now + 1 }, null],
  ] as const)
    it(`${what} is ${because === null ? 'taken' : `refused as ${because}`}`, async () => {
      const { limits, updates } = world(row);
      const use = limits.countUse(reader, origin);
      if (because === null) await use;
      else await assert.rejects(use, { code: 'UNAUTHORIZED', because });
      assert.equal(updates.length, because === null ? 1 : 0);
    });
});
