import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { codeAt, stepAt } from '../src/domain/sign-in/totp.ts';
import { Authenticator } from './authenticator.ts';
import { callService, enginesInTurn } from './harness.ts';
import { Browser, type EmptyService, fromBase32, invite, password, setUp, startEmpty } from './people.ts';
import { inDatabase } from './storage.ts';

const minute = 60_000;
const wrong = 'not the password at all';

/** What changes no factor and gives no key, and why. Whatever else changes something under /auth needs a proof. */
const free: Readonly<Record<string, string>> = {
  'POST /auth/password': 'signs in',
  'POST /auth/passkey/options': 'signs in',
  'POST /auth/passkey': 'signs in',
  'POST /auth/sign-out': 'takes away, and the session alone',
  'POST /auth/setup': 'has the set-up link',
  'POST /auth/setup/options': 'has the set-up link',
  'POST /auth/invitation': 'has the invitation',
  'POST /auth/invitation/options': 'has the invitation',
  'POST /auth/invitation/accept': 'has the invitation',
  'DELETE /auth/sessions/:id': 'takes away, and a session alone',
  'POST /auth/proof/options': 'is how one proves it',
  'POST /auth/proof': 'is how one proves it',
  'PUT /auth/mail': 'chooses which messages one gets, which is in the audit log',
  'POST /auth/device': 'asks, and is given nothing before somebody allows it',
  'POST /auth/device/token': 'has the device code',
  'POST /auth/device/revoke': 'takes away, and the key alone that is shown',
  'POST /auth/device/request': 'shows what is asked for',
  'POST /auth/approvals/:id/approve':
    'changes no factor; for an hour it takes a proof (test/lasting-access.test.ts)',
  'POST /auth/approvals/:id/refuse': 'takes away, and a call alone',
  'POST /auth/role-requests': 'asks, and is given nothing before somebody allows it',
  'DELETE /auth/role-requests/:id': 'takes away, and a request alone',
  'POST /auth/role-requests/:id/approve':
    'changes no factor; what it gives takes a proof (test/lasting-access.test.ts)',
  'POST /auth/role-requests/:id/refuse': 'takes away, and a request alone',
  'POST /auth/device/deny': 'takes away, and a request alone',
  'DELETE /auth/device/keys/:id': 'takes away, and a key alone',
};

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`proving oneself again, on ${engine}`, () => {
    let service: EmptyService;
    let owner: Browser;

    // Passkeys are bound to names, so people come by one.
    const site = () => service.url.replace('127.0.0.1', 'localhost');
    const code = (secret: string, steps = 0) =>
      codeAt(fromBase32(secret), stepAt(service.clock.now()) + steps);

    before(async () => {
      service = await startEmpty(engine);
      owner = await setUp(service);
      service.clock.standInNewMinute();
    });
    after(() => service.stop());

    async function newcomer(email: string) {
      const { id } = await invite(service, owner, email, 'viewer');
      const browser = new Browser(site);
      assert.equal((await browser.signIn(email)).status, 200);
      return { id, browser };
    }

    /** A passkey that somebody has just added. */
    async function addPasskey(browser: Browser, name: string) {
      const key = new Authenticator(site());
      const { body: options } = await browser.post('/auth/passkeys/options');
      const added = await browser.post('/auth/passkeys', { name, credential: key.create(options) });
      assert.equal(added.status, 200, added.text);
      return { key, id: added.body.id as string };
    }

    const factorsOf = (email: string) =>
      inDatabase(
        service,
        `SELECT revision, (SELECT count(*) FROM passkeys p WHERE p.member_id = accounts.member_id) AS passkeys
         FROM accounts WHERE member_id = (SELECT id FROM members WHERE email = '${email}')`,
      );

    it('no route changes a factor or gives an API key for a session alone, however new it is', async () => {
      const { browser } = await newcomer('walk@example.org');
      await browser.prove();
      const { key, id } = await addPasskey(browser, 'Laptop');
      const { body: options } = await browser.post('/auth/passkeys/options');
      const { secret } = (await browser.post('/auth/totp/begin')).body;
      // Another session of theirs, and this one when its proof is too long ago.
      const other = new Browser(site);
      await other.signIn('walk@example.org');
      const before = await factorsOf('walk@example.org');
      const bodies: Readonly<Record<string, () => unknown>> = {
        'POST /auth/password/change': () => ({ password: 'a wholly new password' }),
        'POST /auth/passkeys/options': () => ({}),
        'POST /auth/passkeys': () => ({
          name: 'Thief',
          credential: new Authenticator(site()).create(options),
        }),
        'DELETE /auth/passkeys/:id': () => undefined,
        'POST /auth/totp/begin': () => ({}),
        'POST /auth/totp': () => ({ code: code(secret) }),
        'POST /auth/totp/remove': () => ({}),
        'POST /auth/device/approve': () => ({ user_code: 'BBBB-BBBB', role: 'viewer', expires_in: 60 }),
      };
      const guarded = [...service.routes]
        .filter(route => / \/auth\//.test(route) && !/^(GET|HEAD|OPTIONS) /.test(route))
        .filter(route => !(route in free));
      assert.deepEqual(
        guarded.sort(),
        Object.keys(bodies).sort(),
        'every route is free with a reason, or tried',
      );
      for (const who of [other, browser]) {
        if (who === browser) service.clock.pass(5 * minute);
        for (const route of guarded) {
          const [method = '', path = ''] = route.split(' ');
          const answer = await who.once(method, path.replace(':id', id), bodies[route]!());
          assert.equal(answer.status, 403, `${route}: ${answer.text}`);
          assert.equal(answer.body.error.code, 'PROOF_REQUIRED', route);
        }
      }
      assert.deepEqual(await factorsOf('walk@example.org'), before);
      assert.equal((await who(key)).status, 200);
    });

    async function who(key: Authenticator) {
      const browser = new Browser(site);
      const { body: options } = await browser.post('/auth/passkey/options');
      return browser.post('/auth/passkey', { credential: key.get(options) });
    }

    it('a password, a passkey, a code or a recovery code proves it, and the last two are used up', async () => {
      const { browser } = await newcomer('ways@example.org');
      assert.equal((await browser.prove()).status, 200);
      const { key } = await addPasskey(browser, 'Laptop');
      const { secret } = (await browser.post('/auth/totp/begin')).body;
      const { recovery_codes } = (await browser.post('/auth/totp', { code: code(secret) })).body;
      const ways: readonly (readonly [string, () => Promise<Record<string, unknown>>])[] = [
        ['code', async () => ({ code: code(secret) })],
        ['recovery code', async () => ({ code: recovery_codes[0] })],
        ['passkey', async () => ({ credential: key.get((await browser.post('/auth/proof/options')).body) })],
      ];
      for (const [name, proofOf] of ways) {
        service.clock.pass(5 * minute);
        assert.equal((await browser.post('/auth/passkeys/options')).status, 403, name);
        const proof = await proofOf();
        assert.equal((await browser.prove(proof)).status, 200, name);
        assert.equal((await browser.post('/auth/passkeys/options')).status, 200, name);
        assert.equal((await browser.prove(proof)).status, 400, `${name}, twice`);
      }
      const again = await new Browser(site).signIn('ways@example.org', password, recovery_codes[0]);
      assert.equal(again.status, 401);
      const { body } = await owner.get('/v1/audit-logs?limit=100');
      const actions = body.data.map(({ action }: { action: string }) => action);
      for (const action of ['session.proven', 'account.code_used', 'account.proof_refused']) {
        assert.ok(actions.includes(action), action);
      }
    });

    it('nobody goes around it by a new invitation for themselves', async () => {
      const { browser, id } = await newcomer('around@example.org');
      await owner.call('PUT', `/v1/members/${id}`, { role: 'admin' });
      const before = await factorsOf('around@example.org');
      assert.equal((await browser.post(`/v1/members/${id}/invitation`, undefined)).status, 403);
      const { body: key } = await browser.post('/v1/api-keys', { name: 'own', role: 'admin' });
      const byKey = await callService(
        service.url,
        'POST',
        `/v1/members/${id}/invitation`,
        undefined,
        key.token,
      );
      assert.equal(byKey.status, 403, 'by an API key of theirs');
      assert.deepEqual(await factorsOf('around@example.org'), before);
      assert.equal((await browser.get('/v1/vaults')).status, 200);
      assert.equal((await owner.post(`/v1/members/${id}/invitation`, undefined)).status, 200);
    });

    it('neither somebody else’s passkey nor one that signed for another session proves it', async () => {
      const { browser } = await newcomer('mine@example.org');
      const { browser: stranger } = await newcomer('theirs@example.org');
      await stranger.prove();
      const { key: theirs } = await addPasskey(stranger, 'Theirs');
      const { body: options } = await browser.post('/auth/proof/options');
      assert.equal((await browser.prove({ credential: theirs.get(options) })).status, 400);
      await browser.prove();
      const { key } = await addPasskey(browser, 'Mine');
      const second = new Browser(site);
      await second.signIn('mine@example.org');
      const { body: elsewhere } = await browser.post('/auth/proof/options');
      assert.equal((await second.prove({ credential: key.get(elsewhere) })).status, 400);
      const { body: toSignIn } = await second.post('/auth/passkey/options');
      assert.equal((await second.prove({ credential: key.get(toSignIn) })).status, 400);
      assert.equal((await second.post('/auth/passkeys/options')).status, 403);
    });

    it('guesses are locked out by factor, and nothing but that factor’s own success forgets them', async () => {
      const { browser } = await newcomer('guess@example.org');
      await browser.prove();
      const { secret } = (await browser.post('/auth/totp/begin')).body;
      await browser.post('/auth/totp', { code: code(secret) });
      service.clock.pass(minute);
      for (let attempt = 0; attempt < 5; attempt++) {
        assert.equal((await browser.prove({ code: '000000' })).status, 400);
      }
      assert.equal((await browser.prove({ code: code(secret) })).status, 429);
      assert.equal((await browser.prove()).status, 200, 'a password isn’t waited for');
      assert.equal((await browser.prove({ code: code(secret) })).status, 429, 'and forgives no code');
      service.clock.pass(minute);
      for (let attempt = 0; attempt < 5; attempt++) {
        assert.equal((await browser.prove({ password: wrong })).status, 400);
      }
      assert.equal((await browser.prove()).status, 429);
      assert.equal((await service.browser().signIn('guess@example.org')).status, 429);
    });

    it('codes guessed at the sign-in are locked out, and a password that is right resets nothing of that', async () => {
      const { browser } = await newcomer('codes@example.org');
      await browser.prove();
      const { secret } = (await browser.post('/auth/totp/begin')).body;
      await browser.post('/auth/totp', { code: code(secret) });
      service.clock.pass(minute);
      const signIn = (sent: string) => service.browser().signIn('codes@example.org', password, sent);
      for (let attempt = 0; attempt < 5; attempt++) assert.equal((await signIn('000000')).status, 401);
      assert.equal((await signIn(code(secret))).status, 429);
      assert.equal((await browser.prove()).status, 200);
      assert.equal((await signIn(code(secret))).status, 429);
      service.clock.pass(minute);
      assert.equal((await signIn(code(secret))).status, 200);
    });

    it('a stranger’s guesses at the sign-in don’t keep a person from proving who they are, and one session not another', async () => {
      const { browser } = await newcomer('besieged@example.org');
      const other = new Browser(site);
      assert.equal((await other.signIn('besieged@example.org')).status, 200);
      for (let attempt = 0; attempt < 6; attempt++)
        await service.browser().signIn('besieged@example.org', wrong);
      assert.equal((await service.browser().signIn('besieged@example.org')).status, 429);
      const changed = { current: password, password: 'a wholly new password' };
      for (let attempt = 0; attempt < 5; attempt++)
        assert.equal((await other.prove({ password: wrong })).status, 400);
      assert.equal((await other.prove()).status, 429, 'a session’s own guesses refuse it');
      assert.equal((await browser.post('/auth/password/change', changed)).status, 200);
    });

    it('the codes that confirm a second factor are counted, too', async () => {
      const { browser } = await newcomer('confirms@example.org');
      await browser.prove();
      const { secret } = (await browser.post('/auth/totp/begin')).body;
      for (let attempt = 0; attempt < 5; attempt++) {
        const refused = await browser.post('/auth/totp', { code: '000000' });
        assert.equal(refused.status, 400);
        assert.equal(refused.body.error.details.field, 'code');
      }
      assert.equal((await browser.post('/auth/totp', { code: code(secret) })).status, 429);
      service.clock.pass(minute);
      assert.equal((await browser.post('/auth/totp', { code: code(secret) })).status, 200);
    });

    it('a passkey whose body comes after its account was reset is answered 401 and is not kept', async () => {
      const { browser, id } = await newcomer('late@example.org');
      await browser.prove();
      const { body: options } = await browser.post('/auth/passkeys/options');
      const key = new Authenticator(site());
      const body = JSON.stringify({ name: 'Late', credential: key.create(options) });
      const late = held(site(), browser, '/auth/passkeys', body);
      assert.equal((await browser.get('/auth/passkeys')).status, 200);
      assert.equal((await owner.post(`/v1/members/${id}/invitation`, undefined)).status, 200);
      assert.equal(await late(), 401);
      assert.equal((await who(key)).status, 401);
      assert.deepEqual(await inDatabase(service, `SELECT id FROM passkeys WHERE member_id = '${id}'`), []);
    });

    it('a passkey and a reset at the same moment leave no passkey, whoever comes first', async () => {
      const { id } = await newcomer('races@example.org');
      for (let round = 0; round < 6; round++) {
        const { body: member } = await owner.post(`/v1/members/${id}/invitation`, undefined);
        const { token } = member;
        const browser = new Browser(site);
        const first = new Authenticator(site());
        const { body: joining } = await browser.post('/auth/invitation/options', { token });
        const passkey = { credential: first.create(joining) };
        await browser.post('/auth/invitation/accept', { token, passkey });
        const { body: proving } = await browser.post('/auth/proof/options');
        assert.equal((await browser.prove({ credential: first.get(proving) })).status, 200);
        const { body: options } = await browser.post('/auth/passkeys/options');
        const credential = new Authenticator(site()).create(options);
        const [added, reset] = await Promise.all([
          browser.post('/auth/passkeys', { name: 'Fast', credential }),
          owner.post(`/v1/members/${id}/invitation`, undefined),
        ]);
        assert.equal(reset.status, 200, reset.text);
        assert.ok([200, 401].includes(added.status), added.text);
        assert.deepEqual(await inDatabase(service, `SELECT id FROM passkeys WHERE member_id = '${id}'`), []);
      }
    });
  });
}

/** A request whose headers are sent now and whose body comes when it is asked for. */
function held(url: string, browser: Browser, path: string, body: string): () => Promise<number> {
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const sent = request(url + path, {
    method: 'POST',
    headers: {
      cookie,
      origin: url,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    },
  });
  const answered = new Promise<number>((resolve, reject) => {
    sent.on('response', answer => {
      answer.resume();
      resolve(answer.statusCode!);
    });
    sent.on('error', reject);
  });
  sent.flushHeaders();
  return () => {
    sent.end(body);
    return answered;
  };
}
