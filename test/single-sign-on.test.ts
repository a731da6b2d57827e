import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { enginesInTurn } from './harness.ts';
import {
  clientId,
  clientSecret,
  type Issuer,
  signOn,
  signOnCookie,
  startIssuer,
  visit,
  visitIssuer,
} from './issuer.ts';
import { type Browser, cookieName, type EmptyService, invite, setUp, startEmpty } from './people.ts';
import { freePort } from './postgres.ts';

const minute = 60_000;
const refused = '/sign-in?error=UNAUTHORIZED';

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`single sign-on against a real issuer, on ${engine}`, () => {
    let service: EmptyService;
    let issuer: Issuer;
    let issuerUrl: string;
    let owner: Browser;

    before(async () => {
      issuerUrl = `http://127.0.0.1:${await freePort()}`;
      const flags = ['--oidc-issuer', issuerUrl, '--oidc-client-id', clientId, '--oidc-name', 'Acme ID'];
      flags.push('--oidc-groups-claim', 'groups');
      service = await startEmpty(engine, flags, { STRONGROOM_OIDC_CLIENT_SECRET: clientSecret });
      issuer = await startIssuer(issuerUrl, `${service.url}/auth/oidc/callback`);
      owner = await setUp(service);
      issuer.people.set('owner', { email: 'Owner@Example.org', email_verified: true });
    });
    after(async () => {
      await service.stop();
      await issuer.stop();
    });

    const signIn = (as: string) => signOn(service.browser(), as);

    // A new window for the network address.
    beforeEach(() => {
      service.clock.pass(minute);
    });

    it('is offered by its name', async () => {
      const { body } = await service.browser().get('/auth/state');
      assert.deepEqual(body.methods.oidc, { name: 'Acme ID' });
    });

    it('asks with a code challenge, a state and a nonce, and keeps what must come back to itself', async () => {
      const { started } = await signIn('owner');
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
      const { browser, finished, location } = await signIn('owner');
      assert.equal(location, '/');
      const cookies = finished.headers.getSetCookie();
      assert.ok(cookies.some(line => line.startsWith(`${cookieName}=`) && line.includes('SameSite=Strict')));
      assert.ok(cookies.some(line => line.startsWith('__Host-strongroom-sso=;')));
      const { body } = await browser.get('/auth/state');
      assert.equal(body.signed_in.member.email, 'owner@example.org');
      assert.equal(body.signed_in.single_sign_on, true);
    });

    it('is in the groups that the issuer lists, by their names, until it lists them no more', async () => {
      const vault = (await owner.post('/v1/vaults', { name: 'of a group' })).body;
      const grants = [{ vault_id: vault.id, role: 'editor' }];
      const make = async (name: string, more = {}) =>
        (await owner.post('/v1/groups', { name, grants, single_sign_on: true, ...more })).body;
      const { id } = await invite(service, owner, 'grouped@example.org', 'none');
      const group = await make('payments');
      const other = await make('by hand', { single_sign_on: false });
      const tell = (groups: readonly string[] | string) =>
        issuer.people.set('grouped', { email: 'grouped@example.org', email_verified: true, groups });
      const groupIds = async () => (await owner.get(`/v1/members/${id}`)).body.group_ids;

      tell(['payments', 'by hand', 'no such group']);
      const { browser } = await signIn('grouped');
      assert.deepEqual(await groupIds(), [group.id]);
      assert.equal((await browser.get(`/v1/vaults/${vault.id}`)).status, 200);
      const filled = (await owner.get(`/v1/groups/${group.id}`)).body;
      assert.deepEqual([filled.member_ids, filled.signed_on_member_ids], [[], [id]]);
      tell('payments');
      await signIn('grouped');
      assert.deepEqual(await groupIds(), [group.id]);

      tell([]);
      await signIn('grouped');
      assert.deepEqual(await groupIds(), []);
      assert.equal((await browser.get(`/v1/vaults/${vault.id}`)).status, 403, 'in the session before, too');
      await owner.call('PUT', `/v1/groups/${other.id}`, { member_ids: [id] });
      await signIn('grouped');
      assert.deepEqual(await groupIds(), [other.id], 'whom somebody put there stays');

      tell(['payments']);
      await signIn('grouped');
      await owner.call('PUT', `/v1/groups/${group.id}`, { single_sign_on: false });
      assert.deepEqual(await groupIds(), [other.id], 'the issuer is not asked any more');
      const { body } = await owner.get(`/v1/audit-logs?subject_id=${group.id}`);
      assert.ok(body.data.some((one: { actor: { id: string } }) => one.actor.id === id));
    });

    it('an invited member is asked before they join, and the invitation is used up', async () => {
      const { body: member } = await owner.post('/v1/members', { email: 'new@example.org', role: 'editor' });
      const { browser, location } = await signIn('new@example.org');
      assert.equal(location, '/sign-in/choose');
      assert.equal(browser.cookie, undefined);
      assert.equal((await owner.get(`/v1/members/${member.id}`)).body.state, 'invited');
      const choices = await browser.get('/auth/oidc/choices');
      assert.deepEqual(choices.body, {
        data: [{ member_id: member.id, organization: 'Acme', role: 'editor', joined: false }],
      });
      const chosen = await browser.post('/auth/oidc/choose', { member_id: member.id });
      assert.equal(chosen.status, 200, chosen.text);
      assert.equal(browser.cookies.has(signOnCookie), false);
      assert.equal((await browser.get('/auth/state')).body.signed_in.member.role, 'editor');
      assert.equal((await owner.get(`/v1/members/${member.id}`)).body.state, 'active');
      const late = await service.browser().post('/auth/invitation', { token: member.token });
      assert.equal(late.status, 401);
      assert.equal((await signIn('new@example.org')).location, '/');
    });

    it('strangers, removed members and unverified addresses are sent back to sign in', async () => {
      issuer.people.set('unverified', { email: 'unverified@example.org', email_verified: false });
      issuer.people.set('unsaid', { email: 'unverified@example.org' });
      await owner.post('/v1/members', { email: 'unverified@example.org', role: 'viewer' });
      const { id } = await invite(service, owner, 'removed@example.org', 'viewer');
      await owner.call('DELETE', `/v1/members/${id}`);
      for (const as of ['stranger@example.org', 'unverified', 'unsaid', 'removed@example.org']) {
        const { browser, location } = await signIn(as);
        assert.equal(location, refused, as);
        assert.equal(browser.cookie, undefined);
      }
    });

    it('an answer is good for the browser that asked, and once', async () => {
      const browser = service.browser();
      const started = await visit(browser, 'GET', '/auth/oidc/start');
      const back = new URL(await visitIssuer(started.headers.get('location')!, 'owner'));
      const other = service.browser();
      const stolen = await visit(other, 'GET', back.pathname + back.search);
      assert.equal(stolen.headers.get('location'), refused);
      await visit(other, 'GET', '/auth/oidc/start');
      const mixed = await visit(other, 'GET', back.pathname + back.search);
      assert.equal(mixed.headers.get('location'), refused);
      const kept = browser.cookies.get(signOnCookie)!;
      assert.equal((await visit(browser, 'GET', back.pathname + back.search)).headers.get('location'), '/');
      const again = service.browser();
      again.cookies.set(signOnCookie, kept);
      const replayed = await visit(again, 'GET', back.pathname + back.search);
      assert.equal(replayed.headers.get('location'), refused);
    });

    it('an answer with another state, or with none, is refused though all else is right', async () => {
      for (const state of ['another', null]) {
        const browser = service.browser();
        const started = await visit(browser, 'GET', '/auth/oidc/start');
        const back = new URL(await visitIssuer(started.headers.get('location')!, 'owner'));
        if (state === null) back.searchParams.delete('state');
        else back.searchParams.set('state', state);
        const answer = await visit(browser, 'GET', back.pathname + back.search);
        assert.equal(answer.headers.get('location'), refused, String(state));
        assert.equal(browser.cookie, undefined);
      }
    });

    it('what the browser keeps is good for ten minutes', async () => {
      const browser = service.browser();
      const started = await visit(browser, 'GET', '/auth/oidc/start');
      const back = new URL(await visitIssuer(started.headers.get('location')!, 'owner'));
      service.clock.pass(10 * minute);
      const late = await visit(browser, 'GET', back.pathname + back.search);
      assert.equal(late.headers.get('location'), refused);
    });

    it('an issuer that is away sends people back to sign in, and is tried again', async () => {
      const later = `http://127.0.0.1:${await freePort()}`;
      const lonely = await startEmpty('sqlite', ['--oidc-issuer', later, '--oidc-client-id', clientId]);
      const browser = lonely.browser();
      const away = await visit(browser, 'GET', '/auth/oidc/start');
      assert.equal(away.headers.get('location'), '/sign-in?error=UNAVAILABLE');
      const opened = await startIssuer(later, `${lonely.url}/auth/oidc/callback`);
      const there = await visit(browser, 'GET', '/auth/oidc/start');
      assert.ok(there.headers.get('location')!.startsWith(later));
      await lonely.stop();
      await opened.stop();
    });
  });
}
