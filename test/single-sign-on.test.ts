import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { after, before, describe, it } from 'node:test';
import Provider from 'oidc-provider';
import { engines } from './harness.ts';
import { Browser, cookieName, type EmptyService, invite, setUp, startEmpty } from './people.ts';
import { freePort } from './postgres.ts';

const clientId = 'strongroom';
const clientSecret = 'a-secret-between-the-two';

/** A real issuer, whose people are who they say; those named `unverified` have not shown that they own their address. */
async function startIssuer(issuer: string, redirectUri: string): Promise<Server> {
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    findAccount: (_context, id) => ({
      accountId: id,
      claims: async () => ({ sub: id, email: id, email_verified: !id.startsWith('unverified') }),
    }),
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    pkce: { required: () => true },
    cookies: { keys: ['only for tests'] },
    ttl: { AccessToken: 60, AuthorizationCode: 60, IdToken: 60, Interaction: 60, Session: 60, Grant: 60 },
  });
  const server = createServer(provider.callback());
  await new Promise<void>(resolve => server.listen(Number(new URL(issuer).port), '127.0.0.1', resolve));
  return server;
}

/** Signs in at the issuer as a person would, and comes back with the address that the issuer sends the browser to. */
async function visitIssuer(start: string, as: string): Promise<string> {
  const jar = new Browser(new URL(start).origin);
  let url = start;
  for (let hop = 0; hop < 12; hop++) {
    if (url.includes('/auth/oidc/callback')) return url;
    const { pathname, search } = new URL(url);
    const page = await request(jar, 'GET', pathname + search);
    const location = page.headers.get('location');
    if (location !== null) {
      url = new URL(location, url).href;
      continue;
    }
    const prompt = /name="prompt" value="(\w+)"/.exec(await page.text())![1]!;
    const form = new URLSearchParams({ prompt, ...(prompt === 'login' ? { login: as, password: 'x' } : {}) });
    const answer = await request(jar, 'POST', pathname, form);
    url = new URL(answer.headers.get('location')!, url).href;
  }
  throw new Error('the issuer never sent the browser back');
}

