/** What the chains of restricted access keys begin with, as it is stored: over a vault in memory. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { restrictionKeyOf } from '../src/access/restricted-token.ts';
import { type RestrictionKeyParts, restrictionKeysWith } from '../src/domain/credentials/restriction-keys.ts';
import { Keyring } from '../src/keyring/keyring.ts';
import type { CredentialRow } from '../src/store/records/credentials.ts';

const keyring = Keyring.create('deployment');
const vault = {
  id: 'vault',
  organization_id: 'org',
  vault_key: keyring.createVaultKey({ organization: 'org', vault: 'vault' }),
};
const keys = restrictionKeysWith({
  keyring,
  keyringSync: { ensureKeysFor: async () => {} },
  stamps: { resource: { believe: (row: object) => row } },
  store: {
    resources: {
      byId: async (organization: string, id: string) => {
        assert.notEqual(id, null, 'nothing is looked up by no id');
        return organization === 'org' && id === 'vault' ? vault : undefined;
      },
    },
  },
} as unknown as RestrictionKeyParts);

const row = {
  id: 'key',
  organization_id: 'org',
  vault_id: 'vault',
  digest: keyring.tokenDigest('token'),
  narrowing_key: null,
} as unknown as CredentialRow;

describe('what an access key is restricted with', () => {
  it('is stored sealed, and opens for its own record and token alone', async () => {
    const narrowing_key = (await keys.sealed(row, 'token'))!;
    const opened = (members: Partial<CredentialRow>) => keys.open({ ...row, narrowing_key, ...members });
    assert.deepEqual(await opened({}), restrictionKeyOf('token'));
    await assert.rejects(opened({ id: 'another' }));
    await assert.rejects(opened({ digest: keyring.tokenDigest('another') }));
    assert.equal(await opened({ vault_id: 'purged' }), null);
    assert.equal(await opened({ narrowing_key: null }), null);
  });

  it('is not stored where there is no vault to open', async () => {
    for (const vault_id of [null, 'purged']) {
      assert.equal(await keys.sealed({ ...row, vault_id }, 'token'), null);
      assert.equal(await keys.seal({ ...row, vault_id }, restrictionKeyOf('token')), null);
    }
  });
});
