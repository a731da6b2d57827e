/** The plane of uses: what the others change it knows, what it does they find, and what befalls it leaves them alone. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import { after, before, describe, it } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { Failure } from '../src/contract/errors.ts';
import type { UseCall } from '../src/contract/uses.ts';
import type { RequestFacts } from '../src/domain/reads/vault-request.ts';
import type { UseOrder } from '../src/service/planes/messages.ts';
import { Uses } from '../src/service/planes/uses.ts';
import type { ServeConfig } from '../src/service/settings/config.ts';
import type { Request } from '../src/threads/channel.ts';
import { type StartThread, threadOver } from '../src/threads/thread.ts';
import { run } from './command.ts';
import { enginesInTurn, eventually } from './harness.ts';
import { oneThread } from './one-thread.ts';
import { startUsesWorld, type UsesWorld, value } from './uses-world.ts';

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`the plane of uses on ${engine}`, () => {
    let world: UsesWorld;
    let rule: string;
    const started: Worker[] = [];
    const note = (worker: Worker) => void started.push(worker);

    before(async () => {
      world = await startUsesWorld(engine, true);
      rule = await world.rule();
      process.on('worker', note);
      assert.equal((await echo()).status, 200);
    });
    after(async () => {
      process.off('worker', note);
      await world.stop();
    });

    const echo = (key?: string) => world.use({ url: `${world.upstream.url}/echo` }, key);
    const read = () =>
      world.service.call('GET', `/api/v1/vaults/${world.vaultId}?secrets=names`, undefined, world.agent);

    it('an access key revoked by another plane uses nothing from the very next request on', async () => {
      const { service, vaultId } = world;
      for (let turn = 0; turn < 30; turn++) {
        const wanted = { vault_id: vaultId, name: 'brief', names_only: true, may_use: true };
        const { body: key } = await service.call('POST', '/v1/access-keys', wanted);
        assert.equal((await echo(key.token)).status, 200);
        await service.call('DELETE', `/v1/access-keys/${key.id}`);
        assert.equal((await echo(key.token)).status, 401);
      }
    });

    it('a rule or a value changed by another plane counts from the very next call on', async () => {
      const { service, secretId, upstream } = world;
      for (let turn = 0; turn < 20; turn++) {
        const methods = turn % 2 === 0 ? ['POST'] : ['GET'];
        await service.call('PUT', `/v1/use-rules/${rule}`, { methods });
        assert.equal((await echo()).status, turn % 2 === 0 ? 403 : 200);
        await service.call('PUT', `/v1/secrets/${secretId}`, { value: `${value} ${turn}` });
        await world.use({ method: methods[0], url: `${upstream.url}/echo` });
        assert.equal(upstream.requests.at(-1)!.headers.authorization, `Bearer ${value} ${turn}`);
      }
      await service.call('PUT', `/v1/use-rules/${rule}`, { methods: ['GET', 'POST'] });
    });

    it('both entries of a call are in the log that another plane shows, and the log verifies', async () => {
      const { body } = await echo();
      const { body: logs } = await world.service.call('GET', '/v1/request-logs?limit=2');
      assert.deepEqual(
        logs.data.map((entry: { status: number; request_id: string }) => [entry.status, entry.request_id]),
        [
          [200, body.request_id],
          [102, body.request_id],
        ],
      );
      const verified = await run(['audit', 'verify', ...world.service.place]);
      assert.match(verified.stdout, /The logs are intact/);
    });

    it('its thread gives way to the others', { skip: process.platform !== 'linux' }, () => {
      const priorities = readdirSync('/proc/self/task').map(thread => getPriority(Number(thread)));
      assert.ok(getPriority(process.pid) < 10);
      assert.ok(priorities.includes(10), `priorities ${priorities}`);
    });

    it('a request that is not understood is recorded, and told by its field', async () => {
      const { status, body, headers } = await world.use({ url: 'nothing' });
      assert.equal(status, 400);
      assert.match(body.message, /^url /);
      const { body: logs } = await world.service.call('GET', '/v1/request-logs?limit=1');
      assert.equal(logs.data[0].receipt, headers.get('strongroom-receipt'));
    });

    it('where its thread dies, its calls are refused and recorded, reads go on, and the next call is made', async () => {
      const { upstream, service } = world;
      const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
      upstream.answer = () => arrive();
      const waiting = world.use({ url: `${upstream.url}/own/slow` });
      await arrived;
      await started.find(({ threadId }) => threadId !== -1)!.terminate();
      const refused = await waiting;
      assert.equal(refused.status, 503);
      assert.ok(Number(refused.headers.get('retry-after')) > 0);
      assert.equal((await read()).status, 200);
      assert.equal((await echo()).status, 200);
      const { body: logs } = await service.call('GET', '/v1/request-logs?limit=4');
      assert.deepEqual(
        logs.data.map((entry: { status: number }) => entry.status).sort(),
        [102, 200, 200, 503],
      );
      assert.match((await run(['audit', 'verify', ...service.place])).stdout, /The logs are intact/);
    });

    it('a call that is under way when the service stops is recorded before that ends', async () => {
      const { upstream, service } = world;
      const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
      upstream.answer = () => arrive();
      const waiting = world.use({ url: `${upstream.url}/own/slow` }).catch(() => null);
      await arrived;
      await service.restart();
      await waiting;
      const { body: logs } = await service.call('GET', '/v1/request-logs?limit=2');
      assert.match(logs.data[0].requested, /^secret=used .* failed= /);
      assert.equal(logs.data[1].status, 102);
    });
  });
}

describe('the reading plane’s view of the plane of uses', () => {
  const facts: RequestFacts = {
    sender: { address: '127.0.0.1', userAgent: '' },
    requestId: null,
    route: '/use',
    method: 'POST',
    tool: null,
    token: null,
    vaultId: null,
    keyId: null,
  };

  it('a call that was refused because its thread died is not made by the next one', async () => {
    const threads: { readonly said: Request[]; readonly end: () => void }[] = [];
    const start: StartThread = (_file, options) => {
      const { promise: ended, resolve: end } = Promise.withResolvers<void>();
      const said: Request[] = [];
      threads.push({ said, end });
      const port = { postMessage: (sent: unknown) => void said.push(...(sent as Request[])), on: () => {} };
      return threadOver(port, options, {
        ended,
        whyEnded: () => undefined,
        terminate: async () => end(),
        hold: () => {},
      });
    };
    const uses = new Uses(() => {}, start);
    uses.begin({
      data: () => ({ writer: null }) as never,
      refuse: async (_facts, failure) => ({ status: 503, failure, receipt: '', requestId: '' }),
      identify: async () => ({}) as never,
    });
    const call = { secret: 'S', url: 'https://upstream.example/' } as UseCall;
    const first = uses.vaultUses.use({ ...facts, call });
    while (threads.length === 0) await null; // Its access key is identified first.
    threads[0]!.end();
    assert.equal((await first).status, 503);
    void uses.vaultUses.use({ ...facts, call: new Failure('INVALID_REQUEST') });
    for (let turns = 0; turns < 3; turns++) await new Promise(setImmediate);
    const ordered = threads.map(({ said }) =>
      said.flatMap(({ name, input }) => (name === 'use' ? [Object.keys((input[0] as UseOrder).asked)] : [])),
    );
    assert.deepEqual(ordered, [[], [['unread']]]);
  });

  it('where it could not open the data, the next use starts another', async () => {
    const reports: string[] = [];
    const uses = new Uses(line => reports.push(line), oneThread.startPlane);
    const config = { data: '/nowhere', 'database-url': null } as unknown as ServeConfig;
    uses.begin({
      data: () => ({ config, writer: null, movedClock: null, signed: null }) as never,
      refuse: async (_facts, failure) => ({ status: 503, failure, receipt: '', requestId: '' }),
      identify: async () => ({}) as never,
    });
    const call = { secret: 'S', url: 'https://upstream.example/' } as UseCall;
    await eventually('the operator is told that the plane ended', async () => {
      // Refused by the plane itself, or because it is gone.
      const refused = await uses.vaultUses.use({ ...facts, call }).then(
        result => ('failure' in result ? result.failure : null),
        (failure: Failure) => failure,
      );
      assert.equal(refused?.code, 'UNAVAILABLE');
      return reports.length > 2;
    });
    await uses.stop();
  });
});
