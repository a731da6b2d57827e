import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { Authenticator, type Quirks } from './authenticator.ts';
import { type Answer, enginesInTurn } from './harness.ts';
import { Browser, type EmptyService, password, startEmpty } from './people.ts';
import { inDatabase } from './storage.ts';

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`passkeys on ${engine}`, () => {
    let service: EmptyService;
    let owner: Browser;
    let ownersKey: Authenticator;
    let setUp: { options: Answer['body']; made: Answer };
    const email = 'owner@example.org';

    // Passkeys are bound to names, so people come by one.
    const site = () => service.url.replace('127.0.0.1', 'localhost');
    const visitor = () => new Browser(site);

    before(async () => {
      service = await startEmpty(engine);
      owner = visitor();
      ownersKey = new Authenticator(site());
      const token = service.setupToken;
      const { body: options } = await owner.post('/auth/setup/options', { token, email });
      const passkey = { name: 'Laptop', credential: ownersKey.create(options) };
      const made = await owner.post('/auth/setup', { token, email, organization: 'Acme', passkey });
      assert.equal(made.status, 200, made.text);
      setUp = { options, made };
    });
    after(() => service.stop());
    beforeEach(() => {
      service.clock.pass(60_000);
    });

    async function signIn(authenticator: Authenticator, quirks: Quirks = {}) {
      const browser = visitor();
      const { body: options } = await browser.post('/auth/passkey/options');
      const credential = authenticator.get(options, quirks);
      return { browser, credential, answer: await browser.post('/auth/passkey', { credential }) };
    }

    /** Proves once more who is signed in, by a passkey. */
    async function prove(browser: Browser, authenticator: Authenticator, quirks: Quirks = {}) {
      const { body: options } = await browser.post('/auth/proof/options');
      return browser.prove({ credential: authenticator.get(options, quirks) });
    }

    async function invited(email: string) {
      const { body } = await owner.post('/v1/members', { email, role: 'viewer' });
      return body as { id: string; token: string };
    }

    it('the owner can set up with a passkey instead of a password, and signs in with it', async () => {
      const { options, made } = setUp;
      assert.equal(options.rp.id, 'localhost');
      assert.equal(options.authenticatorSelection.residentKey, 'required');
      assert.equal(options.authenticatorSelection.userVerification, 'required');
      assert.equal(made.body.signed_in.passkeys, 1);
      assert.equal(made.body.signed_in.has_password, false);
      const { answer } = await signIn(ownersKey);
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.body.signed_in.member.email, email);
    });

    it('an invitation is accepted with one', async () => {
      const { token } = await invited('ann@example.org');
      const browser = visitor();
      const key = new Authenticator(site());
      const { body: options } = await browser.post('/auth/invitation/options', { token });
      const accepted = await browser.post('/auth/invitation/accept', {
        token,
        passkey: { credential: key.create(options) },
      });
      assert.equal(accepted.status, 200, accepted.text);
      assert.equal((await signIn(key)).answer.status, 200);
    });

    it('one more is added, listed and removed; the last stays while there is no password', async () => {
      const second = new Authenticator(site());
      await prove(owner, ownersKey);
      const { body: options } = await owner.post('/auth/passkeys/options');
      assert.deepEqual(
        options.excludeCredentials.map(({ id }: { id: string }) => id),
        [ownersKey.id.toString('base64url')],
      );
      const added = await owner.post('/auth/passkeys', { name: 'Phone', credential: second.create(options) });
      assert.equal(added.status, 200, added.text);
      const { browser: other } = await signIn(second);
      const { body: list } = await owner.get('/auth/passkeys');
      assert.deepEqual(
        list.data.map(({ name }: { name: string }) => name),
        ['Laptop', 'Phone'],
      );
      assert.notEqual(list.data[1].used_at, null);
      assert.equal((await owner.call('DELETE', `/auth/passkeys/${added.body.id}`)).status, 200);
      assert.equal((await other.get('/v1/vaults')).status, 401);
      assert.equal((await owner.get('/v1/vaults')).status, 200);
      assert.equal((await signIn(second)).answer.status, 401);
      assert.equal((await owner.call('DELETE', `/auth/passkeys/${list.data[0].id}`)).status, 400);
    });

    const refusals: readonly (readonly [string, Quirks])[] = [
      ['made on another site', { origin: 'https://evil.example' }],
      ['for another host', { rpId: 'evil.example' }],
      ['without a verified user', { verified: false }],
      ['of another kind', { type: 'webauthn.create' }],
      ['over a challenge that we never made', { challenge: Buffer.alloc(38, 7).toString('base64url') }],
    ];
    for (const [what, quirks] of refusals) {
      it(`a proof ${what} is refused like any other`, async () => {
        const { answer } = await signIn(ownersKey, quirks);
        assert.equal(answer.status, 401);
        const unknown = await signIn(new Authenticator(site()));
        assert.equal(answer.text, unknown.answer.text);
      });
    }

    it('a proof is good once, and for five minutes', async () => {
      const { credential } = await signIn(ownersKey);
      assert.equal((await visitor().post('/auth/passkey', { credential })).status, 401);
      for (const [time, status] of [
        [5 * 60_000 - 10_000, 200],
        [5 * 60_000 + 1, 401],
      ] as const) {
        const browser = visitor();
        const { body: options } = await browser.post('/auth/passkey/options');
        const late = ownersKey.get(options);
        service.clock.pass(time);
        const answer = await browser.post('/auth/passkey', { credential: late });
        assert.equal(answer.status, status, answer.text);
      }
    });

    it('a challenge for adding a passkey is none for signing in, nor for somebody else', async () => {
      await prove(owner, ownersKey);
      const { body: options } = await owner.post('/auth/passkeys/options');
      const proof = ownersKey.get({ challenge: options.challenge, rpId: 'localhost' });
      assert.equal((await visitor().post('/auth/passkey', { credential: proof })).status, 401);
      const { token } = await invited('else@example.org');
      const passkey = { credential: new Authenticator(site()).create(options) };
      assert.equal((await visitor().post('/auth/invitation/accept', { token, passkey })).status, 400);
    });

    it('a counter that goes back gives a copied authenticator away', async () => {
      const counting = new Authenticator(site());
      await prove(owner, ownersKey);
      const { body: options } = await owner.post('/auth/passkeys/options');
      const credential = counting.create(options, { counter: 1 });
      assert.equal((await owner.post('/auth/passkeys', { name: 'Key', credential })).status, 200);
      assert.equal((await signIn(counting, { counter: 5 })).answer.status, 200);
      assert.equal((await signIn(counting, { counter: 4 })).answer.status, 401);
      assert.equal((await signIn(counting, { counter: 6 })).answer.status, 200);
    });

    it('a removed or pending member’s passkey opens nothing', async () => {
      const { id, token } = await invited('gone@example.org');
      const browser = visitor();
      const key = new Authenticator(site());
      const { body: options } = await browser.post('/auth/invitation/options', { token });
      const passkey = { credential: key.create(options) };
      await browser.post('/auth/invitation/accept', { token, passkey });
      await owner.post(`/v1/members/${id}/invitation`, undefined);
      assert.equal((await signIn(key)).answer.status, 401);
      await owner.call('DELETE', `/v1/members/${id}`);
      assert.equal((await signIn(key)).answer.status, 401);
    });

    it('a passkey whose key was exchanged in the database is not believed', async () => {
      const forged = new Authenticator(site());
      await prove(owner, ownersKey);
      const { body: options } = await owner.post('/auth/passkeys/options');
      const credential = forged.create(options);
      await owner.post('/auth/passkeys', { name: 'Forged', credential });
      await inDatabase(
        service,
        `UPDATE passkeys SET public_key = (SELECT public_key FROM passkeys WHERE name = 'Laptop') WHERE name = 'Forged'`,
      );
      assert.equal((await signIn(forged)).answer.status, 500);
    });

    it('who has none but passkeys may set a password, and a second factor needs one first', async () => {
      assert.equal((await owner.post('/auth/totp/begin')).status, 400);
      assert.equal((await owner.post('/auth/password/change', { password })).status, 200);
      assert.equal((await visitor().signIn('owner@example.org')).status, 200);
      assert.equal((await owner.post('/auth/totp/begin')).status, 200);
    });
  });
}

describe('the address of a service', () => {
  it('that is a bare number takes no passkeys, because browsers refuse them there', async () => {
    const service = await startEmpty('sqlite');
    const byNumber = await service.browser().get('/auth/state');
    const byName = await new Browser(service.url.replace('127.0.0.1', 'localhost')).get('/auth/state');
    assert.equal(byNumber.body.methods.passkey, false);
    assert.equal(byName.body.methods.passkey, true);
    await service.stop();
  });
});
