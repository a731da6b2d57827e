/**
 * Whoever writes to the database puts every row back as it was, the moment after a change: the change stands all the same, in the
 * planes and replicas that only hear of it, from then on and not only for those who made it.
 */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { revisedTables } from '../src/store/integrity/audited.ts';
import { callService, engines, type Service, startService } from './harness.ts';
import { openStorage, type Storage } from './storage.ts';

type Row = Readonly<Record<string, unknown>>;

const longestSecond = 1_500;
const shown = 'shown-before-the-change';

interface Case {
  /** What is changed, and what is read with it before and after; the text that was read before is not read again. */
  readonly change: (made: World) => Promise<readonly [method: string, path: string, body?: unknown]>;
  readonly read: (made: World) => readonly [path: string, token: string];
}

interface World {
  readonly vault: string;
  readonly secret: string;
  readonly accessKey: { readonly id: string; readonly token: string };
  readonly apiKey: { readonly id: string; readonly token: string };
}

const vaultRead = ({ vault, accessKey }: World) => [`/api/v1/vaults/${vault}`, accessKey.token] as const;
const cases: Readonly<Record<string, Case>> = {
  'an access key is revoked': {
    change: async ({ accessKey }) => ['DELETE', `/v1/access-keys/${accessKey.id}`],
    read: vaultRead,
  },
  'an access key expires sooner': {
    change: async ({ accessKey }) => [
      'PUT',
      `/v1/access-keys/${accessKey.id}`,
      { expiration_date: new Date(Date.now() + 200).toISOString() },
    ],
    read: vaultRead,
  },
  'an API key is revoked': {
    change: async ({ apiKey }) => ['DELETE', `/v1/api-keys/${apiKey.id}`],
    read: ({ secret, apiKey }) => [`/v1/secrets/${secret}`, apiKey.token],
  },
  'a secret is disabled': {
    change: async ({ secret }) => ['PUT', `/v1/secrets/${secret}`, { enabled: false }],
    read: vaultRead,
  },
  'a secret gets another value': {
    change: async ({ secret }) => ['PUT', `/v1/secrets/${secret}`, { value: 'another value' }],
    read: vaultRead,
  },
  'a secret is put in the trash': {
    change: async ({ secret }) => ['DELETE', `/v1/secrets/${secret}`],
    read: vaultRead,
  },
  'a vault is put in the trash': {
    change: async ({ vault }) => ['DELETE', `/v1/vaults/${vault}`],
    read: vaultRead,
  },
};

for (const engine of engines) {
  describe(`rows that are put back at once on ${engine}`, () => {
    let service: Service;
    let url: string;
    let sql: Storage['sql'];
    let close: Storage['close'];

    before(async () => {
      service = await startService({ engine });
      url = engine === 'postgres' ? (await service.replica()).url : service.url;
      ({ sql, close } = await openStorage(service));
    });
    after(async () => {
      await close();
      await service.stop();
    });

    async function post(path: string, body: unknown) {
      const answer = await service.call('POST', path, body);
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    }

    let worlds = 0;
    async function world(): Promise<World> {
      const vault = (await post('/v1/vaults', { name: `vault ${++worlds}` })).id;
      const secret = (await post('/v1/secrets', { vault_id: vault, name: 'S', value: shown })).id;
      const accessKey = await post('/v1/access-keys', { vault_id: vault, name: `access ${worlds}` });
      const apiKey = await post('/v1/api-keys', { name: `api ${worlds}`, role: 'admin' });
      return { vault, secret, accessKey, apiKey };
    }

    async function stored(): Promise<ReadonlyMap<string, readonly Row[]>> {
      const tables = new Map<string, readonly Row[]>();
      for (const table of revisedTables) tables.set(table, await sql(`SELECT * FROM ${table}`));
      return tables;
    }

    async function putBack(earlier: ReadonlyMap<string, readonly Row[]>): Promise<number> {
      let changed = 0;
      for (const [table, rows] of await stored())
        for (const row of rows) {
          const old = earlier.get(table)!.find(({ id }) => id === row.id);
          if (old === undefined || old.revision === row.revision) continue;
          const columns = Object.keys(old);
          await sql(
            `UPDATE ${table} SET ${columns.map(column => `${column} = ?`)} WHERE id = ?`,
            ...Object.values(old),
            old.id,
          );
          changed++;
        }
      return changed;
    }

    for (const [name, { change, read }] of Object.entries(cases)) {
      it(`${name}, for all who hear of it`, async () => {
        const made = await world();
        const reading = () => {
          const [path, token] = read(made);
          return callService(url, 'GET', path, undefined, token);
        };
        const earlier = await stored();
        const read0 = await reading();
        assert.equal(read0.status, 200, read0.text);
        const [method, path, body] = await change(made);
        assert.equal((await service.call(method, path, body)).status, 200);
        const newest = await stored();
        assert.ok((await putBack(earlier)) > 0);
        await reading(); // Within the second in which others hear of it, it may still be the answer of before.
        await sleep(longestSecond);
        for (let again = 0; again < 2; again++) assert.notEqual((await reading()).text, read0.text);
        await putBack(newest);
      });
    }
  });
}
