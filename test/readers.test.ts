/** Several readers: what one knows all know, what is counted is counted once, and what befalls one leaves the others. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { run } from './command.ts';
import { engines, eventually, type Service, startService } from './harness.ts';
import { type LastingClient, lastingClient } from './lasting-connections.ts';
import { secretName, startUsesWorld } from './uses-world.ts';

const readers = 2;
const closeAll = (clients: readonly LastingClient[]) => {
  for (const client of clients) client.close();
};
const vault = (id: string) => `/api/v1/vaults/${id}`;

for (const engine of engines) {
  describe(`several readers on ${engine}`, () => {
    let service: Service;
    let started: Worker[];
    let vaultId: string;
    /** As many for each reader, since each new connection goes to the reader with the fewest. */
    let clients: LastingClient[];

    before(async () => {
      started = [];
      const note = (worker: Worker) => void started.push(worker);
      process.on('worker', note);
      service = await startService({ engine, readers });
      process.off('worker', note);
      started = started.filter(({ threadId }) => threadId !== -1);
      vaultId = (await service.call('POST', '/v1/vaults', { name: 'readers' })).body.id;
      await service.call('POST', '/v1/secrets', { vault_id: vaultId, name: 'S', value: 'seen' });
      clients = Array.from({ length: 2 * readers }, () => lastingClient(service.url));
      // One after another, so that each is counted before the next is dealt.
      for (const client of clients) assert.equal((await client.get('/livez')).status, 200);
    });
    after(async () => {
      closeAll(clients);
      await service.stop();
    });

    const newKey = async (more: object = {}) =>
      (await service.call('POST', '/v1/access-keys', { vault_id: vaultId, name: 'k', ...more })).body;
    const readOnAll = (token: string, headers = {}, times = 1) =>
      Promise.all(
        clients.flatMap(client =>
          Array.from({ length: times }, () => client.get(vault(vaultId), token, headers)),
        ),
      );
    const counted = (answers: readonly { status: number }[]) =>
      Object.fromEntries(
        [...Map.groupBy(answers, ({ status }) => status)].map(([status, { length }]) => [status, length]),
      );

    it('a revoked access key is refused on all of them by the very next request, however it was answered before', async () => {
      for (let turn = 0; turn < 15; turn++) {
        const key = await newKey();
        const [first] = await readOnAll(key.token);
        const known = { 'if-none-match': String(first!.headers.etag) };
        assert.deepEqual(counted(await readOnAll(key.token, known)), { 304: clients.length });
        await service.call('DELETE', `/v1/access-keys/${key.id}`);
        const late = await readOnAll(key.token, turn % 2 === 0 ? known : {});
        assert.ok(
          late.every(({ status }) => status === 401 || status === 429),
          JSON.stringify(counted(late)),
        );
      }
    });

    it('a changed value is read on all of them by the very next request', async () => {
      const { token } = await newKey();
      const { body } = await service.call('GET', `/v1/secrets?vault_id=${vaultId}`);
      for (let turn = 0; turn < 15; turn++) {
        await service.call('PUT', `/v1/secrets/${body.data[0].id}`, { value: `value ${turn}` });
        for (const { text } of await readOnAll(token)) assert.match(text, new RegExp(`"value ${turn}"`));
      }
    });

    it('a limit per minute is exact over all of them', async () => {
      service.clock.standInNewMinute();
      const { token } = await newKey({ rate_limit: 7 });
      assert.deepEqual(counted(await readOnAll(token, {}, 5)), { 200: 7, 429: 5 * clients.length - 7 });
      service.clock.run();
    });

    it('a number of uses is exact over all of them', async () => {
      const { token } = await newKey({ max_uses: 6 });
      const answers: { status: number }[] = [];
      // A request that lost too many races may be repeated.
      for (let turn = 0; turn < 10; turn++) answers.push(...(await readOnAll(token)));
      assert.equal(counted(answers)[200], 6);
      assert.equal(counted(await readOnAll(token))[200], undefined);
    });

    it('failures on all of them count against the same address', async () => {
      service.clock.standInNewMinute();
      for (let turn = 0; turn < 60; turn++) {
        const answer = await clients[turn % clients.length]!.get(vault(vaultId), 'sr_vault_bad');
        assert.equal(answer.status, 401, `attempt ${turn}`);
      }
      for (const client of clients)
        assert.equal((await client.get(vault(vaultId), 'sr_vault_bad')).status, 429);
      assert.equal((await clients[0]!.get('/v1/vaults', 'sr_api_bad')).status, 429);
      service.clock.run();
      service.clock.pass(61_000);
    });

    it('a read of each is in the log that management shows', async () => {
      const { token } = await newKey();
      const receipts = (await readOnAll(token)).map(({ headers }) => headers['strongroom-receipt']);
      const { body } = await service.call(
        'GET',
        `/v1/request-logs?vault_id=${vaultId}&limit=${receipts.length}`,
      );
      const shown = body.data.map((entry: { receipt: string }) => entry.receipt);
      assert.deepEqual(shown.toSorted(), receipts.toSorted());
    });

    it('tool calls continue their session on any of them', async () => {
      const { token } = await newKey();
      const call = (client: LastingClient, message: object, session = {}) =>
        client.send('POST', '/mcp', { jsonrpc: '2.0', id: 1, ...message }, token, {
          ...{ accept: 'application/json, text/event-stream' },
          ...session,
        });
      const params = {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 't', version: '1' },
      };
      const { headers } = await call(clients[0]!, { method: 'initialize', params });
      const session = { 'mcp-session-id': String(headers['mcp-session-id']) };
      for (const client of clients) {
        const { status, text } = await call(client, { method: 'tools/list', params: {} }, session);
        assert.equal(status, 200, text);
      }
    });

    it('one that fails or ends takes only its own connections with it, loses nothing, and comes back', async () => {
      const { token } = await newKey();
      // The management plane's thread was started first, then the readers'.
      const [, failing, ending] = started;
      const receipts: string[] = [];
      let isOver = false;
      const load = clients.map(async () => {
        let client = lastingClient(service.url);
        while (!isOver) {
          const answer = await client.get(vault(vaultId), token).catch(() => null);
          if (answer?.status === 200) receipts.push(String(answer.headers['strongroom-receipt']));
          if (answer === null) {
            client.close();
            client = lastingClient(service.url);
          }
        }
        client.close();
      });
      const readsGoOn = (already = receipts.length) =>
        eventually('reads go on', async () => receipts.length > already + 20);
      await readsGoOn();
      failing!.postMessage([{ name: 'no such service', input: [] }]); // It throws an error.
      await new Promise(resolve => failing!.once('exit', resolve));
      await readsGoOn();
      await eventually('it comes back', async () => {
        const { text } = await service.call('GET', '/readyz');
        return text.includes('ok') || text.includes('ready');
      });
      await eventually('the failure is reported', async () =>
        service.reports.some(line => line.includes('reader 1 failed')),
      );
      await ending!.terminate();
      await readsGoOn();
      isOver = true;
      await Promise.all(load);
      for (const receipt of receipts.slice(-3)) assert.match(receipt, /^\S+$/);
      const flags = receipts.flatMap(receipt => ['--receipt', receipt]).slice(-400);
      const verified = await run(['audit', 'verify', ...service.place, ...flags]);
      assert.match(verified.stdout, /The logs are intact/);
    });

    it('while the management plane is away reads go on, and everything else is told to come back', async () => {
      await started[0]!.terminate();
      const { token } = { token: service.key };
      const client = lastingClient(service.url);
      assert.equal((await client.get('/livez')).status, 200);
      assert.equal((await client.get('/v1/vaults', token)).status, 503);
      await eventually('it is back for every reader', async () =>
        (
          await Promise.all([1, 2, 3, 4].map(() => lastingClient(service.url).get('/v1/vaults', token)))
        ).every(({ status }) => status === 200),
      );
      client.close();
    });
  });
}

