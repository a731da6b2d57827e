/** What others may do in the same PostgreSQL, and how little the service itself needs. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { examine } from '../src/service/doctor/doctor.ts';
import { serve } from '../src/service/serve.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { callService, eventually, type Service, startService } from './harness.ts';
import { oneThread } from './one-thread.ts';

describe('beside other users of the same PostgreSQL', () => {
  let service: Service;
  let admin: pg.Client;
  const role = `role_${Math.random().toString(36).slice(2)}`;

  before(async () => {
    service = await startService({ engine: 'postgres' });
    admin = new pg.Client(service.databaseUrl!);
    await admin.connect();
    await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD 'pw'`);
  });
  after(async () => {
    await service.stop();
    await admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    await admin.end();
  });

  const asRole = () => service.databaseUrl!.replace('postgres:postgres@', `${role}:pw@`);
  const isReady = async () => (await service.call('GET', '/readyz')).status === 200;
  let made = 0;
  const create = () => service.call('POST', '/v1/vaults', { name: `v${made++}` });
  const rights = async () => {
    const config = readConfig(serveOptions, service.place, {});
    for await (const { check, outcome, message } of examine(config, [
      'logs',
      'hearing',
      'service',
      'versions',
    ]))
      if (check === 'rights') return `${outcome} ${message}`;
    return '';
  };

  it('one who may only connect, and holds the lock that earlier versions took, holds up nothing', async () => {
    const other = new pg.Client(asRole());
    await other.connect();
    await other.query('SELECT pg_advisory_lock(7231984310)');
    assert.equal((await create()).status, 200);
    assert.ok(await isReady());
    await assert.rejects(other.query('BEGIN; LOCK TABLE kysely_migration_lock'), /permission denied/);
    await other.end();
  });

  it('while nobody gets a turn to change anything, the service is not ready', async () => {
    assert.ok(await isReady());
    await admin.query('BEGIN; LOCK TABLE kysely_migration_lock IN EXCLUSIVE MODE');
    await eventually('the service is not ready', async () => !(await isReady()));
    await admin.query('ROLLBACK');
    await eventually('the service is ready again', isReady);
    assert.equal((await create()).status, 200);
  });

  it('the doctor names who may connect, and who may create or write', async () => {
    assert.match(await rights(), new RegExp(`^warning other roles may connect to this database: .*${role}`));
    await admin.query(`GRANT INSERT ON audit_logs TO ${role}`);
    assert.match(
      await rights(),
      new RegExp(`^warning other roles may create or write in this schema: .*${role}`),
    );
    await admin.query(`REVOKE INSERT ON audit_logs FROM ${role}`);
  });

  it('a role that reads and writes rows, and owns nothing, is enough to serve', async () => {
    await admin.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role}`);
    const flags = ['--data', service.data, '--database-url', asRole(), '--port', '0'];
    const running = await serve(readConfig(serveOptions, flags, {}), { report: () => {}, ...oneThread });
    const call = (method: string, path: string, body?: object) =>
      callService(running.url, method, path, body, service.key);
    const vault = await call('POST', '/v1/vaults', { name: 'theirs' });
    assert.equal(vault.status, 200, vault.text);
    const secret = await call('POST', '/v1/secrets', { vault_id: vault.body.id, name: 'S', value: 'x' });
    assert.equal((await call('POST', `/v1/secrets/${secret.body.id}/reveal`, {})).body.value, 'x');
    await eventually('the service is ready', async () => (await call('GET', '/readyz')).status === 200);
    await running.stop();
  });
});
