import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Running } from '../src/service/serve.ts';
import { callService, type Service, startService } from './harness.ts';
import { type Receiver, startReceiver, until } from './receiver.ts';
import { inDatabase } from './storage.ts';

describe('webhooks with several replicas over one PostgreSQL', () => {
  let service: Service;
  let replica: Running;
  let vaultId: string;
  const receivers: Receiver[] = [];

  before(async () => {
    service = await startService({ engine: 'postgres' });
    replica = await service.replica();
    vaultId = (await service.call('POST', '/v1/vaults', { name: 'production' })).body.id;
  });
  after(async () => {
    await service.stop();
    await Promise.all(receivers.map(receiver => receiver.close()));
  });

  async function receiver(): Promise<Receiver & { readonly webhookId: string }> {
    const one = await startReceiver();
    receivers.push(one);
    const body = { url: one.url, events: ['resource.created', 'resource.expired'] };
    const made = await service.call('POST', '/v1/webhooks', body);
    assert.equal(made.status, 200, made.text);
    return Object.assign(one, { webhookId: made.body.id });
  }

  /** Whatever a second process would send once more is sent before its delivery is stored as done. */
  const allDelivered = () =>
    until(async () => {
      const { body } = await service.call('GET', '/v1/webhook-deliveries?state=pending');
      return body.pagination.total === 0;
    });

  async function make(url: string, name: string, more: object = {}): Promise<void> {
    const body = { vault_id: vaultId, name, value: 'x', ...more };
    const answer = await callService(url, 'POST', '/v1/secrets', body, service.key);
    assert.equal(answer.status, 200, answer.text);
  }

  it('each event is delivered once to each webhook when nothing fails', async () => {
    const all = await Promise.all([receiver(), receiver(), receiver(), receiver()]);
    const urls = [service.url, replica.url];
    for (let round = 0; round < 20; round++) {
      await Promise.all(Array.from({ length: 10 }, (_, n) => make(urls[n % 2]!, `ONCE_${round}_${n}`)));
    }
    for (const one of all) await one.received(200);
    await allDelivered();
    for (const { arrivals } of all) {
      assert.equal(arrivals.length, 200);
      assert.equal(new Set(arrivals.map(arrival => arrival.id)).size, 200);
    }
  });

  it('an expiry is told once', async () => {
    const one = await receiver();
    const expired = (name: string) =>
      one.arrivals.filter(({ body }) => body.type === 'resource.expired' && body.data.name === name).length;
    // Those that expire after the first show that both replicas went on looking.
    for (const name of ['FIRST', 'SECOND', 'THIRD']) {
      const expiration_date = new Date(service.clock.now() + 60_000).toISOString();
      await make(service.url, name, { expiration_date });
      service.clock.pass(61_000);
      await until(() => expired(name) > 0);
    }
    await allDelivered();
    assert.deepEqual(['FIRST', 'SECOND', 'THIRD'].map(expired), [1, 1, 1]);
  });

  it('the queue of a process that died is taken over when its lease runs out', async () => {
    const one = await receiver();
    const dead = '00000000-0000-7000-8000-000000000000';
    const leased = (from: string) =>
      inDatabase(
        service,
        `UPDATE webhook_queues SET leased_by = '${dead}', leased_until = (extract(epoch from clock_timestamp()) * 1000)::bigint + ${from}
         WHERE webhook_id = '${one.webhookId}'`,
      );
    await leased('3600000');
    const other = await receiver();
    for (let round = 1; round <= 3; round++) {
      await make(service.url, `MEANWHILE_${round}`);
      await other.received(round);
    }
    assert.equal(one.arrivals.length, 0);
    await leased('0');
    await one.received(3);
  });
});
