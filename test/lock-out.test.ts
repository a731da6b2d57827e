import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { mintToken, parseToken } from '../src/access/token.ts';
import { callService, enginesInTurn, makeOrganization } from './harness.ts';
import {
  type Browser,
  cookieName,
  type EmptyService,
  invite,
  password,
  setUp,
  startEmpty,
} from './people.ts';

const minute = 60_000;
const wrong = 'not the password at all';
const planted = 'what the other administrator chose';

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`the lock-out of an account, on ${engine}`, () => {
    let service: EmptyService;
    let owner: Browser;
    let otherKey: string;

    before(async () => {
      service = await startEmpty(engine);
      owner = await setUp(service);
      otherKey = (await makeOrganization(service.place, 'Other', 'enterprise', 0)).key;
    });
    after(() => service.stop());
    // A new window for the network address.
    beforeEach(() => {
      service.clock.pass(2 * minute);
    });

    /** Another organization's administrator makes an account for somebody else's address. */
    async function plant(email: string): Promise<void> {
      const body = { email, role: 'viewer' };
      const { body: member } = await callService(service.url, 'POST', '/v1/members', body, otherKey);
      const accept = { token: member.token, password: planted };
      assert.equal((await service.browser().post('/auth/invitation/accept', accept)).status, 200);
    }

    const signIn = (email: string, secret: string, organization?: string) =>
      service.browser().post('/auth/password', {
        email,
        password: secret,
        ...(organization === undefined ? {} : { organization }),
      });

    it('is not cleared by a success in another organization that knows the address', async () => {
      await invite(service, owner, 'victim@example.org', 'viewer');
      await plant('victim@example.org');
      for (let attempt = 0; attempt < 4; attempt++) {
        assert.equal((await signIn('victim@example.org', wrong)).status, 401);
      }
      const inside = await signIn('victim@example.org', planted);
      assert.equal(inside.body.signed_in.organization.name, 'Other');
      assert.equal((await signIn('victim@example.org', password)).status, 401, 'the fifth was the last');
      assert.equal((await signIn('victim@example.org', password, 'Acme')).status, 429);
      service.clock.pass(31_000);
      assert.equal((await signIn('victim@example.org', password, 'Acme')).status, 200);
    });

    it('counts for the organization that is named, and for no other', async () => {
      await invite(service, owner, 'named@example.org', 'viewer');
      await plant('named@example.org');
      for (let attempt = 0; attempt < 5; attempt++) {
        assert.equal((await signIn('named@example.org', wrong, 'Other')).status, 401);
      }
      assert.equal((await signIn('named@example.org', planted, 'Other')).status, 429);
      assert.equal((await signIn('named@example.org', password, 'Acme')).status, 200);
    });

    it('an address that only looks alike is nobody’s, and opens nothing', async () => {
      await invite(service, owner, 'ivan@example.org', 'viewer');
      await invite(service, owner, 'kim@example.org', 'viewer');
      for (const [alike, real] of [
        ['\u2170van@example.org', 'ivan@example.org'],
        ['\uff49van@example.org', 'ivan@example.org'],
        ['\u0131van@example.org', 'ivan@example.org'],
        ['\u212aim@example.org', 'kim@example.org'],
        ['kim@example\u3002org', 'kim@example.org'],
        ['\u00a0kim@example.org', 'kim@example.org'],
      ] as const) {
        assert.equal((await signIn(alike, password)).status, 401, escape(alike));
        assert.equal((await signIn(real, password)).status, 200, real);
      }
      const invited = await owner.post('/v1/members', { email: '\u2170van@example.org', role: 'viewer' });
      assert.equal(invited.body.error.code, 'CONFLICT', 'nor are two such in one organization');
    });

    it('a passkey’s or a session’s success says nothing about the password', async () => {
      const { browser } = await invite(service, owner, 'session@example.org', 'viewer');
      for (let attempt = 0; attempt < 5; attempt++) await signIn('session@example.org', wrong);
      assert.equal((await browser.get('/v1/vaults')).status, 200);
      assert.equal((await signIn('session@example.org', password)).status, 429);
    });
  });

  describe(`session cookies that are good for nothing, on ${engine}`, () => {
    let service: EmptyService;
    let owner: Browser;

    before(async () => {
      service = await startEmpty(engine);
      owner = await setUp(service);
      service.clock.standInNewMinute();
    });
    after(() => service.stop());
    beforeEach(() => {
      service.clock.pass(minute);
    });

    /** The right id and a right checksum around another secret. */
    const forged = () => mintToken('session', parseToken(owner.cookie!)!.id);
    const send = (method: string, path: string, token: string) =>
      service
        .browser()
        .call(method, path, method === 'GET' ? undefined : {}, { cookie: `${cookieName}=${token}` });

    it('one with the right id and another secret is 401 on every surface that takes it', async () => {
      for (const [method, path] of [
        ['GET', '/v1/vaults'],
        ['POST', '/v1/vaults'],
        ['GET', '/auth/sessions'],
        ['POST', '/auth/proof'],
        ['POST', '/auth/totp/begin'],
      ] as const) {
        const answer = await send(method, path, forged());
        assert.equal(answer.status, 401, `${method} ${path}`);
        assert.match(answer.headers.getSetCookie()[0]!, /Max-Age=0/);
      }
      const state = await send('GET', '/auth/state', forged());
      assert.equal(state.body.signed_in, null);
      await send('POST', '/auth/sign-out', forged());
      assert.equal((await owner.get('/v1/vaults')).status, 200);
    });

    for (const [method, path] of [
      ['GET', '/v1/vaults'],
      ['GET', '/auth/sessions'],
      ['GET', '/auth/state'],
      ['POST', '/auth/sign-out'],
    ] as const) {
      it(`too many of them at ${path} are 429, and a good one from there is served`, async () => {
        const statuses: number[] = [];
        for (let attempt = 0; attempt < 61; attempt++) {
          statuses.push((await send(method, path, attempt % 2 ? forged() : 'nonsense')).status);
        }
        assert.ok(statuses.slice(0, 60).every(status => status === 401 || status === 200));
        assert.equal(statuses[60], 429);
        assert.equal((await send('GET', '/v1/vaults', forged())).status, 429);
        assert.equal((await owner.get('/v1/vaults')).status, 200);
        assert.equal((await owner.get('/auth/state')).body.signed_in.member.email, 'owner@example.org');
        assert.equal((await owner.post('/v1/vaults', { name: path })).status, 200);
        assert.equal((await service.browser().get('/auth/state')).status, 200, 'who sends none');
        const refused = await service.browser().signIn('owner@example.org');
        assert.equal(refused.status, 429, 'a password is work, and is refused before it');
      });
    }

    it('whoever has a good one may sign out from there', async () => {
      const leaving = service.browser();
      await leaving.signIn('owner@example.org');
      for (let attempt = 0; attempt < 61; attempt++) await send('GET', '/v1/vaults', forged());
      assert.equal((await leaving.post('/auth/sign-out')).status, 200);
      assert.equal(leaving.cookie, undefined);
    });
  });
}
