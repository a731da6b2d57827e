/** `strongroom/client` against a real service: what it reads, keeps, refuses and never shows. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { format, inspect } from 'node:util';
import { z } from 'zod';
import {
  type Fetch,
  fake,
  open,
  type Receipt,
  type StrongroomError,
  text,
  vault,
} from '../src/client/client.ts';
import { codeIs, declared, ManualClock, storeWorld, values, vaultOf } from './client-world.ts';
import { type Service, startService } from './harness.ts';

describe('the client', () => {
  let service: Service;

  before(async () => {
    service = await startService();
  });
  after(() => service.stop());

  describe('vault()', () => {
    it('reads the vault of its access key, one value by name, names, and keys as PEM', async () => {
      const held = await vaultOf(service, { ...values, 'odd name/ü?&': 'x=1&y' });
      const key = await service.call('POST', '/v1/keys', {
        vault_id: held.vaultId,
        name: 'signing',
        generate: { key_type: 'EC', curve: 'P-256' },
      });
      for (const id of [undefined, held.vaultId]) {
        const one = vault({
          url: `${service.url}/`,
          key: `${held.key}\n`,
          ...(id === undefined ? {} : { vault: id }),
        });
        const read = await one.read({ include: ['keys', 'certificates'] });
        assert.equal(read.id, held.vaultId);
        assert.deepEqual(read.secrets.map(({ name, value }) => [name, value]).sort(), [
          ['DATABASE_URL', values.DATABASE_URL],
          ['PORT', '5432'],
          ['odd name/ü?&', 'x=1&y'],
        ]);
        assert.deepEqual(read.certificates, []);
        assert.equal(read.keys?.length, 1);
        assert.equal(await one.get('PORT'), '5432');
        assert.equal(await one.get('odd name/ü?&'), 'x=1&y');
        assert.equal('value' in (await one.names()).secrets[0]!, false);
        assert.match(await one.pem(key.body.id), /^-----BEGIN PRIVATE KEY-----/);
      }
    });

    it('names what is wrong with a code, and never shows the access key', async () => {
      const held = await vaultOf(service, values);
      const one = vault({ url: service.url, key: held.key });
      await assert.rejects(one.get('NOBODY'), codeIs('NOT_FOUND'));
      await assert.rejects(one.pem('nothing'), codeIs('NOT_FOUND'));
      await held.revoke();
      await assert.rejects(one.read(), (error: StrongroomError) => {
        assert.equal(error.code, 'UNAUTHORIZED');
        assert.equal(error.status, 401);
        assert.ok(!inspect(error, { depth: 9, showHidden: true }).includes(held.key));
        return true;
      });
      const gone = vault({ url: 'http://127.0.0.1:9', key: held.key });
      await assert.rejects(gone.read(), codeIs('UNREACHABLE'));
    });

    it('refuses options that can’t work, or would give the key away, without repeating them', () => {
      const url = 'https://vault.example';
      for (const options of [
        { url: 'vault.example', key: 'sr_vault_x' },
        { url: 'file:///etc/passwd', key: 'sr_vault_x' },
        { url: 'https://user:hunter2@vault.example', key: 'sr_vault_x' },
        { url: 'http://vault.example', key: 'sr_vault_x' },
        { url: 'http://127.0.0.1.vault.example', key: 'sr_vault_x' },
        { url, key: '' },
        { url, key: 'hunter2\nX-Injected: 1' },
        { url, key: 'sr_vault_x', timeoutSeconds: 0 },
      ]) {
        assert.throws(
          () => vault(options),
          (error: StrongroomError) =>
            error.code === 'INVALID_OPTIONS' && !/hunter2|example/.test(error.message),
        );
      }
      vault({ url: 'http://vault.example', key: 'sr_vault_x', insecureHttp: true });
      vault({ url: 'http://[::1]:8420', key: 'sr_vault_x' });
    });

    it('follows no redirect, so the key goes nowhere else', async () => {
      const seen: (string | undefined)[] = [];
      const server = createServer((request, response) => {
        seen.push(request.url);
        response.writeHead(302, { location: '/elsewhere' }).end();
      });
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      const one = vault({ url: `http://127.0.0.1:${port}`, key: 'sr_vault_x' });
      await assert.rejects(one.read(), (error: StrongroomError) => /redirect/.test(error.message));
      assert.deepEqual(seen, ['/api/v1/vaults/self']);
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    });

    it('gives up on an answer that does not come', async () => {
      const clock = new ManualClock();
      const hanging: Fetch = (_url, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      const reading = vault({
        url: service.url,
        key: 'sr_vault_x',
        fetch: hanging,
        clock,
        timeoutSeconds: 4,
      }).read();
      const refused = assert.rejects(reading, codeIs('UNREACHABLE'));
      assert.equal(clock.ahead, 4000);
      await clock.pass(4);
      await refused;
    });

    it('hands every receipt over, with the id of its log entry', async () => {
      const held = await vaultOf(service, values);
      const receipts: Receipt[] = [];
      const one = vault({ url: service.url, key: held.key, onReceipt: receipt => receipts.push(receipt) });
      await one.read();
      await assert.rejects(one.get('NOBODY'));
      assert.deepEqual(
        receipts.map(({ status }) => status),
        [200, 404],
      );
      const logged = (await service.call('GET', `/v1/request-logs?vault_id=${held.vaultId}`)).body.data;
      assert.deepEqual(
        new Set(receipts.map(({ receipt }) => receipt)),
        new Set(logged.map((entry: { receipt: string }) => entry.receipt)),
      );
    });
  });

  describe('a store', () => {
    it('has every declared secret, as its schema made it', async () => {
      const { open } = await storeWorld(service, declared);
      const store = await open();
      const port: number = store.PORT.reveal();
      assert.equal(port, 5432);
      assert.equal(store.DATABASE_URL.reveal(), values.DATABASE_URL);
      assert.equal(store.get('PORT'), store.PORT);
      assert.equal(store.status().fromCache, false);
      await store.close();
    });

    it('never shows a value where it is printed, joined or serialized', async () => {
      const { open } = await storeWorld(service, declared);
      await using store = await open();
      const secret = store.DATABASE_URL;
      const shown = [
        `${secret}`,
        String(secret),
        ['', secret].join(''),
        JSON.stringify({ secret, store }),
        inspect({ secret, store }, { depth: 9, showHidden: true, getters: true }),
        format('%s %o %O %j', secret, secret, secret, secret),
        Object.entries(secret).join(),
        JSON.stringify({ ...secret }),
        inspect(structuredClone({ ...secret })),
      ];
      for (const one of shown) assert.ok(!one.includes('pa55word'), one);
      for (const one of shown.slice(0, 6)) assert.match(one, /\[secret DATABASE_URL\]/);
    });

    it('works for names that the store or its prototype uses', async () => {
      const names = ['close', 'then', 'get', 'toString', '__proto__', 'a b'];
      const odd = Object.fromEntries(names.map(name => [name, text]));
      const held = await vaultOf(service, Object.fromEntries(names.map(name => [name, `value of ${name}`])));
      const store = await open({ url: service.url, key: held.key, secrets: odd });
      for (const name of names) assert.equal(store.get(name).reveal(), `value of ${name}`);
      assert.equal(store['a b']!.reveal(), 'value of a b');
      await store.close();
    });

    it('takes schemas that answer later, and those that are functions', async () => {
      const later = {
        version: 1,
        vendor: 'test',
        validate: async (value: unknown) => ({ value: Number(value) + 1 }),
      } as const;
      const callable = Object.assign(() => {}, { '~standard': later });
      const { open } = await storeWorld(service, { PORT: callable });
      const store = await open();
      assert.equal(store.PORT.reveal(), 5433);
      await store.close();
    });

    it('says that a secret is missing where the access key reads names only', async () => {
      const { held, options } = await storeWorld(service, declared, { waitSeconds: 0 });
      await service.call('PUT', `/v1/access-keys/${held.keyId}`, { names_only: true });
      await assert.rejects(open(options), codeIs('MISSING_SECRET'));
      await assert.rejects(vault(options).get('PORT'), codeIs('FORBIDDEN'));
    });

    it('waits until every secret is there and matches its schema', async () => {
      const { held, clock, errors, open } = await storeWorld(service, {
        ...declared,
        LATE: z.coerce.number(),
      });
      const opening = open();
      let settled = false;
      void opening.then(() => {
        settled = true;
      });
      while (clock.ahead !== 1000) await new Promise(resolve => setImmediate(resolve));
      await held.put('LATE', 'not a number');
      await clock.pass(1);
      while (errors.at(-1)?.code !== 'INVALID_SECRET') await new Promise(resolve => setImmediate(resolve));
      assert.equal(settled, false);
      await held.put('LATE', '7');
      await clock.until(opening);
      assert.equal((await opening).LATE.reveal(), 7);
      assert.deepEqual(errors[0]!.names, ['LATE']);
      assert.equal(errors[0]!.code, 'MISSING_SECRET');
      assert.ok(errors.every(error => !inspect(error).includes('not a number')));
      await (await opening).close();
    });

    it('gives up waiting after waitSeconds, and says which names are missing', async () => {
      const { clock, open } = await storeWorld(service, { ...declared, NEVER: text }, { waitSeconds: 20 });
      const opening = open();
      const refused = assert.rejects(opening, (error: StrongroomError) => {
        assert.deepEqual([error.code, error.names], ['MISSING_SECRET', ['NEVER']]);
        return true;
      });
      assert.ok((await clock.until(opening)) <= 20);
      await refused;
      assert.equal(clock.pending, 0);
    });

    it('fails immediately where waiting can’t help', async () => {
      const { held, clock, options } = await storeWorld(service, declared);
      await held.revoke();
      await assert.rejects(open(options), codeIs('UNAUTHORIZED'));
      const notASchema = { PORT: Number } as never;
      await assert.rejects(open({ ...options, secrets: notASchema }), codeIs('INVALID_OPTIONS'));
      for (const bad of [
        { maxStaleSeconds: Number.POSITIVE_INFINITY },
        { maxStaleSeconds: 0 },
        { graceSeconds: -1 },
        { pollSeconds: 0.1 },
        { waitSeconds: Number.NaN },
      ]) {
        await assert.rejects(open({ ...options, ...bad }), codeIs('INVALID_OPTIONS'));
      }
      assert.equal(clock.pending, 0);
    });

    it('polls by ETag, spread by a fifth, and tells of changes once', async () => {
      const { held, clock, wire, open } = await storeWorld(service, declared, { pollSeconds: 30 });
      const store = await open();
      const seen: number[] = [];
      const end = store.onChange('PORT', secret => seen.push(secret.reveal()));
      assert.equal(clock.ahead, 30_000);
      await clock.pass(61);
      await held.put('PORT', '5433');
      await clock.pass(60);
      assert.deepEqual(wire.statuses, [200, 304, 304, 200, 304]);
      assert.deepEqual(seen, [5433]);
      end();
      await held.put('PORT', '5434');
      await store.refresh();
      assert.equal(store.PORT.reveal(), 5434);
      assert.deepEqual(seen, [5433]);
      await store.close();
      assert.equal(clock.pending, 0);
      for (const [random, ahead] of [
        [0, 24_000],
        [1, 36_000],
      ] as const) {
        const spread = await storeWorld(service, declared, { random: () => random });
        const other = await spread.open();
        assert.equal(spread.clock.ahead, ahead);
        await other.close();
      }
    });

    it('asks once, however many ask it to', async () => {
      const { wire, open } = await storeWorld(service, declared);
      const store = await open();
      await Promise.all(Array.from({ length: 20 }, () => store.refresh()));
      assert.equal(wire.requests, 2);
      await store.close();
    });

    it('goes on with what it has while the vault is away, and comes back soon after', async () => {
      const { held, clock, wire, errors, open } = await storeWorld(service, declared, { pollSeconds: 30 });
      const store = await open();
      wire.isDown = true;
      await clock.pass(3600);
      assert.equal(store.PORT.reveal(), 5432);
      assert.equal(errors.at(-1)?.code, 'UNREACHABLE');
      assert.equal(store.status().lastError?.code, 'UNREACHABLE');
      await held.put('PORT', '5433');
      wire.isDown = false;
      await clock.pass(36);
      assert.equal(store.PORT.reveal(), 5433);
      assert.equal(store.status().lastError, null);
      await store.close();
    });

    it('gives out nothing that the vault has not confirmed for maxStaleSeconds', async () => {
      const { clock, wire, open } = await storeWorld(service, declared, { maxStaleSeconds: 600 });
      const store = await open();
      wire.isDown = true;
      await clock.pass(600);
      assert.equal(store.PORT.reveal(), 5432);
      await clock.pass(1);
      assert.throws(() => store.PORT.reveal(), codeIs('STALE'));
      wire.isDown = false;
      await clock.pass(36);
      assert.equal(store.PORT.reveal(), 5432);
      await store.close();
    });

    it('gives out values for graceSeconds after the key was revoked, whatever the vault does then', async () => {
      const { held, clock, wire, errors, open } = await storeWorld(service, declared, {
        graceSeconds: 300,
        pollSeconds: 10,
      });
      const store = await open();
      await held.revoke();
      await clock.pass(10);
      assert.equal(errors.at(-1)?.code, 'UNAUTHORIZED');
      wire.isDown = true;
      await clock.pass(300);
      assert.equal(store.PORT.reveal(), 5432);
      await clock.pass(1);
      assert.throws(() => store.PORT.reveal(), codeIs('UNAUTHORIZED'));
      await store.close();
    });

    it('counts graceSeconds from the first refusal, however often the vault refuses again', async () => {
      const options = { graceSeconds: 300, pollSeconds: 10 };
      const { held, clock, errors, open } = await storeWorld(service, declared, options);
      const store = await open();
      await held.revoke();
      while (errors.length === 0) await clock.pass(1);
      await clock.pass(300);
      assert.ok(errors.length > 5, 'it was refused again and again');
      assert.equal(store.PORT.reveal(), 5432);
      await clock.pass(1);
      assert.throws(() => store.PORT.reveal(), codeIs('UNAUTHORIZED'));
      await store.close();
    });

    it('keeps the last good value of a secret that goes missing or bad, until it is too old', async () => {
      const { held, clock, errors, open } = await storeWorld(service, declared, { maxStaleSeconds: 600 });
      const store = await open();
      await held.put('PORT', 'many');
      await held.put('DATABASE_URL', 'postgres://two/app');
      await clock.pass(40);
      assert.equal(store.DATABASE_URL.reveal(), 'postgres://two/app');
      assert.equal(store.PORT.reveal(), 5432);
      assert.deepEqual([errors.at(-1)?.code, errors.at(-1)?.names], ['INVALID_SECRET', ['PORT']]);
      await held.remove('DATABASE_URL');
      await clock.pass(40);
      assert.deepEqual(
        [errors.at(-1)?.code, errors.at(-1)?.names],
        ['MISSING_SECRET', ['DATABASE_URL', 'PORT']],
      );
      await clock.pass(620);
      assert.throws(() => store.DATABASE_URL.reveal(), codeIs('STALE'));
      assert.throws(() => store.PORT.reveal(), codeIs('STALE'));
      await store.close();
    });

    it('does not ask again before Retry-After, not even when told to', async () => {
      const { clock, wire, open } = await storeWorld(service, declared, { pollSeconds: 10 });
      const store = await open();
      wire.isDown = true;
      wire.down = async () =>
        new Response('{"message":"Busy"}', { status: 503, headers: { 'retry-after': '120' } });
      await clock.pass(10);
      assert.equal(wire.requests, 2);
      await clock.pass(119);
      await assert.rejects(store.refresh(), codeIs('RATE_LIMITED'));
      assert.equal(wire.requests, 2);
      wire.down = async () =>
        new Response('', {
          status: 429,
          headers: { 'retry-after': new Date(clock.now() + 61_000).toUTCString() },
        });
      await clock.pass(2);
      assert.equal(wire.requests, 3);
      assert.ok(clock.ahead > 58_000 && clock.ahead <= 61_000);
      wire.isDown = false;
      await clock.pass(70);
      assert.equal(store.status().lastError, null);
      await store.close();
    });

    it('honours the limit that a real access key has', async () => {
      const { held, clock, open } = await storeWorld(service, declared);
      await service.call('PUT', `/v1/access-keys/${held.keyId}`, { rate_limit: 2 });
      service.clock.standInNewMinute();
      const store = await open();
      await store.refresh();
      await assert.rejects(store.refresh(), (error: StrongroomError) => {
        assert.equal(error.code, 'RATE_LIMITED');
        assert.ok(error.retryAfterSeconds! > 0);
        return true;
      });
      assert.equal(store.PORT.reveal(), 5432);
      service.clock.pass(60_000);
      await clock.pass(61);
      await store.refresh();
      service.clock.run();
      await store.close();
    });

    it('survives callbacks that throw, and says so', async () => {
      const { held, errors, options } = await storeWorld(service, declared);
      const store = await open({
        ...options,
        onReceipt: () => {
          throw new Error('receipt');
        },
      });
      store.onChange('PORT', () => {
        throw new Error('listener');
      });
      store.onChange('PORT', async () => Promise.reject(new Error('later')));
      await held.put('PORT', '1');
      await store.refresh();
      await new Promise(resolve => setImmediate(resolve));
      assert.deepEqual(new Set(errors.map(({ code }) => code)), new Set(['CALLBACK_FAILED']));
      assert.deepEqual(
        new Set(errors.map(({ cause }) => (cause as Error).message)),
        new Set(['receipt', 'listener', 'later']),
      );
      await store.close();
    });
  });

  describe('what is derived from values', () => {
    it('is built anew when one of them changes, and the old one is disposed of after that', async () => {
      const { held, open } = await storeWorld(service, declared);
      const store = await open();
      const steps: string[] = [];
      const pool = await store.derived(
        ['PORT', 'DATABASE_URL'],
        async (port, url) => {
          steps.push(`build ${port}`);
          return { port: port + 0, url };
        },
        old => steps.push(`dispose ${old.port}`),
      );
      assert.deepEqual(pool.current, { port: 5432, url: values.DATABASE_URL });
      await store.refresh();
      await held.put('PORT', '1');
      await store.refresh();
      assert.equal(pool.current.port, 1);
      await store.close();
      assert.deepEqual(steps, ['build 5432', 'build 1', 'dispose 5432', 'dispose 1']);
    });

    it('misses no change that comes while it is being built', async () => {
      const { held, open } = await storeWorld(service, declared);
      const store = await open();
      const first = Promise.withResolvers<void>();
      const disposed: number[] = [];
      const building = store.derived(
        ['PORT'],
        async port => {
          if (port === 5432) await first.promise;
          return port;
        },
        old => disposed.push(old),
      );
      await held.put('PORT', '1');
      const refreshing = store.refresh();
      while (store.PORT.reveal() !== 1) await new Promise(resolve => setImmediate(resolve));
      first.resolve();
      await refreshing;
      assert.equal((await building).current, 1);
      await store.close();
      assert.deepEqual(disposed, [5432, 1]);
    });

    it('is disposed of when the store closes while it is being built', async () => {
      const { open } = await storeWorld(service, declared);
      const store = await open();
      const ready = Promise.withResolvers<void>();
      const disposed: number[] = [];
      const building = store.derived(
        ['PORT'],
        port => ready.promise.then(() => port),
        old => disposed.push(old),
      );
      const closing = store.close();
      ready.resolve();
      await Promise.all([building, closing]);
      assert.deepEqual(disposed, [5432]);
      await assert.rejects(store.refresh(), /closed/);
    });

    it('stays as it was while building fails, and is tried again', async () => {
      const { held, errors, open } = await storeWorld(service, declared);
      const store = await open();
      let fails = false;
      const pool = await store.derived(['PORT'], port => {
        if (fails) throw new Error('no connection');
        return port;
      });
      fails = true;
      await held.put('PORT', '1');
      await store.refresh();
      assert.equal(pool.current, 5432);
      assert.equal(errors.at(-1)?.code, 'CALLBACK_FAILED');
      fails = false;
      await store.refresh();
      assert.equal(pool.current, 1);
      await store.close();
    });
  });

  describe('fake()', () => {
    it('is a store with the values that it was given, and can change them', async () => {
      const store = fake({ ...values }, declared);
      const pool = await store.derived(['PORT'], port => port * 2);
      const seen: string[] = [];
      store.onChange('PORT', secret => seen.push(`${secret}`));
      await store.set({ PORT: '21' });
      assert.equal(store.PORT.reveal(), 21);
      assert.equal(pool.current, 42);
      assert.deepEqual(seen, ['[secret PORT]']);
      await store.refresh();
      await store.close();
      const plain: string = fake({ TOKEN: 'x' }).TOKEN.reveal();
      assert.equal(plain, 'x');
    });

    it('refuses what the vault’s values would be refused for', async () => {
      assert.throws(() => fake({ ...values, PORT: 'many' }, declared), codeIs('INVALID_SECRET'));
      assert.throws(() => fake({ PORT: '1' } as never, declared), codeIs('MISSING_SECRET'));
    });
  });
});
