/** What is kept in memory to answer again: for how long it is true, how much of it there may be, and what goes first. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { AnswerCache, type VaultAnswer } from '../src/domain/reads/answer-cache.ts';
import { OpenedLabels } from '../src/domain/resources/opened-labels.ts';
import { MemorySeal } from '../src/keyring/sealing/memory.ts';

const sealing = new MemorySeal().seal(Buffer.from('place'), Buffer.alloc(0)).length;

describe('a kept answer', () => {
  /** What an answer costs beside its bytes. */
  const around = sealing + 400;

  function world(most?: number) {
    const told: ((touched: readonly string[] | 'all') => void)[] = [];
    const state = { hears: true };
    const changes = {
      onChange: (hear: (touched: readonly string[] | 'all') => void) => void told.push(hear),
      hearsChanges: () => state.hears,
    };
    const cache = new AnswerCache(changes, most);
    const answerOf = (size: number, validUntil = Number.POSITIVE_INFINITY): VaultAnswer => ({
      body: Buffer.alloc(size, 'x'),
      format: 'json',
      digest: null,
      requested: 'secrets',
      validUntil,
    });
    return {
      cache,
      state,
      answerOf,
      change: (touched: readonly string[] | 'all') => {
        for (const hear of told) hear(touched);
      },
      load: (vault: string, key: string, size: number, validUntil?: number) =>
        cache.load(vault, key, async () => answerOf(size, validUntil)),
      /** Which of them are kept, each as vault and key. */
      kept: (...names: string[]) =>
        names.filter(name => cache.peek(name.slice(0, 1), name.slice(1), 0) !== undefined),
    };
  }

  it('is what was made, and is opened once in a turn', async () => {
    const { cache, load } = world();
    assert.equal(cache.peek('v', 'a', 0), undefined);
    const { body, ...rest } = await load('v', 'a', 3);
    await load('v', 'b', 3);
    const found = cache.peek('v', 'a', 0)!;
    const opened = cache.open(found);
    assert.deepEqual(opened, body);
    assert.equal(cache.open(found), opened);
    await turn();
    assert.deepEqual({ ...found, ...rest }, found);
    assert.equal(found.opened, null);
    assert.deepEqual(cache.open(found), body);
  });

  it('is used until the moment at which it is no longer true', async () => {
    const { cache, load } = world();
    await load('v', 'a', 3, 1_000);
    assert.ok(cache.peek('v', 'a', 999));
    assert.equal(cache.peek('v', 'a', 1_000), undefined);
  });

  it('is neither used nor kept while changes are not heard', async () => {
    const { load, state, kept } = world();
    await load('v', 'a', 3);
    state.hears = false;
    await load('v', 'b', 3);
    assert.deepEqual(kept('va', 'vb'), []);
    state.hears = true;
    assert.deepEqual(kept('va', 'vb'), ['va']);
  });

  it('is dropped by a change in its vault, or in all', async () => {
    const { load, change, kept } = world();
    const all = ['va', 'vb', 'wa'];
    for (const name of all) await load(name[0]!, name[1]!, 3);
    change(['unknown']);
    assert.deepEqual(kept(...all), all);
    change(['v', 'unknown']);
    assert.deepEqual(kept(...all), ['wa']);
    change('all');
    assert.deepEqual(kept(...all), []);
  });

  it('is not kept where a change overtook it', async () => {
    const { cache, answerOf, change, kept } = world();
    const { promise, resolve } = Promise.withResolvers<VaultAnswer>();
    const loading = cache.load('v', 'a', () => promise);
    change(['v']);
    const newer = cache.load('v', 'a', async () => answerOf(2));
    resolve(answerOf(1));
    assert.equal((await loading).body.length, 1);
    assert.equal((await newer).body.length, 2);
    assert.deepEqual(kept('va'), ['va']);
    assert.equal(cache.open(cache.peek('v', 'a', 0)!).length, 2);
  });

  it('is made once for those who ask meanwhile, and anew for those who ask later', async () => {
    const { cache, answerOf } = world();
    let made = 0;
    const load = (key: string) =>
      cache.load('v', key, async () => {
        made++;
        return answerOf(made);
      });
    const [one, other, second] = await Promise.all([load('a'), load('b'), load('a')]);
    assert.deepEqual([made, one === second, one === other], [2, true, false]);
    assert.equal((await load('a')).body.length, 3);
    await assert.rejects(
      cache.load('v', 'c', () => Promise.reject(new Error('not now'))),
      /not now/,
    );
    assert.equal((await load('c')).body.length, 4);
  });

  it('has at most the fourth part of the room', async () => {
    const { load, kept } = world(8_000);
    await load('v', 'a', 2_000);
    await load('w', 'a', 2_001);
    assert.deepEqual(kept('va', 'wa'), ['va']);
  });

  it('shares the fourth part with the others of its vault, and the oldest go first', async () => {
    const size = 1_000 - around;
    const { load, kept } = world(8_000);
    for (const name of ['wa', 'va', 'vb']) await load(name[0]!, name[1]!, size);
    assert.deepEqual(kept('va', 'vb', 'wa'), ['va', 'vb', 'wa'], 'exactly full');
    await load('v', 'c', 1);
    assert.deepEqual(kept('va', 'vb', 'vc', 'wa'), ['vb', 'vc', 'wa']);
    const tight = world(8_000);
    await tight.load('v', 'a', size);
    await tight.load('v', 'b', size + 1);
    assert.deepEqual(tight.kept('va', 'vb'), ['vb'], 'one byte too many');
  });

  it('takes the place of the one before it', async () => {
    const size = 1_000 - around;
    const { load, kept } = world(8_000);
    for (const key of ['a', 'b', 'b', 'b', 'b']) await load('v', key, size);
    assert.deepEqual(kept('va', 'vb'), ['va', 'vb']);
  });

  it('goes with its vault where all together are too many, and the oldest vault goes first', async () => {
    const size = 2_000 - around;
    const vaults = ['1a', '2a', '3a', '4a'];
    const { load, kept, change } = world(8_000);
    for (const name of vaults) await load(name[0]!, 'a', size);
    assert.deepEqual(kept(...vaults), vaults, 'exactly full');
    await load('5', 'a', 1);
    assert.deepEqual(kept(...vaults, '5a'), ['2a', '3a', '4a', '5a']);
    change('all');
    for (const vault of ['1', '2', '3', '4', '5'])
      await load(vault, 'a', ['1', '5'].includes(vault) ? size - 1_000 : size);
    assert.deepEqual(kept(...vaults, '5a'), [...vaults, '5a'], 'what was dropped takes no room');
    await load('1', 'b', 1);
    assert.deepEqual(
      kept(...vaults, '5a', '1b'),
      ['1a', '3a', '4a', '5a', '1b'],
      'not the vault that is read',
    );
  });

  it('is not kept where it alone is too much', async () => {
    for (const [most, names] of [
      [around, ['va']],
      [around - 1, []],
    ] as const) {
      const { load, kept } = world(most);
      await load('v', 'a', 0);
      assert.deepEqual(kept('va'), names, String(most));
    }
  });

  it('takes no room where a change overtook it', async () => {
    const { cache, answerOf, change, load, kept } = world(8_000);
    for (let times = 0; times < 20; times++) {
      await cache.load('v', 'a', async () => {
        change(['v']);
        return answerOf(1_000);
      });
    }
    await load('w', 'a', 1_000);
    await load('x', 'a', 1_000);
    assert.deepEqual(kept('va', 'wa', 'xa'), ['wa', 'xa']);
  });

  it('stays where all others made room for it', async () => {
    const few = world(2 * around);
    for (const [vault, key, size] of [
      ['v', 'a', 0],
      ['w', 'a', 0],
      ['v', 'b', 1],
    ] as const)
      await few.load(vault, key, size);
    assert.deepEqual(few.kept('va', 'wa', 'vb'), ['vb']);
    const { cache, load, answerOf, kept } = world(around + 1);
    const { promise, resolve } = Promise.withResolvers<VaultAnswer>();
    const loading = cache.load('v', 'a', () => promise);
    await load('w', 'a', 0);
    assert.deepEqual(kept('wa'), ['wa']);
    resolve(answerOf(1));
    await loading;
    assert.deepEqual(kept('va', 'wa'), ['va'], 'exactly full');
  });

  it('has 48 MiB where nothing else is said', async () => {
    const full = 12 * 1024 * 1024 - around;
    for (const [last, first] of [
      [full, ['1a']],
      [full + 1, []],
    ] as const) {
      const { load, kept } = world();
      for (const vault of ['1', '2', '3']) await load(vault, 'a', full);
      await load('4', 'a', last);
      assert.deepEqual(kept('1a', '2a', '3a', '4a'), [...first, '2a', '3a', '4a']);
    }
  });
});

