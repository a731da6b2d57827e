/** The two planes: what one of them changes the other knows, and what befalls one of them leaves the other alone. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { type Answer, engines, eventually, type Service, startService } from './harness.ts';
import { revocations } from './revocations.ts';

for (const engine of engines) {
  describe(`two planes on ${engine}`, () => {
    let service: Service;
    let management: Worker;
    let vaultId: string;
    let token: string;

    before(async () => {
      const started: Worker[] = [];
      const note = (worker: Worker) => void started.push(worker);
      process.on('worker', note);
      service = await startService({ engine, threads: true });
      process.off('worker', note);
      // The management plane's thread is the first that a service starts; those of the setup before it are gone.
      management = started.find(({ threadId }) => threadId !== -1)!;
      vaultId = (await service.call('POST', '/v1/vaults', { name: 'planes' })).body.id;
      await service.call('POST', '/v1/secrets', { vault_id: vaultId, name: 'S', value: 'seen' });
      token = (await service.call('POST', '/v1/access-keys', { vault_id: vaultId, name: 'a' })).body.token;
    });
    after(() => service.stop());

    const read = () => service.call('GET', `/api/v1/vaults/${vaultId}`, undefined, token);

    it('a revocation acknowledged by one is refused by the other in the very next request', async () => {
      assert.deepEqual(await revocations(service, vaultId, 100), { refused: 100, served: 0 });
    });

    it('what an identity was given on one ends on the other with the very next request after a change to it', async () => {
      service.clock.pass(61_000); // Those before count as failures of this address.
      const identity = { name: 'machine', method: 'secret_id', vault_ids: [vaultId] };
      const { id: identity_id } = (await service.call('POST', '/v1/identities', identity)).body;
      const { token: secret_id } = (await service.call('POST', '/v1/secret-ids', { identity_id })).body;
      for (let turn = 0; turn < 20; turn++) {
        const { body } = await service.call('POST', '/api/v1/login', { identity_id, secret_id }, null);
        const statusOf = async () =>
          (await service.call('GET', `/api/v1/vaults/${vaultId}`, undefined, body.token)).status;
        assert.equal(await statusOf(), 200);
        await service.call('PUT', `/v1/identities/${identity_id}`, { lifetime: 60 + turn });
        assert.equal(await statusOf(), 401);
      }
    });

    it('a value changed on one is read on the other in the very next request', async () => {
      const { body } = await service.call('GET', `/v1/secrets?vault_id=${vaultId}`);
      const id = body.data[0].id;
      for (let turn = 0; turn < 50; turn++) {
        await service.call('PUT', `/v1/secrets/${id}`, { value: `value ${turn}` });
        assert.match((await read()).text, new RegExp(`"value ${turn}"`));
      }
    });

    it('a read answered by one is in the log that the other shows', async () => {
      const { headers } = await read();
      const { body } = await service.call('GET', `/v1/request-logs?vault_id=${vaultId}&limit=1`);
      assert.equal(body.data[0].receipt, headers.get('strongroom-receipt'));
    });

    it('failures on either count against the same address', async () => {
      service.clock.standInNewMinute();
      for (let turn = 0; turn < 30; turn++) {
        assert.equal((await service.call('GET', '/v1/vaults', undefined, 'sr_api_bad')).status, 401);
        assert.equal(
          (await service.call('GET', `/api/v1/vaults/${vaultId}`, undefined, 'sr_vault_bad')).status,
          401,
        );
      }
      assert.equal((await service.call('GET', '/v1/vaults', undefined, 'sr_api_bad')).status, 429);
      assert.equal(
        (await service.call('GET', `/api/v1/vaults/${vaultId}`, undefined, 'sr_vault_bad')).status,
        429,
      );
      assert.equal((await read()).status, 200);
      service.clock.run();
    });

    it('large bodies sent together are all answered, and small ones are not held up by them', async () => {
      const value = 'x'.repeat(60_000);
      const items = Array.from({ length: 15 }, (_, at) => ({ vault_id: vaultId, name: `L${at}`, value }));
      const many = (send: () => Promise<Answer>) => Promise.all(Array.from({ length: 20 }, send));
      const [large, small] = await Promise.all([
        many(() => service.call('POST', '/v1/secrets/bulk', { items })),
        many(() => service.call('POST', '/v1/vaults', { name: 'x'.repeat(300) })),
      ]);
      for (const { status, headers } of large)
        assert.ok(status === 200 || headers.has('retry-after'), `${status}`);
      assert.ok(large.some(({ status }) => status === 200));
      assert.deepEqual(new Set(small.map(({ status }) => status)), new Set([400]));
    });

    it('while the management plane is gone reads go on, and everything else is told to come back', async () => {
      await management.terminate();
      assert.equal((await read()).status, 200);
      assert.equal((await service.call('GET', '/livez')).status, 200);
      assert.equal((await service.call('GET', '/readyz')).status, 503);
      const refused = await service.call('GET', '/v1/vaults');
      assert.equal(refused.status, 503);
      assert.equal(refused.body.error.code, 'UNAVAILABLE');
      assert.ok(Number(refused.headers.get('retry-after')) > 0);
      await eventually(
        'the service is ready again',
        async () => (await service.call('GET', '/readyz')).status === 200,
      );
      assert.equal((await service.call('GET', '/v1/vaults')).status, 200);
      assert.deepEqual(await revocations(service, vaultId, 5), { refused: 5, served: 0 });
    });
  });
}
