/** A list may take as long as it takes: whoever reads a vault meanwhile is not kept waiting for it. */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { Kysely, sql } from 'kysely';
import { readerDialect } from '../src/store/sqlite/reader.ts';
import { type Service, startService } from './harness.ts';

const many = 400_000;

describe('long lists on sqlite', () => {
  let service: Service;
  let vaultId: string;
  let token: string;

  before(async () => {
    service = await startService();
    vaultId = (await service.call('POST', '/v1/vaults', { name: 'read meanwhile' })).body.id;
    token = (await service.call('POST', '/v1/access-keys', { vault_id: vaultId, name: 'reader' })).body.token;
    await service.restartAfter(() => fill(service));
  });
  after(() => service.stop());

  const read = async (order: string[]) => {
    const { status } = await service.call('GET', `/api/v1/vaults/${vaultId}`, undefined, token);
    order.push(`vault ${status}`);
  };

  for (const [name, path] of [
    ['a page of the request log far from the first', `/v1/request-logs?limit=100&page=${many / 100}`],
    ['a total that must be counted', '/v1/request-logs?ip_address=203.0.113.1'],
  ]) {
    it(`${name} is answered after the vault that was asked for later`, async () => {
      await read([]); // From now on its answer is kept ready.
      const order: string[] = [];
      const list = service.call('GET', path!).then(({ status }) => order.push(`list ${status}`));
      const health = service.call('GET', '/v1/health'); // Two connections race; by then the list is under way.
      await health;
      for (let at = 0; at < 3; at++) await read(order);
      await list;
      assert.deepEqual(order, ['vault 200', 'vault 200', 'vault 200', 'list 200']);
    });
  }
});

describe('the reader thread', () => {
  it('lets so many lists wait, and tells one more to come back', async () => {
    const service = await startService();
    const db = new Kysely({ dialect: readerDialect(`${service.data}/strongroom.db`) });
    try {
      const ask = () => sql<{ one: number }>`SELECT 1 AS one`.execute(db);
      const all = await Promise.allSettled(Array.from({ length: 300 }, ask));
      const refused = all.filter(result => result.status === 'rejected');
      // A hundred of one caller wait, and the thread has two before it.
      assert.equal(refused.length, 198);
      assert.ok(refused.every(({ reason }) => reason.code === 'UNAVAILABLE' && reason.retryAfter === 1));
      assert.deepEqual((await ask()).rows, [{ one: 1 }]);
    } finally {
      await db.destroy();
      await service.stop();
    }
  });
});

/** As if the log had grown for years. The index alone is what a page looks through. */
function fill({ data, organizationId }: Service): void {
  const db = new DatabaseSync(`${data}/strongroom.db`, { timeout: 5_000 });
  const insert = db.prepare(
    `WITH RECURSIVE place(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM place WHERE n < ?)
     INSERT INTO request_index (organization_id, block_id, part, status, ip_address, entries)
     SELECT ?, printf('00000000-0000-7000-8000-%012x', n), 0, 401, '203.0.113.1', 1 FROM place`,
  );
  insert.run(many, organizationId);
  db.close();
}
