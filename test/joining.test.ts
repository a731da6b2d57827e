import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { forged } from './forged.ts';
import { enginesInTurn } from './harness.ts';
import { type Browser, type EmptyService, invite, password, setUp, startEmpty } from './people.ts';

describe('the set-up link', () => {
  it('names the machine or what the operator calls it, for browsers make no passkey for an address', async () => {
    for (const [flags, origin] of [
      [['--host', '127.0.0.1'], /^http:\/\/localhost:\d+$/],
      [['--host', 'localhost'], /^http:\/\/localhost:\d+$/],
      [['--tls', 'auto'], /^https:\/\/localhost:\d+$/],
      [['--public-url', 'https://vault.example.com/'], /^https:\/\/vault\.example\.com$/],
    ] as const) {
      const service = await startEmpty('sqlite', flags);
      assert.match(new URL(service.setupUrl!).origin, origin, flags.join(' '));
      await service.stop();
    }
  });
});

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`set-up on ${engine}`, () => {
    let service: EmptyService;

    before(async () => {
      service = await startEmpty(engine);
    });
    after(() => service.stop());

    it('the first start says that it must be set up, and every start prints the same link until it is', async () => {
      const state = await service.browser().get('/auth/state');
      assert.equal(state.body.setup_required, true);
      assert.equal(state.body.signed_in, null);
      assert.equal(state.body.base_url, service.url);
      const token = service.setupToken;
      assert.match(service.setupUrl!, /^http:\/\/localhost:\d+\/setup#sr_setup_[0-9A-Za-z]{71}$/);
      await service.restart();
      assert.equal(service.setupToken, token);
    });

    it('a wrong token is refused', async () => {
      const token = forged(service.setupToken);
      const body = { token, email: 'a@example.org', password, organization: 'Acme' };
      assert.equal((await service.browser().post('/auth/setup', body)).status, 401);
    });

    it('a short password is refused by name, and is not repeated', async () => {
      const secret = 'short-secret';
      const body = { token: service.setupToken, email: 'a@example.org', organization: 'Acme' };
      const short = await service.browser().post('/auth/setup', { ...body, password: secret.slice(1) });
      assert.equal(short.status, 400);
      assert.equal(short.body.error.details.field, 'password');
      assert.equal(short.text.includes(secret.slice(1)), false);
      const none = await service.browser().post('/auth/setup', body);
      assert.equal(none.body.error.details.field, 'password');
    });

    it('of two who use the link at once one becomes the owner, is signed in, and the link is used up', async () => {
      const token = service.setupToken;
      const browsers = [service.browser(), service.browser()];
      const answers = await Promise.all(
        browsers.map((browser, index) =>
          browser.post('/auth/setup', {
            token,
            email: `owner${index}@example.org`,
            password,
            organization: `Acme ${index}`,
          }),
        ),
      );
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400]);
      const winner = answers.findIndex(({ status }) => status === 200);
      const { signed_in } = answers[winner]!.body;
      assert.equal(signed_in.member.role, 'owner');
      assert.equal(signed_in.organization.name, `Acme ${winner}`);
      assert.equal(signed_in.organization.plan, 'pro');
      assert.ok(signed_in.permissions.includes('secrets:reveal'));
      const again = { token, email: 'b@example.org', password, organization: 'Other' };
      assert.equal((await service.browser().post('/auth/setup', again)).status, 401);
      assert.equal((await browsers[winner]!.get('/auth/state')).body.setup_required, false);
      await service.restart();
      assert.equal(service.setupUrl, null);
    });
  });

  describe(`invitations on ${engine}`, () => {
    let service: EmptyService;
    let owner: Browser;

    before(async () => {
      service = await startEmpty(engine);
      owner = await setUp(service);
    });
    after(() => service.stop());

    it('an invitation says whom it invites, is good once, and signs in', async () => {
      const { body: member } = await owner.post('/v1/members', { email: 'ann@example.org', role: 'editor' });
      assert.equal(member.state, 'invited');
      assert.match(member.token, /^sr_invite_/);
      assert.equal('token' in (await owner.get(`/v1/members/${member.id}`)).body, false);
      const browser = service.browser();
      const told = await browser.post('/auth/invitation', { token: member.token });
      assert.deepEqual(told.body, { email: 'ann@example.org', organization: 'Acme', role: 'editor' });
      const joined = await browser.post('/auth/invitation/accept', { token: member.token, password });
      assert.equal(joined.status, 200, joined.text);
      assert.equal(joined.body.signed_in.member.role, 'editor');
      assert.equal((await owner.get(`/v1/members/${member.id}`)).body.state, 'active');
      const again = await service
        .browser()
        .post('/auth/invitation/accept', { token: member.token, password });
      assert.equal(again.status, 401);
    });

    it('a new invitation makes the old one worthless, and signs its member out everywhere', async () => {
      const { browser, id } = await invite(service, owner, 'reset@example.org', 'viewer');
      const { body: first } = await owner.post(`/v1/members/${id}/invitation`, undefined);
      assert.equal((await browser.get('/v1/vaults')).status, 401);
      assert.equal((await service.browser().signIn('reset@example.org')).status, 401);
      const { body: second } = await owner.post(`/v1/members/${id}/invitation`, undefined);
      const accept = (token: string) =>
        service.browser().post('/auth/invitation/accept', { token, password });
      assert.equal((await accept(first.token)).status, 401);
      assert.equal((await accept(second.token)).status, 200);
    });

    it('a removed member is denied on every path at once', async () => {
      const { browser, id } = await invite(service, owner, 'gone@example.org', 'admin');
      const { body: pending } = await owner.post('/v1/members', {
        email: 'never@example.org',
        role: 'viewer',
      });
      assert.equal((await browser.get('/v1/vaults')).status, 200);
      assert.equal((await owner.call('DELETE', `/v1/members/${id}`)).status, 200);
      assert.equal((await owner.call('DELETE', `/v1/members/${pending.id}`)).status, 200);
      const cookie = { cookie: `__Host-strongroom=${browser.cookie}` };
      for (const path of ['/v1/vaults', '/auth/sessions', '/auth/passkeys', '/v1/organization']) {
        assert.equal((await service.browser().call('GET', path, undefined, cookie)).status, 401, path);
      }
      assert.equal((await service.browser().signIn('gone@example.org')).status, 401);
      const { token } = pending;
      assert.equal((await service.browser().post('/auth/invitation', { token })).status, 401);
      assert.equal(
        (await service.browser().post('/auth/invitation/accept', { token, password })).status,
        401,
      );
    });

    it('a changed role takes effect at once, in the sessions that are open', async () => {
      const { browser, id } = await invite(service, owner, 'role@example.org', 'viewer');
      assert.equal((await browser.post('/v1/vaults', { name: 'mine' })).status, 403);
      await owner.call('PUT', `/v1/members/${id}`, { role: 'editor' });
      assert.equal((await browser.post('/v1/vaults', { name: 'mine' })).status, 200);
      await owner.call('PUT', `/v1/members/${id}`, { role: 'viewer' });
      assert.equal((await browser.post('/v1/vaults', { name: 'theirs' })).status, 403);
    });

    it('nobody hands out, takes away or resets more than they have, and the last owner stays', async () => {
      const { browser: admin } = await invite(service, owner, 'admin@example.org', 'admin');
      const me = (await owner.get('/auth/state')).body.signed_in.member.id;
      const asked = await admin.post('/v1/members', { email: 'x@example.org', role: 'owner' });
      assert.equal(asked.status, 403);
      assert.equal((await admin.post(`/v1/members/${me}/invitation`, undefined)).status, 403);
      assert.equal((await admin.call('PUT', `/v1/members/${me}`, { role: 'viewer' })).status, 403);
      assert.equal((await owner.call('DELETE', `/v1/members/${me}`)).body.error.code, 'CONFLICT');
      const demoted = await owner.call('PUT', `/v1/members/${me}`, { role: 'viewer' });
      assert.equal(demoted.body.error.code, 'CONFLICT');
    });

    it('a pending member can’t sign in, and an invitation ends after a week', async () => {
      const { body: member } = await owner.post('/v1/members', {
        email: 'pending@example.org',
        role: 'viewer',
      });
      assert.equal((await service.browser().signIn('pending@example.org')).status, 401);
      const open = () => service.browser().post('/auth/invitation', { token: member.token });
      assert.equal((await open()).status, 200);
      service.clock.pass(7 * 24 * 3_600_000 + 1);
      assert.equal((await open()).status, 401);
    });
  });
}