async function request(
  jar: Browser,
  method: string,
  path: string,
  form?: URLSearchParams,
): Promise<Response> {
  const cookie = [...jar.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const response = await fetch(jar.url + path, {
    method,
    redirect: 'manual',
    headers: { cookie },
    ...(form === undefined ? {} : { body: form }),
  });
  for (const line of response.headers.getSetCookie()) {
    const [name, value] = line.split(';')[0]!.split('=');
    if (value === '') jar.cookies.delete(name!);
    else jar.cookies.set(name!, value!);
  }
  return response;
}

for (const engine of engines) {
  describe(`single sign-on against a real issuer, on ${engine}`, () => {
    let service: EmptyService;
    let issuer: Server;
    let issuerUrl: string;
    let owner: Browser;

    before(async () => {
      issuerUrl = `http://127.0.0.1:${await freePort()}`;
      const flags = ['--oidc-issuer', issuerUrl, '--oidc-client-id', clientId, '--oidc-name', 'Acme ID'];
      service = await startEmpty(engine, flags, { STRONGROOM_OIDC_CLIENT_SECRET: clientSecret });
      issuer = await startIssuer(issuerUrl, `${service.url}/auth/oidc/callback`);
      owner = await setUp(service);
    });
    after(async () => {
      await service.stop();
      issuer.closeAllConnections();
      await new Promise(resolve => issuer.close(resolve));
    });

    /** Follows redirects by hand, so that each can be looked at. */
    async function signIn(as: string) {
      const browser = service.browser();
      const started = await request(browser, 'GET', '/auth/oidc/start');
      assert.equal(started.status, 302);
      const back = await visitIssuer(started.headers.get('location')!, as);
      const { pathname, search } = new URL(back);
      const finished = await request(browser, 'GET', pathname + search);
      return { browser, started, back, finished, location: finished.headers.get('location') };
    }

    it('is offered by its name', async () => {
      const { body } = await service.browser().get('/auth/state');
      assert.deepEqual(body.methods.oidc, { name: 'Acme ID' });
    });

    it('asks with a code challenge, a state and a nonce, and keeps what must come back to itself', async () => {
      const { started } = await signIn('owner@example.org');
      const url = new URL(started.headers.get('location')!);
      assert.equal(url.searchParams.get('response_type'), 'code');
      assert.equal(url.searchParams.get('code_challenge_method'), 'S256');
      for (const name of ['code_challenge', 'state', 'nonce']) assert.ok(url.searchParams.get(name), name);
      const [cookie] = started.headers.getSetCookie();
      assert.match(
        cookie!,
        /^__Host-strongroom-sso=[\w-]+; Path=\/; Max-Age=600; HttpOnly; Secure; SameSite=Lax$/,
      );
      assert.equal(cookie!.includes(url.searchParams.get('state')!), false);
    });

    it('a member with a verified address is signed in, and the cookie stays on this site', async () => {
      const { browser, finished, location } = await signIn('Owner@Example.org');
      assert.equal(location, '/');
      const cookies = finished.headers.getSetCookie();
      assert.ok(cookies.some(line => line.startsWith(`${cookieName}=`) && line.includes('SameSite=Strict')));
      assert.ok(cookies.some(line => line.startsWith('__Host-strongroom-sso=;')));
      const { body } = await browser.get('/auth/state');
      assert.equal(body.signed_in.member.email, 'owner@example.org');
    });

    it('an invited member has joined by it, and the invitation is used up', async () => {
      const { body: member } = await owner.post('/v1/members', { email: 'new@example.org', role: 'editor' });
      const { browser } = await signIn('new@example.org');
      assert.equal((await browser.get('/auth/state')).body.signed_in.member.role, 'editor');
      assert.equal((await owner.get(`/v1/members/${member.id}`)).body.state, 'active');
      const late = await service.browser().post('/auth/invitation', { token: member.token });
      assert.equal(late.status, 401);
    });

    it('strangers, removed members and unverified addresses are sent back to sign in', async () => {
      await owner.post('/v1/members', { email: 'unverified@example.org', role: 'viewer' });
      const { id } = await invite(service, owner, 'removed@example.org', 'viewer');
      await owner.call('DELETE', `/v1/members/${id}`);
      for (const as of ['stranger@example.org', 'unverified@example.org', 'removed@example.org']) {
        const { browser, location } = await signIn(as);
        assert.equal(location, '/sign-in?error=UNAUTHORIZED', as);
        assert.equal(browser.cookie, undefined);
      }
    });

    it('an answer is good for the browser that asked, for its state, and once', async () => {
      const browser = service.browser();
      const started = await request(browser, 'GET', '/auth/oidc/start');
      const back = new URL(await visitIssuer(started.headers.get('location')!, 'owner@example.org'));
      const refused = '/sign-in?error=UNAUTHORIZED';
      const other = service.browser();
      const stolen = await request(other, 'GET', back.pathname + back.search);
      assert.equal(stolen.headers.get('location'), refused);
      await request(other, 'GET', '/auth/oidc/start');
      const mixed = await request(other, 'GET', back.pathname + back.search);
      assert.equal(mixed.headers.get('location'), refused);
      const kept = browser.cookies.get('__Host-strongroom-sso')!;
      assert.equal((await request(browser, 'GET', back.pathname + back.search)).headers.get('location'), '/');
      const again = service.browser();
      again.cookies.set('__Host-strongroom-sso', kept);
      const replayed = await request(again, 'GET', back.pathname + back.search);
      assert.equal(replayed.headers.get('location'), refused);
    });

    it('an issuer that is away sends people back to sign in, and is tried again', async () => {
      const later = `http://127.0.0.1:${await freePort()}`;
      const lonely = await startEmpty('sqlite', ['--oidc-issuer', later, '--oidc-client-id', clientId]);
      const browser = lonely.browser();
      const away = await request(browser, 'GET', '/auth/oidc/start');
      assert.equal(away.headers.get('location'), '/sign-in?error=UNAVAILABLE');
      const opened = await startIssuer(later, `${lonely.url}/auth/oidc/callback`);
      const there = await request(browser, 'GET', '/auth/oidc/start');
      assert.ok(there.headers.get('location')!.startsWith(later));
      await lonely.stop();
      opened.closeAllConnections();
      await new Promise(resolve => opened.close(resolve));
    });
  });
}
