/** A database user is rotated while a program uses it: a pool that follows the secret never meets a failed query. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { unique } from './document.ts';
import { callService, enginesInTurn, eventually } from './harness.ts';
import { type RotationWorld, startRotations } from './rotations-world.ts';

/** Rotations in a row. */
const times = 8;

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`a database user that is rotated under load, on ${engine}`, () => {
    let world: RotationWorld;
    before(async () => {
      world = await startRotations(engine);
    });
    after(() => world.close());

    it('no query of a pool that follows the secret fails', async () => {
      const { names, url } = await world.users();
      const by = { kind: 'postgresql', issuer_id: world.issuerId, usernames: names };
      const made = await world.secret({ value: url, rotation: { every: '30d', overlap: '1d', by } });
      const { token } = await world.ok('POST', '/v1/access-keys', {
        vault_id: world.vaultId,
        name: unique('k'),
      });
      const path = `/api/v1/vaults/self?name=${made.name}`;
      const read = async () =>
        (await callService(world.service.url, 'GET', path, undefined, token)).body.value as string;
      let pool = new pg.Pool({ connectionString: url, max: 3 });
      let shown = url;
      let queries = 0;
      let isOver = false;
      const failed: unknown[] = [];
      const worker = async () => {
        while (!isOver) {
          await pool.query('SELECT count(*) FROM public.orders').catch(error => failed.push(error));
          queries += 1;
          await new Promise(resolve => setTimeout(resolve, 2));
        }
      };
      /** Moves to the new value: open queries end on the connections that they have. */
      const follow = async () => {
        const value = await read();
        if (value === shown) return;
        const old = pool;
        pool = new pg.Pool({ connectionString: value, max: 3 });
        shown = value;
        await old.end();
      };
      const workers = [worker(), worker(), worker()];
      const used = new Set<string>();
      for (let time = 0; time < times; time++) {
        const { status, text } = await world.rotate(made.id, { end_previous: true });
        assert.equal(status, 200, text);
        await follow();
        used.add(shown);
        const before = queries;
        await eventually('queries go on', async () => queries > before + 3);
      }
      isOver = true;
      await Promise.all(workers);
      await pool.end();
      assert.deepEqual(failed, []);
      assert.equal(used.size, times);
      assert.ok(queries > times * 3, `${queries} queries`);
    });
  });
}
