import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { callService, enginesInTurn, type Service, startService } from './harness.ts';
import { inDatabase } from './storage.ts';

const hour = 3_600_000;
const day = 24 * hour;

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`the overview on ${engine}`, () => {
    let service: Service;
    let vaultId: string;
    let quietId: string;
    let accessKey: { id: string; token: string };
    let secretId: string;

    before(async () => {
      service = await startService({ engine, plan: 'pro' });
      service.clock.standAt(Math.ceil(Date.now() / hour) * hour + 30 * 60_000);
      vaultId = (await service.call('POST', '/v1/vaults', { name: 'busy' })).body.id;
      quietId = (await service.call('POST', '/v1/vaults', { name: 'quiet' })).body.id;
      const body = { vault_id: vaultId, name: 'A', value: 'x' };
      secretId = (await service.call('POST', '/v1/secrets', body)).body.id;
      accessKey = (await service.call('POST', '/v1/access-keys', { vault_id: vaultId, name: 'reader' })).body;
    });
    after(() => service.stop());

    const read = (query = '') =>
      callService(service.url, 'GET', `/api/v1/vaults/${vaultId}${query}`, undefined, accessKey.token);
    const overview = async (key?: string) => (await service.call('GET', '/v1/overview', undefined, key)).body;

    it('counts reads by the hour, by vault and by key, and failures by address', async () => {
      for (let count = 0; count < 3; count++) assert.equal((await read()).status, 200);
      assert.equal((await read(`?resource=${vaultId}`)).status, 404);
      service.clock.pass(hour);
      assert.equal((await read(`?resource=${secretId}`)).status, 200);
      const { reads, busiest_vaults, busiest_keys, failed_addresses } = await overview();
      assert.equal(reads.length, 24);
      assert.deepEqual(
        reads
          .slice(-3)
          .map(({ success, failure }: { success: number; failure: number }) => [success, failure]),
        [
          [0, 0],
          [3, 1],
          [1, 0],
        ],
      );
      assert.equal(reads.at(-1).at, new Date(Math.floor(service.clock.now() / hour) * hour).toISOString());
      assert.deepEqual(busiest_vaults, [{ id: vaultId, name: 'busy', reads: 5 }]);
      assert.deepEqual(busiest_keys, [{ id: accessKey.id, name: 'reader', reads: 5 }]);
      assert.deepEqual(failed_addresses, [{ ip_address: '127.0.0.1', failures: 1 }]);
    });

    it('keeps its counts over a restart, and forgets what is older than a day', async () => {
      await service.restart();
      const { busiest_vaults } = await overview();
      assert.equal(busiest_vaults[0].reads, 5);
      service.clock.pass(day);
      const later = await overview();
      assert.deepEqual(later.busiest_vaults, []);
      assert.ok(
        later.reads.every(
          ({ success, failure }: { success: number; failure: number }) => success + failure === 0,
        ),
      );
    });

    it('shows what expires within 90 days, soonest first', async () => {
      const at = (days: number) => new Date(service.clock.now() + days * day).toISOString();
      const put = (name: string, days: number) =>
        service.call('POST', '/v1/secrets', {
          vault_id: quietId,
          name,
          value: 'x',
          expiration_date: at(days),
        });
      await put('later', 80);
      await put('soon', 2);
      await put('far', 91);
      await service.call('POST', '/v1/api-keys', { name: 'ends', role: 'viewer', expiration_date: at(30) });
      const { expiring } = await overview();
      assert.deepEqual(
        expiring.map((item: Record<string, string>) => [
          item.name,
          item.type,
          item.vault_id,
          item.expires_at,
        ]),
        [
          ['soon', 'secret', quietId, at(2)],
          ['ends', 'api-key', null, at(30)],
          ['later', 'secret', quietId, at(80)],
        ],
      );
    });

    it('shows keys that nobody used for 90 days', async () => {
      service.clock.pass(91 * day);
      const { unused_keys } = await overview();
      assert.ok(unused_keys.some(({ name }: { name: string }) => name === 'reader'));
    });

    it('counts what is stored, and how much of the plan is used', async () => {
      const { counts, plan, webhooks } = await overview();
      assert.deepEqual(counts, { vaults: 2, secrets: 4, keys: 0, certificates: 0 });
      assert.equal(plan.name, 'pro');
      assert.equal(plan.limit, 1000);
      assert.ok(plan.used >= 1);
      assert.deepEqual(webhooks, { total: 0, failing: 0, disabled: 0 });
    });

    it('says how webhooks do', async () => {
      const make = (enabled: boolean) =>
        service.call('POST', '/v1/webhooks', {
          url: 'https://hooks.example.org/in',
          events: ['resource.created'],
          enabled,
        });
      assert.equal((await make(true)).status, 200);
      const { body: failing } = await make(true);
      const { body: off } = await make(false);
      assert.equal(off.enabled, false);
      await inDatabase(
        service,
        `UPDATE webhook_queues SET failing_since = 1 WHERE webhook_id = '${failing.id}'`,
      );
      assert.deepEqual((await overview()).webhooks, { total: 3, failing: 1, disabled: 1 });
    });

    it('shows no log to those who may not read it, and of others’ vaults nothing', async () => {
      assert.equal((await read()).status, 200);
      const key = async (body: object) =>
        (await service.call('POST', '/v1/api-keys', { name: 'k', ...body })).body.token as string;
      const viewer = await overview(await key({ role: 'viewer' }));
      assert.deepEqual([viewer.reads, viewer.busiest_vaults, viewer.failed_addresses], [[], [], []]);
      assert.equal(viewer.counts.secrets, 4);
      const narrowed = await overview(await key({ role: 'owner', vault_ids: [quietId] }));
      assert.deepEqual(narrowed.busiest_vaults, []);
      assert.deepEqual(narrowed.busiest_keys, []);
      assert.deepEqual(narrowed.counts, { vaults: 1, secrets: 3, keys: 0, certificates: 0 });
      const other = await service.organization('Other');
      const theirs = await overview(other.key);
      assert.deepEqual(theirs.busiest_vaults, []);
      assert.equal(theirs.counts.vaults, 0);
      assert.deepEqual(theirs.expiring, []);
    });

    it('proves the logs, and finds an entry that was edited', async () => {
      await service.restart(); // A stop signs what commands beside it wrote, by their own clocks.
      const whole = (await service.call('GET', '/v1/audit-logs/verification')).body;
      assert.equal(whole.ok, true, JSON.stringify(whole));
      assert.deepEqual(whole.findings, []);
      assert.ok(whole.entries.request >= 5);
      assert.equal(whole.entries.audit, (await service.call('GET', '/v1/audit-logs')).body.pagination.total);
      const newest = `(SELECT id FROM audit_logs ORDER BY id DESC LIMIT 1)`;
      await inDatabase(
        service,
        `UPDATE audit_logs SET entry = replace(entry, 'allowed', 'denied') WHERE id = ${newest}`,
      );
      service.clock.pass(61_000);
      const edited = (await service.call('GET', '/v1/audit-logs/verification')).body;
      assert.equal(edited.ok, false);
      assert.deepEqual(edited.findings[0], { what: 'edited', count: 1 });
    });

    it('says what runs here', async () => {
      const { body } = await service.call('GET', '/v1/about');
      assert.equal(body.engine, engine);
      assert.equal(body.root_key_provider, 'key-file');
      assert.equal(body.keyring_term, 1);
      assert.equal(body.log_retention_days, 90);
      assert.equal(body.audit_retention_days, 0);
      assert.match(body.log_public_key, /^-----BEGIN PUBLIC KEY-----/);
      assert.equal(body.version, (await service.call('GET', '/v1/health')).body.version);
    });
  });
}
