/** A store beside a vault that is doubled in memory: what it waits for, what it keeps and for how long, and what it reports. */
import assert from 'node:assert/strict';
import { createCipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { type Cached, type CacheStorage, openCache, sealCache } from '../src/client/cache.ts';
import { type Fetch, fake, type OpenOptions, open, text, vault } from '../src/client/client.ts';
import { systemClock } from '../src/client/clock.ts';
import { StrongroomError } from '../src/client/errors.ts';
import { codeIs, ManualClock } from './client-world.ts';

const secrets = { A: text, B: z.coerce.number() };
type Declared = typeof secrets;
const both = { A: 'a', B: '1' };
const place = { url: 'https://vault.example', key: 'sr_vault_x' };
const binding = { ...place, vault: 'self' };

type Values = Readonly<Record<string, string | null>>;
/** Values, a status, or no answer at all. */
type Said = Values | number | 'away';

/** Says one thing after another, and the last for ever; a 304 where it is asked with the ETag of what it says. */
class VaultDouble {
  says: readonly Said[];
  readonly asked: (string | undefined)[] = [];

  constructor(...says: Said[]) {
    this.says = says;
  }

  readonly fetch: Fetch = async (_, { headers }) => {
    const etag = headers['if-none-match'];
    this.asked.push(etag);
    const [said, ...later] = this.says;
    if (later.length > 0) this.says = later;
    if (said === 'away') throw new TypeError('fetch failed');
    if (typeof said === 'number') return answered(said, '', null);
    const own = JSON.stringify(said);
    const found = Object.entries(said!).map(([name, value]) => ({ name, value: value ?? undefined }));
    return etag === own ? answered(304, '', own) : answered(200, JSON.stringify({ secrets: found }), own);
  };
}

const answered = (status: number, body: string, etag: string | null, type = 'application/json') => ({
  status,
  headers: { get: (name: string) => ({ etag, 'content-type': type })[name] ?? null },
  text: async () => body,
});

class CacheDouble implements CacheStorage {
  bytes: Uint8Array | null = null;
  saves = 0;
  fails = false;
  async load() {
    if (this.fails) throw new Error('no disk');
    return this.bytes;
  }
  async save(bytes: Uint8Array) {
    if (this.fails) throw new Error('no disk');
    this.saves += 1;
    this.bytes = bytes;
  }
  async clear() {
    this.bytes = null;
  }
  static async with(cached: Cached) {
    const cache = new CacheDouble();
    cache.bytes = await sealCache(cached, binding);
    return cache;
  }
}

function worldOf(says: readonly Said[], more: Partial<OpenOptions<Declared>> = {}) {
  const clock = new ManualClock();
  const double = new VaultDouble(...says);
  const errors: string[] = [];
  const onError = ({ code, names }: StrongroomError) => errors.push([code, ...names].join(' '));
  const options = { ...place, secrets, clock, fetch: double.fetch, random: () => 0.5, onError, ...more };
  const opened = async () => {
    const opening = open(options);
    const seconds = await clock.until(opening);
    return { store: await opening, seconds };
  };
  /** Code and seconds. */
  const failed = async () => {
    const opening = open(options);
    const code = opening.then(
      () => assert.fail('it opened'),
      (error: StrongroomError) => error.code,
    );
    return [await clock.until(opening), await code];
  };
  return { clock, double, errors, options, opened, failed };
}

describe('opening a store', () => {
  it('asks once where everything is there, and reports nothing', async () => {
    const { opened, double, errors } = worldOf([both]);
    const { store, seconds } = await opened();
    assert.deepEqual([store.A.reveal(), store.B.reveal(), seconds], ['a', 1, 0]);
    assert.deepEqual([double.asked, errors], [[undefined], []]);
  });

  it('asks again after a second for a secret that the vault lacks or has wrong', async () => {
    for (const [lack, told] of [
      [{ A: 'a' }, 'MISSING_SECRET B'],
      [{ A: 'a', B: 'x' }, 'INVALID_SECRET B'],
      [{ A: 'a', B: null }, 'MISSING_SECRET B'],
    ] as const) {
      const { opened, errors } = worldOf([lack, both]);
      assert.equal((await opened()).seconds, 1);
      assert.deepEqual(errors, [told]);
    }
  });

  it('is done as soon as every secret has been there, also if never at once', async () => {
    const { opened, double } = worldOf([{ A: 'a' }, { B: '2' }]);
    const { store, seconds } = await opened();
    assert.deepEqual([store.A.reveal(), store.B.reveal(), seconds], ['a', 2, 1]);
    assert.equal(double.asked.length, 2);
  });

  it('gives up when the next question would come after waitSeconds', async () => {
    const rows: readonly [said: Said, wait: number, code: string, seconds: number, asked: number][] = [
      [{ A: 'a' }, 0, 'MISSING_SECRET', 0, 1],
      [{ A: 'a' }, 2, 'MISSING_SECRET', 2, 3],
      [{ A: 'a' }, 2.5, 'MISSING_SECRET', 2, 3],
      ['away', 0, 'UNREACHABLE', 0, 1],
      ['away', 3, 'UNREACHABLE', 3, 3],
      ['away', 2.9, 'UNREACHABLE', 1, 2],
      [503, 3, 'UNAVAILABLE', 3, 3],
      [500, 3, 'INTERNAL_ERROR', 3, 3],
      [429, 3, 'RATE_LIMITED', 3, 3],
      [302, 3, 'INVALID_ANSWER', 3, 3],
      [400, 3, 'INVALID_REQUEST', 0, 1],
      [401, 3, 'UNAUTHORIZED', 0, 1],
      [403, 3, 'FORBIDDEN', 0, 1],
      [404, 3, 'NOT_FOUND', 0, 1],
      [410, 3, 'GONE', 0, 1],
    ];
    for (const [said, waitSeconds, code, seconds, asked] of rows) {
      const world = worldOf([said], { waitSeconds });
      assert.deepEqual(await world.failed(), [seconds, code], `${JSON.stringify(said)} ${waitSeconds}`);
      assert.equal(world.double.asked.length, asked);
    }
  });

  it('a store without secrets needs no vault, and says that nothing was confirmed', async () => {
    const clock = new ManualClock();
    const store = await open({ ...place, secrets: {}, clock, fetch: new VaultDouble('away').fetch });
    assert.deepEqual([store.status().confirmedAt, store.status().fromCache], [null, false]);
    assert.equal(store.status().lastError?.code, 'UNREACHABLE');
    await store.close();
  });
});

describe('the options of a store', () => {
  it('are 30 seconds between polls, give or take a fifth, a day of staleness, 300 seconds of grace', async () => {
    const { opened, clock, double } = worldOf([both], { random: undefined });
    const { store } = await opened();
    assert.ok(clock.ahead >= 24_000 && clock.ahead <= 36_000, `${clock.ahead}`);
    double.says = ['away'];
    await clock.pass(86_400);
    assert.equal(store.A.reveal(), 'a');
    await clock.pass(0.001);
    assert.throws(() => store.A.reveal(), codeIs('STALE'));
    await store.close();

    const refused = worldOf([both]);
    const second = (await refused.opened()).store;
    refused.double.says = [401];
    await assert.rejects(second.refresh(), codeIs('UNAUTHORIZED'));
    await refused.clock.pass(300);
    assert.equal(second.A.reveal(), 'a');
    await refused.clock.pass(0.001);
    assert.throws(() => second.A.reveal(), codeIs('UNAUTHORIZED'));
    await second.close();
    // 1, 2, 4, 8: the next would come at 31.
    assert.deepEqual(await worldOf(['away']).failed(), [15, 'UNREACHABLE']);
  });

  const least = { pollSeconds: 1, maxStaleSeconds: 1, graceSeconds: 0, waitSeconds: 0 };
  it('are bounded below, and staleness is bounded above', async () => {
    const { store } = await worldOf([both], least).opened();
    await store.close();
    for (const [name, bound] of Object.entries(least))
      for (const value of [bound - 0.001, Number.NaN, 'x' as unknown as number])
        await assert.rejects(open(worldOf([both], { [name]: value }).options), {
          code: 'INVALID_OPTIONS',
          message: `${name} must be a number of at least ${bound}.`,
        });
    await assert.rejects(open(worldOf([both], { maxStaleSeconds: Number.POSITIVE_INFINITY }).options), {
      code: 'INVALID_OPTIONS',
      message: 'maxStaleSeconds must be finite.',
    });
  });

  it('each secret has a schema', async () => {
    for (const B of [undefined, null, {}, { '~standard': {} }, { '~standard': { validate: true } }])
      await assert.rejects(open({ ...worldOf([both]).options, secrets: { A: text, B } as never }), {
        code: 'INVALID_OPTIONS',
        message: 'secrets.B must be a Standard Schema, such as text.',
      });
  });
});

describe('an open store', () => {
  it('asks with the ETag of what it has, and takes a 304 as a confirmation', async () => {
    const { opened, clock, double } = worldOf([both]);
    const { store } = await opened();
    const from = clock.now();
    await clock.pass(30);
    assert.deepEqual(double.asked, [undefined, JSON.stringify(both)]);
    assert.equal(store.status().confirmedAt?.getTime(), from + 30_000);
    await store.close();
  });

  it('asks without one after a value that its schema refused, and with it where one is missing', async () => {
    for (const [said, isAskedWith] of [
      [{ A: 'b', B: 'x' }, false],
      [{ A: 'b' }, true],
    ] as const) {
      const { opened, clock, double, errors } = worldOf([both, said]);
      const { store } = await opened();
      await clock.pass(60);
      assert.equal(double.asked[2], isAskedWith ? JSON.stringify(said) : undefined);
      assert.deepEqual([store.A.reveal(), store.B.reveal()], ['b', 1]);
      assert.equal(errors.length, isAskedWith ? 1 : 2);
      await store.close();
    }
  });

  it('reports a failure, names it until an exchange succeeds, and goes on', async () => {
    const { opened, clock, double, errors } = worldOf([both, 503, both]);
    const { store } = await opened();
    await assert.rejects(store.refresh(), codeIs('UNAVAILABLE'));
    assert.deepEqual([errors, store.status().lastError?.code], [['UNAVAILABLE'], 'UNAVAILABLE']);
    await store.refresh();
    assert.deepEqual([store.status().lastError, double.asked.length], [null, 3]);
    await clock.pass(0);
    await store.close();
  });

  it('reports what a callback throws, also later, and tells what is known of each error', async () => {
    const { opened, double, errors } = worldOf([both]);
    const { store } = await opened();
    store.onChange('A', async () => {
      throw new Error('later');
    });
    double.says = [{ A: 'b', B: '1' }];
    await store.refresh();
    await setImmediate();
    assert.deepEqual(errors, ['CALLBACK_FAILED']);
    await store.close();
    const bare = new StrongroomError('STALE', 'x');
    assert.deepEqual(
      [bare.status, bare.names, bare.retryAfterSeconds, 'cause' in bare],
      [null, [], null, false],
    );
    const cause = new Error('why');
    const whole = new StrongroomError('GONE', 'x', {
      status: 410,
      names: ['A'],
      retryAfterSeconds: 7,
      cause,
    });
    assert.deepEqual(
      [whole.status, whole.names, whole.retryAfterSeconds, whole.cause],
      [410, ['A'], 7, cause],
    );
    assert.deepEqual(
      [7, null, ''].map(value => 'issues' in text['~standard'].validate(value)),
      [true, true, false],
    );
  });

  it('reports nothing of a request that its own closing ended', async () => {
    const { opened, options, errors } = worldOf([both]);
    const hanging: Fetch = (_, { signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
    let { fetch } = new VaultDouble(both);
    options.fetch = (url, init) => fetch(url, init);
    const { store } = await opened();
    fetch = hanging;
    const refused = assert.rejects(store.refresh(), { message: 'The store is closed.' });
    await store.close();
    await refused;
    assert.deepEqual([errors, store.status().lastError], [[], null]);
  });

  for (const [status, empties] of [
    [401, true],
    [403, true],
    [404, false],
    [410, false],
    [500, false],
  ] as const)
    it(`${empties ? 'empties its cache and begins its grace' : 'keeps both cache and values'} after ${status}`, async () => {
      const cache = new CacheDouble();
      const { opened, clock, double } = worldOf([both, status], { cache, graceSeconds: 5 });
      const { store } = await opened();
      await assert.rejects(store.refresh(), { status });
      assert.equal(cache.bytes === null, empties);
      await clock.pass(5);
      assert.equal(store.A.reveal(), 'a');
      await clock.pass(0.001);
      if (empties) assert.throws(() => store.A.reveal(), codeIs('UNAUTHORIZED'));
      else assert.equal(store.A.reveal(), 'a');
      double.says = [both];
      await store.refresh();
      assert.equal(store.A.reveal(), 'a');
      assert.notEqual(cache.bytes, null);
      await store.close();
    });
});

describe('the cache of a store', () => {
  const now = new ManualClock().now();
  const rows: readonly [
    what: string,
    confirmedAt: number,
    values: Record<string, string>,
    isUsed: boolean,
  ][] = [
    ['just confirmed', now, both, true],
    ['as old as maxStaleSeconds', now - 600_000, both, true],
    ['a millisecond older', now - 600_001, both, false],
    ['a minute ahead, as a clock may be', now + 60_000, both, true],
    ['more than a minute ahead', now + 60_001, both, false],
    ['without a secret that is declared now', now, { A: 'a' }, false],
    ['with a value that its schema refuses now', now, { A: 'a', B: 'x' }, false],
  ];
  for (const [what, confirmedAt, values, isUsed] of rows)
    it(`${what}: ${isUsed ? 'is used' : 'is not used'} while the vault is away`, async () => {
      const cache = await CacheDouble.with({ confirmedAt, values });
      const world = worldOf(['away'], { cache, maxStaleSeconds: 600, waitSeconds: 0 });
      if (!isUsed) return assert.deepEqual(await world.failed(), [0, 'UNREACHABLE']);
      const { store } = await world.opened();
      assert.deepEqual([store.A.reveal(), store.B.reveal()], ['a', 1]);
      const { fromCache, confirmedAt: since } = store.status();
      assert.deepEqual([fromCache, since?.getTime()], [true, confirmedAt]);
      world.double.says = [both];
      await store.refresh();
      assert.equal(store.status().fromCache, false);
      await store.close();
    });

  it('an empty one, a foreign one and none help nobody; only one that fails is reported', async () => {
    const foreign = new CacheDouble();
    foreign.bytes = await sealCache({ confirmedAt: now, values: both }, { ...binding, vault: 'other' });
    const failing = Object.assign(new CacheDouble(), { fails: true });
    for (const [cache, told] of [
      [undefined, []],
      [new CacheDouble(), []],
      [foreign, []],
      [failing, ['CACHE_FAILED']],
    ] as const) {
      const { failed, errors } = worldOf(['away'], { cache, waitSeconds: 0 });
      assert.deepEqual(await failed(), [0, 'UNREACHABLE']);
      assert.deepEqual(errors, ['UNREACHABLE', ...told]);
    }
    const { opened, errors } = worldOf([both], { cache: failing });
    await (await opened()).store.close();
    assert.deepEqual(errors, ['CACHE_FAILED']);
  });

  it('is AES-256-GCM under a key from the access key, after 32 bytes of salt and 12 of nonce', async () => {
    const [salt, nonce] = [randomBytes(32), randomBytes(12)];
    const info = 'strongroom client cache 1';
    const sealing = createCipheriv(
      'aes-256-gcm',
      Buffer.from(hkdfSync('sha256', binding.key, salt, info, 32)),
      nonce,
    ).setAAD(Buffer.from(JSON.stringify([info, binding.url, binding.vault])));
    const cached = { confirmedAt: now, values: both };
    const text = Buffer.concat([
      sealing.update(JSON.stringify(cached)),
      sealing.final(),
      sealing.getAuthTag(),
    ]);
    assert.deepEqual(await openCache(Buffer.concat([salt, nonce, text]), binding), cached);
    for (const length of [0, 1, 31, 32, 43, 44, 45, 59, 60])
      assert.equal(await openCache(Buffer.concat([salt, nonce, text]).subarray(0, length), binding), null);
  });

  it('brings nothing back that the vault has just said it lacks', async () => {
    const cache = await CacheDouble.with({ confirmedAt: now, values: both });
    const { opened } = worldOf([{ A: 'a' }, 'away', { A: 'b', B: '3' }], { cache });
    const { store, seconds } = await opened();
    assert.deepEqual([store.A.reveal(), store.status().fromCache, seconds], ['b', false, 2]);
    await store.close();
  });

  it('is not used where the vault refuses', async () => {
    const cache = await CacheDouble.with({ confirmedAt: now, values: both });
    assert.deepEqual(await worldOf([403], { cache }).failed(), [0, 'FORBIDDEN']);
    assert.equal(cache.bytes, null);
  });

  it('is written at a change, else once a tenth of maxStaleSeconds has passed, and never without a declared secret', async () => {
    for (const [maxStaleSeconds, saves] of [
      [300, 2],
      [300.01, 1],
    ] as const) {
      const cache = new CacheDouble();
      const { opened, clock, double } = worldOf([both], { cache, maxStaleSeconds });
      const { store } = await opened();
      assert.equal(cache.saves, 1);
      await clock.pass(30);
      assert.equal(cache.saves, saves);
      double.says = [{ A: 'b', B: '1' }];
      await store.refresh();
      assert.equal(cache.saves, saves + 1);
      const kept = await openCache(cache.bytes!, binding);
      assert.deepEqual(kept, { confirmedAt: clock.now(), values: { A: 'b', B: '1' } });
      double.says = [{ A: 'c' }];
      await store.refresh();
      assert.equal(cache.saves, saves + 1);
      await store.close();
    }
  });

  it('may be a file', async t => {
    const folder = mkdtempSync(join(tmpdir(), 'strongroom-store-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const cache = join(folder, 'cache');
    const { opened, errors } = worldOf([both], { cache });
    await (await opened()).store.close();
    assert.deepEqual([existsSync(cache), errors], [true, []]);
  });
});

describe('the secrets of a store', () => {
  const names = ['A', 'get', 'then', 'toString'] as const;
  const named = Object.fromEntries(names.map(name => [name, name[0]!.toLowerCase()]));
  const store = fake(named as Record<(typeof names)[number], string>);

  it('are its properties, but for names that it needs itself, and can all be got', async () => {
    assert.deepEqual(Object.keys(store), ['A']);
    assert.equal(typeof store.get, 'function');
    assert.equal((await store) === store, true, 'it is nothing that can be waited for');
    assert.deepEqual(
      names.map(name => store.get(name).reveal()),
      ['a', 'g', 't', 't'],
    );
  });

  it('are those that are declared', async () => {
    const undeclared = { name: 'TypeError', message: 'The secret is not declared.' };
    for (const name of ['B', 'close', 'constructor'] as never[]) {
      assert.throws(() => store.get(name), undeclared);
      assert.throws(() => store.onChange(name, () => {}), undeclared);
      await assert.rejects(
        store.derived([name], () => 1),
        undeclared,
      );
    }
  });

  it('may be built into something that needs no disposal', async () => {
    const built = await store.derived(['A'], value => value);
    await store.set({ A: 'b' } as never);
    assert.equal(built.current, 'b');
    await store.close();
  });
});

describe('the clock of the machine', () => {
  it('is never behind what has passed since the start, and goes forward with the machine’s', t => {
    const now = t.mock.method(Date, 'now', () => 0);
    assert.ok(systemClock.now() >= performance.timeOrigin);
    now.mock.mockImplementation(() => 8_640_000_000_000_000);
    assert.equal(systemClock.now(), 8_640_000_000_000_000);
  });

  it('waits at most as long as a timer can, and keeps a process alive only where it is awaited', t => {
    const timers: unknown[] = [];
    const ended: unknown[] = [];
    let timer: unknown;
    t.mock.method(globalThis, 'setTimeout', (_: unknown, milliseconds: number) => {
      timers.push(milliseconds);
      return timer;
    });
    t.mock.method(globalThis, 'clearTimeout', (one: unknown) => ended.push(one));
    const unref = t.mock.fn();
    timer = { unref };
    for (const milliseconds of [5, 2 ** 31 - 1, 2 ** 31]) systemClock.after(milliseconds, () => {}, true);
    assert.equal(unref.mock.callCount(), 0);
    systemClock.after(5, () => {}, false)();
    assert.deepEqual([unref.mock.callCount(), ended], [1, [timer]]);
    assert.deepEqual(timers, [5, 2_147_483_647, 2_147_483_647, 5]);
    const unrefTimer = t.mock.fn();
    (globalThis as { Deno?: unknown }).Deno = { unrefTimer };
    t.after(() => {
      delete (globalThis as { Deno?: unknown }).Deno;
    });
    systemClock.after(5, () => {}, false);
    timer = 7;
    systemClock.after(5, () => {}, true);
    assert.equal(unrefTimer.mock.callCount(), 0);
    systemClock.after(5, () => {}, false);
    assert.deepEqual(
      unrefTimer.mock.calls.map(call => call.arguments),
      [[7]],
    );
  });
});

describe('a vault that is asked directly', () => {
  const asked: string[] = [];
  const asking = (body: string, type?: string, options: object = {}) =>
    vault({
      ...place,
      ...options,
      fetch: async url => {
        asked.push(url.slice(place.url.length));
        return answered(200, body, null, type);
      },
    });

  it('is asked for what is wanted', async () => {
    const self = asking('{"value":"v"}');
    await self.read();
    await self.read({});
    await self.read({ include: [] });
    await self.read({ include: ['keys', 'certificates'] });
    await self.names();
    await self.names({ include: ['keys'] });
    assert.equal(await self.get('A&B'), 'v');
    await asking('{}', undefined, { vault: 'v/1' }).read();
    assert.deepEqual(asked, [
      '/api/v1/vaults/self',
      '/api/v1/vaults/self',
      '/api/v1/vaults/self',
      '/api/v1/vaults/self?include=keys%2Ccertificates',
      '/api/v1/vaults/self?secrets=names',
      '/api/v1/vaults/self?secrets=names&include=keys',
      '/api/v1/vaults/self?name=A%26B',
      '/api/v1/vaults/v%2F1',
    ]);
  });

  it('a secret without a value is one that the key may not read', async () => {
    for (const body of ['{}', '{"value":null}', '{"value":1}'])
      await assert.rejects(asking(body).get('A'), { code: 'FORBIDDEN', names: ['A'] });
    assert.equal(await asking('{"value":""}').get('A'), '');
  });

  it('gives PEM out only as what it is', async () => {
    assert.equal(await asking('PEM', 'application/x-pem-file').pem('id'), 'PEM');
    assert.equal(await asking('PEM', 'application/x-pem-file; charset=utf-8').pem('id'), 'PEM');
    await assert.rejects(asking('{}').pem('id'), codeIs('INVALID_REQUEST'));
  });

  it('what is not the answer of a vault opens no store', async () => {
    for (const body of ['null', '{}', '{"secrets":{}}', '[]', '<html>'])
      await assert.rejects(
        open({ ...place, secrets, waitSeconds: 0, fetch: async () => answered(200, body, null) }),
        codeIs('INVALID_ANSWER'),
      );
  });
});

describe('a fake', () => {
  const later = {
    '~standard': { version: 1, vendor: 'test', validate: async (value: unknown) => ({ value }) },
  } as const;

  it('takes what the schemas take, or any text without them', async () => {
    const store = fake(both, secrets);
    assert.deepEqual([store.A.reveal(), store.B.reveal(), store.status().fromCache], ['a', 1, false]);
    await store.set({ B: '2' });
    assert.equal(store.B.reveal(), 2);
    assert.equal(fake({ C: '' }).C.reveal(), '');
  });

  it('names what is missing or wrong, each once', async () => {
    const rows: readonly [given: Record<string, string>, code: string, names: string[]][] = [
      [{ A: 'a' }, 'MISSING_SECRET', ['B']],
      [{ A: 'a', B: 'x' }, 'INVALID_SECRET', ['B']],
      [{ B: 'x' }, 'MISSING_SECRET', ['A', 'B']],
      [{}, 'MISSING_SECRET', ['A', 'B']],
    ];
    for (const [given, code, names] of rows)
      assert.throws(() => fake(given as typeof both, secrets), { code, names });
    await assert.rejects(fake(both, secrets).set({ B: 'x' }), { code: 'INVALID_SECRET', names: ['B'] });
  });

  it('refuses schemas that answer later, and lets out what a listener throws', async () => {
    assert.throws(() => fake({ A: 'a' }, { A: later }), codeIs('CALLBACK_FAILED'));
    const store = fake(both, secrets);
    store.onChange('A', () => {
      throw new Error('no');
    });
    await assert.rejects(store.set({ A: 'b' }), codeIs('CALLBACK_FAILED'));
  });
});
