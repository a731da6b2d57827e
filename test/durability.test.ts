/** Acknowledged means durable whatever PostgreSQL's defaults are, and a service that can't write says that it can't. */
import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, mock } from 'node:test';
import pg from 'pg';
import { readinessOf } from '../src/service/listener/readiness.ts';
import { type Running, serve } from '../src/service/serve.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { type Location, openStore } from '../src/store/store.ts';
import { run, setup, start } from './command.ts';
import { callService, eventually, makeOrganization } from './harness.ts';
import { type Cluster, freshDatabase, startCluster } from './postgres.ts';
import { startWire } from './wire.ts';

const folders: string[] = [];
const folder = () => {
  const path = mkdtempSync(join(tmpdir(), 'strongroom-durable-'));
  folders.push(path);
  return path;
};
after(() => Promise.all(folders.map(path => rm(path, { recursive: true, force: true }))));

async function ask(url: string, ...statements: string[]): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    let rows: Record<string, unknown>[] = [];
    for (const statement of statements) rows = (await client.query(statement)).rows;
    return rows;
  } finally {
    await client.end();
  }
}
const nameOf = (url: string) => new URL(url).pathname.slice(1);
const inPostgres = (url: string) => url.replace(/\/[^/]*$/, '/postgres');
const alter = (url: string, how: string) => ask(inPostgres(url), `ALTER DATABASE ${nameOf(url)} ${how}`);

describe('on a PostgreSQL that does not wait for its disk by itself', () => {
  let cluster: Cluster;
  let running: Running;
  let key: string;
  let vaultId: string;
  let access: string;
  let place: string[];

  before(async () => {
    // What nobody waits for stays in its memory for so long.
    cluster = await startCluster(undefined, ['-c', 'wal_writer_delay=10000']);
    await ask(cluster.url, 'CREATE DATABASE lazy', 'ALTER DATABASE lazy SET synchronous_commit = off');
    place = ['--data', folder(), '--database-url', cluster.url.replace(/postgres$/, 'lazy')];
    ({ key } = await makeOrganization(place, 'Lazy', 'enterprise', 0));
    running = await serve(readConfig(serveOptions, [...place, '--port', '0'], {}), { report: () => {} });
    vaultId = (await call('POST', '/v1/vaults', { name: 'v' })).body.id;
    access = (await call('POST', '/v1/access-keys', { vault_id: vaultId, name: 'a' })).body.token;
  });
  after(async () => {
    await running.stop();
    await cluster.stop();
  });

  const call = (method: string, path: string, body?: unknown, token = key) =>
    callService(running.url, method, path, body, token);
  const crash = async () => {
    await cluster.crash();
    await cluster.resume();
    for (let turn = 0; turn < 20; turn++) {
      if (
        await eventually(
          'the service is ready after the crash',
          async () => (await call('GET', '/readyz')).status === 200,
        ).then(
          () => true,
          () => false,
        )
      )
        return;
    }
    assert.fail('it did not come back');
  };

  it('a change that was acknowledged is there after the server crashed', async () => {
    const made = await call('POST', '/v1/secrets', { vault_id: vaultId, name: 'S', value: 'kept' });
    assert.equal(made.status, 200, made.text);
    await crash();
    assert.equal((await call('POST', `/v1/secrets/${made.body.id}/reveal`)).body.value, 'kept');
  });

  it('a read that was answered is in the log after the server crashed', async () => {
    const answer = await call('GET', `/api/v1/vaults/${vaultId}`, undefined, access);
    assert.equal(answer.status, 200, answer.text);
    await crash();
    const logged = await call('GET', `/v1/request-logs/${answer.headers.get('x-request-id')}`);
    assert.equal(logged.status, 200, logged.text);
  });

  it('the start is refused where that can’t be had: the setting does not take, or the server never syncs', async () => {
    const [, data = '', , url = ''] = place;
    const serveOver = (database: string) =>
      run(['serve', '--data', data, '--port', '0'], { env: { STRONGROOM_DATABASE_URL: database } });
    const change = (asked: Buffer) =>
      Buffer.from(
        asked
          .toString('latin1')
          .replaceAll("set_config('synchronous_commit',", "set_config('application_name'  ,"),
        'latin1',
      );
    const wire = await startWire(url, { change });
    const unset = await serveOver(wire.url);
    wire.close();
    assert.equal(unset.code, 1);
    assert.match(
      unset.stderr,
      /^strongroom: PostgreSQL does not allow synchronous_commit to be set[^\n]*\n$/,
    );
    const set = async (value: string) => {
      await ask(cluster.url, `ALTER SYSTEM SET fsync = ${value}`, 'SELECT pg_reload_conf()');
      await eventually(
        'the database has read its settings',
        async () => (await ask(cluster.url, 'SHOW fsync'))[0]!.fsync === value,
      );
    };
    await set('off');
    const never = await serveOver(url);
    await set('on');
    assert.equal(never.code, 1);
    assert.match(never.stderr, /^strongroom: PostgreSQL runs with fsync off[^\n]*\n$/);
  });
});