describe('the labels of a page', () => {
  /** Labels that take so many bytes as they are kept. */
  const labelsOf = (bytes: number) => {
    const rest = JSON.stringify([{ tags: {}, description: '' }]).length + sealing + 200;
    return [{ tags: {}, description: 'x'.repeat(bytes - rest) }];
  };
  const known = (kept: OpenedLabels, ...pages: string[]) =>
    pages.filter(page => kept.find(page) !== undefined);

  it('are found as they were kept, by all that was stored in it', () => {
    const kept = new OpenedLabels();
    const labels = [{ tags: { team: 'a' }, description: 'ü' }];
    kept.keep('one', labels);
    kept.keep('none', null);
    assert.deepEqual(kept.find('one'), labels);
    assert.equal(kept.find('none'), null);
    assert.equal(kept.find('other'), undefined);
    kept.keep('one', null);
    assert.equal(kept.find('one'), null);
  });

  it('are forgotten where there is no more room, the oldest first', () => {
    const kept = new OpenedLabels(1_000);
    kept.keep('a', labelsOf(500));
    kept.keep('b', labelsOf(500));
    assert.deepEqual(known(kept, 'a', 'b'), ['a', 'b'], 'exactly full');
    kept.keep('b', labelsOf(501));
    assert.deepEqual(known(kept, 'a', 'b'), ['b'], 'one byte too many');
    kept.keep('c', labelsOf(499));
    kept.keep('c', labelsOf(499));
    assert.deepEqual(known(kept, 'b', 'c'), ['b', 'c'], 'the same page is counted once');
    kept.keep('d', labelsOf(1_001));
    assert.deepEqual(known(kept, 'b', 'c', 'd'), [], 'larger than the room');
  });

  it('cost little where there are none', () => {
    const kept = new OpenedLabels(400);
    for (const page of ['a', 'b']) kept.keep(page, null);
    assert.deepEqual(known(kept, 'a', 'b'), ['a', 'b']);
    kept.keep('c', null);
    assert.deepEqual(known(kept, 'a', 'b', 'c'), ['b', 'c']);
  });

  it('have 8 MiB where nothing else is said', () => {
    for (const [last, pages] of [
      [4 * 1024 * 1024, ['a', 'b']],
      [4 * 1024 * 1024 + 1, ['b']],
    ] as const) {
      const kept = new OpenedLabels();
      kept.keep('a', labelsOf(4 * 1024 * 1024));
      kept.keep('b', labelsOf(last));
      assert.deepEqual(known(kept, 'a', 'b'), pages);
    }
  });
});
