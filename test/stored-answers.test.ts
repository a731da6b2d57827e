/**
 * Answers that outlive the process: a vault that was read before is answered after a start without opening its secrets
 * one by one, and never with anything else than what is stored now, whatever becomes of the stored answer.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ReadAnswer } from '../src/domain/reads/vault-request.ts';
import { openStrongroom } from '../src/service/opening/open.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { engines, eventually, type Service } from './harness.ts';
import { makeAccessKey, startWorld, type World } from './mcp-world.ts';
import { type Intruder, intrude, type Row } from './stored-world.ts';

for (const engine of engines) {
  describe(`a stored answer on ${engine}`, () => {
    let world: World;
    let service: Service;
    let intruder: Intruder;

    before(async () => {
      world = await startWorld(engine);
      service = world.service;
      intruder = await intrude(service);
    });
    after(async () => {
      await intruder.close();
      await service.stop();
    });

    const read = (query = '', token = world.accessKey) =>
      service.call('GET', `/api/v1/vaults/${world.vaultId}${query}`, undefined, token);
    const stored = () => intruder.sql('SELECT * FROM kept_answers ORDER BY answer');
    /** Reads, and waits until what was read is stored as it is now. */
    async function kept(query = ''): Promise<Row[]> {
      const before = JSON.stringify(await stored());
      await eventually('the answer is stored', async () => {
        await read(query); // Again, where a process beside this one made it forget all.
        return JSON.stringify(await stored()) !== before;
      });
      return stored();
    }
    async function changed(body: object): Promise<void> {
      assert.equal((await service.call('PUT', `/v1/secrets/${world.secretId}`, body)).status, 200);
    }

    /** A process that has read nothing yet: what it answers, and how often it opened something sealed in the vault. */
    async function freshRead(): Promise<{ body: string; openings: number }> {
      const place = readConfig(serveOptions, service.place, {});
      const strongroom = await openStrongroom(place, false, service.clock.now);
      let openings = 0;
      const openVault = strongroom.keyring.openVault.bind(strongroom.keyring);
      strongroom.keyring.openVault = (...given) => {
        const sealer = openVault(...given);
        const open: typeof sealer.open = (...some) => {
          const plain = sealer.open(...some);
          openings++;
          return plain;
        };
        return { ...sealer, open };
      };
      const request = { token: world.accessKey, vaultId: world.vaultId, keyId: null, connection: {} };
      const selection = { of: 'vault', namesOnly: false, keys: false, certificates: false } as const;
      const facts = { requestId: null, route: '/', method: 'GET', tool: null, knownDigests: [] };
      const sender = { address: '127.0.0.1', userAgent: '' };
      const answer = await strongroom.domain.vaultReads.read({
        by: 'access-key',
        ...request,
        ...facts,
        selection,
        sender,
      });
      await strongroom.close();
      return { body: (answer as ReadAnswer).body?.toString(), openings };
    }

    it('spares a new process the opening of each secret, and says the same', async () => {
      await kept();
      const { text } = await read();
      assert.deepEqual(await freshRead(), { body: text, openings: 1 });
    });

    it('of a vault that changed meanwhile is not used, also where it is put back', async () => {
      const before = await stored();
      await changed({ value: 'the newer value' });
      assert.match((await freshRead()).body, /the newer value/);
      await kept();
      for (const row of await stored()) await intruder.replace('kept_answers', [row], []);
      for (const row of before) await intruder.replace('kept_answers', [], [row]);
      const { body, openings } = await freshRead();
      assert.match(body, /the newer value/);
      assert.ok(openings > 1, 'it was made anew');
    });

    it('put back together with the rows that it was made of answers nobody', async () => {
      await kept('?secrets=names');
      const then = await stored();
      const [row] = await intruder.sql(`SELECT * FROM resources WHERE id = '${world.secretId}'`);
      await changed({ name: 'RENAMED' });
      const [now] = await intruder.sql(`SELECT * FROM resources WHERE id = '${world.secretId}'`);
      await service.restartAfter(async () => {
        await intruder.replace('resources', [now!], [row!]);
        for (const one of await stored()) await intruder.replace('kept_answers', [one], []);
        for (const one of then) await intruder.replace('kept_answers', [], [one]);
      });
      assert.equal((await read('?secrets=names')).status, 500);
      await service.restartAfter(() => intruder.replace('resources', [row!], [now!]));
      assert.match((await read('?secrets=names')).text, /RENAMED/);
    });

    it('in another’s place opens for nobody', async () => {
      await kept('?format=map');
      const narrow = await makeAccessKey(service, world.vaultId, { names: ['API_*'] });
      await eventually('three answers are stored', async () => {
        await service.restart();
        await read('', narrow.token);
        return (await stored()).length >= 3;
      });
      const rows = await stored();
      const rotated = rows.map((row, at) => ({ ...row, sealed: rows[(at + 1) % rows.length]!.sealed }));
      await service.restartAfter(async () => {
        for (const row of rows) await intruder.replace('kept_answers', [row], []);
        for (const row of rotated) await intruder.replace('kept_answers', [], [row]);
      });
      const seen = (await read('', narrow.token)).body.secrets.map(({ name }: { name: string }) => name);
      assert.deepEqual(seen, ['API_TOKEN']);
    });

    it('ends where a date changes it', async () => {
      const soon = service.clock.now() + 60_000;
      await changed({ expiration_date: new Date(soon).toISOString() });
      await kept();
      assert.match((await freshRead()).body, /RENAMED/);
      service.clock.pass(61_000);
      assert.doesNotMatch((await freshRead()).body, /RENAMED/);
    });

    it('goes with what is purged, in the same unit', async () => {
      const { text } = await read();
      assert.match(text, /API_TOKEN/);
      const { body } = await service.call('GET', `/v1/secrets?q=API_TOKEN`);
      assert.equal((await service.call('DELETE', `/v1/secrets/${body.data[0].id}?purge=true`)).status, 200);
      assert.deepEqual(await stored(), []);
    });

    it('and a page of a list shows the tags as they are, before and after a change', async () => {
      const tags = async () => {
        const { body } = await service.call('GET', `/v1/secrets?vault_id=${world.vaultId}`);
        return body.data.map((item: { tags: object }) => item.tags);
      };
      assert.deepEqual(await tags(), [{ team: 'payments' }]);
      await changed({ tags: { team: 'web' } });
      assert.deepEqual(await tags(), [{ team: 'web' }]);
      assert.deepEqual(await tags(), [{ team: 'web' }]);
    });
  });
}
