/** Copying secrets to the vault that they are in: nothing is stored, and the caller is asked about all the same. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import { manySecretsWith } from '../src/domain/resources/many-secrets.ts';

it('tells a caller whose rights were withdrawn meanwhile nothing, even if there is nothing to copy', async () => {
  const dates = { activation_date: null, expiration_date: null, created_at: 0, updated_at: 0 };
  const row = { id: 's', vault_id: 'v', name: 'ONE', version: 1, attributes: '{}', ...dates };
  const records = {
    openVault: async () => ({ row: { id: 'v' } }),
    find: async () => row,
    version: async () => ({ value: Buffer.of() }),
    vaultOf: async () => ({ sealer: null }),
    openLabels: () => ({ tags: {}, description: '' }),
    references: { opened: () => null },
  };
  const copied = (confirm: () => Promise<void>) => {
    const { copy } = manySecretsWith({ guard: { confirm } } as never, records as never, {} as never);
    return copy({} as never, {} as never, { secret_ids: ['s'], vault_id: 'v', move: false });
  };
  const [outcome] = await copied(async () => {});
  assert.equal(outcome!.status, 'rejected');
  await assert.rejects(
    copied(async () => {
      throw new Failure('FORBIDDEN');
    }),
    { code: 'FORBIDDEN' },
  );
});
