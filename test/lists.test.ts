/** Lists: pages, totals, filters and searches, and the indexes that keep them fast. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Json, unique } from './document.ts';
import { engines, type Service, startService } from './harness.ts';

for (const engine of engines) {
  describe(`lists on ${engine}`, () => {
    let service: Service;
    let vaultId: string;

    before(async () => {
      service = await startService({ engine });
      vaultId = (await ok('POST', '/v1/vaults', { name: 'pages' })).id;
      for (let at = 0; at < 25; at++) await secret(`SECRET_${String(at).padStart(2, '0')}`);
    });
    after(() => service.stop());

    async function ok(method: string, path: string, body?: unknown): Promise<Json> {
      const answer = await service.call(method, path, body);
      assert.equal(answer.status, 200, `${method} ${path}: ${answer.text}`);
      return answer.body;
    }

    const secret = (name: string, more: object = {}) =>
      ok('POST', '/v1/secrets', { vault_id: vaultId, name, value: 'x', ...more });
    const names = async (path: string): Promise<string[]> =>
      (await ok('GET', path)).data.map((item: Json) => item.name);
    /** A vault of its own, so that nothing else is listed. */
    const fresh = async () => (await ok('POST', '/v1/vaults', { name: unique('fresh') })).id as string;

    it('page 1 of 20 without being asked, newest first, with the total', async () => {
      const { data, pagination } = await ok('GET', '/v1/secrets');
      assert.deepEqual(pagination, { total: 25, page: 1, limit: 20 });
      assert.equal(data.length, 20);
      assert.equal(data[0].name, 'SECRET_24');
      const ids = data.map((item: Json) => item.id);
      assert.deepEqual(ids, [...ids].sort().reverse());
    });

    it('pages meet without gap or repetition, and beyond the last one there is nothing', async () => {
      const seen: string[] = [];
      for (let page = 1; page <= 4; page++) seen.push(...(await names(`/v1/secrets?page=${page}&limit=7`)));
      assert.equal(seen.length, 25);
      assert.equal(new Set(seen).size, 25);
      const beyond = await ok('GET', '/v1/secrets?page=999999999&limit=100');
      assert.deepEqual(beyond, { data: [], pagination: { total: 25, page: 999999999, limit: 100 } });
    });

    it('the Link header leads through pages that stay stable while others add to the list', async () => {
      const seen: string[] = [];
      let path: string | undefined = '/v1/secrets?limit=10&q=secret_';
      while (path !== undefined) {
        const answer = await service.call('GET', path);
        assert.equal(answer.body.pagination.total, 25);
        seen.push(...answer.body.data.map((item: Json) => item.name));
        await secret(unique('SECRET_LATER'));
        path = /<([^>]+)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
      }
      assert.equal(seen.length, 25);
      assert.equal(new Set(seen).size, 25);
      assert.equal(
        seen.some(name => name.includes('LATER')),
        false,
      );
    });

    it('the Link header is on every collection that has more', async () => {
      for (const [collection, body] of [
        ['/v1/members', () => ({ email: `${unique('x')}@example.com`, role: 'viewer' })],
        ['/v1/api-keys', () => ({ name: unique('x'), role: 'viewer' })],
      ] as const) {
        for (let at = 0; at < 3; at++) await ok('POST', collection, body());
        const first = await service.call('GET', `${collection}?limit=2`);
        const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1];
        assert.ok(next?.includes('as_of='), collection);
        await ok('POST', collection, body());
        const second = await ok('GET', next!);
        const newest = first.body.data[1].id;
        assert.ok(
          second.data.every((item: Json) => item.id < newest),
          'a page repeats what was shown',
        );
      }
    });

    it('`q` finds part of a name in any case, and takes the wildcards of the database for themselves', async () => {
      const vault_id = await fresh();
      for (const name of ['50%_off', '50 percent off', 'back\\slash', 'ÄRGER', 'quote"\''])
        await ok('POST', '/v1/secrets', { vault_id, name, value: 'x' });
      const find = (q: string) => names(`/v1/secrets?vault_id=${vault_id}&q=${encodeURIComponent(q)}`);
      assert.deepEqual(await find('0%_o'), ['50%_off']);
      assert.deepEqual(await find('%'), ['50%_off']);
      assert.deepEqual(await find('_'), ['50%_off']);
      assert.deepEqual(await find('\\'), ['back\\slash']);
      assert.deepEqual(await find('ärg'), ['ÄRGER']);
      assert.deepEqual(await find('ERCENT'), ['50 percent off']);
      assert.deepEqual(await find(`"'`), ['quote"\'']);
      assert.deepEqual(await find('nothing'), []);
    });

    it('`q` does the same on credentials and members', async () => {
      await ok('POST', '/v1/api-keys', { name: 'Schlüssel 100%', role: 'viewer' });
      await ok('POST', '/v1/members', { email: 'under_score@example.com', role: 'viewer' });
      await ok('POST', '/v1/members', { email: 'underXscore@example.com', role: 'viewer' });
      assert.deepEqual(await names('/v1/api-keys?q=SCHL%C3%9CSSEL'), ['Schlüssel 100%']);
      assert.deepEqual(await names('/v1/api-keys?q=0%25'), ['Schlüssel 100%']);
      assert.deepEqual(await names('/v1/members?q=R_S'), ['under_score@example.com']);
    });

    it('`tag` finds what carries exactly this tag, through every change of tags', async () => {
      const vault_id = await fresh();
      const make = (name: string, tags: object) =>
        ok('POST', '/v1/secrets', { vault_id, name, value: 'x', tags });
      const { id } = await make('A', { team: 'pay=ments', env: 'prod' });
      await make('B', { team: 'web' });
      const find = (tag: string) => names(`/v1/secrets?vault_id=${vault_id}&tag=${encodeURIComponent(tag)}`);
      assert.deepEqual(await find('team=pay=ments'), ['A']);
      assert.deepEqual(await find('team=pay'), []);
      await ok('PUT', `/v1/secrets/${id}`, { tags: { team: 'web' } });
      assert.deepEqual(await find('team=pay=ments'), []);
      assert.deepEqual(await find('env=prod'), []);
      assert.deepEqual(await find('team=web'), ['B', 'A']);
      await ok('PUT', `/v1/secrets/${id}`, { tags: {} });
      assert.deepEqual(await find('team=web'), ['B']);
    });

    it('`state` tells active, inactive, expired, disabled and deleted apart', async () => {
      const vault_id = await fresh();
      const make = (name: string, more: object) =>
        ok('POST', '/v1/secrets', { vault_id, name, value: 'x', ...more });
      const future = new Date(service.clock.now() + 86_400_000).toISOString();
      const past = new Date(service.clock.now() - 86_400_000).toISOString();
      await make('active', { activation_date: past, expiration_date: future });
      await make('inactive', { activation_date: future });
      await make('expired', { expiration_date: new Date(service.clock.now() + 1_000).toISOString() });
      service.clock.pass(1_000);
      await make('disabled', { enabled: false });
      const { id } = await make('deleted', {});
      await ok('DELETE', `/v1/secrets/${id}`);
      for (const state of ['active', 'inactive', 'expired', 'disabled', 'deleted']) {
        const { data, pagination } = await ok('GET', `/v1/secrets?vault_id=${vault_id}&state=${state}`);
        assert.deepEqual(
          data.map((item: Json) => item.name),
          [state],
        );
        assert.equal(pagination.total, 1);
      }
      assert.equal((await ok('GET', `/v1/secrets?vault_id=${vault_id}`)).pagination.total, 4);
    });

    it('`type` and `vault_id` narrow the common collection, and each total is right', async () => {
      const vault_id = await fresh();
      const generate = { key_type: 'OKP', curve: 'Ed25519' };
      await ok('POST', '/v1/secrets', { vault_id, name: 'S', value: 'x' });
      await ok('POST', '/v1/keys', { vault_id, name: 'K', generate });
      const count = async (query: string) => (await ok('GET', `/v1/resources?${query}`)).pagination.total;
      assert.equal(await count(`vault_id=${vault_id}`), 3);
      for (const type of ['vault', 'secret', 'key'])
        assert.equal(await count(`vault_id=${vault_id}&type=${type}`), 1, type);
      assert.equal(await count(`vault_id=${vault_id}&type=certificate`), 0);
      const byType = await Promise.all(
        ['vault', 'secret', 'key', 'certificate'].map(type => count(`type=${type}`)),
      );
      assert.equal(
        byType.reduce((sum, one) => sum + one, 0),
        await count(''),
      );
    });

    it('what another organization has is in no list and no total', async () => {
      const { key } = await service.organization(unique('Neighbour'));
      for (const collection of ['resources', 'vaults', 'secrets', 'access-keys', 'members', 'request-logs']) {
        const { body } = await service.call('GET', `/v1/${collection}`, undefined, key);
        assert.deepEqual(body.data, [], collection);
        assert.equal(body.pagination.total, 0, collection);
      }
      const { body } = await service.call('GET', `/v1/secrets?vault_id=${vaultId}`, undefined, key);
      assert.deepEqual(body, { data: [], pagination: { total: 0, page: 1, limit: 20 } });
    });

    it('the request log is exported as JSON Lines and as CSV that no spreadsheet runs', async () => {
      const vault_id = await fresh();
      const { token } = await ok('POST', '/v1/access-keys', { vault_id, name: 'reader' });
      const agent = { 'user-agent': '=HYPERLINK("http://x","y")' };
      for (let at = 0; at < 3; at++)
        await service.call('GET', `/api/v1/vaults/${vault_id}`, undefined, token, agent);
      const list = await ok('GET', `/v1/request-logs?vault_id=${vault_id}`);
      assert.equal(list.pagination.total, 3);
      const lines = await service.call('GET', `/v1/request-logs/export?vault_id=${vault_id}`);
      assert.match(lines.headers.get('content-type')!, /^application\/jsonl/);
      const entries: Json[] = lines.text
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line));
      assert.deepEqual(entries, list.data);
      const csv = await service.call('GET', `/v1/request-logs/export?format=csv&vault_id=${vault_id}`);
      const [header, first] = csv.text.split('\n');
      assert.match(csv.headers.get('content-type')!, /^text\/csv/);
      assert.equal(header!.split(',')[0], 'id');
      assert.ok(first!.includes(`"'=HYPERLINK(""http://x"",""y"")"`), first!);
      assert.deepEqual(await ok('GET', `/v1/request-logs/${entries[0].id}`), entries[0]);
    });

    it('no name begins a formula in an exported log, however it is written', async () => {
      const signs = [
        '=',
        '+',
        '-',
        '@',
        '|',
        '\uff1d',
        '\uff0b',
        '\uff0d',
        '\uff20',
        '\u2212',
        ' =',
        '\u00a0@',
      ];
      for (const sign of signs) await ok('POST', '/v1/vaults', { name: `${sign}1+1` });
      const { text } = await service.call('GET', '/v1/audit-logs/export?format=csv&action=vault.created');
      const cells = [...text.matchAll(/"((?:[^"]|"")*)"/g)].map(([, cell]) => cell!);
      for (const sign of signs) assert.ok(cells.includes(`'${sign}1+1`), JSON.stringify(sign));
    });
  });
}