describe('what a commit waits for on PostgreSQL', () => {
  const expected = {
    off: 'on',
    local: 'on',
    on: 'on',
    remote_write: 'remote_write',
    remote_apply: 'remote_apply',
  };
  for (const [given, used] of Object.entries(expected)) {
    it(`where the default is ${given}, it is ${used}`, async test => {
      const url = await freshDatabase();
      await alter(url, `SET synchronous_commit = ${given}`);
      const location: Location = { engine: 'postgres', url };
      const store = await openStore(location);
      test.after(() => store.close());
      const sql = "SELECT current_setting('synchronous_commit') AS used";
      const [rows] = await store.commit([{ statements: [{ sql, parameters: [], returning: true }] }]);
      assert.deepEqual(rows, [[{ used }]]);
    });
  }
});

describe('probes', () => {
  it('cost one write however many ask within a second, and the next one after that', async test => {
    const store = await openStore({ engine: 'sqlite', path: join(folder(), 'strongroom.db'), serves: true });
    test.after(() => store.close());
    let writes = 0;
    const tryWrite = () => {
      writes++;
      return store.tryWrite();
    };
    const isReady = readinessOf({ ...store, tryWrite }, () => {});
    assert.deepEqual(new Set(await Promise.all(Array.from({ length: 100 }, isReady))), new Set([true]));
    for (let asked = 0; asked < 100; asked++) await isReady();
    assert.equal(writes, 1);
    await eventually('another write is tried', async () => (await isReady()) && writes > 1);
  });

  it('are answered where a write never comes back, and start no other meanwhile', {
    timeout: 30_000,
  }, async test => {
    let writes = 0;
    const tryWrite = () => {
      writes++;
      return new Promise<void>(() => {});
    };
    const reports: string[] = [];
    const isReady = readinessOf({ hearsChanges: () => true, tryWrite }, line => reports.push(line));
    mock.timers.enable({ apis: ['setTimeout'] });
    syncBuiltinESMExports();
    test.after(() => {
      mock.timers.reset();
      syncBuiltinESMExports();
    });
    for (let asked = 0; asked < 3; asked++) {
      const answer = isReady();
      mock.timers.tick(2_000); // As long as a write is waited for.
      assert.equal(await answer, false);
      mock.timers.tick(1_000); // As long as what was found holds.
    }
    assert.equal(writes, 1);
    assert.deepEqual(reports, ['not ready: a write does not return']);
  });
});

/** How a database refuses writes, and how it takes them again; the connections that were there learn of neither. */
const refusals: Record<string, { breaks: (name: string) => string[]; mends: (name: string) => string[] }> = {
  'that takes no writes': {
    breaks: name => [`ALTER DATABASE ${name} SET default_transaction_read_only = on`],
    mends: name => [`ALTER DATABASE ${name} RESET default_transaction_read_only`],
  },
  'that lets us read alone': {
    breaks: () => ['REVOKE INSERT, UPDATE ON ALL TABLES IN SCHEMA public FROM CURRENT_USER'],
    mends: () => ['GRANT INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO CURRENT_USER'],
  },
};

