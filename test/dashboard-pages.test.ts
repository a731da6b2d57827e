import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import Fastify, { type FastifyInstance } from 'fastify';
import { dashboard } from '../src/http/dashboard.ts';
import { type Service, startService } from './harness.ts';

describe('the dashboard’s pages', () => {
  let folder: string;
  let app: FastifyInstance;
  const script = 'console.log("a page of the dashboard");'.repeat(50);

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'strongroom-web-'));
    await mkdir(join(folder, 'assets'));
    await writeFile(join(folder, 'index.html'), '<!doctype html><title>Strongroom</title>');
    await writeFile(join(folder, 'assets', 'index-abc123.js'), script);
    await writeFile(join(folder, 'notes.secret'), 'not a page');
    app = Fastify();
    app.setNotFoundHandler(dashboard(folder).serve);
  });
  after(async () => {
    await app.close();
    await rm(folder, { recursive: true });
  });

  const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
  const get = (url: string, headers: Record<string, string> = browser) =>
    app.inject({ method: 'GET', url, headers });

  it('every address that a person may have shows the page, never kept', async () => {
    for (const url of [
      '/',
      '/setup',
      '/sign-in',
      '/invite',
      '/vaults/0199',
      '/logs?status=404',
      '/index.html',
    ]) {
      const page = await get(url);
      assert.equal(page.statusCode, 200, url);
      assert.match(page.body, /<title>Strongroom/);
      assert.equal(page.headers['cache-control'], 'no-store');
      assert.equal(page.headers['content-type'], 'text/html; charset=utf-8');
    }
  });

  it('a program that asks for such an address finds nothing there', async () => {
    for (const url of ['/setup', '/vaults/0199']) {
      assert.notEqual((await get(url, { accept: '*/*' })).statusCode, 200, url);
    }
    assert.equal((await get('/', { accept: '*/*' })).statusCode, 200);
  });

  it('nothing on it comes from another host, and no other page frames it', async () => {
    const policy = String((await get('/')).headers['content-security-policy']).split('; ');
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' data:",
      "font-src 'self'",
      "connect-src 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "form-action 'self'",
    ]) {
      assert.ok(policy.includes(rule), rule);
    }
    assert.equal(
      policy.some(rule => rule.includes('unsafe') || rule.includes('http')),
      false,
    );
  });

  it('files whose names hold a hash are kept for good, and travel compressed', async () => {
    const plain = await get('/assets/index-abc123.js');
    assert.equal(plain.body, script);
    assert.equal(plain.headers['cache-control'], 'public, max-age=31536000, immutable');
    for (const encoding of ['br', 'gzip']) {
      const small = await get('/assets/index-abc123.js', { 'accept-encoding': encoding });
      assert.equal(small.headers['content-encoding'], encoding);
      assert.ok(small.rawPayload.length < script.length / 2);
    }
  });

  it('a file that isn’t there, or is no page, is not found', async () => {
    for (const url of ['/assets/gone.js', '/favicon.gif', '/notes.secret', '/../package.json']) {
      assert.notEqual((await get(url)).statusCode, 200, url);
    }
  });
});

describe('beside the pages', () => {
  let service: Service;
  before(async () => {
    service = await startService();
  });
  after(() => service.stop());

  it('what belongs to programs is never answered with a page', async () => {
    for (const path of ['/v1/nothing', '/api/nothing', '/auth/nothing', '/mcp/nothing', '/v1', '/auth']) {
      const { status, headers } = await service.call('GET', path);
      assert.ok(status === 404 || status === 401, `${path} ${status}`);
      assert.match(headers.get('content-type')!, /^application\/json/);
    }
    assert.equal((await service.call('POST', '/vaults', {})).status, 404);
  });

  it('the first page answers, whether or not it has been built', async () => {
    const { status, headers, text } = await service.call('GET', '/');
    assert.equal(status, 200);
    assert.match(headers.get('content-type')!, /^text\/html/);
    assert.match(text, /Strongroom/);
    assert.match(headers.get('content-security-policy')!, /script-src 'self'/);
  });
});
