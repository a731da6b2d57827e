/** How the client follows a vault: when it asks again, who is told of a change, and what is built anew. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Changes } from '../src/client/changes.ts';
import { admin, each, type Fetch } from '../src/client/client.ts';
import { DerivedObject } from '../src/client/derived.ts';
import { StrongroomError } from '../src/client/errors.ts';
import { Poller } from '../src/client/poller.ts';
import { codeIs, ManualClock } from './client-world.ts';

describe('a poller', () => {
  function world(random = 0.5) {
    const state = { asked: 0, failure: null as Error | null };
    const clock = new ManualClock();
    const exchange = async () => {
      state.asked += 1;
      if (state.failure !== null) throw state.failure;
    };
    return { state, clock, poller: new Poller({ exchange, clock, random: () => random, interval: 10_000 }) };
  }
  const busy = (retryAfterSeconds: number) =>
    new StrongroomError('RATE_LIMITED', 'busy', { retryAfterSeconds });

  it('waits for the interval, a fifth more or less', () => {
    for (const [random, delay] of [
      [0, 8_000],
      [0.5, 10_000],
      [1, 12_000],
    ] as const)
      assert.equal(Math.round(world(random).poller.delay()), delay);
  });

  it('waits for a second after a failure, twice as long after each further one, and never longer than the interval', async () => {
    const { state, poller } = world();
    state.failure = new Error('away');
    for (const delay of [1_000, 2_000, 4_000, 8_000, 10_000, 10_000]) {
      await assert.rejects(poller.run(), /away/);
      assert.equal(poller.delay(), delay);
    }
    state.failure = null;
    await poller.run();
    assert.equal(poller.delay(), 10_000);
  });

  it('asks nothing before the service said that it may, to the millisecond', async () => {
    const { state, poller, clock } = world();
    state.failure = busy(20);
    await assert.rejects(poller.run(), /busy/);
    assert.equal(poller.delay(), 20_000);
    state.failure = null;
    await clock.pass(19);
    await assert.rejects(poller.run(), { code: 'RATE_LIMITED', retryAfterSeconds: 1 });
    await clock.pass(0.999);
    await assert.rejects(poller.run(), { code: 'RATE_LIMITED', retryAfterSeconds: 1 });
    assert.equal(state.asked, 1);
    await clock.pass(0.001);
    await poller.run();
    assert.equal(state.asked, 2);
  });

  it('asks once at a time, again and again, until it is stopped', async () => {
    const { state, poller, clock } = world();
    await Promise.all([poller.run(), poller.run()]);
    assert.equal(state.asked, 1);
    poller.start();
    await clock.pass(9);
    assert.equal(state.asked, 1);
    await clock.pass(1);
    assert.equal(state.asked, 2);
    state.failure = new Error('away');
    await clock.pass(11);
    assert.equal(state.asked, 4);
    poller.stop();
    poller.start();
    await clock.pass(60);
    assert.equal(state.asked, 4);
    world().poller.stop();
  });
});

describe('what is built from secrets', () => {
  function world() {
    const state = {
      built: 0,
      disposed: [] as number[],
      failures: [] as unknown[],
      fails: false,
      disposeFails: false,
    };
    const derived = new DerivedObject<number>({
      names: ['A', 'B'],
      build: () => {
        if (state.fails) throw new Error('no build');
        return ++state.built;
      },
      dispose: old => {
        state.disposed.push(old);
        if (state.disposeFails) throw new Error('no disposal');
      },
      onFailure: error => state.failures.push((error as Error).message),
    });
    return { state, derived };
  }

  it('is built anew when one of its secrets changes, and the old one is disposed of', async () => {
    const { state, derived } = world();
    await derived.build();
    for (const [changed, current] of [
      [[], 1],
      [['C'], 1],
      [['C', 'B'], 2],
      [['A'], 3],
    ] as const) {
      await derived.keepUp(changed);
      assert.equal(derived.current, current);
    }
    assert.deepEqual(state.disposed, [1, 2]);
    await derived.close();
    await derived.close();
    assert.deepEqual(state.disposed, [1, 2, 3]);
  });

  it('stays as it was if building fails, and is tried again without another change', async () => {
    const { state, derived } = world();
    await derived.build();
    state.fails = true;
    await derived.keepUp(['A']);
    assert.deepEqual([derived.current, state.failures], [1, ['no build']]);
    state.fails = false;
    await derived.keepUp([]);
    assert.equal(derived.current, 2);
    await derived.keepUp([]);
    assert.equal(derived.current, 2);
  });

  it('is the new one even if the old one can’t be disposed of', async () => {
    const { state, derived } = world();
    await derived.build();
    state.disposeFails = true;
    await derived.keepUp(['A']);
    assert.deepEqual([derived.current, state.failures], [2, ['no disposal']]);
  });

  it('is built of the newest values if they change meanwhile', async () => {
    let release = () => {};
    let built = 0;
    const derived = new DerivedObject<number>({
      names: ['A'],
      build: () =>
        new Promise(resolve => {
          release = () => resolve(++built);
        }),
      dispose: () => {},
      onFailure: error => assert.fail(String(error)),
    });
    const first = derived.build();
    const second = derived.keepUp(['A']);
    release();
    await new Promise(setImmediate);
    release();
    await Promise.all([first, second]);
    assert.deepEqual([built, derived.current], [2, 2]);
  });
});

describe('changes', () => {
  it('are told to those who listen for one of them, until they leave, and what they throw is reported', async () => {
    const [told, errors]: [string[], StrongroomError[]] = [[], []];
    const changes = new Changes(error => errors.push(error));
    const leave = changes.listen('A', () => told.push('A'));
    changes.listen('B', () => told.push('B'));
    changes.listen('A', () => {
      throw new Error('no');
    });
    await changes.tell(['A', 'C']);
    assert.deepEqual([told, errors.map(({ code }) => code)], [['A'], ['CALLBACK_FAILED']]);
    leave();
    await changes.tell(['A', 'B']);
    assert.deepEqual(told, ['A', 'B']);
    await changes.close();
    await changes.tell(['B']);
    assert.deepEqual(told, ['A', 'B']);
  });

  it('reach what is built from them, but not what could never be built', async () => {
    const changes = new Changes(assert.fail);
    let built = 0;
    const good = await changes.derive({ names: ['A'], build: () => ++built, dispose: () => {} });
    const failing = () => Promise.reject(new Error('no build'));
    await assert.rejects(changes.derive({ names: ['A'], build: failing, dispose: () => {} }), /no build/);
    await changes.tell(['A']);
    assert.equal(good.current, 2);
  });
});

describe('the general API', () => {
  const seen: string[] = [];
  const fetch: Fetch = async (url, { method }) => {
    seen.push(`${method} ${url}`);
    const type = url.includes('text') ? 'text/plain' : 'application/json; charset=utf-8';
    return {
      status: 200,
      headers: { get: name => (name === 'content-type' ? type : null) },
      text: async () => '{"a":1}',
    };
  };
  const api = admin({ url: 'https://vault.example', key: 'k', fetch });

  it('asks for what is given, and reads JSON only where it is', async () => {
    assert.deepEqual(await api.listVaults(), { a: 1 });
    assert.deepEqual(await api.listVaults({ query: { page: 2, search: undefined } } as never), { a: 1 });
    assert.equal(await api.listVaults({ query: { search: 'text &' } } as never), '{"a":1}');
    await api.getVault({ id: 'a/b' });
    assert.deepEqual(seen, [
      'GET https://vault.example/v1/vaults',
      'GET https://vault.example/v1/vaults?page=2',
      'GET https://vault.example/v1/vaults?search=text+%26',
      'GET https://vault.example/v1/vaults/a%2Fb',
    ]);
    await assert.rejects(api.getVault({} as never), codeIs('INVALID_OPTIONS'));
  });

  it('gives every record of a list, page after page, as of the newest of the first', async () => {
    for (const total of [0, 99, 100, 101, 250]) {
      const asked: unknown[] = [];
      const all = Array.from({ length: total }, (_, at) => ({ id: `${at}` }));
      const list = async ({
        query,
      }: {
        query?: { page?: number; limit?: number; as_of?: string; kind?: string };
      }) => {
        asked.push(query);
        const [page, limit] = [query!.page!, query!.limit!];
        return { data: all.slice((page - 1) * limit, page * limit), pagination: { total } };
      };
      for (const given of [{ query: { kind: 'x' } }, { kind: 'x' }]) {
        asked.length = 0;
        const found: unknown[] = [];
        for await (const one of each(list, given)) found.push(one);
        assert.deepEqual(found, all);
        const pages = Array.from({ length: Math.floor(total / 100) + 1 }, (_, at) => at + 1);
        const expected = pages.map(page => ({
          kind: 'x',
          page,
          limit: 100,
          as_of: page === 1 ? undefined : '0',
        }));
        assert.deepEqual(asked, expected);
      }
      for await (const one of each(list)) assert.ok(one);
    }
  });
});
