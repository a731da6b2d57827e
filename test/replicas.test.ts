/**
 * Replicas over one PostgreSQL: directly, where one stops hearing the other, and behind a pooler. What was revoked is
 * refused everywhere all the same.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { type Running, serve } from '../src/service/serve.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { openStore } from '../src/store/store.ts';
import { emptyPlace, restoreFrom, take } from './backups.ts';
import { callService, eventually, type Service, startService } from './harness.ts';
import { oneThread } from './one-thread.ts';
import { type Pooler, startPooler } from './pooler.ts';
import { freshDatabase } from './postgres.ts';
import { latenessOf } from './replica-revocations.ts';
import { startWire, type Wire } from './wire.ts';

describe('a replica that does not hear the others', () => {
  let service: Service;
  let vaultId: string;
  let wire: Wire;
  let behind: Running;
  const reports: string[] = [];

  before(async () => {
    service = await startService({ engine: 'postgres' });
    vaultId = (await make('vaults', { name: 'v' })).id;
    await make('secrets', { vault_id: vaultId, name: 'S', value: 'one' });
    wire = await startWire(service.databaseUrl!, { deaf: true });
    const flags = ['--data', service.data, '--database-url', wire.url, '--port', '0'];
    behind = await serve(readConfig(serveOptions, flags, {}), { report: line => reports.push(line) });
  });
  after(async () => {
    await behind.stop();
    wire.close();
    await service.stop();
  });

  const make = async (kind: string, body: unknown) => {
    const answer = await service.call('POST', `/v1/${kind}`, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const accessKey = (): Promise<{ id: string; token: string }> =>
    make('access-keys', { vault_id: vaultId, name: `a${Math.random()}` });
  const revoke = ({ id }: { id: string }) => service.call('DELETE', `/v1/access-keys/${id}`);
  const read = ({ token }: { token: string }) =>
    callService(behind.url, 'GET', `/api/v1/vaults/${vaultId}`, undefined, token);
  const probe = async (path: string) => callService(behind.url, 'GET', path);
  const isReady = async (expected: boolean) =>
    eventually(
      `the replica is ${expected ? '' : 'not '}ready`,
      async () => ((await probe('/readyz')).status === 200) === expected,
    );

  it('whose notifications are lost serves, and nothing from memory; it is not ready, and says why', async () => {
    const key = await accessKey();
    for (let reads = 0; reads < 3; reads++) assert.equal((await read(key)).body.secrets[0].value, 'one');
    await revoke(key);
    assert.equal((await read(key)).status, 401, 'refused at once');
    assert.equal((await probe('/readyz')).status, 503);
    assert.equal((await probe('/v1/health')).body.status, 'degraded');
    assert.ok(
      reports.some(line => /not ready: changes by other replicas do not arrive/.test(line)),
      reports.join(),
    );
  });

  it('once it hears it is ready; cut off again, what it kept is refused within moments, and stays refused', async () => {
    wire.deaf = false;
    await isReady(true);
    assert.ok(reports.includes('ready again'));
    const [before, meanwhile, later] = [await accessKey(), await accessKey(), await accessKey()];
    for (const key of [before, meanwhile, later]) {
      for (let reads = 0; reads < 3; reads++) assert.equal((await read(key)).status, 200);
    }
    wire.deaf = true;
    await revoke(before);
    await eventually('the replica refuses the revoked key', async () => (await read(before)).status === 401);
    await isReady(false);
    await revoke(meanwhile);
    assert.equal((await read(meanwhile)).status, 401, 'refused at once');
    await revoke(later);
    const [secret] = (await service.call('GET', `/v1/secrets?vault_id=${vaultId}`)).body.data;
    await service.call('PUT', `/v1/secrets/${secret.id}`, { value: 'two' });
    const living = await accessKey();
    wire.deaf = false;
    await isReady(true);
    assert.equal((await read(later)).status, 401, 'what was kept before the gap is not believed after it');
    assert.equal((await read(living)).body.secrets[0].value, 'two');
  });

  it('a rule that another replica changed or deleted allows nothing within moments, and at once where it does not hear', async () => {
    const [secret] = (await service.call('GET', `/v1/secrets?vault_id=${vaultId}`)).body.data;
    const fields = { secret_id: secret.id, hosts: ['api.example.com'], paths: ['/**'], methods: ['GET'] };
    const rule = () => make('use-rules', { ...fields, name: `r${Math.random()}`, place: { type: 'bearer' } });
    const agent = await make('access-keys', { vault_id: vaultId, name: 'agent', may_use: true });
    const isAllowed = async ({ id }: { id: string }) => {
      const call = { secret: 'S', rule: id, url: 'https://api.example.com/', dry_run: true };
      const path = `/api/v1/vaults/${vaultId}/use`;
      return (await callService(behind.url, 'POST', path, call, agent.token)).body.allowed;
    };
    const [changed, deleted, later] = [await rule(), await rule(), await rule()];
    for (const one of [changed, deleted, later])
      await eventually('the replica allows the use', () => isAllowed(one));
    await service.call('PUT', `/v1/use-rules/${changed.id}`, { methods: ['POST'] });
    await eventually(
      'the replica refuses what the changed rule no longer allows',
      async () => !(await isAllowed(changed)),
    );
    await service.call('DELETE', `/v1/use-rules/${deleted.id}`);
    await eventually(
      'the replica refuses what the deleted rule allowed',
      async () => !(await isAllowed(deleted)),
    );
    wire.deaf = true;
    await isReady(false);
    await service.call('DELETE', `/v1/use-rules/${later.id}`);
    assert.equal(await isAllowed(later), false);
  });
});

describe('replicas behind a pooler by transactions', () => {
  let service: Service;
  let vaultId: string;
  let pooler: Pooler;
  let behind: Running[];

  const start = (...flags: string[]) =>
    serve(readConfig(serveOptions, ['--data', service.data, '--port', '0', ...flags], {}), {
      report: () => {},
      ...oneThread,
    });

  before(async () => {
    service = await startService({ engine: 'postgres' });
    vaultId = (await service.call('POST', '/v1/vaults', { name: 'v' })).body.id;
    await service.call('POST', '/v1/secrets', { vault_id: vaultId, name: 'S', value: 'one' });
    pooler = await startPooler(service.databaseUrl!);
    behind = [
      await start('--database-url', pooler.url),
      await start('--database-url', pooler.url, '--database-listen-url', service.databaseUrl!),
    ];
  });
  after(async () => {
    await Promise.all(behind.map(replica => replica.stop()));
    await pooler.close();
    await service.stop();
  });

  const isReady = async (url: string) => (await callService(url, 'GET', '/readyz')).status === 200;

  it('are ready, whether they ask for changes or listen in a direct way', async () => {
    for (const { url } of behind) await eventually('the replica is ready', () => isReady(url));
  });

  it('refuse what any of them, or one that is connected directly, has revoked', async () => {
    const [asking, listening] = behind.map(({ url }) => url);
    for (const urls of [
      [asking!, listening!, service.url],
      [listening!, asking!, service.url],
      [service.url, asking!, listening!],
    ])
      await latenessOf({ urls, key: service.key, vaultId }, 4);
  });

  it('serve nothing from memory while the pooler is silent, and go on when it speaks again', async () => {
    const { body: key } = await service.call('POST', '/v1/access-keys', { vault_id: vaultId, name: 'k' });
    const read = (url: string) => callService(url, 'GET', `/api/v1/vaults/${vaultId}`, undefined, key.token);
    for (const { url } of behind) assert.equal((await read(url)).status, 200);
    pooler.silent = true;
    for (const { url } of behind)
      await eventually('reads are refused', async () => (await read(url)).status === 503);
    await service.call('DELETE', `/v1/access-keys/${key.id}`);
    pooler.silent = false;
    for (const { url } of behind) {
      await eventually('the replica is ready again', () => isReady(url));
      assert.equal((await read(url)).status, 401);
    }
  });

  it('have limits of their own on each transaction, and leave the pooler’s connections as they are', async test => {
    const direct = await openStore({ engine: 'postgres', url: service.databaseUrl! });
    const pooled = await openStore({ engine: 'postgres', url: pooler.url });
    test.after(() => Promise.all([direct.close(), pooled.close()]));
    const sql = "SELECT current_setting('statement_timeout') AS limit";
    for (const store of [direct, pooled]) {
      const [rows] = await store.commit([{ statements: [{ sql, parameters: [], returning: true }] }]);
      assert.deepEqual(rows, [[{ limit: '15s' }]]);
    }
    const client = new pg.Client(pooler.url);
    await client.connect();
    for (let count = 0; count < 8; count++)
      assert.deepEqual((await client.query(sql)).rows, [{ limit: '0' }]);
    await client.end();
  });

  it('migrate an empty database once, and back up and restore, all through the pooler', async test => {
    const fresh = await startPooler(await freshDatabase());
    test.after(() => fresh.close());
    const location = { engine: 'postgres', url: fresh.url } as const;
    const opened = await Promise.all(Array.from({ length: 3 }, () => openStore(location)));
    assert.deepEqual(await opened[0]!.organizations.all(), []);
    await Promise.all(opened.map(store => store.close()));
    const place = ['--data', service.data, '--database-url', pooler.url];
    const file = `${service.data}/pooled.age`;
    await take(place, file);
    const [flag, data, , url] = await emptyPlace('postgres', service.data);
    const target = await startPooler(url!);
    test.after(() => target.close());
    const { manifest } = await restoreFrom(file, [flag!, data!, '--database-url', target.url]);
    assert.ok(manifest);
  });
});
