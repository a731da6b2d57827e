/** Runs: what an agent does for one purpose, until an end and within budgets, and what ends with it. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { narrow } from '../src/client/narrow.ts';
import { callService, enginesInTurn } from './harness.ts';
import { secretName, startUsesWorld, type UsesWorld, value } from './uses-world.ts';

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`runs, on ${engine}`, () => {
    let world: UsesWorld;
    let ruleId: string;
    before(async () => {
      world = await startUsesWorld(engine);
      ruleId = await world.rule({ name: 'upstream' });
      await world.rule({ name: 'asks', approval: 'always', paths: ['/own/asked/**'] });
    });
    after(() => world.stop());

    const start = async (more: Record<string, unknown> = {}) => {
      const wanted = { purpose: 'Label new issues', vault_ids: [world.vaultId], ...more };
      const { status, body, text } = await world.service.call('POST', '/v1/runs', wanted);
      assert.equal(status, 200, text);
      return body;
    };
    const url = () => `${world.upstream.url}/own/x`;
    const used = (token: string, call: Record<string, unknown> = {}) =>
      world.use({ url: url(), ...call }, token);
    const get = async (id: string) => (await world.service.call('GET', `/v1/runs/${id}`)).body;
    const end = (id: string) => world.service.call('POST', `/v1/runs/${id}/end`, {});
    const own = (token: string, method: string, path: string, body?: unknown) =>
      callService(world.service.url, method, `/api/v1/vaults/self/${path}`, body, token);
    const via = (token: string, init: RequestInit = {}, base = world.service.url) =>
      fetch(`${base}/via/upstream/own/x`, { ...init, headers: { authorization: `Bearer ${token}` } });

    it('gives an access key that uses secrets, reads no values, and knows its run', async () => {
      const run = await start();
      assert.equal((await used(run.token)).status, 200);
      assert.equal(world.upstream.requests.at(-1)!.headers.authorization, `Bearer ${value}`);
      const read = await callService(world.service.url, 'GET', '/api/v1/vaults/self', undefined, run.token);
      assert.equal(read.status, 200);
      assert.ok(read.text.includes(secretName) && !read.text.includes(value));
      const now = await get(run.id);
      assert.deepEqual(now.used, { uses: 1, writes: 0, bytes: null });
      assert.deepEqual(
        [now.state, now.purpose, now.created_by],
        ['active', 'Label new issues', now.created_by],
      );
      const { body, text } = await world.service.call('GET', `/v1/request-logs?run_id=${run.id}`);
      assert.ok(body.pagination, text + world.service.reports.join('\n'));
      assert.equal(body.pagination.total, 3, 'the use before and after it was sent, and the read');
      assert.ok(body.data.every((entry: { run_id: string }) => entry.run_id === run.id));
      const all = (await world.service.call('GET', '/v1/request-logs')).body.data;
      assert.equal(all.filter((entry: { run_id: string | null }) => entry.run_id === run.id).length, 3);
    });

    it('counts what is used before it leaves, and refuses what is over a budget', async () => {
      const run = await start({ budgets: { uses: 3, writes: 1 } });
      assert.equal((await used(run.token, { method: 'POST', body: 'x' })).status, 200);
      const sent = world.upstream.requests.length;
      const write = await used(run.token, { method: 'POST', body: 'x' });
      assert.equal(write.status, 403);
      assert.match(write.body.message, /budget of writes/);
      assert.equal((await via(run.token)).status, 200, 'the gateway counts in the same budgets');
      assert.equal((await used(run.token)).status, 200);
      assert.equal((await via(run.token)).status, 403);
      assert.equal((await used(run.token, { dry_run: true })).status, 200, 'a dry run sends nothing');
      assert.equal(world.upstream.requests.length, sent + 2);
      assert.deepEqual((await get(run.id)).used, { uses: 3, writes: 1, bytes: null });
      const { data } = (await world.service.call('GET', `/v1/request-logs?run_id=${run.id}&status=403`)).body;
      assert.deepEqual(
        data.map(({ reason }: { reason: string }) => reason),
        ['over_budget', 'over_budget'],
      );
    });

    it('a budget that is raced is exact, over two replicas too', async () => {
      // On SQLite, there is one process.
      const replica = engine === 'postgres' ? await world.service.replica() : world.service;
      const run = await start({ budgets: { uses: 10 } });
      const before = world.upstream.requests.length;
      const bases = [world.service.url, replica.url];
      const answers = await Promise.all(
        Array.from({ length: 24 }, (_, at) => via(run.token, {}, bases[at % 2])),
      );
      const statuses = answers.map(({ status }) => status);
      assert.equal(statuses.filter(status => status === 200).length, 10, statuses.join(' '));
      assert.ok(statuses.every(status => status === 200 || status === 403));
      assert.equal(world.upstream.requests.length - before, 10, 'no more left than were counted');
      assert.equal((await get(run.id)).used.uses, 10);
      const { status } = await callService(
        replica.url,
        'POST',
        `/v1/runs/${run.id}/end`,
        {},
        world.service.key,
      );
      assert.equal(status, 200);
      assert.equal((await via(run.token)).status, 401, 'ended at another replica');
      if (replica !== world.service) await replica.stop();
    });

    it('a budget of bytes holds bodies and answers, and gives back what was not taken', async () => {
      world.upstream.answer = (_request, _body, response) =>
        response.writeHead(200, { 'content-type': 'text/plain' }).end('0123456789');
      const run = await start({ budgets: { bytes: 40 } });
      assert.equal((await used(run.token, { method: 'POST', body: 'hello' })).status, 200);
      assert.equal((await get(run.id)).used.bytes, 15);
      assert.equal((await (await via(run.token, { method: 'POST', body: 'hello' })).text()).length, 10);
      assert.equal((await get(run.id)).used.bytes, 30);
      const last = await used(run.token);
      assert.deepEqual([last.status, last.body.outcome], [200, 'answered']);
      assert.equal((await get(run.id)).used.bytes, 40);
      assert.equal((await used(run.token)).status, 403);
      const tooLong = await start({ budgets: { bytes: 12 } });
      const cut = await used(tooLong.token, { method: 'POST', body: 'hello' });
      assert.equal(cut.body.outcome, 'withheld', 'an answer that is longer than what is left');
      assert.equal((await get(tooLong.id)).used.bytes, 12, 'nothing is given back for it');
    });

    it('is restricted to the rules it names, through every door', async () => {
      const run = await start({ rules: [ruleId] });
      assert.equal((await used(run.token)).status, 200);
      const asked = await used(run.token, { url: `${world.upstream.url}/own/asked/x`, method: 'POST' });
      assert.equal(asked.status, 200, 'the first rule allows that path too');
      const other = await start({ rules: [await world.rule({ name: 'other', paths: ['/own/other'] })] });
      assert.equal((await used(other.token)).status, 403);
      const byGateway = await fetch(`${world.service.url}/via/upstream/own/x`, {
        headers: { authorization: `Bearer ${other.token}` },
      });
      assert.equal(byGateway.status, 404);
      const wanted = { purpose: 'x', vault_ids: [world.vaultId], rules: [world.vaultId] };
      assert.equal((await world.service.call('POST', '/v1/runs', wanted)).status, 404);
    });

    it('ending it revokes its access keys and what was restricted from them, and cancels what waits', async () => {
      await world.service.call('PUT', `/v1/use-rules/${ruleId}`, { approval: 'writes' });
      const run = await start();
      const { token: restricted } = await narrow(run.token, { expiresInSeconds: 600 });
      const asked = await used(run.token, { method: 'POST', body: 'x' });
      assert.equal(asked.status, 403);
      assert.equal((await used(restricted)).status, 200);
      const waiting = async () =>
        (await world.service.call('GET', `/v1/approvals?run_id=${run.id}`)).body.data;
      assert.deepEqual(
        (await waiting()).map(({ run_id }: { run_id: string }) => run_id),
        [run.id],
      );
      const ended = await end(run.id);
      assert.deepEqual([ended.status, ended.body.state], [200, 'ended']);
      assert.equal((await used(run.token)).status, 401);
      assert.equal((await used(restricted)).status, 401);
      assert.deepEqual(await waiting(), []);
      const approval = await world.service.call('GET', `/v1/approvals/${asked.body.approval.id}`);
      assert.equal(approval.body.state, 'cancelled');
      assert.equal((await end(run.id)).status, 400);
      const { data } = (await world.service.call('GET', '/v1/audit-logs?limit=5')).body;
      const actions = data.map(({ action }: { action: string }) => action);
      assert.deepEqual(actions.slice(0, 3).sort(), ['access-key.revoked', 'approval.cancelled', 'run.ended']);
      await world.service.call('PUT', `/v1/use-rules/${ruleId}`, { approval: 'never' });
    });

    it('an access key of several vaults is one for each, and they end together', async () => {
      const other = (await world.service.call('POST', '/v1/vaults', { name: `second ${engine}` })).body.id;
      const run = await start({ vault_ids: [world.vaultId, other] });
      assert.equal(run.tokens.length, 2);
      assert.equal(run.token, run.tokens[0].token);
      const read = (token: string, vault: string) =>
        callService(world.service.url, 'GET', `/api/v1/vaults/${vault}`, undefined, token);
      assert.equal((await read(run.tokens[1].token, other)).status, 200);
      assert.equal((await read(run.tokens[1].token, world.vaultId)).status, 401);
      await end(run.id);
      assert.equal((await read(run.tokens[1].token, other)).status, 401);
      const limited = await world.service.call('POST', '/v1/api-keys', {
        name: 'one vault',
        role: 'editor',
        vault_ids: [other],
      });
      const seen = (path: string) => world.service.call('GET', path, undefined, limited.body.token);
      assert.equal((await seen(`/v1/runs/${run.id}`)).status, 404, 'it sees only one of its vaults');
      const list = await seen('/v1/runs');
      assert.deepEqual([list.status, list.body.data], [200, []]);
    });

    it('ends to the second, and by itself', async () => {
      const { clock } = world.service;
      const run = await start({ ends_at: new Date(clock.now() + 60_000).toISOString() });
      assert.equal((await used(run.token)).status, 200);
      clock.pass(60_001);
      assert.equal((await used(run.token)).status, 401);
      assert.equal((await get(run.id)).state, 'expired');
      assert.equal((await end(run.id)).status, 400);
    });

    it('an access key starts one within what it may do itself, and ends it', async () => {
      const started = await own(world.agent, 'POST', 'runs', {
        purpose: 'git clone',
        rules: ['upstream'],
        ends_in: 600,
        budgets: { uses: 2 },
      });
      assert.equal(started.status, 200, started.text);
      const { run, access_key } = started.body;
      assert.equal((await via(access_key.token)).status, 200);
      assert.equal((await get(run.id)).created_by, world.agentId);
      assert.equal((await own(access_key.token, 'POST', 'runs', { purpose: 'nested' })).status, 403);
      const stranger = await start();
      assert.equal((await own(stranger.token, 'POST', `runs/${run.id}/end`)).status, 404);
      const ended = await own(access_key.token, 'POST', `runs/${run.id}/end`);
      assert.deepEqual([ended.status, ended.body], [200, { run: { id: run.id, state: 'ended' } }]);
      assert.equal((await via(access_key.token)).status, 401);
    });

    it('what an access key starts reads no values and ends with that access key', async () => {
      const key = { vault_id: world.vaultId, name: 'reads', may_use: true };
      const { id, token } = (await world.service.call('POST', '/v1/access-keys', key)).body;
      const { body } = await own(token, 'POST', 'runs', { purpose: 'build' });
      const read = await callService(
        world.service.url,
        'GET',
        '/api/v1/vaults/self',
        undefined,
        body.access_key.token,
      );
      assert.ok(!read.text.includes(value));
      assert.equal((await via(body.access_key.token)).status, 200);
      await world.service.call('PUT', `/v1/access-keys/${id}`, { may_use: false });
      assert.equal((await via(body.access_key.token)).status, 403, 'its parent may no longer use anything');
      await world.service.call('DELETE', `/v1/access-keys/${id}`);
      assert.equal((await via(body.access_key.token)).status, 401);
      const reads = { vault_id: world.vaultId, name: 'only reads' };
      const other = (await world.service.call('POST', '/v1/access-keys', reads)).body.token;
      assert.equal((await own(other, 'POST', 'runs', { purpose: 'x' })).status, 403);
      const { token: restricted } = await narrow(world.agent, { expiresInSeconds: 600 });
      assert.equal((await own(restricted, 'POST', 'runs', { purpose: 'x' })).status, 403);
    });

    it('its access keys can be revoked, but neither changed nor used to create others', async () => {
      const run = await start();
      const [{ access_key_id: id }] = run.access_keys;
      const changed = await world.service.call('PUT', `/v1/access-keys/${id}`, { names_only: false });
      assert.equal(changed.status, 400);
      assert.equal((await world.service.call('DELETE', `/v1/access-keys/${id}`)).status, 200);
      assert.equal((await used(run.token)).status, 401);
    });

    it('lasts thirty days at most, and a minute at least', async () => {
      const { clock } = world.service;
      clock.stand();
      const day = 24 * 3_600_000;
      const until = (time: number) => ({
        purpose: 'x',
        vault_ids: [world.vaultId],
        ends_at: new Date(clock.now() + time).toISOString(),
      });
      assert.equal((await world.service.call('POST', '/v1/runs', until(30 * day))).status, 200);
      assert.equal((await world.service.call('POST', '/v1/runs', until(30 * day + 1))).status, 400);
      clock.run();
      const lasting = (ends_in: number) => own(world.agent, 'POST', 'runs', { purpose: 'x', ends_in });
      const answers = await Promise.all([60, 30 * 86_400, 59, 30 * 86_400 + 1].map(lasting));
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 200, 400, 400],
      );
    });

    it('lasts no longer than an API key that expires', async () => {
      const expiration_date = new Date(world.service.clock.now() + 3_600_000).toISOString();
      const { token } = (
        await world.service.call('POST', '/v1/api-keys', { name: 'expires', role: 'owner', expiration_date })
      ).body;
      const create = (more: object) =>
        world.service.call('POST', '/v1/runs', { purpose: 'x', vault_ids: [world.vaultId], ...more }, token);
      const later = new Date(world.service.clock.now() + 7_200_000).toISOString();
      assert.equal((await create({ ends_at: later })).status, 403);
      const { status, body } = await create({});
      assert.deepEqual([status, body.ends_at], [200, expiration_date]);
    });
  });
}
