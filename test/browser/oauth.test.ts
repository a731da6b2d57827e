/**
 * OAuth with third-party clients: they know only the address, a person consents in a real browser, and they read the
 * vault. Both generations of the official SDK, mcp-remote, a strict OAuth client, and the conformance suite.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as oauth from 'oauth4webapi';
import type { Browser, Page } from 'playwright-core';
import { atTheLatest } from '../ending.ts';
import { eventually } from '../harness.ts';
import {
  ask,
  type Fresh,
  launch,
  leave,
  open,
  password,
  proveAgain,
  setUp,
  startFresh,
  type Walk,
} from './browser.ts';

// biome-ignore lint/suspicious/noExplicitAny: two generations of one interface
type Json = any;

const root = fileURLToPath(new URL('../..', import.meta.url));
const bin = (name: string) => join(root, 'node_modules/.bin', name);
const known = 'https://claude.ai/oauth/claude-code-client-metadata';
const values = 'Read secrets, with their values';
const identity = { name: 'test', version: '1' };
const home = mkdtempSync(join(tmpdir(), 'strongroom-oauth-'));

let browser: Browser;
let service: Fresh;
let walk: Walk;
let returned: Server;
let callback: string;
let arrive: (url: URL) => void = () => {};

before(async () => {
  [browser, service] = await Promise.all([
    launch(),
    startFresh(['--oauth', 'required', '--oauth-registration']),
  ]);
  walk = await open(browser, service.url);
  await setUp(walk.page, {
    ...service,
    setupUrl: service.setupUrl!.replace(service.dashboardUrl, service.url),
  });
  const made = async (path: string, body: unknown) => (await ask(walk.page, 'POST', path, body)).body.id;
  const vault_id = await made('/v1/vaults', { name: 'production' });
  await made('/v1/secrets', { vault_id, name: 'TOKEN', value: 'hunter2' });
  returned = createServer((request, response) => {
    response.end('Done');
    const url = new URL(request.url!, callback);
    if (url.pathname === '/callback') arrive(url);
  });
  returned.listen(0, '127.0.0.1');
  await once(returned, 'listening');
  callback = `http://127.0.0.1:${(returned.address() as AddressInfo).port}/callback`;
});
after(async () => {
  returned.close();
  await leave(browser);
  await service.stop();
  rmSync(home, { recursive: true });
});

/** The next redirect to the client. */
function arrival(): Promise<URL> {
  const { promise, resolve } = Promise.withResolvers<URL>();
  arrive = resolve;
  return promise;
}

/**
 * A click counts only if the button has not moved for a while; one that came too early is repeated, as a person would.
 * In tests that advance the clock, the last proof may have expired; then the person is asked for a new one.
 */
async function clickAllow(page: Page): Promise<void> {
  const button = page.getByRole('button', { name: 'Allow' });
  await button.scrollIntoViewIfNeeded();
  for (let status: number | null = null; status === null; ) {
    await button.and(page.locator('[aria-disabled="false"]')).waitFor();
    const answer = page.waitForResponse(/\/auth\/oauth\/approve$/, { timeout: 3_000 });
    await button.click();
    status = await answer.then(
      response => response.status(),
      () => null,
    );
    if (status === 403) await proveAgain(page);
  }
}

/** Consents on the page that a client sent the person to. */
async function allow(page: Page, place: URL | string, scope?: string): Promise<void> {
  await page.goto(String(place));
  await page.getByRole('heading', { name: /^Allow / }).waitFor();
  await page.getByLabel('Vault').fill('prod');
  await page.getByRole('option', { name: 'production' }).click();
  if (scope !== undefined) await page.getByLabel(scope).check();
  // Otherwise, the next page could be requested while the browser is still being redirected to the client.
  await Promise.all([page.waitForURL(url => !url.href.startsWith(service.url)), clickAllow(page)]);
}

/** The client's storage, in the form that both generations require. */
class Kept {
  readonly clientMetadataUrl: string | undefined;
  place: URL | null = null;
  #information: Json;
  #tokens: Json;
  #verifier = '';
  #discovered: Json;

  constructor(clientMetadataUrl?: string) {
    this.clientMetadataUrl = clientMetadataUrl;
  }
  get redirectUrl() {
    return callback;
  }
  get clientMetadata() {
    return { client_name: 'Test client', redirect_uris: [callback], token_endpoint_auth_method: 'none' };
  }
  state = () => 'of the client';
  clientInformation = () => this.#information;
  saveClientInformation = (information: Json) => {
    this.#information = information;
  };
  tokens = () => this.#tokens;
  saveTokens = (tokens: Json) => {
    this.#tokens = tokens;
  };
  redirectToAuthorization = (place: URL) => {
    this.place = place;
  };
  saveCodeVerifier = (verifier: string) => {
    this.#verifier = verifier;
  };
  codeVerifier = () => this.#verifier;
  saveDiscoveryState = (state: Json) => {
    this.#discovered = state;
  };
  discoveryState = () => this.#discovered;
}

