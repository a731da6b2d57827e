/** The client's cache: lets a service start while the vault is away, tells a thief of the file nothing, and grows old. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { file, open, text } from '../src/client/client.ts';
import { codeIs, declared, ManualClock, storeWorld, vaultOf } from './client-world.ts';
import { type Service, startService } from './harness.ts';

describe('the client’s cache', () => {
  let service: Service;
  let folder: string;

  before(async () => {
    service = await startService();
    folder = await mkdtemp(join(tmpdir(), 'strongroom-client-'));
  });
  after(async () => {
    await service.stop();
    await rm(folder, { recursive: true });
  });

  const saved = async (path: string) => (await readFile(path)).toString('latin1');

  it('lets a store start while the vault is away, and is unreadable by itself', async () => {
    const path = join(folder, 'new folder', 'cache');
    const { clock, wire, options } = await storeWorld(service, declared, { cache: path });
    await (await open(options)).close();
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    assert.doesNotMatch(await saved(path), /pa55word|DATABASE_URL|5432|sr_vault/);
    assert.deepEqual(await readdir(join(folder, 'new folder')), ['cache']);
    wire.isDown = true;
    await clock.pass(3600);
    const store = await open(options);
    assert.equal(store.PORT.reveal(), 5432);
    assert.deepEqual(
      [store.status().fromCache, store.status().confirmedAt?.getTime()],
      [true, clock.now() - 3_600_000],
    );
    wire.isDown = false;
    await clock.pass(2);
    assert.equal(store.status().fromCache, false);
    await store.close();
  });

  it('counts its age from the vault’s last word: what is too old is not used, nor kept in use', async () => {
    const path = join(folder, 'old');
    const { clock, wire, options } = await storeWorld(service, declared, {
      cache: path,
      maxStaleSeconds: 600,
      waitSeconds: 1,
    });
    await (await open(options)).close();
    wire.isDown = true;
    await clock.pass(500);
    const store = await open(options);
    await clock.pass(100);
    assert.equal(store.PORT.reveal(), 5432);
    await clock.pass(1);
    assert.throws(() => store.PORT.reveal(), codeIs('STALE'));
    await store.close();
    const opening = open(options);
    const refused = assert.rejects(opening, codeIs('UNREACHABLE'));
    await clock.until(opening);
    await refused;
  });

  it('is bound to the address, the vault and the access key, and an altered one is not used', async () => {
    const path = join(folder, 'bound');
    const { held, clock, wire, options } = await storeWorld(service, declared, {
      cache: path,
      waitSeconds: 0,
    });
    await (await open(options)).close();
    wire.isDown = true;
    const other = await vaultOf(service, {});
    const bytes = await readFile(path);
    const refused = (changed: Partial<typeof options>) =>
      assert.rejects(open({ ...options, ...changed }), codeIs('UNREACHABLE'));
    await refused({ url: service.url.replace('127.0.0.1', 'localhost') });
    await refused({ vault: held.vaultId });
    await refused({ key: other.key });
    await refused({ secrets: { ...declared, MORE: text } as never });
    for (const at of [0, 40, bytes.length - 1]) {
      const altered = Buffer.from(bytes);
      altered[at]! ^= 1;
      await writeFile(path, altered);
      await refused({});
    }
    await writeFile(path, bytes.subarray(0, 20));
    await refused({});
    await writeFile(path, bytes);
    await (await open(options)).close();
    assert.equal(clock.pending, 0);
  });

  it('one from the future is not used: a clock that was set back would keep it for long', async () => {
    const path = join(folder, 'future');
    const { clock, wire, options } = await storeWorld(service, declared, { cache: path, waitSeconds: 0 });
    await clock.pass(3600);
    await (await open(options)).close();
    wire.isDown = true;
    await assert.rejects(open({ ...options, clock: new ManualClock() }), codeIs('UNREACHABLE'));
  });

  it('brings nothing back that the vault has said is gone', async () => {
    const path = join(folder, 'gone');
    const { held, clock, wire, options } = await storeWorld(service, declared, {
      cache: path,
      waitSeconds: 5,
    });
    await (await open(options)).close();
    await held.remove('PORT');
    const opening = open(options);
    const refused = assert.rejects(opening, codeIs('UNREACHABLE'));
    while (clock.ahead !== 1000) await new Promise(resolve => setImmediate(resolve));
    wire.isDown = true;
    await clock.until(opening);
    await refused;
  });

  it('is emptied as soon as the vault refuses the access key', async () => {
    const path = join(folder, 'refused');
    const { held, clock, wire, options } = await storeWorld(service, declared, {
      cache: path,
      waitSeconds: 0,
    });
    const store = await open(options);
    await held.revoke();
    await clock.pass(40);
    await store.close();
    assert.equal((await readdir(folder)).includes('refused'), false);
    wire.isDown = true;
    await assert.rejects(open(options), codeIs('UNREACHABLE'));
  });

  it('is written when a value changes, and seldom otherwise', async () => {
    let writes = 0;
    const storage = file(join(folder, 'seldom'));
    const counted = {
      ...storage,
      save: (bytes: Uint8Array) => {
        writes += 1;
        return storage.save(bytes);
      },
    };
    const { held, clock, open } = await storeWorld(service, declared, {
      cache: counted,
      maxStaleSeconds: 36_000,
    });
    const store = await open();
    await clock.pass(3500);
    assert.equal(writes, 1);
    await clock.pass(200);
    assert.equal(writes, 2);
    await held.put('PORT', '1');
    await clock.pass(40);
    assert.equal(writes, 3);
    await store.close();
  });

  it('a file of more than 32 MiB is not ours, and is not read', async () => {
    const path = join(folder, 'large');
    await writeFile(path, '');
    await truncate(path, 32 * 1024 * 1024);
    assert.equal((await file(path).load())?.length, 32 * 1024 * 1024);
    await truncate(path, 32 * 1024 * 1024 + 1);
    assert.ok((await file(path).load()) === null);
  });

  it('one that fails is reported, and the store goes on', async () => {
    await writeFile(join(folder, 'a file'), '');
    const { errors, options } = await storeWorld(service, declared, {
      cache: join(folder, 'a file', 'cache'),
    });
    const store = await open(options);
    assert.equal(store.PORT.reveal(), 5432);
    assert.deepEqual(
      errors.map(({ code }) => code),
      ['CACHE_FAILED'],
    );
    await store.close();
  });
});
