/** What is kept in memory until it changes, what waits for a change, and what is done again after one: each by itself. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as immediate } from 'node:timers/promises';
import { garbageCollector } from '../src/base/spare-memory.ts';
import { ChangeWaits } from '../src/domain/kernel/change-waits.ts';
import { retryingStale, StaleChange } from '../src/domain/kernel/conflict-retries.ts';
import { KeyedLock } from '../src/domain/kernel/keyed-lock.ts';
import { RowCache } from '../src/domain/kernel/row-cache.ts';
import type { ChangeListener } from '../src/store/engine/engine.ts';

/** Changes that are told of by hand. */
class Changes {
  hears = true;
  asked = 0;
  tell: ChangeListener = () => {};
  onChange(listener: ChangeListener): void {
    this.tell = listener;
  }
  hearsChanges(): boolean {
    this.asked++;
    return this.hears;
  }
}

describe('a kept row', () => {
  const started = (most = 10) => {
    const changes = new Changes();
    const cache = new RowCache<string>(changes, most);
    const load = (id: string, value: string | undefined = id) => cache.load(id, async () => value);
    return { changes, cache, load };
  };

  it('is there until a change to it is told of', async () => {
    const { changes, cache, load } = started();
    assert.equal(cache.get('a'), undefined);
    assert.equal(await load('a'), 'a');
    await load('b');
    changes.tell(['a', 'c']);
    assert.deepEqual([cache.get('a'), cache.get('b')], [undefined, 'b']);
    changes.tell('all');
    assert.equal(cache.get('b'), undefined);
  });

  it('is there until it is forgotten', async () => {
    const { cache, load } = started();
    await load('a');
    await load('b');
    cache.forget('a');
    assert.deepEqual([cache.get('a'), cache.get('b')], [undefined, 'b']);
  });

  it('is neither used nor kept while changes are not heard', async () => {
    const { changes, cache, load } = started();
    await load('a');
    changes.hears = false;
    assert.equal(cache.get('a'), undefined);
    assert.equal(await load('b'), 'b');
    changes.hears = true;
    assert.deepEqual([cache.get('a'), cache.get('b')], ['a', undefined]);
  });

  it('is used once, and not kept, where a change overtook it, whatever was changed', async () => {
    const { changes, cache } = started();
    const overtaken = await cache.load('a', async () => {
      changes.tell(['b']);
      return 'a';
    });
    assert.deepEqual([overtaken, cache.get('a')], ['a', undefined]);
  });

  it('takes the place of the oldest where there is no other, and what is not there takes none', async () => {
    const { cache, load } = started(2);
    await load('a');
    await load('b');
    assert.deepEqual([cache.get('a'), cache.get('b')], ['a', 'b']);
    assert.equal(await cache.load('nothing', async () => undefined), undefined);
    assert.equal(cache.get('a'), 'a');
    await load('c');
    assert.deepEqual([cache.get('a'), cache.get('b'), cache.get('c')], [undefined, 'b', 'c']);
  });
});

describe('what concerns one id', () => {
  it('happens one after another, in order, beside what concerns another', async () => {
    const lock = new KeyedLock();
    const [events, gates] = [[] as string[], new Map<string, () => void>()];
    const take = (id: string, name: string) =>
      lock.take(id, async () => {
        events.push(`${name} begins`);
        await new Promise<void>(resolve => gates.set(name, resolve));
        if (name === 'first') throw new Error('as planned');
        return name;
      });
    const first = take('a', 'first');
    const second = take('a', 'second');
    const other = take('b', 'other');
    await immediate();
    assert.deepEqual(events, ['first begins', 'other begins']);
    gates.get('first')!();
    await assert.rejects(first, /as planned/);
    await immediate();
    const third = take('a', 'third');
    await immediate();
    assert.deepEqual(events, ['first begins', 'other begins', 'second begins']);
    gates.get('second')!();
    assert.equal(await second, 'second');
    await immediate();
    for (const name of ['third', 'other']) gates.get(name)!();
    assert.deepEqual(await Promise.all([third, other]), ['third', 'other']);
  });

  it('leaves nothing in memory', async () => {
    const collect = garbageCollector()!;
    const lock = new KeyedLock();
    const left = await (async () => new WeakRef(await lock.take('a', async () => ({ large: true }))))();
    for (let turn = 0; turn < 20 && left.deref() !== undefined; turn++) {
      await immediate();
      collect();
    }
    assert.equal(left.deref(), undefined);
    assert.equal(await lock.take('a', async () => 'again'), 'again');
  });
});

