import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { Webhook as Verifier } from 'standardwebhooks';
import { Webhook as SvixVerifier } from 'svix';
import { engines, type Service, startService } from './harness.ts';
import { type Arrival, type Receiver, startReceiver, until } from './receiver.ts';

const loopback = ['--allow-private-webhooks', '127.0.0.0/8'];
const everyKind = ['resource.created', 'resource.updated', 'resource.deleted'];

for (const engine of engines) {
  describe(`webhooks on ${engine}`, () => {
    let service: Service;
    let receiver: Receiver;
    let vaultId: string;
    let count = 0;
    const hooks: string[] = [];

    before(async () => {
      service = await startService({ engine, flags: loopback });
      vaultId = (await service.call('POST', '/v1/vaults', { name: 'production' })).body.id;
      receiver = await startReceiver();
    });
    after(async () => {
      await receiver.close();
      await service.stop();
    });
    afterEach(async () => {
      for (const id of hooks.splice(0)) await service.call('DELETE', `/v1/webhooks/${id}`);
      receiver.arrivals.length = 0;
      receiver.answer = (_arrival, response) => response.writeHead(204).end();
    });

    async function hook(body: object = {}) {
      const answer = await service.call('POST', '/v1/webhooks', {
        url: receiver.url,
        events: everyKind,
        ...body,
      });
      assert.equal(answer.status, 200, answer.text);
      hooks.push(answer.body.id);
      return answer.body;
    }

    async function secret(value = 'the value itself') {
      const body = { vault_id: vaultId, name: `SECRET_${++count}`, value };
      const answer = await service.call('POST', '/v1/secrets', body);
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    }

    async function delivery(webhookId: string, state: string) {
      const path = `/v1/webhook-deliveries?webhook_id=${webhookId}&state=${state}`;
      await until(async () => (await service.call('GET', path)).body.data.length > 0);
      return (await service.call('GET', path)).body.data[0];
    }

    function verifies(secretText: string, { headers, text }: Arrival): boolean {
      const given = headers as Record<string, string>;
      try {
        new Verifier(secretText).verify(text, given);
        new SvixVerifier(secretText).verify(text, given);
        return true;
      } catch {
        return false;
      }
    }

    it('a change is told to a webhook that asks for it, signed so that the stock verifiers accept it', async () => {
      const { secret: signing, ...record } = await hook();
      assert.match(signing, /^whsec_/);
      const made = await secret();
      const [arrival] = await receiver.received(1);
      assert.deepEqual(arrival!.body, {
        type: 'resource.created',
        timestamp: made.created_at,
        data: { id: made.id, type: 'secret', name: made.name, vault_id: vaultId, version: 1 },
      });
      assert.equal(verifies(signing, arrival!), true);
      assert.equal(verifies(`whsec_${Buffer.alloc(32).toString('base64')}`, arrival!), false);
      assert.equal(arrival!.headers['content-type'], 'application/json');
      const got = await service.call('GET', `/v1/webhooks/${record.id}`);
      assert.deepEqual(got.body, record);
      assert.equal(got.body.name, new URL(receiver.url).host);
      const done = await delivery(record.id, 'delivered');
      assert.equal(done.event_id, arrival!.id);
      assert.equal(done.attempts[0].status, 204);
    });
  });
}
