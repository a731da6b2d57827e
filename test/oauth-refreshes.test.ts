/** Refreshes whose answer was lost or that were sent twice, at one replica or two; and the bounds of grants and refreshes, one past each. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { mintToken, parseToken } from '../src/access/token.ts';
import type { Running } from '../src/service/serve.ts';
import { type Answer, callService, enginesInTurn } from './harness.ts';
import {
  asking,
  callback,
  consent,
  exchange,
  form,
  known,
  type OAuthWorld,
  refresh,
  signedIn,
  startOAuth,
} from './oauth-world.ts';
import { type Browser, invite } from './people.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
type Json = any;

const isInvalidGrant = ({ status, body }: Answer, what = '') =>
  assert.deepEqual([status, body.error], [400, 'invalid_grant'], what);
const tokensOf = ({ status, body, text }: Answer): Json => {
  assert.equal(status, 200, text);
  return [body.access_token, body.refresh_token];
};

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`a refresh on ${engine}`, () => {
    let world: OAuthWorld;
    let url: string;
    let owner: Browser;

    before(async () => {
      world = await startOAuth(engine, ['--oauth', 'offered']);
      ({ owner } = world);
      ({ url } = world.service);
      world.service.clock.standInNewMinute();
    });
    after(() => world.service.stop());

    const pass = (milliseconds: number) => world.service.clock.pass(milliseconds);
    const works = async (token: string) =>
      (await callService(url, 'GET', '/api/v1/vaults/self', undefined, token)).status === 200;
    const ended = async () =>
      (await owner.get('/v1/audit-logs?action=oauth-grant.ended&limit=1')).body.data[0]?.details.reason;

    it('whose answer was lost is answered again with the same tokens, and is recorded as repeated', async () => {
      const first = await signedIn(world);
      const given = tokensOf(await refresh(url, first.refresh_token));
      pass(29_000);
      const again = await refresh(url, first.refresh_token);
      assert.deepEqual(tokensOf(again), given);
      assert.equal(again.body.expires_in, 3_600 - 29, 'and the key lives no longer for it');
      assert.ok(await works(given[0]));
      const { data } = (await owner.get('/v1/audit-logs?action=oauth-grant.refreshed&limit=2')).body;
      assert.deepEqual(
        data.map(({ details }: Json) => details.repeated),
        [true, false],
      );
      tokensOf(await refresh(url, given[1]));
    });

    it('is repeated for half a minute, and ends the grant after that', async () => {
      const first = await signedIn(world);
      const [access] = tokensOf(await refresh(url, first.refresh_token));
      pass(30_000);
      isInvalidGrant(await refresh(url, first.refresh_token));
      assert.ok(!(await works(access)));
      assert.equal(await ended(), 'a refresh token was used twice');
    });

    it('is repeated while the newest refresh token is unused, and ends the grant once it was used', async () => {
      const first = await signedIn(world);
      const [, second] = tokensOf(await refresh(url, first.refresh_token));
      const [access] = tokensOf(await refresh(url, second));
      isInvalidGrant(await refresh(url, first.refresh_token));
      assert.ok(!(await works(access)));
    });

    it('is repeated for the client that sent it, and for no other', async () => {
      const first = await signedIn(world);
      const [access] = tokensOf(await refresh(url, first.refresh_token));
      isInvalidGrant(await refresh(url, first.refresh_token, { client_id: 'other' }));
      assert.ok(await works(access));
      const { access_key_id } = (await owner.get('/auth/oauth/grants')).body.data[0];
      await owner.call('DELETE', `/v1/access-keys/${access_key_id}`);
      isInvalidGrant(await refresh(url, first.refresh_token), 'nor once its access key was revoked');
    });

    it('gives an access key that ends with its grant', async () => {
      const first = await signedIn(world, { expires_in: 300 });
      assert.equal(first.expires_in, 300);
      pass(100_000);
      const { body } = await refresh(url, first.refresh_token);
      assert.equal(body.expires_in, 200);
      pass(199_000);
      assert.ok(await works(body.access_token));
      pass(1_000);
      assert.ok(!(await works(body.access_token)));
      isInvalidGrant(await refresh(url, body.refresh_token));
    });

    it('is made thirty times a minute, and not once more', async () => {
      let { refresh_token: token } = await signedIn(world);
      world.service.clock.standInNewMinute();
      for (let at = 0; at < 30; at++) [, token] = tokensOf(await refresh(url, token));
      assert.equal((await refresh(url, token)).status, 429);
      pass(60_000);
      tokensOf(await refresh(url, token));
    });

    it('with tokens that are not valid is refused after sixty in a minute, and a valid one is not', async () => {
      const first = await signedIn(world);
      world.service.clock.standInNewMinute();
      const { id } = parseToken(first.refresh_token)!;
      for (let at = 0; at < 60; at++) isInvalidGrant(await refresh(url, mintToken('refresh', id)), `${at}`);
      assert.equal((await refresh(url, mintToken('refresh', id))).status, 429);
      const [, second] = tokensOf(await refresh(url, first.refresh_token));
      pass(60_000);
      tokensOf(await refresh(url, second));
    });

    it('that nobody was given ends no grant, and neither does its revocation', async () => {
      const { refresh_token, access_token } = await signedIn(world);
      const forged = [
        mintToken('refresh', parseToken(refresh_token)!.id),
        mintToken('vault', parseToken(access_token)!.id),
      ];
      for (const token of forged) {
        assert.equal((await form(url, '/oauth/revoke', { token })).status, 200);
        assert.ok(await works(access_token));
      }
      tokensOf(await refresh(url, refresh_token));
    });

    it('comes of a code only while its person may read what it shows', async () => {
      const { browser, id } = await invite(world.service, owner, 'leaves@example.org', 'editor');
      for (const leave of [
        () => owner.call('PUT', `/v1/members/${id}`, { role: 'auditor' }),
        () => owner.call('DELETE', `/v1/members/${id}`),
      ]) {
        await owner.call('PUT', `/v1/members/${id}`, { role: 'editor' });
        const asked = asking(url);
        const code = (await consent(browser, asked, { vault_id: world.vaultId })).get('code');
        await leave();
        isInvalidGrant(await exchange(url, code, asked.verifier));
      }
    });

    it('comes of fifty grants of a person at a time, and not of one more', async () => {
      const browser = world.service.browser();
      await owner
        .post('/v1/members', { email: 'many@example.org', role: 'editor' })
        .then(({ body }) =>
          browser.post('/auth/invitation/accept', { token: body.token, password: 'correct horse battery' }),
        );
      const asked = asking(url);
      for (let at = 0; at < 50; at++) await consent(browser, asked, { vault_id: world.vaultId });
      const given = { vault_id: world.vaultId, scopes: ['secrets:read'], request: asked.query };
      const refused = await browser.post('/auth/oauth/approve', given);
      assert.match(refused.body.error.message, /^You can have at most 50 clients at a time/);
    });
  });
}

describe('equal refreshes at two replicas', () => {
  const site = 'https://vault.example.com';
  const forwarded = {
    'x-forwarded-host': 'vault.example.com',
    'x-forwarded-proto': 'https',
    'x-forwarded-for': '203.0.113.9',
  };
  let world: OAuthWorld;
  let other: Running;

  before(async () => {
    const flags = ['--oauth', 'offered', '--behind-proxy', '127.0.0.1/32', '--public-url', site];
    world = await startOAuth('postgres', flags);
    other = await world.service.replica();
  });
  after(() => world.service.stop());

  const token = (url: string, fields: Record<string, string>): Promise<Answer> =>
    callService(
      url,
      'POST',
      '/oauth/token',
      new URLSearchParams({ client_id: known, ...fields }).toString(),
      null,
      {
        'content-type': 'application/x-www-form-urlencoded',
        ...forwarded,
      },
    );

  async function granted(): Promise<string> {
    const { query, verifier } = asking(site);
    const given = { request: query, scopes: ['secrets:read'], vault_id: world.vaultId };
    const { body } = await world.owner.post('/auth/oauth/approve', given, { origin: site, ...forwarded });
    const code = new URL(body.redirect_to).searchParams.get('code')!;
    const [, refreshToken] = tokensOf(
      await token(world.service.url, {
        grant_type: 'authorization_code',
        code,
        code_verifier: verifier,
        redirect_uri: callback,
        resource: `${site}/mcp`,
      }),
    );
    return refreshToken;
  }

  it('are one, twenty-four times of twenty-four', async () => {
    const urls = [world.service.url, other.url];
    for (let round = 0; round < 24; round++) {
      let newest = await granted();
      const refreshed = () =>
        Promise.all(urls.map(url => token(url, { grant_type: 'refresh_token', refresh_token: newest })));
      const [one, two] = (await refreshed()).map(tokensOf);
      assert.deepEqual(one, two, `round ${round}`);
      newest = one[1];
      const [third, fourth] = (await refreshed()).map(tokensOf);
      assert.deepEqual(third, fourth, 'and the grant goes on');
    }
  });
});