describe('a wait for a change', () => {
  const started = (t: TestContext) => {
    t.mock.timers.enable({ apis: ['setInterval', 'setTimeout'] });
    const changes = new Changes();
    const waits = new ChangeWaits(changes);
    /** Begins a wait, and says whether it is over. */
    const begin = (ids: string[], milliseconds: number | null = null, signal?: AbortSignal) => {
      const wait = waits.begin(ids);
      let isOver = false;
      void wait.until(milliseconds, signal ?? new AbortController().signal).then(() => {
        isOver = true;
      });
      const state = async () => {
        await immediate();
        return isOver;
      };
      return { end: wait.end, isOver: state };
    };
    return { changes, waits, begin, tick: (ms: number) => t.mock.timers.tick(ms) };
  };

  it('ends with a change to one of its ids, and with no other', async t => {
    const { changes, begin } = started(t);
    const [one, other] = [begin(['a', 'b']), begin(['b', 'c'])];
    changes.tell(['unknown']);
    assert.deepEqual([await one.isOver(), await other.isOver()], [false, false]);
    changes.tell(['a']);
    assert.deepEqual([await one.isOver(), await other.isOver()], [true, false]);
    one.end();
    changes.tell(['b']);
    assert.equal(await other.isOver(), true);
  });

  it('ends where changes may have been missed, and when all are woken', async t => {
    const { changes, waits, begin } = started(t);
    const one = begin(['some id']);
    changes.tell('all');
    assert.equal(await one.isOver(), true);
    const other = begin(['b']);
    assert.equal(await other.isOver(), false);
    waits.wakeAll();
    assert.equal(await other.isOver(), true);
  });

  it('ends with its time, and never by itself without one', async t => {
    const { begin, tick } = started(t);
    const [timed, endless] = [begin(['a'], 500), begin(['a'])];
    tick(499);
    assert.equal(await timed.isOver(), false);
    tick(1);
    assert.deepEqual([await timed.isOver(), await endless.isOver()], [true, false]);
    tick(1_000_000);
    assert.equal(await endless.isOver(), false);
  });

  it('ends with its signal, also with one that came before', async t => {
    const { begin } = started(t);
    const controller = new AbortController();
    const one = begin(['a'], null, controller.signal);
    assert.equal(await one.isOver(), false);
    controller.abort();
    assert.equal(await one.isOver(), true);
    assert.equal(await begin(['a'], null, controller.signal).isOver(), true);
  });

  it('ends within a second while changes are not heard, however many others ended before', async t => {
    const { changes, begin, tick } = started(t);
    changes.hears = false;
    const [same, another, one] = [begin(['a']), begin(['b']), begin(['a'])];
    same.end();
    another.end();
    tick(999);
    assert.equal(await one.isOver(), false);
    tick(1);
    assert.equal(await one.isOver(), true);
    one.end();
    const next = begin(['a']);
    tick(1_000);
    assert.equal(await next.isOver(), true, 'and it is looked for again after all had ended');
  });

  it('leaves nothing behind that looks for changes', t => {
    const { changes, begin, tick } = started(t);
    const [one, other] = [begin(['a']), begin(['b'])];
    tick(1_000);
    assert.equal(changes.asked, 1, 'one looks for all');
    for (const wait of [one, other, other]) wait.end();
    tick(10_000);
    assert.equal(changes.asked, 1);
  });
});

describe('a change that another one overtook', () => {
  const tried = async (t: TestContext, errors: readonly Error[]) => {
    t.mock.method(Math, 'random', () => 0);
    let calls = 0;
    const result = await retryingStale(async () => {
      const error = errors[calls++];
      if (error !== undefined) throw error;
      return 'done';
    }).catch((error: unknown) => error);
    return { calls, result };
  };
  const stale = (times: number) => Array.from({ length: times }, () => new StaleChange());

  it('is made again, twelve times in all', async t => {
    assert.deepEqual(await tried(t, []), { calls: 1, result: 'done' });
    assert.deepEqual(await tried(t, stale(11)), { calls: 12, result: 'done' });
    const { calls, result } = await tried(t, stale(20));
    assert.equal(calls, 12);
    assert.ok(result instanceof StaleChange);
    assert.equal(result.code, 'CONFLICT');
  });

  it('is not made again where something else is wrong', async t => {
    const error = new Error('something else');
    assert.deepEqual(await tried(t, [error]), { calls: 1, result: error });
    assert.deepEqual(await tried(t, [...stale(2), error]), { calls: 3, result: error });
  });
});
