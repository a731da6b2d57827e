import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { onEngines } from './at-once.ts';
import { unique } from './document.ts';
import { loopbackWebhooks, type Service, startService } from './harness.ts';
import { type Receiver, startReceiver, until } from './receiver.ts';

const day = 24 * 3_600_000;
const minute = 60_000;

onEngines('the expiry watch', engine => {
  let service: Service;
  let receiver: Receiver;
  let vaultId: string;

  before(async () => {
    service = await startService({ engine });
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

  const toldAtLeast = (id: string, count: number) =>
    until(
      () => told(id).length >= count,
      20_000,
      () => `told ${told(id).length} of ${count}`,
    );

  /** Until the watch has looked once more, and told what it saw: whatever is told twice is told by then. */
  async function settled(): Promise<void> {
    const { id } = await expiring(unique('MARK'), 1 + minute / day);
    await toldAtLeast(id, 1);
    service.clock.pass(2 * minute);
    await toldAtLeast(id, 2);
  }

  async function toldTimes(id: string, count: number): Promise<void> {
    await toldAtLeast(id, count);
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
      service.clock.pass(days * day);
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

  it('a certificate that is renewed is told anew', async () => {
    const key = await service.call('POST', '/v1/keys', {
      vault_id: vaultId,
      name: 'tls',
      generate: { key_type: 'OKP', curve: 'Ed25519' },
    });
    const self_signed = { subject: 'CN=x', days: 20 };
    const body = { vault_id: vaultId, name: 'tls', key_id: key.body.id, self_signed };
    const { id } = (await service.call('POST', '/v1/certificates', body)).body;
    await toldTimes(id, 1);
    const renewed = await service.call('PUT', `/v1/certificates/${id}`, { self_signed });
    assert.equal(renewed.body.version, 2, renewed.text);
    await toldTimes(id, 2);
  });

  it('what was told is not told again, nor something earlier, where the operator sets time back', async () => {
    const { id } = await expiring('BEHIND', 0.9);
    await toldTimes(id, 1);
    service.clock.setBack(2 * day);
    const refusal = await service.restart().then(
      () => assert.fail('it started in the past'),
      (error: Error) => error.message,
    );
    const [, checkpoint] = /--accept-clock (\d+)/.exec(refusal)!;
    await service.restart([...loopbackWebhooks, '--accept-clock', checkpoint!]);
    await toldTimes(id, 1);
  });

  it('what expires while nothing runs is told at the next start, once', async () => {
    const { id } = await expiring('ASLEEP', 60);
    const { id: disabled } = await expiring('DISABLED', 60);
    await service.call('PUT', `/v1/secrets/${disabled}`, { enabled: false });
    await settled();
    await service.restart();
    service.clock.pass(59.5 * day);
    await toldTimes(id, 1);
    service.clock.pass(day);
    await service.restart();
    await toldTimes(id, 2);
    await service.restart();
    await toldTimes(id, 2);
    assert.deepEqual(told(id), ['resource.near_expiry', 'resource.expired']);
    assert.deepEqual(told(disabled), []);
  });
});
