/** OAuth for the tool endpoint: from an address that is all a client knows, to an access key, and what is refused. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { mintToken, parseToken } from '../src/access/token.ts';
import { narrow } from '../src/client/client.ts';
import { type Answer, callService, enginesInTurn } from './harness.ts';
import { bareCall, bareSession, modernCall, post } from './mcp-world.ts';
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
import { inDatabase } from './storage.ts';

const isInvalidGrant = ({ status, body }: Answer, what = '') => {
  assert.equal(status, 400, `${what} ${JSON.stringify(body)}`);
  assert.equal(body.error, 'invalid_grant', what);
};

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`OAuth on ${engine}`, () => {
    let world: OAuthWorld;
    let url: string;
    let owner: Browser;

    before(async () => {
      world = await startOAuth(engine, ['--oauth', 'offered', '--oauth-registration']);
      url = world.service.url;
      owner = world.owner;
    });
    after(() => world.service.stop());

    /** Failures are counted by minutes. */
    const later = (milliseconds = 61_000) => world.service.clock.pass(milliseconds);
    const read = (key: string, name = 'TOKEN') =>
      modernCall(url, 'secrets.get', { name, includeValue: true }, { key });
    const works = async (key: string) => {
      const { status, body } = await read(key);
      return status === 200 && body.result.structuredContent.value === 'hunter2';
    };

    it('is found by a client that knows nothing but the address', async () => {
      const answer = await modernCall(url, 'secrets.list', {});
      assert.equal(answer.status, 401);
      const challenge = answer.headers.get('www-authenticate')!;
      const [, place] = /^Bearer resource_metadata="([^"]+)", scope="secrets:names"$/.exec(challenge)!;
      assert.equal(place, `${url}/.well-known/oauth-protected-resource/mcp`);
      const resource = await callService(place!, 'GET', '');
      assert.equal(resource.headers.get('access-control-allow-origin'), '*');
      assert.equal(resource.body.resource, `${url}/mcp`);
      assert.deepEqual(resource.body.authorization_servers, [url]);
      assert.ok(!resource.body.scopes_supported.includes('offline_access'));
      const { body: server } = await callService(url, 'GET', '/.well-known/oauth-authorization-server');
      assert.equal(server.issuer, url);
      assert.deepEqual(server.code_challenge_methods_supported, ['S256']);
      assert.deepEqual(server.token_endpoint_auth_methods_supported, ['none']);
      assert.equal(server.client_id_metadata_document_supported, true);
      assert.equal(server.authorization_response_iss_parameter_supported, true);
    });

    it('is not offered to those who bring a key, and who have a bad one are told on every method', async () => {
      const { body: access } = await owner.post('/v1/access-keys', {
        vault_id: world.vaultId,
        name: 'agent',
      });
      const vault = { vaultId: world.vaultId, accessKey: access.token };
      assert.equal((await modernCall(url, 'secrets.list', { vault })).status, 200);
      const session = await bareSession(url);
      assert.equal((await bareCall(url, 'secrets.list', { vault }, { session })).status, 200);
      assert.equal((await bareCall(url, 'secrets.list', {}, { session })).status, 401);
      const bad = { vault: { ...vault, accessKey: mintToken('vault', parseToken(access.token)!.id) } };
      const { body } = await bareCall(url, 'secrets.list', bad, { session });
      assert.equal(body.result.structuredContent.status, 401, 'a result, as ever');
      await owner.call('DELETE', `/v1/access-keys/${access.id}`);
      for (const method of ['initialize', 'tools/list', 'ping']) {
        const refused = await post(url, { jsonrpc: '2.0', id: 1, method }, { key: access.token });
        assert.equal(refused.status, 401, method);
        assert.match(
          refused.headers.get('www-authenticate')!,
          /^Bearer error="invalid_token", resource_metadata="/,
        );
      }
      later();
    });

    it('shows a person who asks, and gives what they choose, never more than they may read', async () => {
      const asked = asking(url, { scope: 'secrets:read offline_access openid' });
      const shown = await owner.post('/auth/oauth/request', { request: asked.query });
      assert.deepEqual(shown.body, {
        client: { id: known, name: 'Claude Code', known: true, imitates: false },
        redirect_host: '127.0.0.1:41234',
        scopes: ['secrets:read'],
        redirect_to: null,
      });
      const told = await consent(owner, asked, { vault_id: world.vaultId });
      assert.deepEqual([told.get('state'), told.get('iss')], ['of the client', url]);
      const { status, body, headers } = await exchange(url, told.get('code'), asked.verifier);
      assert.equal(status, 200, JSON.stringify(body));
      assert.equal(headers.get('cache-control'), 'no-store');
      assert.deepEqual([body.token_type, body.expires_in, body.scope], ['Bearer', 3600, 'secrets:read']);
      assert.match(body.access_token, /^sr_vault_/);
      assert.ok(await works(body.access_token));
      const { body: keys } = await owner.get('/v1/access-keys');
      const key = keys.data.find((one: { id: string }) => one.id === parseToken(body.access_token)!.id);
      assert.equal(key.name, 'Claude Code for owner@example.org');
      assert.deepEqual(key.kinds, ['secret']);
      const longer = await owner.call('PUT', `/v1/access-keys/${key.id}`, { kinds: null });
      assert.equal(longer.status, 400, 'what a person allowed is not changed by another way');
      const stored = JSON.stringify(await inDatabase(world.service, 'SELECT * FROM oauth_grants'));
      for (const secret of [told.get('code')!, body.access_token, body.refresh_token])
        assert.ok(!stored.includes(secret));

      const { browser: viewer } = await invite(world.service, owner, 'viewer@example.org', 'viewer');
      const given = { request: asking(url).query, vault_id: world.vaultId };
      assert.equal(
        (await viewer.post('/auth/oauth/approve', { ...given, scopes: ['secrets:read'] })).status,
        403,
      );
      assert.equal(
        (await viewer.post('/auth/oauth/approve', { ...given, scopes: ['secrets:names'] })).status,
        200,
      );
      const foreign = { ...given, vault_id: world.keyId, scopes: ['secrets:names'] };
      assert.equal((await viewer.post('/auth/oauth/approve', foreign)).status, 404);
      const month = { ...given, scopes: ['secrets:names'], expires_in: 30 * 86_400 };
      assert.equal((await viewer.post('/auth/oauth/approve', month)).body.error.code, 'PROOF_REQUIRED');
      const none = await service()
        .browser()
        .post('/auth/oauth/approve', { ...given, scopes: ['secrets:names'] });
      assert.equal(none.status, 401);
      later();
    });

    const service = () => world.service;

    it('knows clients in use by the documents that they publish', async () => {
      for (const [client_id, redirect_uri, name] of [
        [
          'https://claude.ai/oauth/mcp-oauth-client-metadata',
          'https://claude.ai/api/mcp/auth_callback',
          'Claude',
        ],
        ['https://chatgpt.com/oauth/codex/client.json', 'http://127.0.0.1:5173/callback', 'Codex'],
        ['https://vscode.dev/oauth/client-metadata.json', 'http://127.0.0.1:33418/', 'Visual Studio Code'],
        [
          'https://vscode.dev/oauth/client-metadata.json',
          'https://vscode.dev/redirect',
          'Visual Studio Code',
        ],
      ] as const) {
        const { query } = asking(url, { client_id, redirect_uri });
        const { body } = await owner.post('/auth/oauth/request', { request: query });
        assert.deepEqual(body.client, { id: client_id, name, known: true, imitates: false });
      }
    });

    it('tells the client what was wrong, by its own address and with the issuer’s name', async () => {
      const faults = {
        invalid_request: [
          { code_challenge_method: 'plain' },
          { code_challenge_method: null },
          { code_challenge: null },
          { code_challenge: 'short' },
          { response_mode: 'fragment' },
        ],
        unsupported_response_type: [{ response_type: 'token' }, { response_type: null }],
        invalid_target: [{ resource: 'https://other.example/mcp' }, { resource: `${url}/v1` }],
        consent_required: [{ prompt: 'none' }],
      };
      for (const [error, requests] of Object.entries(faults)) {
        for (const more of requests) {
          const { query } = asking(url, more as Record<string, string | null>);
          for (const path of ['request', 'approve', 'deny']) {
            const choice = path === 'approve' ? { vault_id: world.vaultId, scopes: ['secrets:read'] } : {};
            const { body } = await owner.post(`/auth/oauth/${path}`, { request: query, ...choice });
            assert.ok(body.redirect_to.startsWith(`${callback}?`), JSON.stringify(body));
            const told = new URL(body.redirect_to).searchParams;
            assert.deepEqual(
              [told.get('error'), told.get('iss'), told.get('state')],
              [error, url, 'of the client'],
            );
            assert.equal(told.get('code'), null);
          }
        }
      }
      const { query } = asking(url);
      const denied = await owner.post('/auth/oauth/deny', { request: query });
      assert.match(denied.body.redirect_to, /error=access_denied/);
    });

    it('sends nobody to an address that is not the client’s', async () => {
      const foreign = [
        'https://evil.example/callback',
        'http://evil.example:41234/callback',
        'http://127.0.0.1:41234/other',
        'http://127.0.0.1:41234/callback/',
        'http://127.0.0.1:41234/callback?more=1',
        'http://127.0.0.1@evil.example/callback',
        'http://127.0.0.1:41234@evil.example/callback',
        'http://127.0.0.1.evil.example/callback',
        'http://127.0.0.1:41234/x/../callback',
        'https://127.0.0.1:41234/callback',
        `${callback}#fragment`,
        'javascript:alert(1)',
        null,
      ];
      for (const redirect_uri of foreign) {
        const { status, body } = await owner.post('/auth/oauth/request', {
          request: asking(url, { redirect_uri }).query,
        });
        assert.equal(status, 400, String(redirect_uri));
        assert.equal(body.error.details.field, 'redirect_uri', String(redirect_uri));
      }
      for (const client_id of ['https://unknown.example/client.json', 'registered.e30.AAAA', null]) {
        const { body } = await owner.post('/auth/oauth/request', {
          request: asking(url, { client_id }).query,
        });
        assert.equal(body.error.details.field, 'client_id');
      }
    });

    it('takes a code once, in its minute, from whoever asked for it', async () => {
      const wrong = [
        { code_verifier: 'x'.repeat(43) },
        { client_id: 'https://vscode.dev/oauth/client-metadata.json' },
        { redirect_uri: 'http://127.0.0.1:41235/callback' },
        { code: mintToken('code', '00000000-0000-7000-8000-000000000001') },
        { code: 'nonsense' },
      ];
      const asked = asking(url);
      const code = (await consent(owner, asked, { vault_id: world.vaultId })).get('code')!;
      for (const more of wrong)
        isInvalidGrant(await exchange(url, code, asked.verifier, more), Object.keys(more)[0]);
      const elsewhere = await exchange(url, code, asked.verifier, { resource: 'https://other.example/mcp' });
      assert.equal(elsewhere.body.error, 'invalid_target');
      const missing = await exchange(url, code, '');
      assert.deepEqual([missing.status, missing.body.error], [400, 'invalid_request']);
      const { body } = await exchange(url, code, asked.verifier);
      assert.ok(await works(body.access_token));
      isInvalidGrant(await exchange(url, code, asked.verifier), 'used twice');
      assert.ok(!(await works(body.access_token)), 'the key that came of it is over');
      isInvalidGrant(await refresh(url, body.refresh_token), 'and so is its refresh token');

      const late = asking(url);
      const lateCode = (await consent(owner, late, { vault_id: world.vaultId })).get('code');
      later();
      isInvalidGrant(await exchange(url, lateCode, late.verifier), 'too late');
    });

    it('refreshes once with each token; one that was used ends the grant', async () => {
      const first = await signedIn(world);
      const { token: child } = await narrow(first.access_token, { mayUse: false });
      assert.ok(await works(child), 'its holder may restrict it');
      const token = { 'x-vault-token': first.access_token };
      const minted = await callService(
        url,
        'POST',
        '/vault/v1/auth/token/create',
        { ttl: '50m' },
        null,
        token,
      );
      assert.ok(await works(minted.body.auth.client_token), 'its holder may create children with it');
      const second = (await refresh(url, first.refresh_token)).body;
      assert.ok(await works(second.access_token));
      assert.ok(!(await works(child)), 'what was made of the earlier key is over');
      assert.ok(!(await works(minted.body.auth.client_token)), 'and so are its children');
      assert.ok(await works((await narrow(second.access_token, { mayUse: false })).token));
      assert.ok(!(await works(first.access_token)), 'the earlier key is over');
      const third = (await refresh(url, second.refresh_token)).body;
      const forged = mintToken('refresh', parseToken(third.refresh_token)!.id);
      isInvalidGrant(await refresh(url, forged), 'forged');
      isInvalidGrant(await refresh(url, third.refresh_token, { client_id: 'other' }), 'another client');
      const target = await refresh(url, third.refresh_token, { resource: 'https://other.example/mcp' });
      assert.equal(target.body.error, 'invalid_target');
      assert.ok(await works(third.access_token), 'none of these ends it');
      isInvalidGrant(await refresh(url, first.refresh_token), 'replayed');
      assert.ok(!(await works(third.access_token)));
      isInvalidGrant(await refresh(url, third.refresh_token));
      const { body: log } = await owner.get('/v1/audit-logs?limit=20');
      const ended = log.data.find(({ action }: { action: string }) => action === 'oauth-grant.ended');
      assert.equal(ended.details.reason, 'a refresh token was used twice');
      later();

      const grant = await signedIn(world);
      const both = await Promise.all([1, 2].map(() => refresh(url, grant.refresh_token)));
      assert.deepEqual(
        both[0]!.body.refresh_token,
        both[1]!.body.refresh_token,
        'at the same time, they are one',
      );
      later(3_600_000);
      assert.ok(!(await works(both[0]!.body.access_token)), 'an hour');
      const renewed = (await refresh(url, both[0]!.body.refresh_token)).body;
      assert.ok(await works(renewed.access_token));
      later(12 * 3_600_000);
      isInvalidGrant(await refresh(url, renewed.refresh_token), 'the grant has ended');
      await owner.signIn('owner@example.org');
    });

    it('asks for more where the key may not see it, by a status that clients understand', async () => {
      const names = await signedIn(world, { scopes: ['secrets:names'] });
      const key = names.access_token;
      assert.equal(names.scope, 'secrets:names');
      for (const tool of ['secrets.list', 'keys.list', 'vault.describe'])
        assert.equal((await modernCall(url, tool, {}, { key })).status, 200, tool);
      const needs = async (tool: string, args: unknown, scope: string) => {
        const { status, headers } = await modernCall(url, tool, args, { key });
        assert.equal(status, 403, tool);
        const challenge = headers.get('www-authenticate')!;
        assert.match(challenge, /^Bearer error="insufficient_scope", resource_metadata="/);
        assert.ok(challenge.endsWith(`, scope="${scope}"`), challenge);
      };
      await needs('secrets.get', { name: 'TOKEN', includeValue: true }, 'secrets:read');
      await needs('keys.get', { id: world.keyId }, 'keys:read');
      await needs(
        'secrets.use',
        { secret: 'TOKEN', url: 'https://example.com/', dry_run: true },
        'secrets:use',
      );
      await needs('keys.sign', { key: 'signing', alg: 'ES256', message: 'YQ' }, 'secrets:use');
      const { access_token } = await signedIn(world, { scopes: ['secrets:names', 'keys:read'] });
      const { body } = await modernCall(url, 'keys.get', { id: world.keyId }, { key: access_token });
      assert.match(body.result.structuredContent.pem, /PRIVATE KEY/);
      assert.equal((await read(access_token)).status, 403);
      const { body: log } = await owner.get('/v1/request-logs?limit=1');
      assert.deepEqual([log.data[0].status, log.data[0].tool], [403, 'secrets.get'], 'and that is recorded');
    });

    it('gives the use of secrets and keys without their values, by those who could read them', async () => {
      const { access_token: key, scope } = await signedIn(world, {
        scopes: ['secrets:names', 'secrets:use'],
      });
      assert.equal(scope, 'secrets:use');
      const call = async (tool: string, args: object) =>
        (await modernCall(url, tool, args, { key })).body.result?.structuredContent;
      const may = await call('vault.describe', {});
      assert.deepEqual([may.access_key.names_only, may.access_key.may_use], [true, true]);
      const dry = { secret: 'TOKEN', url: 'https://example.com/', dry_run: true };
      assert.equal((await call('secrets.use', dry)).allowed, false);
      const rule = { key_id: world.keyId, name: 'signs', operations: ['sign'], algorithms: ['ES256'] };
      await owner.post('/v1/use-rules', { ...rule, approval: 'never' });
      const signed = await call('keys.sign', { key: 'signing', alg: 'ES256', message: 'YQ' });
      assert.equal(signed.signature.length, 86);
      const asked = { name: 'TOKEN', includeValue: true };
      assert.equal((await modernCall(url, 'secrets.get', asked, { key })).status, 403);
      const { browser: viewer } = await invite(world.service, owner, 'using@example.org', 'viewer');
      const given = { vault_id: world.vaultId, request: asking(url).query, scopes: ['secrets:use'] };
      assert.equal((await viewer.post('/auth/oauth/approve', given)).status, 403);
    });

    it('lists a person’s own grants, and ends one with its key at once', async () => {
      const { browser: editor, id } = await invite(world.service, owner, 'editor@example.org', 'editor');
      const tokens = await signedIn(world, {}, editor);
      const { body } = await editor.get('/auth/oauth/grants');
      assert.equal(body.data.length, 1);
      const [grant] = body.data;
      assert.deepEqual(
        [grant.client.name, grant.scopes, grant.vault_id],
        ['Claude Code', ['secrets:read'], world.vaultId],
      );
      assert.equal((await owner.call('DELETE', `/auth/oauth/grants/${grant.id}`)).status, 404);
      assert.equal((await editor.call('DELETE', `/auth/oauth/grants/${grant.id}`)).status, 200);
      assert.ok(!(await works(tokens.access_token)));
      isInvalidGrant(await refresh(url, tokens.refresh_token));
      assert.deepEqual((await editor.get('/auth/oauth/grants')).body.data, []);

      const byKey = await signedIn(world, {}, editor);
      await owner.call('DELETE', `/v1/access-keys/${parseToken(byKey.access_token)!.id}`);
      isInvalidGrant(await refresh(url, byKey.refresh_token), 'its access key was revoked');
      for (const which of ['access_token', 'refresh_token']) {
        const own = await signedIn(world, {}, editor);
        assert.equal((await form(url, '/oauth/revoke', { token: own[which] })).status, 200);
        assert.ok(!(await works(own.access_token)), which);
      }
      assert.equal((await form(url, '/oauth/revoke', { token: 'nonsense' })).status, 200);
      later();

      const demoted = await signedIn(world, {}, editor);
      assert.ok(await works(demoted.access_token));
      await owner.call('PUT', `/v1/members/${id}`, { role: 'viewer' });
      assert.ok(!(await works(demoted.access_token)), 'the member may not read it any more');
      isInvalidGrant(await refresh(url, demoted.refresh_token));
      await owner.call('PUT', `/v1/members/${id}`, { role: 'editor' });
      const removed = await signedIn(world, {}, editor);
      await owner.call('DELETE', `/v1/members/${id}`);
      assert.ok(!(await works(removed.access_token)));
      isInvalidGrant(await refresh(url, removed.refresh_token));
      later();
    });

    it('registers a client where that is allowed, and stores nothing of it', async () => {
      const register = (body: unknown) => callService(url, 'POST', '/oauth/register', body);
      const redirect_uris = ['http://localhost:3000/cb', 'https://client.example/cb'];
      const { status, body } = await register({ client_name: 'Tool <b>', redirect_uris, contacts: [] });
      assert.equal(status, 201);
      assert.deepEqual(
        [body.client_name, body.redirect_uris, body.client_secret],
        ['Tool <b>', redirect_uris, undefined],
      );
      const asked = { client_id: body.client_id, redirect_uri: 'http://localhost:9/cb' };
      const shown = await owner.post('/auth/oauth/request', { request: asking(url, asked).query });
      assert.deepEqual(shown.body.client, {
        id: body.client_id,
        name: 'Tool <b>',
        known: false,
        imitates: false,
      });
      for (const client_name of ['Claude Code', 'CIaude  Code', 'Cl\u0430ude Code', '\u03f9laude Code ']) {
        const { body: twin } = await register({ client_name, redirect_uris });
        const query = asking(url, { ...asked, client_id: twin.client_id }).query;
        const { body: told } = await owner.post('/auth/oauth/request', { request: query });
        assert.deepEqual([told.client.known, told.client.imitates], [false, true], client_name);
      }
      const [, text] = body.client_id.split('.');
      const forged = { ...asked, client_id: `registered.${text}x.${body.client_id.split('.')[2]}` };
      assert.equal(
        (await owner.post('/auth/oauth/request', { request: asking(url, forged).query })).status,
        400,
      );
      for (const bad of ['http://evil.example/cb', 'javascript:x', 'myapp://cb', 'https://a.example/#x'])
        assert.equal((await register({ redirect_uris: [bad] })).body.error, 'invalid_redirect_uri', bad);
      assert.equal((await register({})).body.error, 'invalid_client_metadata');
    });

    it('answers the token endpoint’s own misuse in the protocol’s words', async () => {
      const doubled = await callService(url, 'POST', '/oauth/token', 'grant_type=a&grant_type=b', null, {
        'content-type': 'application/x-www-form-urlencoded',
      });
      assert.deepEqual([doubled.status, doubled.body.error], [400, 'invalid_request']);
      const json = await callService(url, 'POST', '/oauth/token', { grant_type: 'refresh_token' });
      assert.deepEqual([json.status, json.body.error], [400, 'invalid_request']);
      const other = await form(url, '/oauth/token', { grant_type: 'password' });
      assert.equal(other.body.error, 'unsupported_grant_type');
      const host = await callService(url, 'GET', '/.well-known/oauth-authorization-server', undefined, null, {
        'x-forwarded-host': 'evil.example',
      });
      assert.equal(host.body.issuer, url);
    });
  });
}
