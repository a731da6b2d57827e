/** Listening on a Unix socket: who may connect, who a client is there, and whose file is removed. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { serve } from '../src/service/serve.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig, UsageError } from '../src/service/settings/config.ts';
import { start } from './command.ts';
import { enginesInTurn, type Service, startService } from './harness.ts';
import { oneThread } from './one-thread.ts';
import { callOver } from './unix-socket.ts';

const folder = mkdtempSync(join(tmpdir(), 'sr-socket-'));
after(() => rmSync(folder, { recursive: true }));

const modeOf = (path: string) => lstatSync(path).mode & 0o777;

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`a Unix socket on ${engine}`, () => {
    const path = join(folder, `${engine}.sock`);
    const flags = ['--socket', path];
    let service: Service;
    let vaultId: string;

    before(async () => {
      service = await startService({ engine, threads: true, flags });
      vaultId = (await own('POST', '/v1/vaults', { name: 'local' })).body.id;
    });
    after(() => service.stop());

    const own = (method: string, at: string, body?: unknown, headers: Record<string, string> = {}) =>
      callOver(path, method, at, { body, key: service.key, headers });
    const read = (key: string, headers: Record<string, string> = {}) =>
      callOver(path, 'GET', `/api/v1/vaults/${vaultId}`, { key, headers });
    const accessKey = async (name: string, ...cidrs: string[]): Promise<string> =>
      (
        await own('POST', '/v1/access-keys', {
          vault_id: vaultId,
          name,
          ...(cidrs.length > 0 ? { cidrs } : {}),
        })
      ).body.token;
    const lastAddress = async (log: string) =>
      (await own('GET', `/v1/${log}?limit=1`)).body.data[0].ip_address;
    const forwarded = { 'x-forwarded-for': '203.0.113.7' };

    it('serves both planes, and is for the owner and the group', async () => {
      assert.equal(service.url, `unix:${path}`);
      assert.equal(modeOf(path), 0o660);
      assert.equal((await callOver(path, 'GET', '/readyz')).status, 200);
      assert.equal(
        (await own('POST', '/v1/secrets', { vault_id: vaultId, name: 'S', value: 'v' })).status,
        200,
      );
      const { status, body } = await read(await accessKey('plain'));
      assert.deepEqual([status, body.secrets[0].value], [200, 'v']);
    });

    it('knows a client as this machine, on both planes, and believes no forwarded header', async () => {
      assert.equal((await read(await accessKey('near', '127.0.0.0/8'), forwarded)).status, 200);
      assert.equal(await lastAddress('request-logs'), '127.0.0.1');
      assert.equal((await read(await accessKey('far', '203.0.113.0/24'), forwarded)).status, 401);
      await own('POST', '/v1/vaults', { name: 'made near' }, forwarded);
      assert.equal(await lastAddress('audit-logs'), '127.0.0.1');
    });

    it('takes tool calls under the name of this machine, and under no other', async () => {
      const call = (host: string) =>
        callOver(path, 'POST', '/mcp', {
          body: { jsonrpc: '2.0', id: 1, method: 'ping' },
          headers: { host, accept: 'application/json, text/event-stream' },
        });
      assert.notEqual((await call('localhost')).status, 403);
      assert.equal((await call('vault.example')).status, 403);
      assert.equal((await call('localhost:8420')).status, 403);
    });

    it('is an address for the command line, and none for a browser', async () => {
      const env = {
        STRONGROOM_URL: `unix:${path}`,
        STRONGROOM_ACCESS_KEY: await accessKey('command'),
        HOME: folder,
      };
      const [got, opened] = await Promise.all(
        ['get S', 'open'].map(args => start(args.split(' '), { env }).ended),
      );
      assert.deepEqual([got!.code, got!.stdout.trim(), got!.stderr], [0, 'v', '']);
      assert.equal(opened!.code, 2);
      assert.match(opened!.stderr, /a browser can’t open a Unix socket/);
    });

    it('of a named proxy gives the address that the proxy says, on both planes', async () => {
      await service.restart([...flags, '--behind-proxy', '127.0.0.1/32', '--socket-mode', '0600']);
      assert.equal(modeOf(path), 0o600);
      assert.equal((await read(await accessKey('passed', '203.0.113.0/24'), forwarded)).status, 200);
      assert.equal(await lastAddress('request-logs'), '203.0.113.7');
      await own('POST', '/v1/vaults', { name: 'made far' }, forwarded);
      assert.equal(await lastAddress('audit-logs'), '203.0.113.7');
    });

    it('is gone once the service has stopped', async () => {
      await service.stop();
      assert.equal(existsSync(path), false);
    });
  });
}

describe('the file of a Unix socket', () => {
  /** What the operator of a service that does not start is told. */
  async function refused(...flags: string[]): Promise<string> {
    const config = readConfig(serveOptions, ['--data', mkdtempSync(join(folder, 'data-')), ...flags], {});
    const started = serve(config, { report: () => {}, ...oneThread });
    const error = await started.then(
      () => assert.fail('it started'),
      (error: unknown) => error,
    );
    assert.ok(error instanceof UsageError, String(error));
    return error.message;
  }

  it('that a killed process left behind is replaced', async () => {
    const path = join(folder, 'stale.sock');
    const left = spawn(process.execPath, [
      '-e',
      'require("net").createServer().listen(process.argv[1], () => console.log("listening"))',
      path,
    ]);
    await once(left.stdout, 'data');
    left.kill('SIGKILL');
    await once(left, 'close');
    assert.ok(existsSync(path));
    const service = await startService({ flags: ['--socket', path] });
    assert.equal((await callOver(path, 'GET', '/readyz')).status, 200);
    await service.stop();
  });

  it('that somebody listens on stays theirs', async () => {
    const path = join(folder, 'theirs.sock');
    const theirs = createServer().listen(path);
    await once(theirs, 'listening');
    const before = lstatSync(path).ino;
    assert.match(await refused('--socket', path), /--socket is in use/);
    assert.equal(lstatSync(path).ino, before);
    theirs.close();
  });

  it('that is no socket stays as it is', async () => {
    const path = join(folder, 'notes');
    writeFileSync(path, 'kept');
    assert.match(await refused('--socket', path), /not a socket/);
    assert.equal(readFileSync(path, 'utf8'), 'kept');
  });

  it('is not combined with an address, or with TLS, and has a path that the kernel takes whole', async () => {
    const path = join(folder, 'never.sock');
    assert.match(await refused('--socket', path, '--host', '0.0.0.0'), /--socket and --host/);
    assert.match(await refused('--socket', path, '--tls', 'auto'), /--socket can’t be combined with TLS/);
    assert.match(await refused('--socket', join(folder, 'x'.repeat(108))), /at most 107 bytes/);
    assert.equal(existsSync(path), false);
  });
});
