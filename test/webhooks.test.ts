import assert from 'node:assert/strict';
import { after, afterEach, before, it } from 'node:test';
import { Webhook as Verifier } from 'standardwebhooks';
import { Webhook as SvixVerifier } from 'svix';
import { waits } from '../src/events/schedule.ts';
import { onBothEngines } from './at-once.ts';
import { type Service, startService } from './harness.ts';
import { type Arrival, type Receiver, startReceiver, until } from './receiver.ts';
import { inDatabase, storedBytes } from './storage.ts';

const hour = 3_600_000;
const hooksNobody = '00000000-0000-7000-8000-000000000000';
const everyKind = ['resource.created', 'resource.updated', 'resource.deleted'];

onBothEngines('webhooks', engine => {
  let service: Service;
  let receiver: Receiver;
  let vaultId: string;
  let count = 0;
  const hooks: string[] = [];

  before(async () => {
    service = await startService({ engine });
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

  /** Another webhook is served a few times over: whatever was due in the others' queues by then was sent. */
  async function queuesWorkedOff(): Promise<void> {
    const other = await startReceiver();
    const { id } = await hook({ url: other.url, events: ['webhook.disabled'] });
    for (let served = 1; served <= 3; served++) {
      await service.call('POST', `/v1/webhooks/${id}/test`);
      await other.received(served);
    }
    await other.close();
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

  it('only the kinds and the vaults that a webhook asks for are told, and nothing from before it', async () => {
    const other = (await service.call('POST', '/v1/vaults', { name: `other ${engine}` })).body.id;
    await secret();
    await hook({ events: ['resource.deleted', 'access_key.created'], vault_ids: [vaultId] });
    const made = await secret();
    const elsewhere = { vault_id: other, name: 'ELSEWHERE', value: 'x' };
    const { body: foreign } = await service.call('POST', '/v1/secrets', elsewhere);
    await service.call('DELETE', `/v1/secrets/${foreign.id}`);
    await service.call('POST', '/v1/access-keys', { vault_id: vaultId, name: 'reader' });
    await service.call('DELETE', `/v1/secrets/${made.id}`);
    const arrivals = await receiver.received(2);
    const told = arrivals.map(({ body }) => `${body.type} ${body.data.vault_id === vaultId}`);
    assert.deepEqual(told.sort(), ['access_key.created true', 'resource.deleted true']);
    await service.call('DELETE', `/v1/vaults/${other}?purge=true`);
  });

  it('a list that holds an unknown kind is refused, and the place is named', async () => {
    const body = { url: receiver.url, events: ['resource.created', 'resource.exploded'] };
    const answer = await service.call('POST', '/v1/webhooks', body);
    assert.equal(answer.status, 400);
    assert.equal(answer.body.error.details.field, 'events.1');
    assert.match(answer.body.error.details.reason, /^must be one of: resource.created/);
    assert.equal(answer.text.includes('exploded'), false);
    for (const wrong of [
      { events: [] },
      { events: 'all' },
      { url: 'nowhere' },
      { vault_ids: [hooksNobody] },
    ]) {
      const refused = await service.call('POST', '/v1/webhooks', { ...body, events: everyKind, ...wrong });
      assert.ok(refused.status === 400 || refused.status === 404, refused.text);
    }
  });

  it('a webhook is listed, changed and deleted; its secret is shown once and never stored in clear', async () => {
    const { id, secret: signing } = await hook({ name: 'builds' });
    const list = await service.call('GET', '/v1/webhooks?q=UILD');
    assert.deepEqual(
      list.body.data.map((one: { name: string }) => one.name),
      ['builds'],
    );
    assert.equal(list.text.includes('whsec_'), false);
    const changed = await service.call('PUT', `/v1/webhooks/${id}`, { events: ['resource.deleted'] });
    assert.deepEqual(
      [changed.status, changed.body.events, 'secret' in changed.body],
      [200, ['resource.deleted'], false],
    );
    const bytes = Buffer.from(signing.slice('whsec_'.length), 'base64');
    const stored = Buffer.concat(await storedBytes(service, 'SELECT secret FROM webhooks'));
    assert.ok(stored.length > 0);
    assert.equal(stored.includes(bytes) || stored.includes(signing.slice(6)), false);
    assert.deepEqual((await service.call('DELETE', `/v1/webhooks/${id}`)).body, { id, deleted: true });
    assert.equal((await service.call('GET', `/v1/webhooks/${id}`)).status, 404);
  });

  it('during a rotation both secrets verify, and after a day the new one alone', async () => {
    const { id, secret: old } = await hook();
    const rotated = await service.call('POST', `/v1/webhooks/${id}/rotate-secret`);
    assert.notEqual(rotated.body.secret, old);
    await secret();
    const [during] = await receiver.received(1);
    assert.equal(verifies(old, during!), true);
    assert.equal(verifies(rotated.body.secret, during!), true);
    assert.equal(String(during!.headers['webhook-signature']).split(' ').length, 2);
    service.clock.pass(25 * hour);
    await secret();
    const [, later] = await receiver.received(2);
    assert.equal(String(later!.headers['webhook-signature']).split(' ').length, 1);
    const at = Number(later!.headers['webhook-timestamp']);
    const expected = new Verifier(rotated.body.secret).sign(later!.id, new Date(at * 1000), later!.text);
    assert.equal(later!.headers['webhook-signature'], expected);
  });

  it('a failure is tried again with growing waits under the same id for about a day, then it is dead', async () => {
    receiver.answer = (_arrival, response) => response.writeHead(500).end('out of order');
    const { id } = await hook();
    await secret();
    const began = service.clock.now();
    await receiver.received(1);
    for (let tries = 1; tries <= waits.length; tries++) {
      const { next_attempt_at, attempts } = await pendingAfter(tries, id);
      assert.equal(attempts.at(-1).status, 500);
      assert.equal(attempts.at(-1).answer, 'out of order');
      const wait = Date.parse(next_attempt_at) - Date.parse(attempts.at(-1).at);
      assert.ok(Math.abs(wait / waits[tries - 1]! - 1) < 0.25, `${wait} after ${tries}`);
      service.clock.pass(Date.parse(next_attempt_at) - service.clock.now() + 1);
      await receiver.received(tries + 1);
    }
    const dead = await delivery(id, 'dead');
    assert.equal(dead.attempts.length, waits.length + 1);
    assert.equal(dead.next_attempt_at, null);
    const hours = (service.clock.now() - began) / hour;
    assert.ok(hours > 18 && hours < 30, `${hours} hours`);
    assert.equal(new Set(receiver.arrivals.map(arrival => arrival.id)).size, 1);

    receiver.answer = (_arrival, response) => response.writeHead(200).end();
    const again = await service.call('POST', `/v1/webhook-deliveries/${dead.id}/redeliver`);
    assert.deepEqual([again.status, again.body.state], [200, 'pending']);
    await receiver.received(waits.length + 2);
    assert.equal((await delivery(id, 'delivered')).id, dead.id);
    assert.equal(receiver.arrivals.at(-1)!.id, receiver.arrivals[0]!.id);
  });

  async function pendingAfter(tries: number, webhookId: string) {
    await until(async () => (await delivery(webhookId, 'pending')).attempts.length === tries);
    return delivery(webhookId, 'pending');
  }

  it('410 disables the webhook, says so in an event, and nothing more is sent', async () => {
    receiver.answer = ({ path }, response) => response.writeHead(path === '/gone' ? 410 : 204).end();
    const { id } = await hook({ url: receiver.url.replace('/hook', '/gone') });
    await hook({ events: ['webhook.disabled'] });
    await secret();
    const [, told] = await receiver.received(2);
    assert.deepEqual(told!.body.data, {
      id,
      type: 'webhook',
      name: new URL(receiver.url).host,
      vault_id: null,
      reason: 'gone',
    });
    const { body } = await service.call('GET', `/v1/webhooks/${id}`);
    assert.deepEqual([body.enabled, body.disabled_reason], [false, 'gone']);
    const dead = await delivery(id, 'dead');
    assert.equal(
      (await service.call('POST', `/v1/webhook-deliveries/${dead.id}/redeliver`)).body.error.code,
      'CONFLICT',
    );
    await secret();
    await queuesWorkedOff();
    assert.equal(receiver.arrivals.length, 2);
    const audits = await service.call('GET', `/v1/audit-logs?subject_id=${id}&action=webhook.disabled`);
    assert.equal(audits.body.data[0].actor.kind, 'service');
  });

  it('an endpoint that fails for three days is disabled; enabling it begins anew with what waits', async () => {
    receiver.answer = ({ path }, response) => response.writeHead(path === '/down' ? 500 : 204).end();
    const { id } = await hook({ url: receiver.url.replace('/hook', '/down') });
    await hook({ events: ['webhook.disabled'] });
    await secret();
    await receiver.received(1);
    await pendingAfter(1, id);
    service.clock.pass(71 * hour);
    await receiver.received(2);
    await pendingAfter(2, id);
    assert.equal((await service.call('GET', `/v1/webhooks/${id}`)).body.enabled, true);
    service.clock.pass(2 * hour);
    const arrivals = await receiver.received(4);
    assert.equal(arrivals[3]!.body.data.reason, 'failing');
    const { body } = await service.call('GET', `/v1/webhooks/${id}`);
    assert.deepEqual([body.enabled, body.disabled_reason], [false, 'failing']);
    service.clock.pass(24 * hour);
    receiver.answer = (_arrival, response) => response.writeHead(204).end();
    const enabled = await service.call('PUT', `/v1/webhooks/${id}`, { enabled: true });
    assert.deepEqual([enabled.body.enabled, enabled.body.disabled_reason], [true, null]);
    await receiver.received(5);
    assert.equal((await delivery(id, 'delivered')).attempts.length, 4);
  });

  it('Retry-After is honoured, for what failed and for what comes after it', async () => {
    let asked = 0;
    receiver.answer = (_arrival, response) => {
      if (++asked === 1) response.writeHead(429, { 'retry-after': '120' }).end();
      else response.writeHead(204).end();
    };
    const { id } = await hook();
    await secret();
    await receiver.received(1);
    await pendingAfter(1, id);
    await secret();
    service.clock.pass(60_000);
    await queuesWorkedOff();
    assert.equal(receiver.arrivals.length, 1);
    service.clock.pass(61_000);
    await receiver.received(3);
  });

  it('a redirect is a failure and is not followed', async t => {
    const target = await startReceiver();
    t.after(target.close);
    receiver.answer = (_arrival, response) => response.writeHead(302, { location: target.url }).end();
    const { id } = await hook();
    await secret();
    const { attempts } = await pendingAfter(1, id);
    assert.deepEqual([attempts[0].status, attempts[0].error], [302, 'redirects are not followed']);
    assert.equal(target.connections, 0);
  });

  it('a receiver that never answers delays nobody else, and its answer is waited for ten seconds', async t => {
    const silent = await startReceiver();
    t.after(silent.close);
    silent.answer = () => {};
    const { id } = await hook({ url: silent.url });
    await hook();
    for (let made = 0; made < 30; made++) await secret();
    await receiver.received(30, 5_000);
    assert.ok(silent.arrivals.length > 0);
    const { attempts } = await pendingAfter(1, id);
    assert.equal(attempts[0].error, 'timed out');
    assert.ok(attempts[0].duration_ms >= 9_900 && attempts[0].duration_ms < 12_000);
  });

  it('the changes of one resource arrive in their order', async () => {
    await hook({ events: ['resource.updated'] });
    const made = await Promise.all([secret(), secret(), secret()]);
    for (let version = 2; version <= 15; version++) {
      await Promise.all(
        made.map(({ id }) => service.call('PUT', `/v1/secrets/${id}`, { value: `v${version}` })),
      );
    }
    const arrivals = await receiver.received(3 * 14);
    for (const { id } of made) {
      const versions = arrivals
        .filter(({ body }) => body.data.id === id)
        .map(({ body }) => body.data.version);
      assert.deepEqual(
        versions,
        [...versions].sort((a, b) => a - b),
      );
      assert.equal(versions.length, 14);
    }
  });

  it('no payload ever holds a value, a tag or a token', async () => {
    await hook({ events: [...everyKind, 'access_key.created', 'access_key.revoked'] });
    const made = await secret('Zm9yYmlkZGVu');
    await service.call('PUT', `/v1/secrets/${made.id}`, {
      value: 'Zm9yYmlkZGVu-2',
      tags: { team: 'Zm9yYmlkZGVu' },
    });
    const body = { vault_id: vaultId, name: 'once' };
    const { body: key } = await service.call('POST', '/v1/access-keys', body);
    await service.call('DELETE', `/v1/access-keys/${key.id}`);
    await service.call('DELETE', `/v1/secrets/${made.id}`);
    const arrivals = await receiver.received(5);
    const text = arrivals.map(arrival => arrival.text + JSON.stringify(arrival.headers)).join();
    assert.equal(text.includes('Zm9yYmlkZGVu') || text.includes(key.token), false);
  });

  it('a test is sent once, also to a webhook that is disabled', async () => {
    const { id, secret: signing } = await hook({ enabled: false, events: ['resource.deleted'] });
    const sent = await service.call('POST', `/v1/webhooks/${id}/test`);
    assert.deepEqual([sent.status, sent.body.event, sent.body.state], [200, 'webhook.test', 'pending']);
    const [arrival] = await receiver.received(1);
    assert.deepEqual(arrival!.body.data, {
      id,
      type: 'webhook',
      name: new URL(receiver.url).host,
      vault_id: null,
    });
    assert.equal(arrival!.headers['webhook-signature'] !== undefined && signing.startsWith('whsec_'), true);
    await until(
      async () =>
        (await service.call('GET', `/v1/webhook-deliveries/${sent.body.id}`)).body.state === 'delivered',
    );
    receiver.answer = (_arrival, response) => response.writeHead(500).end();
    const failing = await service.call('POST', `/v1/webhooks/${id}/test`);
    await until(
      async () =>
        (await service.call('GET', `/v1/webhook-deliveries/${failing.body.id}`)).body.state === 'dead',
    );
  });

  it('an endless answer is cut at 4 KiB', async () => {
    receiver.answer = (_arrival, response) => {
      response.writeHead(200);
      const more = () => response.write('x'.repeat(64 * 1024)) && setImmediate(more);
      response.on('drain', more);
      more();
    };
    const { id } = await hook();
    await secret();
    const { attempts } = await delivery(id, 'delivered');
    assert.equal(attempts[0].answer.length, 4096);
  });

  it('webhooks take their own permission, and another organization’s look like none', async () => {
    const { id } = await hook();
    await secret();
    const done = await delivery(id, 'delivered');
    const other = await service.organization(`Other ${engine}`);
    const viewer = (await service.call('POST', '/v1/api-keys', { name: 'v', role: 'viewer' })).body.token;
    const narrowed = { name: 'n', role: 'admin', vault_ids: [vaultId] };
    const inVault = (await service.call('POST', '/v1/api-keys', narrowed)).body.token;
    const paths = [
      ['GET', `/v1/webhooks/${id}`],
      ['PUT', `/v1/webhooks/${id}`],
      ['DELETE', `/v1/webhooks/${id}`],
      ['POST', `/v1/webhooks/${id}/test`],
      ['POST', `/v1/webhooks/${id}/rotate-secret`],
      ['GET', `/v1/webhook-deliveries/${done.id}`],
      ['POST', `/v1/webhook-deliveries/${done.id}/redeliver`],
    ] as const;
    for (const [method, path] of paths) {
      const body = method === 'PUT' ? {} : undefined;
      assert.equal((await service.call(method, path, body, other.key)).status, 404, path);
      assert.equal((await service.call(method, path, body, viewer)).status, 403, path);
      assert.equal((await service.call(method, path, body, inVault)).status, 404, path);
    }
    const body = { url: receiver.url, events: everyKind };
    assert.equal((await service.call('POST', '/v1/webhooks', body, inVault)).status, 403);
    for (const list of ['/v1/webhooks', '/v1/webhook-deliveries']) {
      assert.equal((await service.call('GET', list, undefined, other.key)).body.pagination.total, 0);
      assert.equal((await service.call('GET', list, undefined, inVault)).body.pagination.total, 0);
    }
  });

  it('what someone wrote into the database is delivered to nobody', async () => {
    const { id } = await hook();
    receiver.answer = (_arrival, response) => response.writeHead(500).end();
    await secret();
    await receiver.received(1);
    await pendingAfter(1, id);
    await inDatabase(
      service,
      `UPDATE events SET payload = replace(payload, 'resource.created', 'resource.forged')`,
    );
    service.clock.pass(10_000);
    const dead = await delivery(id, 'dead');
    assert.equal(dead.attempts.length, 2);
    await inDatabase(service, `UPDATE webhooks SET url = 'http://127.0.0.1:9/stolen'`);
    await secret();
    const isReported = (text: string) => service.reports.some(line => line.includes(text));
    await until(() => isReported('webhook: the stamp is not valid'));
    assert.ok(isReported('event: the stamp is not valid'));
    assert.equal(receiver.arrivals.length, 1);
    await inDatabase(service, `DELETE FROM webhooks`);
  });

  it('what is older than 30 days is cleaned away', async () => {
    const { id } = await hook();
    await secret();
    await delivery(id, 'delivered');
    service.clock.pass(31 * 24 * hour);
    const path = `/v1/webhook-deliveries?webhook_id=${id}`;
    await until(async () => (await service.call('GET', path)).body.pagination.total === 0);
    await until(async () => (await storedBytes(service, 'SELECT payload FROM events')).length === 0);
  });
});
