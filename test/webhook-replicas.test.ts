import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Running } from '../src/serve.ts';
import { callService, type Service, startService } from './harness.ts';
import { type Receiver, startReceiver, until } from './receiver.ts';
import { write } from './storage.ts';

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

  async function receiver(): Promise<Receiver> {
    const one = await startReceiver();
    receivers.push(one);
    const body = { url: one.url, events: ['resource.created', 'resource.expired'] };
    assert.equal((await service.call('POST', '/v1/webhooks', body)).status, 200);
    return one;
  }

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
    await new Promise(resolve => setTimeout(resolve, 1_500));
    for (const { arrivals } of all) {
      assert.equal(arrivals.length, 200);
      assert.equal(new Set(arrivals.map(arrival => arrival.id)).size, 200);
    }
  });

  it('an expiry is told once', async () => {
    const [one] = receivers;
    one!.arrivals.length = 0;
    const expiration_date = new Date(service.clock.now() + 1_500).toISOString();
    await make(service.url, 'SHORT', { expiration_date });
    const expired = () => one!.arrivals.filter(({ body }) => body.type === 'resource.expired').length;
    await until(() => expired() > 0);
    await new Promise(resolve => setTimeout(resolve, 2_500));
    assert.equal(expired(), 1);
  });

  it('the queue of a process that died is taken over when its lease runs out', async () => {
    const one = await receiver();
    const dead = '00000000-0000-7000-8000-000000000000';
    const soon = '(extract(epoch from clock_timestamp()) * 1000)::bigint + 3000';
    await write(service, `UPDATE webhook_queues SET leased_by = '${dead}', leased_until = ${soon}`);
    await make(service.url, 'AFTERWARDS');
    await new Promise(resolve => setTimeout(resolve, 1_500));
    assert.equal(one.arrivals.length, 0);
    await one.received(1);
  });
});
