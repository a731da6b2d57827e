/** Vaults, and the collection of all four types together. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openStrongroom } from '../src/service/opening/open.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import type { Json } from './document.ts';
import { type Answer, enginesInTurn, type Service, startService, timePassing } from './harness.ts';
import { storedBytes } from './storage.ts';

const day = 24 * 60 * 60 * 1000;

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`vaults and resources on ${engine}`, () => {
    let service: Service;

    before(async () => {
      service = await startService({ engine });
    });
    after(() => service.stop());

    async function ok(method: string, path: string, body?: unknown): Promise<Json> {
      const answer: Answer = await service.call(method, path, body);
      assert.equal(answer.status, 200, `${method} ${path}: ${answer.text}`);
      return answer.body;
    }

    const total = async (path: string) => (await ok('GET', path)).pagination.total;

    async function filledVault(name: string, secrets: number): Promise<string> {
      const { id } = await ok('POST', '/v1/vaults', { name });
      for (let at = 0; at < secrets; at++)
        await ok('POST', '/v1/secrets', { vault_id: id, name: `S${at}`, value: 'x' });
      return id;
    }

    it('a vault is made, shown, changed member by member, and deleted', async () => {
      const made = await ok('POST', '/v1/vaults', { name: 'team', description: 'ours', tags: { a: 'b' } });
      assert.deepEqual(await ok('GET', `/v1/vaults/${made.id}`), made);
      assert.match(made.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      assert.match(made.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      const changed = await ok('PUT', `/v1/vaults/${made.id}`, { name: 'crew' });
      assert.equal(changed.name, 'crew');
      assert.equal(changed.description, 'ours');
      assert.deepEqual(changed.tags, { a: 'b' });
      assert.deepEqual(await ok('DELETE', `/v1/vaults/${made.id}`), { id: made.id, deleted: true });
      assert.equal((await service.call('GET', `/v1/vaults/${made.id}`)).status, 404);
    });

    it('two living vaults of one organization never share a name; of two organizations they may', async () => {
      const { id } = await ok('POST', '/v1/vaults', { name: 'same' });
      const taken = await service.call('POST', '/v1/vaults', { name: 'same' });
      assert.equal(taken.status, 400);
      assert.deepEqual(taken.body.error, {
        code: 'CONFLICT',
        message: 'The request conflicts with existing data',
        details: { field: 'name', reason: 'is already in use' },
      });
      const { key } = await service.organization('Namesake');
      assert.equal((await service.call('POST', '/v1/vaults', { name: 'same' }, key)).status, 200);
      await ok('DELETE', `/v1/vaults/${id}`);
      await ok('POST', '/v1/vaults', { name: 'same' });
    });

    it('a name is stored in its composed form, so that two spellings are one name', async () => {
      const made = await ok('POST', '/v1/vaults', { name: 'cafe\u0301' });
      assert.equal(made.name, 'caf\u00e9');
      assert.equal(
        (await service.call('POST', '/v1/vaults', { name: 'caf\u00e9' })).body.error.code,
        'CONFLICT',
      );
    });

    it('with a vault all that it holds goes out of sight and out of the totals, and comes back', async () => {
      const before = await total('/v1/secrets');
      const id = await filledVault('box', 3);
      const { data } = await ok('GET', `/v1/secrets?vault_id=${id}`);
      assert.equal(await total('/v1/secrets'), before + 3);
      await ok('DELETE', `/v1/vaults/${id}`);
      assert.equal(await total('/v1/secrets'), before);
      assert.deepEqual((await ok('GET', `/v1/secrets?vault_id=${id}`)).data, []);
      assert.equal(await total(`/v1/secrets?vault_id=${id}`), 0);
      assert.equal((await service.call('GET', `/v1/secrets/${data[0].id}`)).status, 404);
      await ok('POST', `/v1/resources/${id}/restore`);
      assert.equal(await total('/v1/secrets'), before + 3);
      await ok('GET', `/v1/secrets/${data[0].id}`);
    });

    it('a purged vault is gone for good with all that it held, living or in the trash', async () => {
      const before = [await total('/v1/secrets'), await total('/v1/vaults'), await total('/v1/resources')];
      const [living, trashed] = [await filledVault('p1', 2), await filledVault('p2', 2)];
      const { data } = await ok('GET', `/v1/secrets?vault_id=${living}`);
      await ok('DELETE', `/v1/vaults/${living}?purge=true`);
      await ok('DELETE', `/v1/vaults/${trashed}`);
      await ok('DELETE', `/v1/vaults/${trashed}?purge=true`);
      for (const id of [living, trashed, data[0].id])
        assert.equal((await service.call('POST', `/v1/resources/${id}/restore`)).status, 404);
      const now = [await total('/v1/secrets'), await total('/v1/vaults'), await total('/v1/resources')];
      assert.deepEqual(now, before);
    });

    it('a deletion can be undone for 30 days, and not a moment longer', async () => {
      const { id } = await ok('POST', '/v1/vaults', { name: 'late' });
      await ok('DELETE', `/v1/vaults/${id}`);
      service.clock.pass(30 * day - 60_000);
      await ok('POST', `/v1/resources/${id}/restore`);
      await ok('DELETE', `/v1/vaults/${id}`);
      service.clock.pass(30 * day);
      assert.equal((await service.call('POST', `/v1/resources/${id}/restore`)).status, 404);
    });

    it('the trash is emptied after 30 days, to the millisecond, and not before', async () => {
      const deleted = service.clock.now() + 100 * day;
      const vaultId = await filledVault('kept', 2);
      const { data } = await ok('GET', `/v1/secrets?vault_id=${vaultId}`);
      const [secret, kept] = data.map(({ id }: Json) => id);
      const housekeeping = async (moment: number) => {
        service.clock.standAt(moment);
        const config = readConfig(serveOptions, service.place, {});
        const passing = { elapsed: timePassing() };
        const strongroom = await openStrongroom(config, false, service.clock.now, passing);
        while (await strongroom.domain.housekeeping.step());
        await strongroom.close();
      };
      const stored = async (id: string) => {
        const rows = await storedBytes(service, `SELECT id FROM resources WHERE id = '${id}'`);
        const versions = await storedBytes(service, `SELECT value FROM versions WHERE resource_id = '${id}'`);
        return [rows.length, versions.length];
      };
      service.clock.standAt(deleted);
      await ok('DELETE', `/v1/secrets/${secret}`);
      for (const age of [0, 1, 29 * day, 30 * day - 1, 30 * day]) {
        await housekeeping(deleted + age);
        assert.deepEqual(await stored(secret), [1, 1], `after ${age} ms`);
      }
      assert.equal((await service.call('POST', `/v1/resources/${secret}/restore`)).status, 404);
      await housekeeping(deleted + 30 * day + 1);
      assert.deepEqual(await stored(secret), [0, 0]);
      assert.deepEqual(await stored(kept), [1, 1], 'what was not deleted stays');
      const { data: entries } = await ok('GET', `/v1/audit-logs?subject_id=${secret}&limit=1`);
      assert.deepEqual([entries[0].action, entries[0].actor.id], ['secret.purged', 'housekeeping']);
      service.clock.run();
    });

    it('`{"name":"x"}` alone makes a vault, and `type` picks another', async () => {
      const vault = await ok('POST', '/v1/resources', { name: 'plain' });
      assert.equal(vault.type, 'vault');
      assert.equal(vault.vault_id, null);
      const secret = await ok('POST', '/v1/resources', {
        type: 'secret',
        vault_id: vault.id,
        name: 'S',
        value: 'v',
        tags: { a: 'b' },
      });
      const key = await ok('POST', '/v1/resources', {
        type: 'key',
        vault_id: vault.id,
        name: 'K',
        generate: { key_type: 'OKP', curve: 'Ed25519' },
      });
      const certificate = await ok('POST', '/v1/resources', {
        type: 'certificate',
        vault_id: vault.id,
        name: 'C',
        key_id: key.id,
        self_signed: { subject: 'CN=c' },
      });
      const { data } = await ok('GET', `/v1/resources?vault_id=${vault.id}`);
      assert.deepEqual(
        data.map((item: Json) => [item.type, item.name]),
        [
          ['certificate', 'C'],
          ['key', 'K'],
          ['secret', 'S'],
          ['vault', 'plain'],
        ],
      );
      for (const made of [vault, secret, key, certificate]) {
        assert.deepEqual(await ok('GET', `/v1/resources/${made.id}`), made);
        await ok('GET', `/v1/${made.type}s/${made.id}`);
      }
      assert.deepEqual(secret.tags, { a: 'b' });
    });

    it('a resource of any type is changed, deleted and restored through the common collection', async () => {
      const { id: vault_id } = await ok('POST', '/v1/vaults', { name: 'mixed' });
      const { id } = await ok('POST', '/v1/secrets', { vault_id, name: 'S', value: 'one' });
      const changed = await ok('PUT', `/v1/resources/${id}`, { name: 'T', value: 'two' });
      assert.equal(changed.name, 'T');
      assert.equal(changed.type, 'secret');
      assert.equal((await ok('GET', `/v1/secrets/${id}`)).version, 2);
      const wrong = await service.call('PUT', `/v1/resources/${id}`, { description: 'x' });
      assert.equal(wrong.body.error.details.field, 'description');
      await ok('DELETE', `/v1/resources/${id}`);
      const trash = await ok('GET', `/v1/resources?state=deleted&vault_id=${vault_id}`);
      assert.equal(trash.data[0].id, id);
      assert.notEqual(trash.data[0].deleted_at, null);
      assert.equal((await ok('POST', `/v1/resources/${id}/restore`)).deleted_at, null);
    });

    it('changes at the same moment all take effect, one after the other', async () => {
      const { id } = await ok('POST', '/v1/vaults', { name: 'busy' });
      const names = Array.from({ length: 4 }, (_, at) => `busy-${at}`);
      const answers = await Promise.all(
        names.map((description, at) =>
          service.call('PUT', `/v1/vaults/${id}`, { description, tags: { at: `${at}` } }),
        ),
      );
      for (const answer of answers) assert.equal(answer.status, 200, answer.text);
      const { data } = await ok('GET', `/v1/audit-logs?subject_id=${id}`);
      assert.deepEqual(
        data.map((entry: Json) => entry.revision),
        [5, 4, 3, 2, 1],
      );
    });

    it('templates and paths in names and descriptions stay text', async () => {
      const name = '{{7*7}} <%= 1 %> ../../etc/passwd * + %25';
      const made = await ok('POST', '/v1/vaults', { name, description: name });
      assert.equal((await ok('GET', `/v1/vaults/${made.id}`)).name, name);
      assert.equal(made.description, name);
    });
  });
}
