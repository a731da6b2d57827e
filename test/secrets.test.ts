import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Json } from './document.ts';
import { engines, type Service, startService } from './harness.ts';

for (const engine of engines) {
  describe(`secrets on ${engine}`, () => {
    let service: Service;
    let vaultId: string;

    before(async () => {
      service = await startService({ engine });
      vaultId = (await service.call('POST', '/v1/vaults', { name: 'production' })).body.id;
    });
    after(() => service.stop());

    it('a secret is created, shown without its value, and revealed', async () => {
      const created = await service.call('POST', '/v1/secrets', {
        vault_id: vaultId,
        name: 'DATABASE_URL',
        value: 'postgres://secret',
        tags: { team: 'payments' },
      });
      assert.equal(created.status, 200, created.text);
      assert.equal(created.body.version, 1);
      assert.equal('value' in created.body, false);
      const got = await service.call('GET', `/v1/secrets/${created.body.id}`);
      assert.deepEqual(got.body, created.body);
      const revealed = await service.call('POST', `/v1/secrets/${created.body.id}/reveal`);
      assert.equal(revealed.body.value, 'postgres://secret');
      assert.deepEqual(revealed.body.tags, { team: 'payments' });
    });

    it('a new value makes a new version, and a rollback brings the old one back as a newer', async () => {
      const { body: secret } = await service.call('POST', '/v1/secrets', {
        vault_id: vaultId,
        name: 'A',
        value: 'one',
      });
      const second = await service.call('PUT', `/v1/secrets/${secret.id}`, { value: 'two' });
      assert.equal(second.body.version, 2);
      const third = await service.call('POST', `/v1/secrets/${secret.id}/rollback`, { version: 1 });
      assert.equal(third.body.version, 3);
      const revealed = await service.call('POST', `/v1/secrets/${secret.id}/reveal`);
      assert.equal(revealed.body.value, 'one');
      const versions = await service.call('GET', `/v1/secrets/${secret.id}/versions`);
      assert.deepEqual(
        versions.body.data.map((version: { version: number }) => version.version),
        [3, 2, 1],
      );
    });

    it('a deleted secret frees its name at once, and can be restored until the name is taken', async () => {
      const body = { vault_id: vaultId, name: 'B', value: 'one' };
      const { body: secret } = await service.call('POST', '/v1/secrets', body);
      const taken = await service.call('POST', '/v1/secrets', body);
      assert.equal(taken.status, 400);
      assert.equal(taken.body.error.code, 'CONFLICT');
      const deleted = await service.call('DELETE', `/v1/secrets/${secret.id}`);
      assert.deepEqual(deleted.body, { id: secret.id, deleted: true });
      assert.equal((await service.call('GET', `/v1/secrets/${secret.id}`)).status, 404);
      assert.equal((await service.call('POST', `/v1/resources/${secret.id}/restore`)).status, 200);
      await service.call('DELETE', `/v1/secrets/${secret.id}`);
      const { body: successor } = await service.call('POST', '/v1/secrets', body);
      assert.equal(
        (await service.call('POST', `/v1/resources/${secret.id}/restore`)).body.error.code,
        'CONFLICT',
      );
      await service.call('DELETE', `/v1/secrets/${successor.id}?purge=true`);
      assert.equal((await service.call('POST', `/v1/resources/${successor.id}/restore`)).status, 404);
    });

    it('up to 100 secrets go in one request, each with its own result', async () => {
      const items = [
        { vault_id: vaultId, name: 'BULK_1', value: 'x' },
        { vault_id: vaultId, name: 'BULK_1', value: 'y' },
        { vault_id: vaultId, name: '', value: 'z' },
        { vault_id: vaultId, name: 'BULK_2', value: 'x' },
      ];
      const answer = await service.call('POST', '/v1/secrets/bulk', { items });
      const statuses = answer.body.results.map((result: { status: number }) => result.status);
      assert.deepEqual([...statuses].sort(), [200, 200, 400, 400], answer.text);
    });

    async function ok(method: string, path: string, body?: unknown): Promise<Json> {
      const answer = await service.call(method, path, body);
      assert.equal(answer.status, 200, `${method} ${path}: ${answer.text}`);
      return answer.body;
    }

    const make = (name: string, more: object = {}) =>
      ok('POST', '/v1/secrets', { vault_id: vaultId, name, value: 'value', ...more });

    it('values of 64 KiB pass whole, one byte more is refused, and an empty one is a value', async () => {
      const largest = 'é'.repeat(32 * 1024);
      const { id } = await make('LARGE', { value: largest });
      assert.equal((await ok('POST', `/v1/secrets/${id}/reveal`)).value, largest);
      const over = await service.call('PUT', `/v1/secrets/${id}`, { value: `${largest}x` });
      assert.equal(over.status, 400);
      assert.equal(over.body.error.details.field, 'value');
      const odd = '\u0000\n\t\u202E \u{1F512} {{7*7}}';
      await ok('PUT', `/v1/secrets/${id}`, { value: odd });
      assert.equal((await ok('POST', `/v1/secrets/${id}/reveal`)).value, odd);
      await ok('PUT', `/v1/secrets/${id}`, { value: '' });
      assert.equal((await ok('POST', `/v1/secrets/${id}/reveal`)).value, '');
    });

    it('an earlier version is revealed by its number, and one that never was is refused', async () => {
      const { id } = await make('VERSIONS', { value: 'one', content_type: 'text/a' });
      await ok('PUT', `/v1/secrets/${id}`, { value: 'two', content_type: 'text/b' });
      const first = await ok('POST', `/v1/secrets/${id}/reveal`, { version: 1 });
      assert.deepEqual([first.value, first.version, first.content_type], ['one', 1, 'text/a']);
      for (const version of [3, 2_147_483_647]) {
        const answer = await service.call('POST', `/v1/secrets/${id}/reveal`, { version });
        assert.equal(answer.status, 400);
        assert.equal(answer.body.error.details.field, 'version');
      }
      const rolled = await ok('POST', `/v1/secrets/${id}/rollback`, { version: 1 });
      assert.deepEqual([rolled.version, rolled.content_type], [3, 'text/a']);
    });

    it('a change of anything but the value makes no new version', async () => {
      const { id } = await make('META');
      const changed = await ok('PUT', `/v1/secrets/${id}`, {
        name: 'META_2',
        content_type: 'application/json',
        tags: { a: 'b' },
        enabled: false,
      });
      assert.equal(changed.version, 1);
      const revealed = await ok('POST', `/v1/secrets/${id}/reveal`);
      assert.equal(revealed.content_type, 'application/json');
      assert.equal(revealed.value, 'value');
      assert.equal(revealed.enabled, false);
    });

    it('dates are set, kept, removed with null, and held against each other', async () => {
      const { id } = await make('DATES', { activation_date: '2027-01-01T00:00:00+02:00' });
      const path = `/v1/secrets/${id}`;
      assert.equal((await ok('GET', path)).activation_date, '2026-12-31T22:00:00.000Z');
      const early = await service.call('PUT', path, { expiration_date: '2026-12-31T22:00:00Z' });
      assert.equal(early.status, 400);
      assert.equal(early.body.error.details.field, 'expiration_date');
      const changed = await ok('PUT', path, { expiration_date: '2028-01-01T00:00:00Z' });
      assert.equal(changed.activation_date, '2026-12-31T22:00:00.000Z');
      assert.equal((await ok('PUT', path, { activation_date: null })).activation_date, null);
    });

    it('a reveal is written to the audit log, without the value', async () => {
      const { id } = await make('WATCHED');
      await ok('POST', `/v1/secrets/${id}/reveal`);
      const { data } = await ok('GET', `/v1/audit-logs?subject_id=${id}`);
      assert.deepEqual(
        data.map((entry: Json) => entry.action),
        ['secret.revealed', 'secret.created'],
      );
      assert.equal(JSON.stringify(data).includes('"value"'), false);
    });

    it('one request holds 100 items of new and known secrets, and not 101', async () => {
      const { id } = await make('KNOWN');
      const items = Array.from({ length: 99 }, (_, at) => ({
        vault_id: vaultId,
        name: `M${at}`,
        value: 'x',
      }));
      const full = await ok('POST', '/v1/secrets/bulk', { items: [...items, { id, value: 'changed' }] });
      assert.equal(full.results.length, 100);
      assert.ok(
        full.results.every((result: Json, at: number) => result.status === 200 && result.index === at),
      );
      assert.equal((await ok('POST', `/v1/secrets/${id}/reveal`)).value, 'changed');
      const over = await service.call('POST', '/v1/secrets/bulk', { items: Array(101).fill(items[0]) });
      assert.equal(over.status, 400);
      assert.equal(over.body.error.details.field, 'items');
    });

    it('a bulk request leaves each secret as a request of its own would: versions, tags, totals and entries', async () => {
      const vault = await ok('POST', '/v1/vaults', { name: 'together' });
      const known = await ok('POST', '/v1/secrets', { vault_id: vault.id, name: 'OLD', value: 'one' });
      const items = [
        { vault_id: vault.id, name: 'NEW', value: 'new', tags: { kind: 'bulk' } },
        { id: known.id, value: 'two', tags: { kind: 'bulk' } },
        { vault_id: vault.id, name: 'PLAIN', value: 'ü\u0001' },
      ];
      const { results } = await ok('POST', '/v1/secrets/bulk', { items });
      assert.deepEqual(
        results.map(({ secret }: Json) => [secret.name, secret.version]),
        [
          ['NEW', 1],
          ['OLD', 2],
          ['PLAIN', 1],
        ],
      );
      const values = results.map(({ secret }: Json) => ok('POST', `/v1/secrets/${secret.id}/reveal`));
      assert.deepEqual(
        (await Promise.all(values)).map(({ value }: Json) => value),
        ['new', 'two', 'ü\u0001'],
      );
      const tagged = await ok('GET', `/v1/secrets?vault_id=${vault.id}&tag=kind=bulk`);
      assert.equal(tagged.pagination.total, 2);
      assert.equal((await ok('GET', `/v1/secrets?vault_id=${vault.id}`)).pagination.total, 3);
      const actions = results.map(async ({ secret }: Json) => {
        const { data } = await ok('GET', `/v1/audit-logs?subject_id=${secret.id}`);
        return data
          .map(({ action }: Json) => action)
          .filter((action: string) => !action.endsWith('revealed'));
      });
      assert.deepEqual(await Promise.all(actions), [
        ['secret.created'],
        ['secret.updated', 'secret.created'],
        ['secret.created'],
      ]);
    });

    it('an item that stands in the way of the others fails alone', async () => {
      const { id } = await make('TWICE');
      const items = [
        { vault_id: vaultId, name: 'BESIDE', value: 'x' },
        { vault_id: vaultId, name: 'TWICE', value: 'x' },
        { vault_id: vaultId, name: 'SAME', value: 'x' },
        { vault_id: vaultId, name: 'SAME', value: 'y' },
        { id, value: 'two' },
        { id, value: 'three' },
      ];
      const { results } = await ok('POST', '/v1/secrets/bulk', { items });
      assert.deepEqual(
        results.map(({ status }: Json) => status),
        [200, 400, 200, 400, 200, 200],
      );
      assert.equal(results[1].error.code, 'CONFLICT');
      assert.equal((await ok('GET', `/v1/secrets/${id}`)).version, 3);
    });

    it('nothing is created in a vault once it is deleted, however close the two come', async () => {
      const vault = await ok('POST', '/v1/vaults', { name: 'short-lived' });
      const body = (name: string) => ({ vault_id: vault.id, name, value: 'x' });
      await ok('POST', '/v1/secrets', body('FIRST'));
      const creating = (at: number) => service.call('POST', '/v1/secrets', body(`AT_${at}`));
      const before = Array.from({ length: 5 }, (_, at) => creating(at));
      const deleted = service.call('DELETE', `/v1/vaults/${vault.id}`);
      const after = Array.from({ length: 30 }, (_, at) => creating(at + 5));
      const answers = await Promise.all([...before, ...after]);
      assert.equal((await deleted).status, 200);
      assert.ok(answers.every(({ status }) => status === 200 || status === 404));
      const { data } = await ok('GET', '/v1/audit-logs?limit=50');
      const actions = data
        .filter((entry: Json) => entry.vault_id === vault.id)
        .map(({ action }: Json) => action);
      assert.equal(actions[0], 'vault.deleted', 'the newest entry of the vault');
    });

    it('each item of a bulk request is checked for permission by itself', async () => {
      const other = await ok('POST', '/v1/vaults', { name: 'elsewhere' });
      const theirs = await ok('POST', '/v1/secrets', { vault_id: other.id, name: 'X', value: 'x' });
      const { token } = await ok('POST', '/v1/api-keys', {
        name: 'narrow',
        role: 'editor',
        vault_ids: [vaultId],
      });
      const items = [
        { vault_id: vaultId, name: 'MINE', value: 'x' },
        { vault_id: other.id, name: 'NOT_MINE', value: 'x' },
        { id: theirs.id, value: 'stolen' },
        { id: 'nonsense', value: 'x' },
        { vault_id: vaultId, name: 'MORE', value: 'x', owner: true },
        'text',
      ];
      const { body } = await service.call('POST', '/v1/secrets/bulk', { items }, token);
      assert.deepEqual(
        body.results.map((result: Json) => result.status),
        [200, 404, 404, 400, 400, 400],
      );
      assert.equal(body.results[4].error.details.field, 'owner');
      assert.equal((await ok('POST', `/v1/secrets/${theirs.id}/reveal`)).value, 'x');
    });

    it('a secret’s whole life: vault, secret, version, rollback, access key, revoke', async () => {
      const vault = await ok('POST', '/v1/vaults', { name: 'life' });
      const secret = await ok('POST', '/v1/secrets', { vault_id: vault.id, name: 'TOKEN', value: 'one' });
      await ok('PUT', `/v1/secrets/${secret.id}`, { value: 'two' });
      const key = await ok('POST', '/v1/access-keys', { vault_id: vault.id, name: 'reader' });
      const read = () => service.call('GET', `/api/v1/vaults/${vault.id}`, undefined, key.token);
      assert.equal((await read()).body.secrets[0].value, 'two');
      await ok('POST', `/v1/secrets/${secret.id}/rollback`, { version: 1 });
      assert.equal((await read()).body.secrets[0].value, 'one');
      await ok('DELETE', `/v1/access-keys/${key.id}`);
      assert.equal((await read()).status, 401);
    });
  });
}
