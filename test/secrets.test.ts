import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { engines, type Service, startService } from './harness.ts';

for (const engine of engines) {
  describe(`secrets on ${engine}`, () => {
    let service: Service;
    let vaultId: string;

    before(async () => {
      service = await startService({ engine });
      vaultId = (await service.call('POST', '/v1/vaults', { name: 'production' })).body.id;
    });
    after(() => service.stop());

    it('a secret is created, shown without its value, and revealed', async () => {
      const created = await service.call('POST', '/v1/secrets', {
        vault_id: vaultId,
        name: 'DATABASE_URL',
        value: 'postgres://secret',
        tags: { team: 'payments' },
      });
      assert.equal(created.status, 200, created.text);
      assert.equal(created.body.version, 1);
      assert.equal('value' in created.body, false);
      const got = await service.call('GET', `/v1/secrets/${created.body.id}`);
      assert.deepEqual(got.body, created.body);
      const revealed = await service.call('POST', `/v1/secrets/${created.body.id}/reveal`);
      assert.equal(revealed.body.value, 'postgres://secret');
      assert.deepEqual(revealed.body.tags, { team: 'payments' });
    });

    it('a new value makes a new version, and a rollback brings the old one back as a newer', async () => {
      const { body: secret } = await service.call('POST', '/v1/secrets', {
        vault_id: vaultId,
        name: 'A',
        value: 'one',
      });
      const second = await service.call('PUT', `/v1/secrets/${secret.id}`, { value: 'two' });
      assert.equal(second.body.version, 2);
      const third = await service.call('POST', `/v1/secrets/${secret.id}/rollback`, { version: 1 });
      assert.equal(third.body.version, 3);
      const revealed = await service.call('POST', `/v1/secrets/${secret.id}/reveal`);
      assert.equal(revealed.body.value, 'one');
      const versions = await service.call('GET', `/v1/secrets/${secret.id}/versions`);
      assert.deepEqual(
        versions.body.data.map((version: { version: number }) => version.version),
        [3, 2, 1],
      );
    });

    it('a deleted secret frees its name at once, and can be restored until the name is taken', async () => {
      const body = { vault_id: vaultId, name: 'B', value: 'one' };
      const { body: secret } = await service.call('POST', '/v1/secrets', body);
      const taken = await service.call('POST', '/v1/secrets', body);
      assert.equal(taken.status, 400);
      assert.equal(taken.body.error.code, 'CONFLICT');
      const deleted = await service.call('DELETE', `/v1/secrets/${secret.id}`);
      assert.deepEqual(deleted.body, { id: secret.id, deleted: true });
      assert.equal((await service.call('GET', `/v1/secrets/${secret.id}`)).status, 404);
      assert.equal((await service.call('POST', `/v1/resources/${secret.id}/restore`)).status, 200);
      await service.call('DELETE', `/v1/secrets/${secret.id}`);
      const { body: successor } = await service.call('POST', '/v1/secrets', body);
      assert.equal(
        (await service.call('POST', `/v1/resources/${secret.id}/restore`)).body.error.code,
        'CONFLICT',
      );
      await service.call('DELETE', `/v1/secrets/${successor.id}?purge=true`);
      assert.equal((await service.call('POST', `/v1/resources/${successor.id}/restore`)).status, 404);
    });

    it('up to 100 secrets go in one request, each with its own result', async () => {
      const items = [
        { vault_id: vaultId, name: 'BULK_1', value: 'x' },
        { vault_id: vaultId, name: 'BULK_1', value: 'y' },
        { vault_id: vaultId, name: '', value: 'z' },
        { vault_id: vaultId, name: 'BULK_2', value: 'x' },
      ];
      const answer = await service.call('POST', '/v1/secrets/bulk', { items });
      const statuses = answer.body.results.map((result: { status: number }) => result.status);
      assert.deepEqual([...statuses].sort(), [200, 200, 400, 400], answer.text);
    });
  });
}
