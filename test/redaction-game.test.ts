/** What an agent gets to see tells it nothing of the value, however it chooses what is asked next. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { scrubberOf } from '../src/egress/scrubbing.ts';
import { onEngines } from './at-once.ts';
import { callService } from './harness.ts';
import { play, randomFrom, shapes, valueLike } from './redaction-game.ts';
import { encodings, startUsesWorld, value } from './uses-world.ts';

describe('answers with the true value and with another of the same shape', () => {
  it('can’t be told apart, over 10,000 rounds', async () => {
    const [games, rounds] = [50, 200];
    for (let game = 0; game < games; game++) {
      const shape = shapes[game % shapes.length]!;
      const values = randomFrom(game);
      const [one, other] = [valueLike(shape, values), valueLike(shape, values)];
      const [seen, instead] = [
        await play(one, { random: randomFrom(game), known: shape[0] }, rounds),
        await play(other, { random: randomFrom(game), known: shape[0] }, rounds),
      ];
      assert.notEqual(one, other);
      for (let round = 0; round < rounds; round++)
        assert.equal(seen.seen[round], instead.seen[round], `${one} or ${other}, round ${round}`);
    }
  });

  it('take as long for texts full of what fewer than twelve characters of it make, in whatever form', async () => {
    const random = randomFrom(3);
    const [one, other] = [valueLike(shapes[1]!, random), valueLike(shapes[1]!, random)];
    const [withIt, without] = [scrubberOf([one]), scrubberOf([other])];
    const told: string[] = [];
    for (const [name, write] of Object.entries(encodings)) {
      for (const length of [2, 6, 11]) {
        const text = fullOf(write(one.slice(9, 9 + length)));
        const isLonger = async () =>
          (await timeOf(withIt.partsIn, text)) > 2 * (await timeOf(without.partsIn, text)) + 1;
        // What tells of the value does so each time; collecting garbage comes now and then.
        if ((await isLonger()) && (await isLonger()) && (await isLonger())) told.push(`${length} as ${name}`);
      }
    }
    assert.deepEqual(told, []);
  });

  it('show at most three more characters to one who has eleven, by whatever way its text comes back', async () => {
    for (const unseen of [undefined, true as const]) {
      const shape = shapes[1]!;
      const secret = valueLike(shape, randomFrom(7));
      const known = secret.slice(0, shape[0].length + 11);
      const agent = { random: randomFrom(1), known, extends: true as const, ...(unseen ? { unseen } : {}) };
      const { learnt } = await play(secret, agent, 62 * 30);
      assert.equal(learnt.toLowerCase(), secret.slice(0, known.length + 3).toLowerCase());
    }
  });
});

/** A body of a call. */
function fullOf(text: string | Buffer): Buffer {
  return Buffer.alloc(32 * 1024, text as string);
}

/** Of the processor, in milliseconds, at best. */
async function timeOf(partsIn: (text: Buffer) => Promise<number>, text: Buffer): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let time = 0; time < 3; time++) {
    const before = process.cpuUsage();
    assert.equal(await partsIn(text), 0);
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / 1000);
  }
  return best;
}

