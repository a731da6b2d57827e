import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { engines, type Service, startService } from './harness.ts';
import { type Receiver, startReceiver, until } from './receiver.ts';

const day = 24 * 3_600_000;
/** Longer than two looks of the watch: whatever is told twice is told by then. */
const settled = () => new Promise(resolve => setTimeout(resolve, 2_500));

for (const engine of engines) {
  describe(`the expiry watch on ${engine}`, () => {
    let service: Service;
    let receiver: Receiver;
    let vaultId: string;

    before(async () => {
      service = await startService({ engine, flags: ['--allow-private-webhooks', '127.0.0.0/8'] });
      receiver = await startReceiver();
      vaultId = (await service.call('POST', '/v1/vaults', { name: 'production' })).body.id;
      const events = ['resource.near_expiry', 'resource.expired'];
      await service.call('POST', '/v1/webhooks', { url: receiver.url, events });
    });
    after(async () => {
      await receiver.close();
      await service.stop();
    });

    async function expiring(name: string, inDays: number) {
      const expiration_date = new Date(service.clock.now() + inDays * day).toISOString();
      const answer = await service.call('POST', '/v1/secrets', {
        vault_id: vaultId,
        name,
        value: 'x',
        expiration_date,
      });
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    }

    async function toldTimes(id: string, count: number): Promise<void> {
      await until(
        () => told(id).length >= count,
        20_000,
        () => `told ${told(id).length} of ${count}`,
      );
      await settled();
      assert.equal(told(id).length, count);
    }

    const told = (id: string) =>
      receiver.arrivals.filter(({ body }) => body.data.id === id).map(({ body }) => body.type as string);

    it('30, 7 and 1 days ahead and at the end, once each', async () => {
      const { id, expiration_date } = await expiring('YEARLY', 40);
      await settled();
      assert.deepEqual(told(id), []);
      for (const [days, count] of [
        [11, 1],
        [1, 1],
        [22, 2],
        [5.5, 3],
        [1, 4],
        [5, 4],
      ] as const) {
        service.clock.offset += days * day;
        await toldTimes(id, count);
      }
      assert.deepEqual(told(id), [...Array(3).fill('resource.near_expiry'), 'resource.expired']);
      const { data } = receiver.arrivals.find(({ body }) => body.data.id === id)!.body;
      assert.deepEqual(data, {
        id,
        type: 'secret',
        name: 'YEARLY',
        vault_id: vaultId,
        version: 1,
        expiration_date,
      });
    });

    it('what is made or changed to expire soon is told at once; another version, or date, is told anew', async () => {
      const { id } = await expiring('SOON', 0.5);
      await toldTimes(id, 1);
      await service.call('PUT', `/v1/secrets/${id}`, { tags: { a: 'b' } });
      await toldTimes(id, 1);
      await service.call('PUT', `/v1/secrets/${id}`, { value: 'another' });
      await toldTimes(id, 2);
      assert.deepEqual(told(id), ['resource.near_expiry', 'resource.near_expiry']);
    });

    it('what expires while nothing runs is told at the next start, once', async () => {
      const { id } = await expiring('ASLEEP', 60);
      const { id: disabled } = await expiring('DISABLED', 60);
      await service.call('PUT', `/v1/secrets/${disabled}`, { enabled: false });
      await settled();
      await service.restart();
      service.clock.offset += 59.5 * day;
      await toldTimes(id, 1);
      service.clock.offset += day;
      await service.restart();
      await toldTimes(id, 2);
      await service.restart();
      await toldTimes(id, 2);
      assert.deepEqual(told(id), ['resource.near_expiry', 'resource.expired']);
      assert.deepEqual(told(disabled), []);
    });
  });
}
