/** Vault's paths of short-lived credentials: clients obtain, look up, renew and revoke them as they would in Vault. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, describe, it } from 'node:test';
import { callService, enginesInTurn } from './harness.ts';
import { issuerBody, type LeaseWorld, startLeases } from './leases-world.ts';

// biome-ignore lint/suspicious/noExplicitAny: its own types don't say what it answers
const nodeVault = createRequire(import.meta.url)('node-vault') as (options: object) => any;

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`leases in Vault’s dialect, on ${engine}`, () => {
    let world: LeaseWorld;
    before(async () => {
      world = await startLeases(engine);
    });
    after(() => world.close());

    const ask = (method: string, path: string, body?: object, token: string | null = world.key) =>
      callService(world.service.url, method, `/vault/v1/${path}`, body, null, {
        'x-vault-request': 'true',
        ...(token === null ? {} : { 'x-vault-token': token }),
      });
    const creds = async () => {
      const { status, text, body } = await ask('GET', 'database/creds/app-db');
      assert.equal(status, 200, text);
      return body;
    };

    it('node-vault obtains a user, renews it and revokes it', async () => {
      const vault = nodeVault({ endpoint: `${world.service.url}/vault`, token: world.key });
      const issued = await vault.read('database/creds/app-db');
      assert.equal(issued.renewable, true);
      assert.ok(issued.lease_duration > 3_590 && issued.lease_duration <= 3_600);
      assert.match(issued.lease_id, /^database\/creds\/app-db\/[0-9a-f-]{36}$/);
      const { username, password } = issued.data;
      const url = new URL(world.target.url);
      [url.username, url.password] = [username, password];
      assert.ok(await world.opens(url.href));
      const renewed = await vault.renew({ lease_id: issued.lease_id, increment: 7_200 });
      assert.equal(renewed.lease_id, issued.lease_id);
      assert.ok(renewed.lease_duration > 7_190 && renewed.lease_duration <= 7_200);
      await vault.revoke({ lease_id: issued.lease_id });
      await world.ended(issued.lease_id.split('/').at(-1)!);
      assert.ok(!(await world.opens(url.href)));
      await assert.rejects(vault.renew({ lease_id: issued.lease_id }), { message: 'lease not found' });
    });

    it('answers in Vault’s envelope, with the paths and bodies that other clients send', async () => {
      const { request_id, lease_id, data, ...rest } = await creds();
      assert.match(request_id, /^[0-9a-f-]{36}$/);
      assert.deepEqual(Object.keys(data), ['username', 'password', 'url']);
      assert.deepEqual(Object.keys(rest), [
        'renewable',
        'lease_duration',
        'wrap_info',
        'warnings',
        'auth',
        'mount_type',
      ]);
      const found = await ask('PUT', 'sys/leases/lookup', { lease_id });
      assert.equal(found.status, 200, found.text);
      assert.equal(found.body.data.id, lease_id);
      assert.equal(found.body.data.renewable, true);
      assert.equal(found.body.data.last_renewal, null);
      assert.ok(Date.parse(found.body.data.expire_time) > Date.parse(found.body.data.issue_time));
      for (const [method, path, body] of [
        ['PUT', 'sys/leases/renew', { lease_id, increment: 0 }],
        ['POST', 'sys/leases/renew', { lease_id, increment: '2h' }],
        ['PUT', 'sys/renew', { lease_id }],
        ['PUT', `sys/leases/renew/${lease_id}`, {}],
        ['POST', `sys/renew/${lease_id}`, undefined],
        ['PUT', 'sys/leases/renew', { lease_id, increment: 1 }],
      ] as const) {
        const renewed = await ask(method, path, body);
        assert.equal(renewed.status, 200, `${method} ${path}: ${renewed.text}`);
        assert.deepEqual([renewed.body.lease_id, renewed.body.data], [lease_id, null]);
      }
      const longest = await ask('PUT', 'sys/leases/renew', { lease_id, increment: 10 ** 8 });
      assert.equal(longest.body.renewable, false, 'at most until its longest life');
      assert.equal((await ask('PUT', 'sys/revoke', { lease_id })).status, 204);
      assert.equal((await ask('PUT', 'sys/leases/revoke', { lease_id, sync: true })).status, 204, 'again');
      assert.equal(
        (await ask('PUT', 'sys/leases/lookup', { lease_id })).text,
        '{"errors":["lease not found"]}',
      );
    });

    it('is recorded under the path of the dialect before it is answered', async () => {
      const { lease_id } = await creds();
      const { body } = await world.service.call('GET', '/v1/request-logs?limit=20');
      const entry = body.data.find(
        (one: Record<string, unknown>) =>
          one.status === 200 && String(one.requested).includes(lease_id.split('/').at(-1)!),
      );
      assert.equal(entry.route, '/vault/v1/database/creds/{role}');
    });

    it('creates nothing with HEAD, LIST or a write, and refuses what it can’t honour', async () => {
      const before = new Set(await world.target.users());
      for (const [method, path, status] of [
        ['POST', 'database/creds/app-db', 405],
        ['GET', 'database/creds/app-db?list=true', 405],
        ['HEAD', 'database/creds/app-db', 405],
        ['GET', 'database/creds/', 404],
        ['GET', 'database/creds/app-db/data/x', 403],
        ['GET', 'sys/leases/lookup', 405],
        ['GET', 'sys/lookup', 404],
      ] as const)
        assert.equal((await ask(method, path)).status, status, `${method} ${path}`);
      const wrapped = await callService(
        world.service.url,
        'GET',
        '/vault/v1/database/creds/app-db',
        undefined,
        null,
        {
          'x-vault-token': world.key,
          'x-vault-wrap-ttl': '60',
        },
      );
      assert.equal(wrapped.status, 400);
      for (const user of await world.target.users()) assert.ok(before.has(user));
    });

    it('gives nothing to a key that may not see the issuer, to API keys, and to strangers', async () => {
      const { lease_id } = await creds();
      const restricted = await world.accessKey({ names: ['OTHER'] });
      const namesOnly = await world.accessKey({ names_only: true });
      const { token: apiKey } = await world.made('/v1/api-keys', { name: 'ci', role: 'admin' });
      const answers = async (token: string | null) => [
        (await ask('GET', 'database/creds/app-db', undefined, token)).status,
        (await ask('PUT', 'sys/leases/renew', { lease_id }, token)).status,
        (await ask('PUT', 'sys/leases/lookup', { lease_id }, token)).status,
        (await ask('PUT', 'sys/leases/revoke', { lease_id }, token)).status,
      ];
      assert.deepEqual(await answers(restricted.token), [400, 400, 400, 400]);
      assert.deepEqual(await answers(namesOnly.token), [403, 400, 400, 400]);
      assert.deepEqual(await answers(apiKey), [403, 403, 403, 403]);
      assert.deepEqual(await answers('sr_vault_nobody'), [403, 403, 403, 403]);
      assert.deepEqual(await answers(null), [403, 403, 403, 403]);
      assert.equal((await ask('GET', 'database/creds/unknown')).text, '{"errors":["unknown role"]}');
      assert.equal((await ask('PUT', 'sys/leases/lookup', { lease_id })).status, 200, 'it still lives');
    });

    it('refuses malformed ids and durations by their fields', async () => {
      const { lease_id } = await creds();
      for (const [body, reason] of [
        [{}, /lease_id/],
        [{ lease_id: 'database/creds/app-db/nothing' }, /lease not found/],
        [{ lease_id, increment: 'soon' }, /increment/],
        [{ lease_id: 7 }, /lease_id/],
        [{ lease_id: 'x'.repeat(1_025) }, /lease_id/],
      ] as const) {
        const { status, text } = await ask('PUT', 'sys/leases/renew', body);
        assert.equal(status, 400, text);
        assert.match(text, reason);
      }
    });

    it('says that the mount is no key/value store, and that an unreachable issuer is unavailable', async () => {
      const { body } = await ask('GET', 'sys/internal/ui/mounts/database/creds/app-db');
      assert.deepEqual([body.data.type, body.data.path, body.data.options], ['database', 'database/', null]);
      await world.made('/v1/issuers', issuerBody(world.vaultId, 'folder/away'));
      const { status, text } = await ask('GET', 'database/creds/folder/away');
      assert.equal(status, 503, text);
    });
  });
}
