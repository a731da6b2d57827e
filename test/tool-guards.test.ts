/** Bounds and second lines of defence of the command line: each is tried at its edge, and one past it. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { readProfiles } from '../src/cli/connection/profiles.ts';
import { ask, askJson } from '../src/cli/connection/remote.ts';
import type { Settings } from '../src/cli/connection/settings.ts';
import { maskFor } from '../src/cli/terminal/mask.ts';
import { offlineFor } from '../src/cli/vault/offline.ts';

const key = 'sr_vault_x';

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('requests', () => {
  it('follow no redirect, whatever its status, so that the key goes nowhere else', async t => {
    const seen: string[] = [];
    const thief = await serve(t, ({ headers }, response) => {
      seen.push(String(headers.authorization));
      response.end('{}');
    });
    for (const status of [301, 302, 303, 307, 308]) {
      const url = await serve(t, (_, response) => response.writeHead(status, { location: thief }).end());
      for (const method of ['GET', 'POST'])
        await assert.rejects(
          askJson(url, { path: '/', key, method, body: {} }),
          /redirects to another address/,
        );
    }
    assert.deepEqual(seen, []);
  });

  it('are repeated after 429 twice at most, and not at all where the wait is longer than a minute', async t => {
    let asked = 0;
    let after = '0';
    const url = await serve(t, (_, response) => {
      asked += 1;
      response.writeHead(429, { 'retry-after': after }).end();
    });
    assert.equal((await ask(url, { path: '/', key })).status, 429);
    assert.equal(asked, 3);
    for (const longer of ['61', '-', 'Wed, 21 Oct 2199 07:28:00 GMT']) {
      asked = 0;
      after = longer;
      assert.equal((await ask(url, { path: '/', key })).status, 429);
      assert.equal(asked, 1, longer);
    }
  });

  it('show a warning of the service without what would move a cursor', async t => {
    const url = await serve(t, (_, response) =>
      response.writeHead(200, { 'strongroom-warning': 'a\u009b31mb' }).end('{}'),
    );
    const written = t.mock.method(process.stderr, 'write', () => true);
    await ask(url, { path: '/', key });
    assert.deepEqual(
      written.mock.calls.map(call => call.arguments[0]),
      ['strongroom: a\\u{9b}31mb\n'],
    );
  });

  it('show what a service says without what would move a cursor, and never its page', async t => {
    const texts = [
      [JSON.stringify({ message: 'a\u001b[31mb\u202e' }), 'a\\u{1b}[31mb\\u{202e}'],
      [
        JSON.stringify({ error: { message: 'no', details: { field: 'name', reason: '\u0007is taken' } } }),
        'name \\u{7}is taken',
      ],
      ['<html>a page</html>', 'answered with status 400'],
      [JSON.stringify({ message: { toString: 'x' } }), 'answered with status 400'],
    ] as const;
    for (const [body, shown] of texts) {
      const url = await serve(t, (_, response) => response.writeHead(400).end(body));
      await assert.rejects(askJson(url, { path: '/', key }), (error: Error) => {
        assert.ok(error.message.includes(shown), error.message);
        assert.doesNotMatch(error.message, /html|\p{Cc}/u);
        return true;
      });
    }
  });
});

describe('masks', () => {
  async function masked(secrets: Record<string, string>, output: string): Promise<string> {
    const mask = maskFor(Object.entries(secrets).map(([name, value]) => ({ name, value })));
    mask.end(output);
    const chunks: Buffer[] = [];
    for await (const chunk of mask) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString();
  }

  it('cover values from four bytes on, and lines of longer ones from twelve', async () => {
    assert.equal(await masked({ A: 'abc', B: 'defg' }, 'abc defg'), 'abc [secret B]');
    assert.equal(await masked({ A: 'é1', B: 'éé' }, 'é1 éé'), 'é1 [secret B]', 'bytes count, not letters');
    const lines = `elevenlines\ntwelve lines`;
    assert.equal(
      await masked({ L: lines }, '> elevenlines\n> twelve lines\n'),
      '> elevenlines\n> [secret L]\n',
    );
  });

  it('leave the armour of a key readable, and cover its lines, with either line ending', async () => {
    const body = 'MIIEvQIBADANBgkq';
    for (const newline of ['\n', '\r\n']) {
      const pem = ['-----BEGIN PRIVATE KEY-----', body, '-----END PRIVATE KEY-----', ''].join(newline);
      const shown = await masked({ K: pem }, `-----BEGIN PRIVATE KEY-----\nlog: ${body}\n`);
      assert.equal(shown, '-----BEGIN PRIVATE KEY-----\nlog: [secret K]\n');
      assert.equal(await masked({ K: pem }, pem), '[secret K]');
      assert.equal(await masked({ K: pem }, pem.trim()), '[secret K]', 'without its last newline');
    }
  });

  it('cover a value as JSON writes it, and the longer of two that begin alike', async () => {
    const quoted = 'say "hi"\n\\now';
    assert.equal(await masked({ Q: quoted }, JSON.stringify({ quoted })), '{"quoted":"[secret Q]"}');
    assert.equal(
      await masked({ S: 'token', L: 'token-and-more' }, 'token-and-more token'),
      '[secret L] [secret S]',
    );
  });
});

describe('what is kept for --offline', () => {
  const settings = (more: Partial<Settings> = {}) =>
    ({ url: 'http://127.0.0.1:1', vault: null, accessKey: key, apiKey: null, ...more }) as Settings;
  const snapshot = (value = 'x') => ({
    vault: { id: 'v', name: 'app' },
    secrets: [{ id: 's', name: 'A', value, content_type: 'text/plain' }],
    tag: '"t"',
  });

  function folderIn(t: TestContext): { readonly XDG_CACHE_HOME: string; readonly files: () => string[] } {
    const XDG_CACHE_HOME = mkdtempSync(join(tmpdir(), 'strongroom-offline-'));
    t.after(() => rmSync(XDG_CACHE_HOME, { recursive: true }));
    return { XDG_CACHE_HOME, files: () => readdirSync(join(XDG_CACHE_HOME, 'strongroom/offline')) };
  }

  it('is used up to its last moment, and neither later nor before it was written', async t => {
    const { XDG_CACHE_HOME } = folderIn(t);
    let now = Date.parse('2026-01-01T00:00:00Z');
    const offline = offlineFor(settings(), { XDG_CACHE_HOME }, () => now);
    await offline.keep(snapshot());
    now += 3_600_000;
    assert.equal(offline.read(1).snapshot.secrets[0]!.value, 'x');
    now += 1;
    assert.throws(() => offline.read(1), /older than 1 hours/);
    now -= 3_600_002;
    assert.throws(() => offline.read(1), /older than/, 'a clock that was set back would keep it for long');
  });

  it('opens for the same address, vault and key alone, also under another name', async t => {
    const { XDG_CACHE_HOME, files } = folderIn(t);
    await offlineFor(settings(), { XDG_CACHE_HOME }).keep(snapshot());
    const [own = ''] = files();
    const folder = join(XDG_CACHE_HOME, 'strongroom/offline');
    const sealed = process.getBuiltinModule('node:fs').readFileSync(join(folder, own));
    for (const more of [{ url: 'http://127.0.0.1:2' }, { vault: 'other' }, { accessKey: 'sr_vault_y' }]) {
      const other = offlineFor(settings(more), { XDG_CACHE_HOME });
      await other.keep(snapshot());
      const name = files().find(file => file !== own)!;
      writeFileSync(join(folder, name), sealed);
      assert.throws(() => other.read(1), /were altered, and are not used/, JSON.stringify(more));
      rmSync(join(folder, name));
    }
  });

  it('is bounded in number, the oldest going first, and in size', async t => {
    const { XDG_CACHE_HOME, files } = folderIn(t);
    const keep = (vault: string, value = 'x') =>
      offlineFor(settings({ vault }), { XDG_CACHE_HOME }).keep(snapshot(value));
    await keep('oldest');
    const [oldest = ''] = files();
    utimesSync(join(XDG_CACHE_HOME, 'strongroom/offline', oldest), 1, 1);
    for (let at = 1; at < 32; at += 1) await keep(`vault ${at}`);
    assert.equal(files().length, 32);
    assert.ok(files().includes(oldest));
    await keep('one more');
    assert.equal(files().length, 32);
    assert.ok(!files().includes(oldest));
    const empty = JSON.stringify({ at: Date.now(), snapshot: snapshot('') }).length;
    const before = files();
    await keep('too large', 'x'.repeat(8 * 1024 * 1024 - empty + 1));
    assert.deepEqual(files(), before);
    await keep('just right', 'x'.repeat(8 * 1024 * 1024 - empty));
    assert.notDeepEqual(files(), before);
  });
});

describe('profiles', () => {
  it('are refused where anyone else has any right to the file', t => {
    const folder = mkdtempSync(join(tmpdir(), 'strongroom-profiles-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'profiles.json');
    writeFileSync(file, '{}');
    for (let bit = 0o400; bit > 0; bit >>= 1) {
      process.getBuiltinModule('node:fs').chmodSync(file, 0o600 | bit);
      if (bit & 0o077) assert.throws(() => readProfiles(file), /can be read by others/, bit.toString(8));
      else assert.deepEqual(readProfiles(file).profiles, {});
    }
  });
});
