/** Many secrets at once: revealed, copied, moved and compared, each with what the log must say; and a public key by plain HTTP. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Json } from './document.ts';
import { enginesInTurn, type Service, startService } from './harness.ts';

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`many secrets on ${engine}`, () => {
    let service: Service;
    let staging: string;
    let production: string;
    let viewer: string;

    before(async () => {
      service = await startService({ engine });
      [staging, production] = [await vault('staging'), await vault('production')];
      const made = await service.call('POST', '/v1/api-keys', { name: 'viewer', role: 'viewer' });
      viewer = made.body.token;
    });
    after(() => service.stop());

    const vault = async (name: string) => (await service.call('POST', '/v1/vaults', { name })).body.id;
    const add = async (vault_id: string, name: string, value: string, more = {}) =>
      (await service.call('POST', '/v1/secrets', { vault_id, name, value, ...more })).body.id as string;
    const revealed = async (id: string) =>
      (await service.call('POST', `/v1/secrets/${id}/reveal`)).body.value as string;
    const named = async (vault_id: string, name: string) =>
      (await service.call('GET', `/v1/secrets?vault_id=${vault_id}&q=${name}`)).body.data[0];
    const entries = async (action: string) =>
      (await service.call('GET', `/v1/audit-logs?action=${action}&limit=100`)).body.data;

    it('values are revealed together, in the order asked for, with an entry for each', async () => {
      const ids = [await add(staging, 'ONE', 'first'), await add(staging, 'TWO', 'second')];
      const { body } = await service.call('POST', '/v1/secrets/reveal', { secret_ids: ids.toReversed() });
      const shown = body.data.map(({ name, value }: Record<string, string>) => [name, value]);
      assert.deepEqual(shown, [
        ['TWO', 'second'],
        ['ONE', 'first'],
      ]);
      const subjects = (await entries('secret.revealed')).map(
        (entry: { subject: { id: string } }) => entry.subject.id,
      );
      assert.deepEqual(subjects.toSorted(), ids.toSorted());
      const missing = [ids[0], '01999999-9999-7999-8999-999999999999'];
      const refused = await service.call('POST', '/v1/secrets/reveal', { secret_ids: missing });
      assert.equal(refused.status, 404, 'all or none');
      assert.equal((await entries('secret.revealed')).length, 2, 'nothing more was revealed');
      const twice = await service.call('POST', '/v1/secrets/reveal', { secret_ids: [ids[0], ids[0]] });
      assert.equal(twice.status, 400);
    });

    it('a copy takes the value with its tags and dates; where the name is taken it is a new version', async () => {
      const expiration_date = '2090-01-01T00:00:00.000Z';
      const fresh = await add(staging, 'FRESH', 'new there', { tags: { team: 'web' }, expiration_date });
      const known = await add(staging, 'KNOWN', 'newer');
      const there = await add(production, 'KNOWN', 'older');
      const body = { secret_ids: [fresh, known, there], vault_id: production };
      const copied = await service.call('POST', '/v1/secrets/copy', body);
      const statuses = copied.body.results.map(({ status }: { status: number }) => status);
      assert.deepEqual(statuses, [200, 200, 400], copied.text);
      const made = await named(production, 'FRESH');
      assert.deepEqual([made.tags, made.expiration_date], [{ team: 'web' }, expiration_date]);
      assert.deepEqual([await revealed(made.id), await revealed(there)], ['new there', 'newer']);
      assert.equal((await named(production, 'KNOWN')).version, 2);
      assert.equal((await entries('secret.copied')).length, 2);
      assert.equal((await named(staging, 'FRESH')).id, fresh, 'the source stays');
    });

    it('a move leaves the source in the trash', async () => {
      const id = await add(staging, 'MOVING', 'along');
      await service.call('POST', '/v1/secrets/copy', { secret_ids: [id], vault_id: production, move: true });
      assert.equal(await named(staging, 'MOVING'), undefined);
      assert.equal(await revealed((await named(production, 'MOVING')).id), 'along');
      const trash = await service.call('GET', `/v1/resources?vault_id=${staging}&state=deleted`);
      assert.deepEqual(
        trash.body.data.map((one: { name: string }) => one.name),
        ['MOVING'],
      );
    });

    it('values are compared with those of a vault without being shown, and the log says so', async () => {
      const id = await add(production, 'COMPARED', 'the value');
      const items = [
        { name: 'COMPARED', value: 'the value' },
        { name: 'COMPARED', value: 'another' },
        { name: 'ABSENT', value: 'the value' },
      ];
      const { body } = await service.call('POST', '/v1/secrets/compare', { vault_id: production, items });
      assert.deepEqual(body.results, [
        { name: 'COMPARED', id, version: 1, same: true },
        { name: 'COMPARED', id, version: 1, same: false },
        { name: 'ABSENT', id: null, version: null, same: false },
      ]);
      const [entry] = await entries('secrets.compared');
      assert.deepEqual([entry.subject.id, entry.details], [production, { secrets: 3 }]);
    });

    it('vaults are compared name by name: the same number is the same value', async () => {
      const [a, b, c] = [await vault('a'), await vault('b'), await vault('c')];
      for (const at of [a, b, c]) await add(at, 'SAME', 'equal');
      for (const at of [a, c]) await add(at, 'DIFFERENT', at);
      const vault_ids = [a, b, c];
      const { body } = await service.call('POST', '/v1/vaults/compare', { vault_ids });
      const table = (rows: { name: string; cells: ({ value: number } | null)[] }[]) =>
        rows.map(({ name, cells }) => [name, ...cells.map(cell => cell?.value ?? null)]);
      assert.deepEqual(table(body.rows), [
        ['DIFFERENT', 1, null, 2],
        ['SAME', 1, 1, 1],
      ]);
      const only = await service.call('POST', '/v1/vaults/compare', { vault_ids, different: true });
      assert.deepEqual([only.body.rows.length, only.body.pagination.total], [1, 1]);
      assert.equal((await entries('vault.compared')).length, 6, 'one for each vault, each time');
    });

    it('whoever may not reveal learns what is where, and nothing of values', async () => {
      const as = (path: string, body: object) => service.call('POST', path, body, viewer);
      const { body } = await as('/v1/vaults/compare', { vault_ids: [staging, production] });
      const cells = body.rows.flatMap((row: { cells: unknown[] }) => row.cells).filter(Boolean);
      assert.ok(cells.length > 0 && cells.every((cell: { value: unknown }) => cell.value === null));
      const before = (await entries('vault.compared')).length;
      assert.equal(before, 6, 'nothing was opened for them');
      const items = [{ name: 'COMPARED', value: 'the value' }];
      assert.equal((await as('/v1/secrets/compare', { vault_id: production, items })).status, 403);
      const id = await add(staging, 'KEPT', 'from them');
      assert.equal((await as('/v1/secrets/reveal', { secret_ids: [id] })).status, 403);
      assert.equal((await as('/v1/secrets/copy', { secret_ids: [id], vault_id: production })).status, 403);
    });

    it('a caller who compares more than a minute allows is refused, and the log says so; others are not', async () => {
      service.clock.standInNewMinute();
      const made = await service.call('POST', '/v1/api-keys', { name: 'guessing', role: 'editor' });
      const items = Array.from({ length: 100 }, (_, at) => ({ name: 'COMPARED', value: `guess ${at}` }));
      const compare = (key?: string) =>
        service.call('POST', '/v1/secrets/compare', { vault_id: production, items }, key);
      const whole = (key?: string) =>
        service.call('POST', '/v1/vaults/compare', { vault_ids: [staging, production] }, key);
      for (let hundreds = 0; hundreds < 12; hundreds++)
        assert.equal((await compare(made.body.token)).status, 200);
      const oneMore = { vault_id: production, items: items.slice(0, 1) };
      for (const refused of [
        await service.call('POST', '/v1/secrets/compare', oneMore, made.body.token),
        await whole(made.body.token),
      ]) {
        assert.equal(refused.status, 429, refused.text);
        assert.equal(refused.headers.get('retry-after'), '60');
      }
      const denied = (await entries('secrets.compared')).filter(
        ({ outcome, details }: Json) => outcome === 'denied' && details.reason === 'rate limit',
      );
      assert.deepEqual(
        denied.map(({ actor, subject }: Json) => [actor.id, subject.id]),
        [[made.body.id, production]],
      );
      assert.equal((await compare()).status, 200);
      service.clock.pass(60_000);
      assert.equal((await whole(made.body.token)).status, 200);
      service.clock.run();
    });

    it('a list is sorted by any column, either way, page by page; what has no date comes last', async () => {
      const vault_id = await vault('sorted');
      await add(vault_id, 'b', '1', { expiration_date: '2090-01-01T00:00:00Z', tags: { of: 'b' } });
      await add(vault_id, 'C', '1', { enabled: false, tags: { of: 'C' } });
      const a = await add(vault_id, 'a', '1', { expiration_date: '2080-01-01T00:00:00Z', tags: { of: 'a' } });
      await service.call('PUT', `/v1/secrets/${a}`, { value: '2' });
      const sorted = async (sort: string) => {
        const names: string[] = [];
        for (const page of [1, 2]) {
          const path = `/v1/secrets?vault_id=${vault_id}&limit=2&page=${page}${sort && `&sort=${sort}`}`;
          const { data } = (await service.call('GET', path)).body;
          for (const { name, tags } of data) assert.equal(tags.of, name, 'each with its own tags');
          names.push(...data.map((one: { name: string }) => one.name));
        }
        return names.join('');
      };
      assert.equal(await sorted(''), 'aCb');
      assert.deepEqual([await sorted('name'), await sorted('-name')], ['abC', 'Cba']);
      assert.deepEqual([await sorted('expires'), await sorted('-expires')], ['abC', 'baC']);
      assert.deepEqual([await sorted('version'), await sorted('-version')], ['Cba', 'aCb']);
      assert.deepEqual([await sorted('-state'), await sorted('-updated')], ['Cab', 'aCb']);
      assert.equal((await service.call('GET', '/v1/secrets?sort=value')).status, 400);
    });

    it('what vaults contain is counted, of the types that the caller may read', async () => {
      const [one, empty] = [await vault('counted'), await vault('empty')];
      await add(one, 'A', '1');
      await add(one, 'B', '1');
      const count = async (key?: string) =>
        (await service.call('GET', `/v1/vaults/counts?vault_ids=${one},${empty}`, undefined, key)).body.data;
      const none = { secrets: 0, keys: 0, certificates: 0 };
      const expected = [
        { vault_id: one, ...none, secrets: 2 },
        { vault_id: empty, ...none },
      ];
      const byId = (rows: { vault_id: string }[]) =>
        rows.toSorted((x, y) => (x.vault_id < y.vault_id ? -1 : 1));
      assert.deepEqual(byId(await count()), byId(expected));
      const scopes = ['vaults:read', 'keys:read'];
      const made = await service.call('POST', '/v1/api-keys', { name: 'some', role: 'owner', scopes });
      const [seen] = await count(made.body.token);
      assert.deepEqual([seen.secrets, seen.keys], [null, 0]);
      const elsewhere = { name: 'other', role: 'owner', vault_ids: [await vault('elsewhere')] };
      const other = await service.call('POST', '/v1/api-keys', elsewhere);
      assert.deepEqual(await count(other.body.token), []);
    });

    it('who has read a version, and when last: access keys that see it, and whoever revealed it', async () => {
      const vault_id = await vault('read');
      const id = await add(vault_id, 'READ_ME', 'one');
      const key = async (name: string, more = {}) =>
        (await service.call('POST', '/v1/access-keys', { vault_id, name, ...more })).body;
      const [all, others] = [await key('all'), await key('others', { names: ['OTHER_*'] })];
      const get = (token: string, query = '') =>
        service.call('GET', `/api/v1/vaults/${vault_id}${query}`, undefined, token);
      for (const query of ['', '?format=map', '?secrets=names']) await get(all.token, query);
      await get(others.token);
      await revealed(id);
      const readers = async (query = '') => {
        const { body } = await service.call('GET', `/v1/secrets/${id}/readers${query}`);
        return [body.version, ...body.data.map((one: Record<string, unknown>) => [one.name, one.reads])];
      };
      assert.deepEqual(await readers(), [1, ['Owner', 1], ['all', 2]]);
      await service.call('PUT', `/v1/secrets/${id}`, { value: 'two' });
      assert.deepEqual(await readers(), [2]);
      assert.deepEqual(await readers('?version=1'), [1, ['Owner', 1], ['all', 2]]);
      assert.equal((await service.call('GET', `/v1/secrets/${id}/readers`, undefined, viewer)).status, 403);
      const scopes = ['secrets:read', 'logs:read'];
      const { body: watcher } = await service.call('POST', '/v1/api-keys', {
        name: 'w',
        role: 'owner',
        scopes,
      });
      const path = `/v1/secrets/${id}/readers?version=1`;
      const { data } = (await service.call('GET', path, undefined, watcher.token)).body;
      const keys = data.filter(({ kind }: { kind: string }) => kind === 'access-key');
      assert.deepEqual(
        keys.map((one: { name: string; reads: number }) => [one.name, one.reads]),
        [['', 2]],
        'names of access keys are for those who may see them',
      );
    });

    it('the audit log is filtered by who acted', async () => {
      const made = (await service.call('POST', '/v1/api-keys', { name: 'actor', role: 'owner' })).body;
      await service.call('POST', '/v1/vaults', { name: 'by the actor' }, made.token);
      const { body } = await service.call('GET', `/v1/audit-logs?actor_id=${made.id}`);
      assert.deepEqual(
        [body.pagination.total, body.data.map((entry: { action: string }) => entry.action)],
        [1, ['vault.created']],
      );
    });

    it('a public token gets its public key as PEM by plain HTTP, and the request is in the log', async () => {
      const key = await service.call('POST', '/v1/keys', {
        vault_id: staging,
        name: 'signing',
        generate: { key_type: 'OKP', curve: 'Ed25519' },
        exportable: false,
      });
      assert.deepEqual([key.body.type, key.body.has_private_key], ['public', true]);
      const token = await service.call('POST', '/v1/public-tokens', { key_id: key.body.id });
      const read = (with_: string | null, method = 'GET') =>
        service.call(method, '/api/v1/public-key', undefined, with_);
      const answer = await read(token.body.token);
      assert.deepEqual([answer.status, answer.text], [200, key.body.public_pem]);
      assert.equal(answer.headers.get('content-type'), 'application/x-pem-file');
      const receipt = answer.headers.get('strongroom-receipt')!;
      const [entry] = (await service.call('GET', '/v1/request-logs')).body.data;
      assert.deepEqual([entry.route, entry.receipt], ['/api/v1/public-key', receipt]);
      assert.equal((await read(null)).status, 401);
      assert.equal((await read(service.key)).status, 401, 'no other credential opens it');
      assert.equal((await read(token.body.token, 'POST')).status, 404);
      await service.call('DELETE', `/v1/public-tokens/${token.body.id}`);
      assert.equal((await read(token.body.token)).status, 401);
    });
  });
}
