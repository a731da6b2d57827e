import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { callService, enginesInTurn, makeOrganization } from './harness.ts';
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
import { type Browser, type EmptyService, invite, password, setUp, startEmpty } from './people.ts';
import { freePort } from './postgres.ts';
import { inDatabase } from './storage.ts';

const minute = 60_000;
const day = 24 * 60 * minute;
const refused = '/sign-in?error=UNAUTHORIZED';

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`whom the issuer’s people are here, on ${engine}`, () => {
    let service: EmptyService;
    let issuer: Issuer;
    let owner: Browser;
    let otherKey: string;

    before(async () => {
      const url = `http://127.0.0.1:${await freePort()}`;
      const flags = ['--oidc-issuer', url, '--oidc-client-id', clientId, '--oidc-name', 'Acme ID'];
      service = await startEmpty(engine, flags, { STRONGROOM_OIDC_CLIENT_SECRET: clientSecret });
      issuer = await startIssuer(url, `${service.url}/auth/oidc/callback`);
      owner = await setUp(service);
      otherKey = (await makeOrganization(service.place, 'Other', 'enterprise', 0)).key;
    });
    after(async () => {
      await service.stop();
      await issuer.stop();
    });
    // A new window for the network address.
    beforeEach(() => {
      service.clock.pass(minute);
    });

    const vouch = (sub: string, email: string, email_verified = true) =>
      issuer.people.set(sub, { email, email_verified });
    const signIn = (as: string) => signOn(service.browser(), as);
    const signedIn = async (browser: Browser) => (await browser.get('/auth/state')).body.signed_in;

    /** Another organization's administrator invites an address; `joins`: and makes the account themselves. */
    async function plant(email: string, joins: boolean): Promise<string> {
      const body = { email, role: 'viewer' };
      const { body: member } = await callService(service.url, 'POST', '/v1/members', body, otherKey);
      if (joins) await service.browser().post('/auth/invitation/accept', { token: member.token, password });
      return member.id;
    }

    /** Why the newest sign-in was refused, as the organization's audit log and the operator's log tell it. */
    async function reasons(): Promise<{ audit: string; operator: string; whom: string | null }> {
      const { body } = await owner.get('/v1/audit-logs?action=session.refused&limit=1');
      const [entry] = body.data;
      return {
        audit: entry?.details.reason ?? '',
        whom: entry?.subject?.name ?? null,
        operator: service.reports.at(-1) ?? '',
      };
    }

    it('an address that only looks like a member’s signs nobody in', async () => {
      await invite(service, owner, 'ivan@example.org', 'viewer');
      const alike = [
        '\u2170van@example.org',
        '\uff49van@example.org',
        '\u0131van@example.org',
        '\ufeffivan@example.org',
        ' ivan@example.org',
        'ivan@example.org ',
        'ivan@exampl\u212f.org',
      ];
      for (const [index, email] of alike.entries()) {
        vouch(`alike-${index}`, email);
        const { browser, location } = await signIn(`alike-${index}`);
        assert.equal(location, refused, escape(email));
        assert.equal(browser.cookie, undefined);
      }
      vouch('the-real-ivan', 'IVAN@Example.ORG');
      assert.equal(
        (await signedIn((await signIn('the-real-ivan')).browser)).member.email,
        'ivan@example.org',
      );
    });

    it('a member whose own address looks like another’s is found by their own alone', async () => {
      const { body: member } = await callService(
        service.url,
        'POST',
        '/v1/members',
        { email: '\u2170da@example.org', role: 'viewer' },
        otherKey,
      );
      await invite(service, owner, 'ida@example.org', 'viewer');
      vouch('ida', 'ida@example.org');
      const { browser, location } = await signIn('ida');
      assert.equal(location, '/', 'nothing to choose between');
      assert.equal((await signedIn(browser)).organization.name, 'Acme');
      assert.notEqual((await signedIn(browser)).member.id, member.id);
    });

    it('the first sign-in binds the account to the issuer’s person, whatever the addresses do later', async () => {
      await invite(service, owner, 'ann@example.org', 'viewer');
      vouch('ann-1', 'ann@example.org');
      const first = await signedIn((await signIn('ann-1')).browser);
      vouch('ann-2', 'ann@example.org');
      const { browser, location } = await signIn('ann-2');
      assert.equal(location, refused);
      assert.equal(browser.cookie, undefined);
      const why = await reasons();
      assert.equal(why.audit, 'the account is bound to another person at the issuer');
      assert.equal(why.whom, 'ann@example.org');
      assert.match(why.operator, /the account is bound to another person at the issuer/);
      vouch('ann-1', 'ann.married@example.org', false);
      assert.equal((await signedIn((await signIn('ann-1')).browser)).member.id, first.member.id);
    });

    it('an edited binding is not believed', async () => {
      await invite(service, owner, 'bound@example.org', 'viewer');
      vouch('bound', 'bound@example.org');
      await signIn('bound');
      await inDatabase(service, `UPDATE accounts SET oidc_subject = 'thief' WHERE oidc_subject = 'bound'`);
      vouch('thief', 'thief@example.org');
      const { browser, location } = await signIn('thief');
      assert.notEqual(location, '/');
      assert.equal(browser.cookie, undefined);
      await inDatabase(service, `UPDATE accounts SET oidc_subject = 'bound' WHERE oidc_subject = 'thief'`);
    });

    it('a reset takes the binding away with all else', async () => {
      const { id } = await invite(service, owner, 'reset@example.org', 'viewer');
      vouch('reset-1', 'reset@example.org');
      assert.equal((await signIn('reset-1')).location, '/');
      await owner.post(`/v1/members/${id}/invitation`, undefined);
      vouch('reset-1', 'elsewhere@example.org');
      assert.equal((await signIn('reset-1')).location, refused);
      vouch('reset-2', 'reset@example.org');
      assert.equal((await signIn('reset-2')).location, '/sign-in/choose');
    });

    it('an expired invitation joins nobody', async () => {
      const { body: member } = await owner.post('/v1/members', { email: 'late@example.org', role: 'viewer' });
      vouch('late', 'late@example.org');
      const { browser: chooses } = await signIn('late');
      service.clock.pass(7 * day);
      assert.equal((await signIn('late')).location, refused);
      await owner.signIn('owner@example.org'); // The session from before is over, too.
      const { audit, operator, whom } = await reasons();
      assert.equal(audit, 'the invitation has expired');
      assert.equal(whom, 'late@example.org');
      assert.match(operator, /the invitation has expired/);
      const answer = await chooses.post('/auth/oidc/choose', { member_id: member.id });
      assert.equal(answer.status, 401);
      assert.equal((await owner.get(`/v1/members/${member.id}`)).body.state, 'invited');
    });

    for (const joins of [false, true]) {
      const what = joins ? 'an account that it made itself' : 'an invitation';
      it(`where another organization plants ${what}, the person chooses where they land`, async () => {
        const email = joins ? 'made@example.org' : 'planted@example.org';
        const theirs = await plant(email, joins);
        const { id: own } = await invite(service, owner, email, 'editor');
        vouch(email, email);
        const { browser, location } = await signIn(email);
        assert.equal(location, '/sign-in/choose');
        assert.equal(browser.cookie, undefined);
        const { body } = await browser.get('/auth/oidc/choices');
        assert.deepEqual(
          body.data
            .map((choice: { member_id: string; joined: boolean }) => [choice.member_id, choice.joined])
            .sort(),
          [
            [theirs, joins],
            [own, true],
          ].sort(),
        );
        const kept = browser.cookies.get(signOnCookie)!;
        const chosen = await browser.post('/auth/oidc/choose', { member_id: own });
        assert.equal(chosen.status, 200, chosen.text);
        assert.equal((await signedIn(browser)).organization.name, 'Acme');
        const again = service.browser();
        again.cookies.set(signOnCookie, kept);
        assert.equal(
          (await again.post('/auth/oidc/choose', { member_id: own })).status,
          401,
          'it is good once',
        );
        assert.equal((await signIn(email)).location, '/sign-in/choose', 'and asked each time');
      });
    }

    it('a choice is made on our own page, in time, among one’s own, and by the browser that asked', async () => {
      await plant('picks@example.org', true);
      const { id: own } = await invite(service, owner, 'picks@example.org', 'editor');
      const { id: stranger } = await invite(service, owner, 'not.picked@example.org', 'editor');
      const { browser } = await signIn('picks@example.org');
      const kept = browser.cookies.get(signOnCookie)!;
      const choose = (member_id: string, headers: Record<string, string> = {}, cookie = kept) => {
        const visitor = service.browser();
        visitor.cookies.set(signOnCookie, cookie);
        return visitor.post('/auth/oidc/choose', { member_id }, headers);
      };
      const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
      assert.equal((await choose(own, foreign)).status, 403);
      assert.equal((await choose(stranger)).status, 401);
      assert.equal((await service.browser().post('/auth/oidc/choose', { member_id: own })).status, 401);
      assert.equal((await service.browser().get('/auth/oidc/choices')).status, 401);
      const { started } = await signIn('picks@example.org');
      const [, asked = ''] = /=([^;]*)/.exec(started.headers.getSetCookie()[0]!)!;
      assert.equal((await choose(own, {}, asked)).status, 401, 'what was asked is no answer');
      for (let attempt = 0; attempt < 60; attempt++) await service.browser().get('/auth/oidc/choices');
      assert.equal((await service.browser().get('/auth/oidc/choices')).status, 429);
      assert.equal((await browser.get('/auth/oidc/choices')).status, 200, 'the good one is served');
      service.clock.pass(10 * minute);
      assert.equal((await choose(own)).status, 401);
    });

    it('every refusal looks the same, and only the logs say why', async () => {
      await owner.post('/v1/members', { email: 'unsure@example.org', role: 'viewer' });
      vouch('unsure', 'unsure@example.org', false);
      vouch('unknown', 'unknown@example.org');
      const answers = [await signIn('unsure'), await signIn('unknown')].map(({ finished, location }) => [
        finished.status,
        location,
        finished.headers.getSetCookie(),
      ]);
      assert.deepEqual(answers[0], answers[1]);
      assert.match(service.reports.at(-1)!, /no member has this email address/);
      const { audit, whom } = await reasons();
      assert.equal(audit, 'the issuer does not report the address as verified');
      assert.equal(whom, 'unsure@example.org');
      assert.ok(
        service.reports.every(line => !line.includes('@example.org')),
        'whose address it was is not told',
      );
    });

    it('who has nothing but the issuer proves themselves by it, as the very same person', async () => {
      await owner.post('/v1/members', { email: 'only@example.org', role: 'viewer' });
      vouch('only', 'only@example.org');
      const { browser } = await signIn('only');
      const { body } = await browser.get('/auth/oidc/choices');
      await browser.post('/auth/oidc/choose', { member_id: body.data[0].member_id });
      const change = () => browser.post('/auth/password/change', { password });
      assert.equal((await change()).body.error.code, 'PROOF_REQUIRED');
      vouch('only-alike', 'only@example.org');
      await signOn(browser, 'only-alike', '/auth/oidc/start?prove=1');
      assert.equal((await change()).status, 403);
      const { started, location } = await signOn(browser, 'only', '/auth/oidc/start?prove=1');
      assert.equal(new URL(started.headers.get('location')!).searchParams.get('prompt'), 'login');
      assert.equal(location, '/settings/security');
      assert.equal((await change()).status, 200);
      assert.equal((await signOn(browser, 'only', '/auth/oidc/start')).location, '/');
    });

    it('a sign-in that the issuer may not have asked anything for gives no access that outlasts it', async () => {
      await owner.post('/v1/members', { email: 'silent@example.org', role: 'admin' });
      vouch('silent', 'silent@example.org');
      const { browser } = await signIn('silent');
      const { body } = await browser.get('/auth/oidc/choices');
      await browser.post('/auth/oidc/choose', { member_id: body.data[0].member_id });
      const create = () => browser.once('POST', '/v1/api-keys', { name: 'ci', role: 'viewer' });
      assert.equal((await create()).body.error.code, 'PROOF_REQUIRED');
      await signOn(browser, 'silent', '/auth/oidc/start?prove=1');
      assert.equal((await create()).status, 200);
    });

    it('a proof by the issuer needs a session, and a sign-in there that was just now', async () => {
      const nobody = await visit(service.browser(), 'GET', '/auth/oidc/start?prove=1');
      assert.equal(nobody.headers.get('location'), refused);
      vouch('owner', 'owner@example.org');
      const { browser } = await signIn('owner');
      const started = await visit(browser, 'GET', '/auth/oidc/start?prove=1');
      // Whoever sits at the browser may cut what was asked of the issuer from the address.
      const cut = new URL(started.headers.get('location')!);
      assert.equal(cut.searchParams.get('max_age'), '300');
      cut.searchParams.delete('prompt');
      cut.searchParams.delete('max_age');
      const back = new URL(await visitIssuer(cut.href, 'owner'));
      const answer = await visit(browser, 'GET', back.pathname + back.search);
      assert.equal(answer.headers.get('location'), refused);
      assert.equal((await browser.post('/auth/passkeys/options')).status, 403);
    });
  });
}
