/** Batches: several messages in one body, as the revision of 2025-03-26 has them and no other. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { enginesInTurn } from './harness.ts';
import { makeAccessKey, post, rpcSession, startWorld, type World } from './mcp-world.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
type Json = any;

const call = (id: unknown, name: string, args: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
});
const note = { jsonrpc: '2.0', method: 'notifications/initialized' };

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`batches on ${engine}`, () => {
    let world: World;
    let url: string;
    let session: string;

    before(async () => {
      world = await startWorld(engine);
      url = world.service.url;
      session = await rpcSession(url, '2025-03-26');
    });
    after(() => world.service.stop());

    const send = (messages: unknown, more = {}) =>
      post(url, messages, { session, key: world.accessKey, ...more });
    const total = async (query = '') =>
      (await world.service.call('GET', `/v1/request-logs?vault_id=${world.vaultId}${query}`)).body.pagination
        .total as number;

    it('answer each request with its own id, in order, and nothing for a notification', async () => {
      const answer = await send([
        call('a', 'secrets.get', { name: 'DATABASE_URL' }),
        note,
        { jsonrpc: '2.0', id: 2, method: 'tools/list' },
        call(3, 'secrets.get', { name: 'API_TOKEN', includeValue: true }),
        { jsonrpc: '2.0', id: 'ping', method: 'ping' },
        call(5, 'no.such.tool'),
        call(6, 'secrets.get', { name: 'NONE' }),
      ]);
      assert.equal(answer.status, 200, answer.text);
      const ids = answer.body.map((one: Json) => one.id);
      assert.deepEqual(ids, ['a', 2, 3, 'ping', 5, 6]);
      const [first, listed, second, ping, unknown, missing] = answer.body;
      assert.equal(first.result.structuredContent.name, 'DATABASE_URL');
      assert.equal(listed.result.tools.length, 12);
      assert.equal(second.result.structuredContent.value, 'token-value');
      assert.deepEqual(ping.result, {});
      assert.equal(unknown.error.code, -32602);
      assert.equal(missing.result.structuredContent.status, 404);
    });

    it('write each call down, and name all their entries', async () => {
      const before = await total();
      const answer = await send([
        call(1, 'keys.list'),
        call(2, 'secrets.list'),
        call(3, 'keys.get', { id: 'x' }),
      ]);
      assert.equal((await total()) - before, 3);
      const { data } = (await world.service.call('GET', '/v1/request-logs?limit=3')).body;
      const receipts = answer.headers.get('strongroom-receipt')!.split(', ');
      assert.deepEqual(receipts.sort(), data.map((entry: Json) => entry.receipt).sort());
      assert.deepEqual(data.map((entry: Json) => entry.tool).sort(), [
        'keys.get',
        'keys.list',
        'secrets.list',
      ]);
    });

    it('of notifications alone are taken and not answered', async () => {
      const answer = await send([note, note]);
      assert.deepEqual([answer.status, answer.text], [202, '']);
    });

    it('are refused by every other revision, and by the bare form', async () => {
      for (const revision of ['2025-06-18', '2025-11-25', '2024-11-05']) {
        const other = await rpcSession(url, revision);
        const answer = await send([call(1, 'secrets.list', { namesOnly: false })], { session: other });
        assert.deepEqual([answer.status, answer.body.error?.code], [400, -32600], revision);
        assert.doesNotMatch(answer.text, /hunter2/);
      }
      const headers = { 'mcp-protocol-version': '2025-06-18' };
      assert.equal((await send([call(1, 'secrets.list')], { headers })).status, 400);
      const same = { 'mcp-protocol-version': '2025-03-26' };
      assert.equal((await send([call(1, 'secrets.list')], { headers: same })).status, 200);
      const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call' };
      assert.equal((await send([call(1, 'secrets.list')], { headers: modern })).status, 400);
      const bare = await send([{ method: 'tools/call', params: { name: 'secrets.list' } }]);
      assert.deepEqual([bare.status, bare.body[0].error.code, bare.body[0].id], [200, -32600, null]);
    });

    it('are bounded, hold no initialize, and no id twice', async () => {
      const status = async (messages: unknown) => (await send(messages)).status;
      const many = (count: number) => Array.from({ length: count }, (_, id) => call(id, 'vault.describe'));
      assert.equal(await status(many(50)), 200);
      const before = await total();
      assert.equal(await status(many(51)), 400);
      assert.equal(await status([]), 400);
      assert.equal(await status([call(1, 'secrets.list'), call(1, 'keys.list')]), 400);
      assert.equal(await total(), before, 'none of these was carried out in part');
      const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} };
      const mixed = await send([initialize, 'text', [call(9, 'keys.list')], call(2, 'keys.list')]);
      assert.deepEqual(
        mixed.body.map((one: Json) => one.error?.code ?? 'answered'),
        [-32600, -32600, -32600, 'answered'],
      );
      assert.equal(mixed.headers.get('mcp-session-id'), null);
    });

    it('need a session, and their calls are in the log where it is wrong', async () => {
      const before = await total('&status=404');
      const answer = await send([call(1, 'secrets.list'), call(2, 'keys.list')], {
        session: 'sr_mcp_unknown',
      });
      assert.equal(answer.status, 404, answer.text);
      assert.equal((await total('&status=404')) - before, 2);
      assert.equal((await send([call(1, 'secrets.list')], { session: undefined })).status, 400);
      assert.equal((await send([call(1, 'secrets.list')], { key: 'sr_vault_bad' })).status, 401);
    });

    it('that come at once, and calls to two vaults in one, never mix answers', async () => {
      const second = (await world.service.call('POST', '/v1/vaults', { name: 'second' })).body.id;
      await world.service.call('POST', '/v1/secrets', {
        vault_id: second,
        name: 'TWO',
        value: 'second-value',
      });
      const { token } = await makeAccessKey(world.service, second);
      const connections = [
        { vaultId: world.vaultId, accessKey: world.accessKey },
        { vaultId: second, accessKey: token },
      ];
      const batch = async (round: number) => {
        const messages = Array.from({ length: 20 }, (_, at) =>
          call(`${round}-${at}`, 'vault.describe', { vault: connections[(round + at) % 2] }),
        );
        const { body } = await post(url, messages, { session });
        for (const [at, one] of body.entries()) {
          assert.equal(one.id, `${round}-${at}`);
          assert.equal(one.result.structuredContent.vault.id, connections[(round + at) % 2]!.vaultId);
        }
      };
      await Promise.all(Array.from({ length: 20 }, (_, round) => batch(round)));
    });
  });
}
