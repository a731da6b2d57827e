/** Which of the dashboard's files are served, for which requests, and how they travel. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { dashboard } from '../src/http/dashboard.ts';
import { bareApp } from './bare-app.ts';

const browser = { accept: 'text/html,application/xhtml+xml' };
const appOf = (folder: string) => bareApp({}, app => void app.setNotFoundHandler(dashboard(folder).serve));

describe('the dashboard', () => {
  let folder: string;
  let app: ReturnType<typeof appOf>;
  const page = '<!doctype html><title>Built</title>';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'strongroom-web-'));
    await mkdir(join(folder, 'assets', 'folder.css'), { recursive: true });
    await writeFile(join(folder, 'index.html'), page);
    await writeFile(join(folder, 'assets', 'a.js'), 'script');
    await writeFile(join(folder, 'logo.png'), 'image');
    await writeFile(join(folder, 'notes.secret'), 'not a page');
    app = appOf(folder);
  });
  after(() => rm(folder, { recursive: true }));

  const kept = 'public, max-age=31536000, immutable';
  const html = 'text/html; charset=utf-8';
  const served: [
    method: string,
    path: string,
    headers: Record<string, string>,
    type: string,
    cache: string,
  ][] = [
    ['GET', '/', {}, html, 'no-store'],
    ['GET', '/', browser, html, 'no-store'],
    ['HEAD', '/', browser, html, 'no-store'],
    ['GET', '/?a=b.c', {}, html, 'no-store'],
    ['GET', '/vaults', browser, html, 'no-store'],
    ['GET', '/vaults/x?a=b.c', browser, html, 'no-store'],
    ['GET', '/version', browser, html, 'no-store'],
    ['GET', '/index.html', {}, html, 'no-store'],
    ['GET', '/logo.png', {}, 'image/png', 'no-store'],
    ['GET', '/assets/a.js', {}, 'text/javascript; charset=utf-8', kept],
    ['GET', '/assets/gone', browser, html, 'no-store'],
  ];
  for (const [method, path, headers, type, cache] of served)
    it(`answers ${method} ${path} ${JSON.stringify(headers)}: ${type}, ${cache}`, async () => {
      const answer = await app.send(method, path, undefined, headers);
      assert.deepEqual(
        [answer.status, answer.headers['content-type'], answer.headers['cache-control']],
        [200, type, cache],
      );
      assert.match(
        String(answer.headers['content-security-policy']),
        /^default-src 'none'; script-src 'self';/,
      );
      if (type === html && method === 'GET') assert.equal(answer.text, page);
    });

  const absent: [method: string, path: string, headers: Record<string, string>][] = [
    ['GET', '/vaults', {}],
    ['GET', '/vaults', { accept: '*/*' }],
    ['GET', '/gone.js', browser],
    ['GET', '/notes.secret', browser],
    ['GET', '/assets/folder.css', browser],
    ['POST', '/', browser],
    ['POST', '/index.html', browser],
    ...[
      '/v1',
      '/v1/x',
      '/API/x',
      '/auth/x',
      '/oauth/x',
      '/mcp',
      '/docs/x',
      '/metrics',
      '/livez',
      '/readyz',
      '/.well-known/x',
    ].map((path): [string, string, Record<string, string>] => ['GET', path, browser]),
  ];
  for (const [method, path, headers] of absent)
    it(`has nothing at ${method} ${path} ${JSON.stringify(headers)}`, async () => {
      const answer = await app.send(method, path, undefined, headers);
      assert.deepEqual([answer.status, answer.body.error?.code], [404, 'NOT_FOUND']);
    });

  it('travels compressed where that is accepted, and of use', async () => {
    const encoded = async (path: string, accepted?: string) => {
      const answer = await app.app.inject({
        url: path,
        headers: accepted === undefined ? {} : { 'accept-encoding': accepted },
      });
      assert.equal(answer.headers.vary, 'accept-encoding');
      return [answer.headers['content-encoding'], answer.rawPayload] as const;
    };
    for (const [accepted, encoding] of [
      ['gzip, deflate, br', 'br'],
      ['gzip', 'gzip'],
      ['deflate', undefined],
      ['brx', undefined],
      [undefined, undefined],
    ] as const)
      for (const time of ['first', 'second']) {
        const [name, body] = await encoded('/assets/a.js', accepted);
        assert.equal(name, encoding, time);
        const plain = name === 'br' ? brotliDecompressSync(body) : name === 'gzip' ? gunzipSync(body) : body;
        assert.equal(String(plain), 'script');
      }
    assert.equal((await encoded('/logo.png', 'br, gzip'))[0], undefined);
  });

  it('says so where it has not been built', async () => {
    await mkdir(join(folder, 'empty'));
    for (const place of ['empty', 'not there']) {
      const { status, text } = await appOf(join(folder, place)).send('GET', '/', undefined, browser);
      assert.equal(status, 200);
      assert.match(text, /has not been built/);
    }
  });
});
