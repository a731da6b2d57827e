import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openStrongroom } from '../src/service/opening/open.ts';
import { type Running, serve } from '../src/service/serve.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { callService, eventually, makeOrganization } from './harness.ts';
import { type Cluster, freePort, startCluster } from './postgres.ts';

/** Lets bytes through to the database until it is told to fall silent: the connections stay, and nothing moves. */
async function wire(target: number) {
  const sockets = new Set<Socket>();
  let silent = false;
  const server = createServer(near => {
    const far = connect(target, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('data', chunk => silent || to.write(chunk));
      from.on('close', () => to.destroy());
      from.on('error', () => {});
    }
  }).listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    silence: () => {
      silent = true;
    },
    speak: () => {
      silent = false;
      for (const socket of sockets) socket.destroy();
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

describe('while PostgreSQL is away', { timeout: 120_000 }, () => {
  let cluster: Cluster;
  let link: Awaited<ReturnType<typeof wire>>;
  let running: Running;
  let key: string;
  let vaultId: string;
  let access: string;
  let place: string[];
  const data = mkdtempSync(join(tmpdir(), 'strongroom-away-'));

  before(async () => {
    const port = await freePort();
    cluster = await startCluster(port);
    link = await wire(port);
    place = ['--data', data, '--database-url', cluster.url.replace(`:${port}/`, `:${link.port}/`)];
    ({ key } = await makeOrganization(place, 'Away', 'enterprise', 0));
    running = await serve(readConfig(serveOptions, [...place, '--port', '0'], {}), { report: () => {} });
    vaultId = (await call('POST', '/v1/vaults', { name: 'v' })).body.id;
    await call('POST', '/v1/secrets', { vault_id: vaultId, name: 's', value: 'CANARY' });
    access = (await call('POST', '/v1/access-keys', { vault_id: vaultId, name: 'a' })).body.token;
  });
  after(async () => {
    await running.stop();
    link.close();
    await cluster.stop();
    await rm(data, { recursive: true, force: true });
  });

  const call = (method: string, path: string, body?: unknown, token = key) =>
    callService(running.url, method, path, body, token);
  const readVault = () => call('GET', `/api/v1/vaults/${vaultId}`, undefined, access);
  async function everythingIsRefused(): Promise<void> {
    const answers = await Promise.all([
      call('GET', '/v1/vaults'),
      call('POST', '/v1/vaults', { name: 'lost' }),
      readVault(),
    ]);
    for (const answer of answers) {
      assert.equal(answer.status, 503, answer.text);
      assert.ok(Number(answer.headers.get('retry-after')) > 0);
      assert.ok(!answer.text.includes('CANARY'), 'no secret leaves without its entry in the log');
    }
    // What a probe was told holds for a second.
    await eventually(
      'the service’s health is degraded',
      async () => (await call('GET', '/v1/health')).body.status === 'degraded',
    );
    assert.equal((await call('GET', '/livez')).status, 200);
    assert.equal((await call('GET', '/readyz')).status, 503);
  }
  async function comesBack(): Promise<void> {
    await eventually('the service is ready again', async () => (await call('GET', '/readyz')).status === 200);
    assert.equal((await call('GET', '/v1/vaults')).body.pagination.total, 1);
    assert.match((await readVault()).text, /CANARY/);
    assert.equal((await call('GET', '/v1/health')).body.status, 'ok');
  }

  it('requests get 503, not a hang, when it is stopped; and all is well again by itself when it is back', async () => {
    assert.match((await readVault()).text, /CANARY/);
    const other = await openStrongroom(readConfig(serveOptions, place, {}), false);
    const origin = { requestId: '1', address: '127.0.0.1', userAgent: 't' };
    const caller = await other.domain.authenticate.apiKey(key, origin);
    const permit = await other.domain.guard.admit(caller, 'webhooks:write');
    const webhook = { url: 'https://hooks.example.com/', events: ['resource.created' as const] };
    await cluster.halt();
    await everythingIsRefused();
    // Whoever got in before is told of the outage, not that their vault is none.
    const made = other.domain.webhooks.create(permit, { ...webhook, vault_ids: [vaultId] });
    await assert.rejects(made, { code: 'UNAVAILABLE' });
    await other.close();
    await cluster.resume();
    await comesBack();
  });

  it('the same when it falls silent without closing a connection', async () => {
    link.silence();
    await everythingIsRefused();
    link.speak();
    await comesBack();
  });
});