const generations = {
  'of the second generation': {
    transport: (kept: Kept) =>
      new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), { authProvider: kept as Json }),
    client: () => new Client(identity, { versionNegotiation: { mode: 'auto' } } as Json),
    document: undefined,
    asksForMore: true,
  },
  'of the first generation': {
    transport: (kept: Kept) =>
      new FirstTransport(new URL(`${service.url}/mcp`), { authProvider: kept as Json }),
    client: () => new FirstClient(identity),
    document: known,
    // It refreshes its token instead, so the person must choose the scope at the start.
    asksForMore: false,
  },
};

for (const [name, { transport, client, document, asksForMore }] of Object.entries(generations)) {
  const how = document === undefined ? 'that registers itself' : 'with a document';
  test(`an official client ${name}, ${how}, signs in${asksForMore ? ', and asks for more scopes when needed' : ''}`, async () => {
    const kept = new Kept(document);
    const connected = async () => {
      const made = client();
      await made.connect(transport(kept) as Json);
      return made;
    };
    async function signIn(refused: () => Promise<unknown>, way: Json, scope: string): Promise<void> {
      kept.place = null;
      await assert.rejects(refused);
      assert.equal(
        kept.place!.searchParams.get('scope')!.split(' ').includes(scope),
        true,
        String(kept.place),
      );
      const [back] = await Promise.all([
        arrival(),
        allow(walk.page, kept.place!, asksForMore ? undefined : values),
      ]);
      assert.equal(back.searchParams.get('iss'), service.url);
      await way.finishAuth(back.searchParams.get('code'), back.searchParams.get('iss'));
    }
    const first = transport(kept);
    await signIn(() => client().connect(first as Json), first, 'secrets:names');
    const reading = await connected();
    const listed = (await reading.callTool({ name: 'secrets.list', arguments: {} })) as Json;
    assert.equal(listed.structuredContent.secrets[0].name, 'TOKEN');
    const value = { name: 'secrets.get', arguments: { name: 'TOKEN', includeValue: true } };
    if (asksForMore) await signIn(() => reading.callTool(value), (reading as Json).transport, 'secrets:read');
    await reading.close();
    const again = await connected();
    const read = (await again.callTool(value)) as Json;
    assert.equal(read.structuredContent.value, 'hunter2');

    service.clock.pass(3_600_000);
    const before = kept.tokens().access_token;
    const both = (await Promise.all([again.callTool(value), again.callTool(value)])) as Json[];
    assert.deepEqual(
      both.map(one => one.structuredContent.value),
      ['hunter2', 'hunter2'],
      'refreshed by itself',
    );
    assert.notEqual(kept.tokens().access_token, before);
    await again.close();
  });
}

