/** What a secret refers to and what refers to it, as far as the caller may see it. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are written so
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { engines, type Service, startService } from './harness.ts';
import { inDatabase } from './storage.ts';

for (const engine of engines) {
  describe(`what refers to a secret on ${engine}`, () => {
    let service: Service;
    let app: string;
    let shared: string;
    let password: string;

    before(async () => {
      service = await startService({ engine });
      shared = (await make('vaults', { name: 'shared' })).id;
      app = (await make('vaults', { name: 'app' })).id;
      await service.call('PUT', `/v1/vaults/${shared}`, { referable_from: [app] });
      password = await value('PASSWORD', 'p', shared);
    });
    after(() => service.stop());

    const make = async (kind: string, body: unknown) => {
      const answer = await service.call('POST', `/v1/${kind}`, body);
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    };
    const value = async (name: string, text: string, vault_id: string, kind = 'value'): Promise<string> =>
      (await make('secrets', { vault_id, name, value: text, kind })).id;
    const links = (id: string, by?: string) =>
      service.call('GET', `/v1/secrets/${id}/references`, undefined, by);
    const keyOf = async (vault: string): Promise<string> =>
      (await make('api-keys', { name: `of ${vault}`, role: 'viewer', vault_ids: [vault] })).token;

    it('shows templates at any distance, nearest first, and only what the caller may see', async () => {
      const near = await value('NEAR', '${PASSWORD}', shared, 'template');
      const url = await value('URL', 'x:${vault:shared/PASSWORD}', app, 'template');
      const outer = await value('OUTER', '<${URL}>', app, 'template');
      const { body } = await links(password);
      const shown = (list: { id: string; direct: boolean }[]) => list.map(({ id, direct }) => [id, direct]);
      assert.deepEqual(shown(body.used_by), [
        [url, true],
        [near, true],
        [outer, false],
      ]);
      assert.deepEqual([body.complete, body.refers_to], [true, []]);
      const { active, vault_name } = body.used_by[0];
      assert.deepEqual([active, vault_name], [true, 'app']);
      const there = (await links(password, await keyOf(shared))).body;
      assert.deepEqual(shown(there.used_by), [[near, true]], 'nothing of the other vault');
      const here = (await links(url, await keyOf(app))).body;
      assert.deepEqual([here.refers_to, shown(here.used_by)], [[], [[outer, true]]]);
      assert.deepEqual(shown((await links(url)).body.refers_to), [[password, true]]);
      assert.equal((await links(password, await keyOf(app))).status, 404);
      await service.call('DELETE', `/v1/secrets/${outer}`);
      assert.deepEqual(shown((await links(url)).body.used_by), []);
      await service.call('PUT', `/v1/secrets/${near}`, { kind: 'value', value: 'plain' });
      assert.deepEqual(shown((await links(password)).body.used_by), [[url, true]]);
    });

    it('shows before a vault is deleted which templates of other vaults refer to it, to those who may see them', async () => {
      const [from, into] = [
        (await make('vaults', { name: 'from' })).id,
        (await make('vaults', { name: 'into' })).id,
      ];
      await service.call('PUT', `/v1/vaults/${into}`, { referable_from: [from] });
      await value('A', 'a', into);
      await value('B', 'b', into);
      await value('WITHIN', '${A}', into, 'template');
      const both = await value('BOTH', '${vault:into/A}${vault:into/B}', from, 'template');
      const of = (by?: string) => service.call('GET', `/v1/vaults/${into}/references`, undefined, by);
      const { body } = await of();
      assert.deepEqual(
        [
          body.used_by.map((one: { id: string; vault_name: string }) => [one.id, one.vault_name]),
          body.complete,
        ],
        [[[both, 'from']], true],
      );
      assert.deepEqual((await of(await keyOf(into))).body, { used_by: [], complete: true });
      assert.equal((await of(await keyOf(from))).status, 404);
      await service.call('DELETE', `/v1/secrets/${both}`);
      assert.deepEqual((await of()).body.used_by, []);
    });

    it('an entry that someone put into the index is not shown', async () => {
      const plain = await value('PLAIN', 'no reference', app);
      const added = 'INSERT INTO secret_references (referrer_id, target_id) VALUES (?, ?)';
      await inDatabase(service, added, plain, password);
      const { used_by } = (await links(password)).body;
      assert.ok(!used_by.some(({ id }: { id: string }) => id === plain));
      assert.equal(used_by.length, 1);
    });

    it('shows at most 100, and says that there are more', async () => {
      const source = await value('SOURCE', 's', app);
      for (let from = 0; from < 101; from += 100) {
        const items = Array.from({ length: Math.min(100, 101 - from) }, (_, at) => ({
          vault_id: app,
          name: `R${from + at}`,
          kind: 'template',
          value: '${SOURCE}',
        }));
        await make('secrets/bulk', { items });
        const { body } = await links(source);
        assert.deepEqual([body.used_by.length, body.complete], [100, from === 0]);
      }
    });
  });
}