describe('several readers', () => {
  it('serve TLS, and limit connections together', async t => {
    const flags = ['--tls', 'auto', '--connections-per-address', '3'];
    const service = await startService({ readers, flags });
    t.after(() => service.stop());
    const ca = await readFile(join(service.data, 'tls', 'authority.pem'), 'utf8');
    const clients = Array.from({ length: 3 }, () => lastingClient(service.url, ca));
    t.after(() => closeAll(clients));
    for (const client of clients) {
      assert.equal((await client.get('/livez')).status, 200);
      assert.equal((await client.get('/v1/vaults', service.key)).status, 200);
    }
    const fourth = lastingClient(service.url, ca);
    await assert.rejects(fourth.get('/livez'));
    clients[0]!.close();
    await eventually('the place is free again', () =>
      lastingClient(service.url, ca)
        .get('/livez')
        .then(
          () => true,
          () => false,
        ),
    );
    fourth.close();
  });

  it('pass uses to one plane, which knows what was changed through another reader', async t => {
    const world = await startUsesWorld('sqlite', true, readers);
    t.after(() => world.stop());
    const { service, upstream, vaultId } = world;
    const rule = await world.rule();
    const clients = Array.from({ length: readers }, () => lastingClient(service.url));
    t.after(() => closeAll(clients));
    const use = (client: LastingClient, token: string) =>
      client.send(
        'POST',
        `${vault(vaultId)}/use`,
        { secret: secretName, url: `${upstream.url}/echo` },
        token,
      );
    const usedBy = async (token: string) => {
      const answers = await Promise.all(clients.map(client => use(client, token)));
      return answers.map(({ status }) => status);
    };
    for (let turn = 0; turn < 10; turn++) {
      await service.call('PUT', `/v1/use-rules/${rule}`, { methods: ['POST'] });
      assert.deepEqual(await usedBy(world.agent), [403, 403]);
      await service.call('PUT', `/v1/use-rules/${rule}`, { methods: ['GET'] });
      assert.deepEqual(await usedBy(world.agent), [200, 200]);
    }
    const wanted = { vault_id: vaultId, name: 'brief', names_only: true, may_use: true };
    const { body: key } = await service.call('POST', '/v1/access-keys', wanted);
    assert.deepEqual(await usedBy(key.token), [200, 200]);
    await service.call('DELETE', `/v1/access-keys/${key.id}`);
    assert.deepEqual(await usedBy(key.token), [401, 401]);
  });
});