test('an invalid request does not redirect to an untrusted client', async () => {
  const redirect_uri = 'https://elsewhere.example/callback';
  const registered = await fetch(`${service.url}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'Anybody', redirect_uris: [redirect_uri] }),
  });
  const { client_id } = (await registered.json()) as Json;
  const { page } = walk;
  await page.goto(`${service.url}/oauth/authorize?${new URLSearchParams({ client_id, redirect_uri })}`);
  await page.getByRole('heading', { name: 'This can’t be allowed' }).waitFor();
  const link = page.getByRole('link', { name: 'elsewhere.example' });
  assert.match((await link.getAttribute('href'))!, /^https:\/\/elsewhere\.example\/callback\?error=/);
  assert.equal(new URL(page.url()).origin, service.url);
});

test('mcp-remote opens the consent page, signed out and on a phone, and reads for its client', async () => {
  const { page, context, complaints } = await open(browser, service.url, {
    viewport: { width: 390, height: 800 },
  });
  const way = new StdioClientTransport({
    command: process.execPath,
    args: [
      join(root, 'node_modules/mcp-remote/dist/proxy.js'),
      `${service.url}/mcp`,
      '--transport',
      'http-only',
    ],
    env: { PATH: '/nowhere', HOME: home, MCP_REMOTE_CONFIG_DIR: home },
    stderr: 'pipe',
  });
  const stopped = atTheLatest(() => way.close());
  let said = '';
  const place = new Promise<string>(resolve =>
    way.stderr!.on('data', chunk => {
      said += String(chunk);
      const [link] = /http:\S+\/oauth\/authorize\S+/.exec(said) ?? [];
      if (link !== undefined) resolve(link);
    }),
  );
  const made = new Client(identity);
  const connecting = made.connect(way, { timeout: 170_000 });
  await page.goto(
    await Promise.race([place, connecting.then(() => assert.fail('it was not asked to sign in'))]),
  );
  await page.getByLabel('Email').fill('owner@example.com');
  await page.getByLabel('Password').fill(password);
  await page.keyboard.press('Enter');
  await page.getByText('self-reported and not verified').waitFor();
  await page.getByText(/^localhost:\d+$/).waitFor();
  assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= 390);
  await allow(page, page.url(), values);
  await connecting;
  const call = { name: 'secrets.get', arguments: { name: 'TOKEN', includeValue: true } };
  const { structuredContent } = (await made.callTool(call)) as Json;
  assert.equal(structuredContent.value, 'hunter2');
  await made.close();
  await stopped();
  assert.deepEqual(complaints, []);
  await context.close();
});

test('a strict OAuth client accepts every response', async () => {
  const insecure = { [oauth.allowInsecureRequests]: true } as const;
  const resource = new URL(`${service.url}/mcp`);
  const described = await oauth.processResourceDiscoveryResponse(
    resource,
    await oauth.resourceDiscoveryRequest(resource, insecure),
  );
  const issuer = new URL(described.authorization_servers![0]!);
  const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure });
  // The URL parser adds a slash that the issuer doesn't have; the library allows for it.
  const server = await oauth.processDiscoveryResponse(issuer, found);
  const client = { client_id: known };
  const verifier = oauth.generateRandomCodeVerifier();
  const place = new URL(server.authorization_endpoint!);
  const asked = {
    client_id: known,
    redirect_uri: callback,
    response_type: 'code',
    state: 's',
    scope: 'secrets:read',
    resource: resource.href,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(asked)) place.searchParams.set(name, value);
  const [back] = await Promise.all([arrival(), allow(walk.page, place)]);
  const told = oauth.validateAuthResponse(server, client, back, 's');
  const answered = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    oauth.None(),
    told,
    callback,
    verifier,
    { additionalParameters: { resource: resource.href }, ...insecure },
  );
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, answered);
  const renewed = await oauth.processRefreshTokenResponse(
    server,
    client,
    await oauth.refreshTokenGrantRequest(server, client, oauth.None(), tokens.refresh_token!, insecure),
  );
  await oauth.processRevocationResponse(
    await oauth.revocationRequest(server, client, oauth.None(), renewed.refresh_token!, insecure),
  );
  const refused = await oauth.refreshTokenGrantRequest(
    server,
    client,
    oauth.None(),
    renewed.refresh_token!,
    insecure,
  );
  await assert.rejects(oauth.processRefreshTokenResponse(server, client, refused), {
    error: 'invalid_grant',
  });
});

test('the conformance suite’s authorization scenarios pass', async () => {
  const port = String((returned.address() as AddressInfo).port + 1);
  const args = ['authorization', '--url', service.url, '--client-id', known, '--port', port];
  const run = spawn(bin('conformance'), [...args, '--resource', `${service.url}/mcp`], { cwd: home });
  const stopped = atTheLatest(() => run.kill('SIGKILL'));
  let said = '';
  const place = new Promise<string>(resolve =>
    run.stdout.on('data', chunk => {
      said += String(chunk);
      const [link] = /http:\S+\/oauth\/authorize\?\S+/.exec(said) ?? [];
      if (link !== undefined) resolve(link);
    }),
  );
  const ended = once(run, 'close');
  const link = await Promise.race([place, ended.then(() => assert.fail(said))]);
  await allow(walk.page, link);
  const [code] = await ended;
  await stopped();
  assert.equal(code, 0, said);
  assert.doesNotMatch(said, /FAILURE|WARNING/);
});

test('a person sees their clients, revokes one, and refuses another', async () => {
  const { page, complaints } = walk;
  await page.goto('/settings/security');
  const rows = page.getByRole('button', { name: 'Revoke Claude Code' });
  await rows.first().waitFor();
  const before = await rows.count();
  await rows.first().click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('Access revoked').first().waitFor();
  await eventually('the revoked access leaves the list', async () => (await rows.count()) < before);
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: known,
    redirect_uri: callback,
    code_challenge: 'x'.repeat(43),
    code_challenge_method: 'S256',
  });
  await page.goto(`/oauth/authorize?${query}`);
  const back = arrival();
  await page.getByRole('button', { name: 'Refuse' }).click();
  assert.equal((await back).searchParams.get('error'), 'access_denied');
  await page.waitForURL(/\/callback\?/);
  query.set('redirect_uri', 'https://evil.example/callback');
  await page.goto(`/oauth/authorize?${query}`);
  await page.getByRole('heading', { name: 'This can’t be allowed' }).waitFor();
  assert.deepEqual(complaints, []);
});
