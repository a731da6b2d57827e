import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { codeAt, stepAt } from '../src/domain/sign-in/totp.ts';
import { enginesInTurn } from './harness.ts';
import {
  type Browser,
  type EmptyService,
  fromBase32,
  invite,
  password,
  setUp,
  startEmpty,
} from './people.ts';
import { inDatabase } from './storage.ts';

const minute = 60_000;

describe('one-time codes', () => {
  it('are those of RFC 6238', () => {
    const seed = Buffer.from('12345678901234567890');
    const codes = [59, 1111111109, 1111111111, 1234567890, 2000000000, 20000000000].map(seconds =>
      codeAt(seed, stepAt(seconds * 1000)),
    );
    assert.deepEqual(codes, ['287082', '081804', '050471', '005924', '279037', '353130']);
  });
});

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`the second factor on ${engine}`, () => {
    let service: EmptyService;
    let owner: Browser;

    before(async () => {
      service = await startEmpty(engine);
      owner = await setUp(service);
      service.clock.standInNewMinute();
    });
    after(() => service.stop());
    beforeEach(() => {
      service.clock.pass(2 * minute);
    });

    const code = (secret: string, steps = 0) =>
      codeAt(fromBase32(secret), stepAt(service.clock.now()) + steps);

    async function enrolled(email: string) {
      const { browser } = await invite(service, owner, email, 'viewer');
      await browser.prove();
      const { secret, uri } = (await browser.post('/auth/totp/begin')).body;
      const confirmed = await browser.post('/auth/totp', { code: code(secret) });
      assert.equal(confirmed.status, 200, confirmed.text);
      service.clock.pass(minute);
      return { browser, secret: secret as string, uri, recovery: confirmed.body.recovery_codes as string[] };
    }

    it('is begun with a seed for an authenticator, and is on once a first code was right', async () => {
      const { browser } = await invite(service, owner, 'begins@example.org', 'viewer');
      await browser.prove();
      const { secret, uri } = (await browser.post('/auth/totp/begin')).body;
      assert.match(secret, /^[A-Z2-7]{32}$/);
      assert.ok(uri.startsWith('otpauth://totp/Strongroom:begins%40example.org?'));
      assert.equal(new URL(uri).searchParams.get('secret'), secret);
      assert.equal((await service.browser().signIn('begins@example.org')).status, 200);
      assert.equal((await browser.post('/auth/totp', { code: '000000' })).status, 400);
      const { body } = await browser.post('/auth/totp', { code: code(secret) });
      assert.equal(body.recovery_codes.length, 10);
      assert.equal((await browser.get('/auth/state')).body.signed_in.second_factor, true);
      assert.equal((await service.browser().signIn('begins@example.org')).status, 401);
    });

    it('ends every other session when it is switched on', async () => {
      const { browser } = await invite(service, owner, 'ends@example.org', 'viewer');
      const other = service.browser();
      await other.signIn('ends@example.org');
      await browser.prove();
      const { secret } = (await browser.post('/auth/totp/begin')).body;
      assert.equal((await other.get('/v1/vaults')).status, 200);
      await browser.post('/auth/totp', { code: code(secret) });
      assert.equal((await other.get('/v1/vaults')).status, 401);
      assert.equal((await browser.get('/v1/vaults')).status, 200);
    });

    it('is asked for only after the password was right', async () => {
      const { secret } = await enrolled('asked@example.org');
      const browser = service.browser();
      const wrong = await browser.signIn('asked@example.org', 'not the password');
      assert.equal(wrong.body.error.code, 'UNAUTHORIZED');
      const needed = await browser.signIn('asked@example.org');
      assert.equal(needed.status, 401);
      assert.equal(needed.body.error.code, 'SECOND_FACTOR_REQUIRED');
      assert.equal(browser.cookie, undefined);
      const withWrong = await browser.signIn('asked@example.org', 'not the password', code(secret));
      assert.equal(withWrong.body.error.code, 'UNAUTHORIZED');
      assert.equal((await browser.signIn('asked@example.org', password, code(secret))).status, 200);
    });

    it('a code with spaces around or within it is refused', async () => {
      const { secret } = await enrolled('spaces@example.org');
      const right = code(secret);
      for (const spaced of [
        ` ${right}`,
        `${right} `,
        `${right.slice(0, 3)} ${right.slice(3)}`,
        `${right}\n`,
      ]) {
        assert.equal((await service.browser().signIn('spaces@example.org', password, spaced)).status, 401);
      }
      assert.equal((await service.browser().signIn('spaces@example.org', password, right)).status, 200);
    });

    it('a code is taken once, also by two at the same moment, and none older than it', async () => {
      const { secret } = await enrolled('once@example.org');
      const use = (steps: number) =>
        service.browser().signIn('once@example.org', password, code(secret, steps));
      const both = await Promise.all([use(0), use(0)]);
      assert.deepEqual(both.map(({ status }) => status).sort(), [200, 401]);
      assert.equal((await use(0)).status, 401);
      assert.equal((await use(-1)).status, 401);
      assert.equal((await use(1)).status, 200);
    });

    it('a code of two steps ago or ahead is refused', async () => {
      const { secret } = await enrolled('window@example.org');
      for (const steps of [-2, 2]) {
        const answer = await service.browser().signIn('window@example.org', password, code(secret, steps));
        assert.equal(answer.status, 401, `${steps} steps`);
      }
    });

    it('guessing codes with the right password is locked out like guessing passwords', async () => {
      const { secret } = await enrolled('guess@example.org');
      for (let attempt = 0; attempt < 5; attempt++) {
        const body = attempt % 2 === 0 ? '000000' : undefined;
        assert.equal((await service.browser().signIn('guess@example.org', password, body)).status, 401);
      }
      assert.equal((await service.browser().signIn('guess@example.org', password, code(secret))).status, 429);
    });

    it('a recovery code stands in once, exactly as it was shown', async () => {
      const { recovery } = await enrolled('lost@example.org');
      const [first = '', second = ''] = recovery;
      assert.match(first, /^[a-z2-7]{4}(-[a-z2-7]{4}){3}$/);
      const use = (text: string) => service.browser().signIn('lost@example.org', password, text);
      for (const changed of [first.toUpperCase(), ` ${first}`, first.replaceAll('-', '')]) {
        assert.equal((await use(changed)).status, 401, changed);
      }
      const both = await Promise.all([use(first), use(first)]);
      assert.deepEqual(both.map(({ status }) => status).sort(), [200, 401]);
      assert.equal((await use(first)).status, 401);
      assert.equal((await use(second)).status, 200);
    });

    it('is switched off by the password, or by a code, and by nothing else', async () => {
      const { browser, secret } = await enrolled('off@example.org');
      service.clock.pass(5 * minute);
      assert.equal((await browser.post('/auth/totp/remove', {})).body.error.code, 'PROOF_REQUIRED');
      assert.equal((await browser.post('/auth/totp/remove', { password: 'wrong password' })).status, 400);
      assert.equal((await browser.post('/auth/totp/remove', { code: '000000' })).status, 400);
      assert.equal((await browser.post('/auth/totp/remove', { password })).status, 200);
      assert.equal((await service.browser().signIn('off@example.org')).status, 200);
      await browser.prove();
      const again = (await browser.post('/auth/totp/begin')).body.secret;
      await browser.post('/auth/totp', { code: code(again) });
      service.clock.pass(5 * minute);
      assert.equal((await browser.post('/auth/totp/remove', { code: code(again, 1) })).status, 200);
      assert.notEqual(again, secret);
    });

    it('taken away or rolled back in the database, it fails closed', async () => {
      await invite(service, owner, 'before@example.org', 'viewer');
      await inDatabase(service, 'CREATE TABLE kept_accounts AS SELECT * FROM accounts');
      const browser = service.browser();
      await browser.signIn('before@example.org');
      await browser.prove();
      const { secret } = (await browser.post('/auth/totp/begin')).body;
      await browser.post('/auth/totp', { code: code(secret) });
      await enrolled('taken@example.org');
      const of = (email: string) => `member_id = (SELECT id FROM members WHERE email = '${email}')`;
      await inDatabase(service, `UPDATE accounts SET totp = NULL WHERE ${of('taken@example.org')}`);
      await inDatabase(service, `DELETE FROM accounts WHERE ${of('before@example.org')}`);
      await inDatabase(
        service,
        `INSERT INTO accounts SELECT * FROM kept_accounts WHERE ${of('before@example.org')}`,
      );
      assert.equal((await service.browser().signIn('taken@example.org')).status, 500);
      assert.equal((await service.browser().signIn('before@example.org')).status, 500);
    });
  });
}