describe('a service that can’t write is not ready', () => {
  for (const [how, { breaks, mends }] of Object.entries(refusals)) {
    it(`over a PostgreSQL ${how}, and is ready again when it does`, async () => {
      const role = `role_${Math.random().toString(36).slice(2)}`;
      const fresh = await freshDatabase();
      const name = nameOf(fresh);
      await ask(fresh, `CREATE ROLE ${role} LOGIN PASSWORD 'x'`, `ALTER DATABASE ${name} OWNER TO ${role}`);
      const url = fresh.replace('postgres:postgres', `${role}:x`);
      const place = ['--data', folder(), '--database-url', url];
      const { key } = await makeOrganization(place, 'Refusing', 'enterprise', 0);
      const flags = [...place, '--port', '0'];
      const reports: string[] = [];
      const report = (line: string) => reports.push(line);
      const running = await serve(readConfig(serveOptions, flags, {}), { report });
      const status = async (path: string) =>
        (await callService(running.url, 'GET', path, undefined, key)).status;
      const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}' AND pid <> pg_backend_pid()`;
      try {
        assert.equal(await status('/readyz'), 200);
        await ask(url, ...breaks(name));
        await ask(inPostgres(fresh), cut);
        await eventually('the service is not ready', async () => (await status('/readyz')) === 503);
        assert.equal((await callService(running.url, 'GET', '/v1/health')).body.status, 'degraded');
        await eventually('the database can be read', async () => (await status('/v1/vaults')) === 200); // It is there, and can be read.
        await eventually('the operator is told why it is not ready', async () => {
          assert.equal(await status('/readyz'), 503);
          return reports.some(line => /^not ready: .*(read-only transaction|permission denied)/.test(line));
        });
        await ask(url, 'SET default_transaction_read_only = off', ...mends(name));
        await ask(inPostgres(fresh), cut);
        await eventually('the service is ready again', async () => (await status('/readyz')) === 200);
      } finally {
        await running.stop();
      }
    });
  }

  it('on a disk that takes no more: it says so, commands end and blame nobody, and all is there with room again', {
    timeout: 120_000,
  }, async test => {
    const place = ['--data', folder()];
    const key = await setup(place);
    // No file may grow beyond so many half kilobytes: what is more fails, as on a full disk.
    const limited = (most: number) => ({ under: ['sh', '-c', `ulimit -f ${most}; exec "$@"`, 'sh'] });
    const service = start(['serve', ...place, '--port', '0'], limited(4_000));
    test.after(() => service.child.kill('SIGKILL'));
    const url = await service.url;
    let said = '';
    service.child.stderr!.on('data', chunk => {
      said += chunk;
    });
    const call = (method: string, path: string, body?: unknown, token: string | null = key) =>
      callService(url, method, path, body, token);
    const vault_id = (await call('POST', '/v1/vaults', { name: 'v' })).body.id;
    const { token } = (await call('POST', '/v1/access-keys', { vault_id, name: 'a' })).body;
    assert.equal((await call('GET', '/readyz')).status, 200);
    const acknowledged: string[] = [];
    const secret = () => ({ vault_id, name: `S${acknowledged.length}`, value: 'x'.repeat(60_000) });
    let last = await call('POST', '/v1/secrets', secret());
    for (; last.status === 200; last = await call('POST', '/v1/secrets', secret()))
      acknowledged.push(last.body.id);
    assert.equal(last.status, 503, last.text);
    await eventually(
      'vault reads are refused on the full disk',
      async () => (await call('GET', `/api/v1/vaults/${vault_id}`, undefined, token)).status === 503,
    );
    await eventually('the service is not ready', async () => (await call('GET', '/readyz')).status === 503);
    assert.equal((await call('GET', '/v1/health')).body.status, 'degraded');
    assert.equal((await call('GET', '/livez')).status, 200);
    await eventually('the operator is told that it is not ready', async () => /not ready: /.test(said));
    service.child.kill('SIGKILL');
    await service.ended;

    for (const command of [
      ['serve', '--port', '0'],
      ['keyring', 'status'],
      ['audit', 'verify'],
    ]) {
      const { stderr } = await run([...command, ...place], limited(0));
      assert.doesNotMatch(stderr, /another process/);
      assert.match(stderr, /^(strongroom: [^\n]+\n)?$/);
    }
    const { code, stderr } = await run(['serve', '--port', '0', ...place], limited(0));
    assert.equal(code, 1);
    assert.match(stderr, /^strongroom: the (lock|database) \S+ can’t be (taken|read): /);

    const again = start(['serve', ...place, '--port', '0']);
    test.after(() => again.child.kill('SIGKILL'));
    const listed = await callService(
      await again.url,
      'GET',
      `/v1/secrets?vault_id=${vault_id}`,
      undefined,
      key,
    );
    assert.equal(listed.body.pagination.total, acknowledged.length);
    again.child.kill('SIGTERM');
    await again.ended;
  });
});
