/** What the operator decides about OAuth: whether it is there at all, from when on, and for which clients. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { oauthSurface } from '../src/http/surface/oauth-issuer.ts';
import { oauthSettingsOf } from '../src/service/listener/sign-on.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig, UsageError } from '../src/service/settings/config.ts';
import { callService, type Service, startService } from './harness.ts';
import { bareCall, bareSession, makeAccessKey, modernCall, post } from './mcp-world.ts';
import { asking, type OAuthWorld, startOAuth } from './oauth-world.ts';

const clientFile = fileURLToPath(new URL('oauth-clients.json', import.meta.url));

describe('OAuth that was not turned on', () => {
  let service: Service;
  before(async () => {
    service = await startService();
  });
  after(() => service.stop());

  it('is answered nowhere, and a call without a key gets the result that it always got', async () => {
    const paths = [
      '/.well-known/oauth-protected-resource',
      '/.well-known/oauth-protected-resource/mcp',
      '/.well-known/oauth-authorization-server',
      '/oauth/authorize',
      '/auth/oauth/grants',
    ];
    for (const path of paths) {
      const { status } = await callService(service.url, 'GET', path, undefined, null, {
        accept: 'text/html',
      });
      assert.equal(status, 404, path);
    }
    for (const path of ['token', 'revoke', 'register'])
      assert.equal((await callService(service.url, 'POST', `/oauth/${path}`, {})).status, 404, path);
    const { status, body } = await modernCall(service.url, 'secrets.list', {});
    assert.deepEqual([status, body.result.structuredContent.status], [200, 401]);
    const bad = await post(service.url, { method: 'initialize' }, { key: 'bad' });
    assert.deepEqual([bad.status, bad.headers.get('www-authenticate')], [401, 'Bearer']);
  });
});

describe('OAuth that is required', () => {
  let world: OAuthWorld;
  const documents = createServer((request, response) => {
    const client_id = `http://127.0.0.1:${(documents.address() as AddressInfo).port}${request.url}`;
    const more = request.url === '/secret' ? { client_secret: 'x' } : {};
    const id = request.url === '/another' ? 'https://another.example/client' : client_id;
    const redirect_uris = ['http://127.0.0.1/callback'];
    response.end(JSON.stringify({ client_id: id, client_name: 'Fetched', redirect_uris, ...more }));
  });

  before(async () => {
    documents.listen(0, '127.0.0.1');
    await once(documents, 'listening');
    const allowed = ['--oauth-fetch-clients', '--allow-private-issuers', '127.0.0.0/8'];
    world = await startOAuth('sqlite', ['--oauth', 'required', '--oauth-client', clientFile, ...allowed]);
  });
  after(async () => {
    documents.close();
    await world.service.stop();
  });

  it('refuses the first request of a client that has no key, and none that brings one', async () => {
    const { url } = world.service;
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    };
    const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params };
    for (const body of [initialize, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, [initialize]]) {
      const refused = await post(url, body);
      assert.equal(refused.status, 401);
      assert.match(refused.headers.get('www-authenticate')!, /^Bearer resource_metadata="/);
    }
    const service = {
      call: (...args: Parameters<Service['call']>) => world.owner.call(args[0], args[1], args[2]),
    };
    const { token } = await makeAccessKey(service as Service, world.vaultId);
    assert.equal((await post(url, initialize, { key: token })).status, 200);
    const vault = { vaultId: world.vaultId, accessKey: token };
    assert.equal((await modernCall(url, 'secrets.list', { vault })).status, 200);
    const session = await bareSession(url);
    const { body } = await bareCall(url, 'secrets.list', { vault }, { session });
    assert.equal(body.result.structuredContent.secrets[0].name, 'TOKEN');
  });

  it('knows the operator’s clients, and those whose document it may fetch; nobody registers', async () => {
    const { owner, service } = world;
    const shown = async (client_id: string) =>
      (await owner.post('/auth/oauth/request', { request: asking(service.url, { client_id }).query })).body;
    assert.deepEqual((await shown('agent')).client, {
      id: 'agent',
      name: 'Agent',
      known: true,
      imitates: false,
    });
    const site = `http://127.0.0.1:${(documents.address() as AddressInfo).port}`;
    const fetched = { id: `${site}/client`, name: 'Fetched', known: false, imitates: false };
    assert.deepEqual((await shown(`${site}/client`)).client, fetched);
    for (const id of [
      `${site}/another`,
      `${site}/secret`,
      `${site}/`,
      `${site}/client#x`,
      `${site}/x/../client`,
    ])
      assert.equal((await shown(id)).error.details.field, 'client_id', id);
    assert.equal((await callService(service.url, 'POST', '/oauth/register', {})).status, 404);
    const { body } = await callService(service.url, 'GET', '/.well-known/oauth-authorization-server');
    assert.equal(body.registration_endpoint, undefined);
  });

  it('takes no plain address but this machine’s', () => {
    const config = (url: string) => readConfig(serveOptions, ['--oauth', 'offered', '--public-url', url], {});
    const siteOf = () => ({ origin: '', host: '' });
    assert.throws(() => oauthSettingsOf(config('http://vault.example.com'), siteOf), UsageError);
    oauthSettingsOf(config('http://localhost:8420'), siteOf);
    const settings = oauthSettingsOf(config('https://vault.example.com'), siteOf);
    const plain = { origin: 'http://10.0.0.5:8420', host: '10.0.0.5' };
    assert.equal(oauthSurface(settings)!.issuerAt(plain), 'https://vault.example.com');
    assert.equal(oauthSurface({ ...settings, publicUrls: [] })!.issuerAt(plain), null);
  });
});
