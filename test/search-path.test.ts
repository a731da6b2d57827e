/**
 * Where PostgreSQL looks for names: a schema that is put in front of ours, by the database, by the role, or by another
 * user of a pooled connection, changes nothing of what is believed.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { type Running, serve } from '../src/service/serve.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { openStore } from '../src/store/store.ts';
import { callService, eventually, type Service, startService } from './harness.ts';
import { oneThread } from './one-thread.ts';
import { type Pooler, startPooler } from './pooler.ts';
import { freshDatabase } from './postgres.ts';
import { type Intruder, intrude } from './stored-world.ts';

describe('a schema in front of ours', () => {
  let service: Service;
  let intruder: Intruder;
  let pooler: Pooler;
  let pooled: Running;
  let vault: string;
  let revoked: string;

  const make = async (kind: string, body: object) => {
    const answer = await service.call('POST', `/v1/${kind}`, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const read = (url: string) => callService(url, 'GET', `/api/v1/vaults/${vault}`, undefined, revoked);

  before(async () => {
    service = await startService({ engine: 'postgres' });
    intruder = await intrude(service);
    vault = (await make('vaults', { name: 'v' })).id;
    await make('secrets', { vault_id: vault, name: 'S', value: 'canary' });
    const { id, token } = await make('access-keys', { vault_id: vault, name: 'k' });
    revoked = token;
    const row = () => intruder.sql('SELECT * FROM credentials WHERE id = ?', [id]);
    const living = await row();
    await service.call('DELETE', `/v1/access-keys/${id}`);
    await intruder.replace('credentials', await row(), living);
    await intruder.sql('CREATE SCHEMA front');
    await intruder.sql(`CREATE VIEW front.audit_logs AS SELECT * FROM public.audit_logs
      WHERE subject_id IS DISTINCT FROM '${id}' OR subject_revision IS NULL OR subject_revision < 2`);
    await intruder.sql('CREATE VIEW front.resources AS SELECT * FROM public.resources WHERE false');
    pooler = await startPooler(service.databaseUrl!);
    const flags = ['--data', service.data, '--database-url', pooler.url, '--port', '0'];
    pooled = await serve(readConfig(serveOptions, flags, {}), { report: () => {}, ...oneThread });
  });
  after(async () => {
    await pooled.stop();
    await pooler.close();
    await intruder.close();
    await service.stop();
  });

  const cutOthers = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()`;

  it('by the setting of the database or of the role: a revoked key stays revoked on every new connection', async () => {
    const name = new URL(service.databaseUrl!).pathname.slice(1);
    for (const subject of [`DATABASE ${name}`, `ROLE postgres IN DATABASE ${name}`]) {
      await intruder.sql(`ALTER ${subject} SET search_path = front, public`);
      await intruder.sql(cutOthers);
      await eventually(
        'the service has new connections',
        async () => (await service.call('GET', '/v1/vaults')).status === 200,
      );
      const answer = await read(service.url);
      assert.notEqual(answer.status, 200, answer.text);
      await intruder.sql(`ALTER ${subject} RESET search_path`);
    }
  });

  it('by another user of the pooler’s connections: each statement is looked up in our schema all the same', async () => {
    for (const path of ['front, public', 'front, pg_catalog, public']) {
      const clients = Array.from({ length: 6 }, () => new pg.Client(pooler.url));
      // All at once: each has a connection to the server of its own then.
      await Promise.all(clients.map(client => client.connect()));
      await Promise.all(clients.map(client => client.query(`BEGIN; SET search_path = ${path}`)));
      await Promise.all(clients.map(client => client.query('COMMIT')));
      const [{ search_path }] = (await clients[0]!.query('SHOW search_path')).rows;
      assert.equal(search_path, path, 'the pooler hands it on');
      for (let reads = 0; reads < 12; reads++) {
        const answer = await read(pooled.url);
        assert.notEqual(answer.status, 200, answer.text);
      }
      const owner = await callService(pooled.url, 'GET', '/v1/vaults?q=v', undefined, service.key);
      assert.equal(owner.body.data?.[0]?.id, vault, owner.text);
      await Promise.all(clients.map(client => client.end()));
    }
  });

  it('with tables like ours: the database is refused until the URL names one of them', async () => {
    const url = await freshDatabase();
    await (await openStore({ engine: 'postgres', url })).close();
    const client = new pg.Client(url);
    await client.connect();
    await client.query('CREATE SCHEMA front');
    await client.query('CREATE TABLE front.kysely_migration AS SELECT * FROM kysely_migration');
    await client.end();
    await assert.rejects(
      openStore({ engine: 'postgres', url }),
      /several schemas .* \((front, public|public, front)\): name one/,
    );
    const named = `${url}&options=-csearch_path%3Dpublic`;
    await (await openStore({ engine: 'postgres', url: named })).close();
  });

  it('an empty database gets its tables in the first schema of its path, and is found there by whoever has another path', async () => {
    const url = await freshDatabase();
    const client = new pg.Client(url);
    await client.connect();
    await client.query('CREATE SCHEMA ours');
    const named = `${url}&options=-csearch_path%3Dours`;
    await (await openStore({ engine: 'postgres', url: named })).close();
    const where =
      "SELECT relnamespace::regnamespace::text AS schema FROM pg_class WHERE relname = 'audit_logs'";
    assert.deepEqual((await client.query(where)).rows, [{ schema: 'ours' }]);
    await (await openStore({ engine: 'postgres', url })).close();
    assert.deepEqual((await client.query(where)).rows, [{ schema: 'ours' }]);
    await client.end();
  });
});