onEngines('an agent that guesses', engine => {
  it('is shown its own text, is refused a part of the value, and is suspended after three', async t => {
    const world = await startUsesWorld(engine);
    t.after(() => world.stop());
    const { service, upstream } = world;
    const rule = await world.rule();
    upstream.answer = (_request, body, response) =>
      response.writeHead(200, { 'content-type': 'text/plain' }).end(`you sent ${body}`);
    const send = (body: string, key?: string) =>
      world.use({ method: 'POST', url: `${upstream.url}/own/x`, body }, key);
    const reasons = async () =>
      (await service.call('GET', '/v1/request-logs?limit=4')).body.data.map(
        ({ reason }: { reason: string | null }) => reason,
      );
    const bare = value.replace(/[^a-z0-9]/gi, '');
    const known = bare.slice(3, 3 + 11);
    for (const guess of ['a', 'b', 'c', '0', '1']) {
      const { body } = await send(`${known.slice(1)}${guess}`);
      assert.equal(body.body, `you sent ${known.slice(1)}${guess}`);
    }
    assert.equal((await send('ghp_')).body.body, 'you sent ghp_', 'what everybody knows is no part of it');
    const requests = upstream.requests.length;
    const parts = [
      bare.slice(3, 15),
      Buffer.from(value.slice(6)).toString('base64'),
      `x%${value.slice(-20)}`,
    ];
    const refusals = [];
    for (const part of parts) refusals.push(await send(part));
    assert.deepEqual(
      refusals.map(({ status }) => status),
      [403, 403, 403],
    );
    assert.equal(upstream.requests.length, requests, 'nothing of it leaves');
    const harmless = await send('nothing at all');
    assert.deepEqual(
      [harmless.status, harmless.text],
      [403, refusals[0]!.text],
      'the two are one to the agent',
    );
    assert.deepEqual(await reasons(), ['use_suspended', ...Array(3).fill('value_in_request')]);
    const beside = { vault_id: world.vaultId, name: 'beside', names_only: true, may_use: true };
    const { token } = (await service.call('POST', '/v1/access-keys', beside)).body;
    assert.equal((await send('nothing', token)).status, 200, 'another access key is not suspended');
    await service.call('PUT', `/v1/use-rules/${rule}`, { timeout: 20 });
    assert.equal((await send('nothing at all')).status, 200, 'who manages the rules lifts it');
  });

  it('is shown nothing of an answer that contains a part, which counts as well', async t => {
    const world = await startUsesWorld(engine);
    t.after(() => world.stop());
    await world.rule();
    const at = (as: string) => `${world.upstream.url}/echo?as=${encodeURIComponent(as)}`;
    for (let time = 0; time < 3; time++) {
      const { body } = await world.use({ url: at('first half') });
      assert.deepEqual([body.outcome, body.body, body.headers], ['withheld', null, {}]);
    }
    assert.equal((await world.use({ url: at('raw') })).status, 403);
    const replica = engine === 'postgres' ? await world.service.replica() : null;
    if (replica !== null) {
      const call = { secret: 'GITHUB_TOKEN', url: at('raw') };
      const path = `/api/v1/vaults/${world.vaultId}/use`;
      const { status } = await callService(replica.url, 'POST', path, call, world.agent);
      assert.equal(status, 403, 'at every replica');
    }
    world.service.clock.pass(7 * 24 * 60 * 60 * 1000);
    assert.equal((await world.use({ url: at('raw') })).body.body, 'it is: [redacted] .', 'it ends by itself');
  });

  it('makes no call at all while it is suspended, whatever its rule shows of the answer', async t => {
    const world = await startUsesWorld(engine);
    t.after(() => world.stop());
    const { upstream, service, vaultId } = world;
    await world.rule();
    const minted = await service.call('POST', '/v1/secrets', {
      vault_id: vaultId,
      name: 'MINTED',
      value: 'old',
    });
    for (const response of ['status-only', 'store'])
      await world.rule({
        response,
        paths: [`/${response}`],
        ...(response === 'store' && { store: { secret_id: minted.body.id, pointer: '/token' } }),
      });
    const quietly = (path: string) => world.use({ method: 'POST', url: `${upstream.url}/${path}` });
    upstream.answer = (_request, _body, response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end('{"token":"minted by the upstream"}');
    for (const path of ['status-only', 'store']) assert.equal((await quietly(path)).status, 200, path);
    for (let time = 0; time < 3; time++)
      await world.use({ url: `${upstream.url}/echo?as=${encodeURIComponent('first half')}` });
    const requests = upstream.requests.length;
    for (const path of ['status-only', 'store']) assert.equal((await quietly(path)).status, 403, path);
    assert.equal(upstream.requests.length, requests, 'nothing leaves');
  });

  for (const way of ['call', 'answer'] as const) {
    it(`is suspended at once for ${way === 'call' ? 'a call' : 'an answer'} full of guesses of which one is right`, async t => {
      const world = await startUsesWorld(engine);
      t.after(() => world.stop());
      await world.rule();
      const bare = value.replace(/[^a-z0-9]/gi, '').slice(3);
      const random = randomFrom(5);
      const guesses = Array.from(
        { length: 3_000 },
        () => bare.slice(0, 8) + valueLike(['', 'xxxx'], random),
      ).filter(one => !one.toLowerCase().startsWith(bare.slice(0, 9).toLowerCase()));
      let stored = '';
      world.upstream.answer = (_request, _body, response) => {
        response.writeHead(200, { 'content-type': 'text/plain' }).end(stored);
      };
      const url = `${world.upstream.url}/own/x`;
      const send = (text: string) => {
        stored = way === 'answer' ? text : '';
        return world.use({ method: 'POST', url, body: way === 'call' ? text : '' });
      };
      for (let time = 0; time < 5; time++)
        assert.equal(
          (await send(guesses.join(' '))).body.outcome,
          'answered',
          'nothing depends on wrong guesses',
        );
      const right = await send([...guesses, bare.slice(0, 12)].join(' '));
      assert.ok(right.status === 403 || right.body.outcome === 'withheld');
      assert.equal((await send('nothing')).status, 403);
    });
  }

  it('is not forgiven by a call that stores the value that is there already', async t => {
    const world = await startUsesWorld(engine);
    t.after(() => world.stop());
    const { upstream, secretId } = world;
    await world.rule();
    const store = { secret_id: secretId, pointer: '/token' };
    const refreshing = await world.rule({ methods: ['POST'], response: 'store', store });
    upstream.answer = (_request, _body, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ token: value }));
    };
    const call = { method: 'POST', url: `${upstream.url}/own/x` };
    const part = value.replace(/[^a-z0-9]/gi, '').slice(4, 18);
    for (let time = 0; time < 2; time++) assert.equal((await world.use({ ...call, body: part })).status, 403);
    const { stored } = (await world.use({ ...call, rule: refreshing })).body;
    assert.deepEqual(stored, { secret_id: secretId, version: 1 });
    assert.equal((await world.use({ ...call, body: part })).status, 403);
    assert.equal((await world.use({ ...call, rule: refreshing })).status, 403, 'that was the third');
  });
});
