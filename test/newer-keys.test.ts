/** What another replica sealed with keys that this process does not have yet is opened after it has fetched them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sealingWith } from '../src/domain/resources/sealing.ts';
import { secondFactorWith, seedPlace } from '../src/domain/sign-in/second-factor.ts';
import { Keyring } from '../src/keyring/keyring.ts';
import type { AccountRow } from '../src/store/records/accounts.ts';
import type { ResourceRow } from '../src/store/records/resources.ts';

function world() {
  const keyring = Keyring.create('deployment');
  const newer = keyring.rotate(1);
  const keyringSync = { ensureKeysFor: async () => keyring.adopt(newer) };
  return { newer, parts: { keyring, keyringSync } as never as Parameters<typeof sealingWith>[0] };
}

describe('newer keys', () => {
  it('open a vault', async () => {
    const { newer, parts } = world();
    const place = { organization: 'o', vault: 'v' };
    const row = { id: 'v', organization_id: 'o', vault_key: newer.createVaultKey(place) };
    const { sealer } = await sealingWith(parts).openVaultRow(row as unknown as ResourceRow);
    assert.ok(sealer);
  });

  it('open the seed of one-time codes', async () => {
    const { newer, parts } = world();
    const account = { id: 'a', organization_id: 'o' } as AccountRow;
    const sealed = newer.organizationSealer('o').seal(seedPlace(account), Buffer.from('seed'));
    const { openSeed } = secondFactorWith(parts as unknown as Parameters<typeof secondFactorWith>[0]);
    assert.equal(String(await openSeed(account, sealed)), 'seed');
  });
});
