/** What an issuer of single sign-on answers: only what it signed with a key that it publishes, and no more than fits. */
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, it } from 'node:test';
import { SignJWT, UnsecuredJWT } from 'jose';
import { visit } from './issuer.ts';
import { cookieName, type EmptyService, setUp, startEmpty } from './people.ts';
import { type IssuerKey, newKey } from './token-issuer.ts';

describe('the answer of an issuer of single sign-on', () => {
  let server: Server;
  let url: string;
  let service: EmptyService;
  let published: IssuerKey;
  let other: IssuerKey;
  /** What the token endpoint answers. */
  let answer: (claims: Record<string, unknown>) => Promise<string>;
  let nonce = '';

  before(async () => {
    [published, other] = await Promise.all([newKey('one'), newKey('one')]);
    server = createServer(async (request, response) => {
      response.setHeader('content-type', 'application/json');
      if (request.url === '/keys') return response.end(JSON.stringify({ keys: [published.jwk] }));
      if (request.url !== '/token')
        return response.end(
          JSON.stringify({
            issuer: url,
            authorization_endpoint: `${url}/authorize`,
            token_endpoint: `${url}/token`,
            jwks_uri: `${url}/keys`,
            id_token_signing_alg_values_supported: ['RS256'],
          }),
        );
      const now = Math.floor(Date.now() / 1000);
      const person = { sub: '1', email: 'owner@example.org', email_verified: true };
      return response.end(
        await answer({ iss: url, aud: 'strongroom', iat: now, exp: now + 60, nonce, ...person }),
      );
    });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    service = await startEmpty('sqlite', ['--oidc-issuer', url, '--oidc-client-id', 'strongroom']);
    await setUp(service);
  });
  after(async () => {
    await service.stop();
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => service.clock.pass(60_000));

  const tokens = (id_token: string, more: object = {}) =>
    JSON.stringify({ access_token: 'x', token_type: 'bearer', expires_in: 60, id_token, ...more });
  const signedBy = (key: IssuerKey, claims: Record<string, unknown>) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: key.kid }).sign(key.privateKey);

  async function signIn(): Promise<boolean> {
    const browser = service.browser();
    const started = await visit(browser, 'GET', '/auth/oidc/start');
    const asked = new URL(started.headers.get('location')!).searchParams;
    nonce = asked.get('nonce')!;
    const back = new URLSearchParams({ code: 'x', state: asked.get('state')! });
    await visit(browser, 'GET', `/auth/oidc/callback?${back}`);
    return browser.cookies.has(cookieName);
  }

  it('signs a person in if it signed the token', async () => {
    answer = async claims => tokens(await signedBy(published, claims));
    assert.equal(await signIn(), true);
  });

  it('signs nobody in by a token that another key signed, or none, though everything else in it is right', async () => {
    answer = async claims => tokens(await signedBy(other, claims));
    assert.equal(await signIn(), false);
    answer = async claims => tokens(new UnsecuredJWT(claims).encode());
    assert.equal(await signIn(), false);
    answer = async claims => tokens((await signedBy(published, claims)).replace(/[^.]+$/, 'AAAA'));
    assert.equal(await signIn(), false);
  });

  it('is refused where it is longer than 256 KiB', async () => {
    const padded = (size: number) => async (claims: Record<string, unknown>) => {
      const text = tokens(await signedBy(published, claims), { padding: '' });
      return text.replace('"padding":""', `"padding":"${'x'.repeat(size - text.length)}"`);
    };
    answer = padded(256 * 1024);
    assert.equal(await signIn(), true);
    answer = padded(256 * 1024 + 1);
    assert.equal(await signIn(), false);
  });
});
