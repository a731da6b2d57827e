/** A day in the life of a store: fifty secrets that change, a real service that is away a third of the time. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { garbageCollector } from '../src/base/spare-memory.ts';
import { open, type StrongroomError, text } from '../src/client/client.ts';
import { ManualClock, vaultOf } from './client-world.ts';
import { type Started, setup, start, stop } from './command.ts';
import { callService } from './harness.ts';

const names = Array.from({ length: 50 }, (_, index) => `SECRET_${index}`);
const hour = 3600;
const pollSeconds = 60;
/** The longest time between two polls, an outage, and the longest time until it is noticed that it is over. */
const bound = hour + 2 * 1.2 * pollSeconds;

const collectGarbage = garbageCollector()!;
function memory(): number {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** One service over one folder, at one address, that can be stopped and started. */
class RealVault {
  readonly #place: readonly string[];
  #port = '0';
  #running: Started | null = null;
  url = '';

  constructor(folder: string) {
    this.#place = ['--data', folder];
  }

  setUp(): Promise<string> {
    return setup(this.#place);
  }

  async start(): Promise<void> {
    this.#running = start(['serve', ...this.#place, '--port', this.#port]);
    this.url = await this.#running.url;
    this.#port = new URL(this.url).port;
  }

  async stop(): Promise<void> {
    if (this.#running !== null) await stop(this.#running);
    this.#running = null;
  }
}

describe('a store over a day', () => {
  let folder: string;
  let real: RealVault;
  let apiKey: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'strongroom-day-'));
    real = new RealVault(folder);
    apiKey = await real.setUp();
    await real.start();
  });
  after(async () => {
    await real.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('gives out no value longer than the bound after it was replaced, throws nothing, and needs no more memory', async () => {
    const call = (method: string, path: string, body?: unknown) =>
      callService(real.url, method, path, body, apiKey);
    const { key, put } = await vaultOf({ call }, Object.fromEntries(names.map(name => [name, 'value 0'])));
    const clock = new ManualClock();
    const errors = new Set<string>();
    let receipts = 0;
    const store = await open({
      url: real.url,
      key,
      secrets: Object.fromEntries(names.map(name => [name, text])),
      cache: join(folder, 'cache'),
      clock,
      pollSeconds,
      maxStaleSeconds: 2 * hour,
      onError: (error: StrongroomError) => errors.add(error.code),
      onReceipt: () => {
        receipts += 1;
      },
    });
    const pool = await store.derived(['SECRET_0'], value => ({ value }));
    const changes = new Map(names.map(name => [name, 0]));
    for (const name of names) store.onChange(name, () => changes.set(name, changes.get(name)! + 1));

    /** When each value was replaced; what a store gives out after that is stale. */
    const replacedAt = new Map<string, number>();
    let newest = new Map(names.map(name => [name, 'value 0']));
    const look = () => {
      for (const name of names) {
        const value = store.get(name).reveal();
        if (value === newest.get(name)) continue;
        const stale = (clock.now() - replacedAt.get(`${name} ${value}`)!) / 1000;
        assert.ok(stale <= bound, `${name} is ${stale} s old`);
      }
    };
    const live = async (seconds: number) => {
      for (let passed = 0; passed < seconds; passed += 30) {
        await clock.pass(30);
        look();
      }
    };
    const rotate = async (round: number) => {
      for (const name of names.filter((_, index) => index % 8 === round % 8)) {
        replacedAt.set(`${name} ${newest.get(name)}`, clock.now());
        newest = new Map(newest).set(name, `value ${round + 1}`);
        await put(name, `value ${round + 1}`);
      }
    };

    let before = 0;
    for (let round = 0; round < 8; round++) {
      await live(hour);
      await rotate(round);
      await live(hour - 60);
      await rotate(round + 1); // A minute before the outage: whether it was seen is left to chance.
      await live(60);
      await real.stop();
      await live(hour);
      assert.equal(store.status().lastError?.code, 'UNREACHABLE');
      await real.start();
      await live(1.2 * pollSeconds);
      assert.equal(store.status().lastError, null);
      if (round === 1) before = memory();
    }
    const grown = memory() - before;
    assert.ok(grown < 3_000_000, `${grown} bytes more than after a quarter of the day`);
    assert.deepEqual([...errors], ['UNREACHABLE']);
    assert.deepEqual(new Map(names.map(name => [name, store.get(name).reveal()])), newest);
    assert.equal(pool.current.value, newest.get('SECRET_0'));
    assert.ok([...changes.values()].every(count => count >= 1));
    assert.ok(receipts > 900 && receipts < 1300, `${receipts} receipts`);
    await store.close();
    assert.equal(clock.pending, 0);
  });
});
