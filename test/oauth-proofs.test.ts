/** What a client shows of itself: the request it sends a browser with, its verifier, and tokens of a grant. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { mintToken } from '../src/access/token.ts';
import { authorizationRequestsWith, resourceIn } from '../src/domain/oauth/authorization-requests.ts';
import type { OAuthClient, OAuthClients } from '../src/domain/oauth/clients.ts';
import { isChallengeOf, refreshTokensWith } from '../src/domain/oauth/refresh-tokens.ts';
import { Keyring } from '../src/keyring/keyring.ts';
import type { CredentialRow } from '../src/store/records/credentials.ts';
import type { OAuthGrantRow } from '../src/store/records/oauth-grants.ts';

const challengeOf = (verifier: string) => createHash('sha256').update(verifier).digest('base64url');

describe('a verifier', () => {
  it('proves its challenge (RFC 7636, appendix B)', () => {
    const [verifier, challenge] = [
      'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
      'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    ];
    assert.ok(isChallengeOf(verifier, challenge));
    assert.ok(!isChallengeOf(verifier, verifier));
    assert.ok(!isChallengeOf(`${verifier}x`, challenge));
  });

  for (const [verifier, isTaken] of [
    ['a'.repeat(42), false],
    ['a'.repeat(43), true],
    ['~.-_'.repeat(32), true],
    ['a'.repeat(129), false],
    [`${'a'.repeat(43)}+`, false],
    [`${'a'.repeat(43)}\n`, false],
  ] as const)
    it(`of ${verifier.length} characters is ${isTaken ? '' : 'not '}taken: ${JSON.stringify(verifier.slice(-4))}`, () =>
      assert.equal(isChallengeOf(verifier, challengeOf(verifier)), isTaken));
});

describe('a refresh token', () => {
  const keyring = Keyring.create('deployment');
  const tokens = refreshTokensWith(keyring);
  const id = '01999999-9999-7999-8999-999999999999';
  const access_key_id = '01999999-9999-7999-8999-999999999998';
  const grant = (newest: string | null, rotations: number) =>
    ({
      id,
      access_key_id,
      rotations,
      refresh: newest === null ? null : keyring.tokenDigest(newest),
    }) as OAuthGrantRow;
  const chain = [mintToken('refresh', id)];
  while (chain.length < 1_002) chain.push(tokens.after(chain.at(-1)!, grant('', 0)).next);
  const back = (steps: number) => chain.at(-1 - steps)!;
  const newest = back(0);

  it('is followed by the same tokens each time, and by others than any other token', () => {
    const row = grant(newest, 1);
    assert.deepEqual(tokens.after(newest, row), tokens.after(newest, row));
    const { access, next } = tokens.after(newest, row);
    const other = tokens.after(back(1), row);
    assert.equal(other.next, newest);
    assert.equal(new Set([access, next, other.access, newest]).size, 4);
  });

  const rows: [steps: number, rotations: number, isEarlier: boolean][] = [
    [0, 5, false],
    [1, 1, true],
    [1, 0, false],
    [2, 1, false],
    [2, 2, true],
    [2, 5, true],
    [1_000, 1_001, true],
    [1_001, 1_001, false],
  ];
  for (const [steps, rotations, isEarlier] of rows)
    it(`${isEarlier ? 'is' : 'is not'} known as an earlier one, ${steps} before the newest of ${rotations} rotations`, () => {
      assert.equal(tokens.isEarlier(back(steps), grant(newest, rotations)), isEarlier);
      assert.equal(tokens.isPreceding(back(steps), grant(newest, rotations)), steps === 1);
    });

  it('that was made up is none of them', () => {
    const madeUp = mintToken('refresh', id);
    assert.ok(!tokens.isEarlier(madeUp, grant(newest, 5)));
    assert.ok(!tokens.isPreceding(madeUp, grant(newest, 5)));
  });

  it('or an access key is of the grant where it is its newest', () => {
    const access = mintToken('vault', access_key_id);
    const key = { digest: keyring.tokenDigest(access) } as CredentialRow;
    // An access key’s digest in the place of the other proves nothing.
    const crossed = { digest: keyring.tokenDigest(newest) } as CredentialRow;
    for (const [token, row, its, isOf] of [
      [newest, grant(newest, 5), key, true],
      [newest, grant(newest, 5), undefined, true],
      [back(1), grant(newest, 5), key, false],
      [newest, grant(null, 5), crossed, false],
      [access, grant(newest, 5), key, true],
      [access, grant(newest, 5), undefined, false],
      [access, grant(access, 5), crossed, false],
      ['nothing', grant(newest, 5), key, false],
      ['nothing', grant('nothing', 5), key, false],
    ] as const)
      assert.equal(tokens.isOf(token, row, its), isOf, token);
  });
});

describe('an authorization request', () => {
  const issuer = 'https://vault.example.com';
  const redirectUri = 'https://app.example.com/back';
  const client: OAuthClient = {
    id: 'https://app.example.com/client',
    name: 'App',
    known: true,
    imitates: false,
    redirectUris: [redirectUri],
  };
  const find = async (id: string) => {
    assert.equal(typeof id, 'string');
    return id === client.id ? client : null;
  };
  const clients = { find } as OAuthClients;
  const judge = authorizationRequestsWith(clients);
  const challenge = challengeOf('x');
  const sent = {
    client_id: client.id,
    redirect_uri: redirectUri,
    response_type: 'code',
    state: 'abc',
    code_challenge_method: 'S256',
    code_challenge: challenge,
    scope: 'keys:read unknown',
  };
  const query = (change: Readonly<Record<string, string | undefined>>, more = '') => {
    const all = Object.entries({ ...sent, ...change }).filter(([, value]) => value !== undefined);
    return new URLSearchParams(all as [string, string][]).toString() + more;
  };
  const returned = (address: string) => {
    assert.ok(address.startsWith(`${redirectUri}?`));
    return Object.fromEntries(new URL(address).searchParams);
  };

  it('is understood, and its answer goes back with the state and the issuer', async () => {
    const { returnTo, ...found } = (await judge(query({}), issuer)) as Extract<
      Awaited<ReturnType<typeof judge>>,
      { returnTo: unknown }
    >;
    assert.deepEqual(found, {
      client,
      redirectUri,
      challenge,
      resource: `${issuer}/mcp`,
      scopes: ['keys:read'],
    });
    assert.deepEqual(returned(returnTo({ code: 'c' })), { code: 'c', state: 'abc', iss: issuer });
  });

  for (const [change, more, field] of [
    [{ client_id: undefined }, '', 'client_id'],
    [{ client_id: 'https://other.example.com/client' }, '', 'client_id'],
    [{}, `&client_id=${encodeURIComponent(client.id)}`, 'client_id'],
    [{ redirect_uri: undefined }, '', 'redirect_uri'],
    [{ redirect_uri: 'https://other.example.com/back' }, '', 'redirect_uri'],
    [{}, `&redirect_uri=${encodeURIComponent(redirectUri)}`, 'redirect_uri'],
  ] as const)
    it(`is refused to the person alone for its ${field}: ${JSON.stringify(change)}${more}`, () =>
      assert.rejects(judge(query(change, more), issuer), { field }));

  it('is refused to the person where looking for the client fails', async () => {
    const failing = { find: () => Promise.reject(new Error('not now')) } as unknown as OAuthClients;
    await assert.rejects(authorizationRequestsWith(failing)(query({}), issuer), /not now/);
  });

  const other = `${issuer}/other`;
  const rows: [error: string | null, change: Readonly<Record<string, string | undefined>>, more?: string][] =
    [
      [null, {}],
      [null, { state: undefined }],
      [null, { state: 'x'.repeat(2_048) }],
      ['invalid_request', { state: 'x'.repeat(2_049) }],
      ['invalid_request', {}, '&state=again'],
      ['invalid_request', {}, '&unknown=1&unknown=2'],
      [null, {}, '&unknown=1'],
      ['request_not_supported', { request: '' }],
      ['request_uri_not_supported', { request_uri: '' }],
      ['unsupported_response_type', { response_type: undefined }],
      ['unsupported_response_type', { response_type: 'token' }],
      [null, { response_mode: 'query' }],
      ['invalid_request', { response_mode: 'fragment' }],
      ['invalid_request', { code_challenge_method: undefined }],
      ['invalid_request', { code_challenge_method: 'plain' }],
      ['invalid_request', { code_challenge: undefined }],
      ['invalid_request', { code_challenge: challenge.slice(1) }],
      ['invalid_request', { code_challenge: `${challenge}x` }],
      ['consent_required', { prompt: 'none' }],
      [null, { prompt: 'login' }],
      [null, { resource: `${issuer}/mcp` }],
      [null, { resource: `${issuer}/mcp` }, `&resource=${encodeURIComponent(`${issuer}/mcp/`)}`],
      ['invalid_target', { resource: `${issuer}/mcp` }, `&resource=${encodeURIComponent(other)}`],
      ['invalid_target', { resource: other }],
    ];
  for (const [error, change, more = ''] of rows)
    it(`${error === null ? 'is taken' : `goes back with ${error}`}: ${JSON.stringify(change).slice(0, 90)}${more}`, async () => {
      const judged = await judge(query(change, more), issuer);
      const told = 'refusal' in judged ? returned(judged.refusal) : null;
      assert.equal(told?.error ?? null, error);
      if (told === null) return;
      assert.equal(told.iss, issuer);
      // A state that is there twice is nobody’s.
      assert.equal(told.state, more.includes('state') ? undefined : { ...sent, ...change }.state);
      assert.ok(told.error_description);
      assert.deepEqual(
        [judged.client, judged.redirectUri, judged.scopes],
        [client, redirectUri, ['keys:read']],
      );
    });

  it('asks for the least where it names no scope, or names it twice', async () => {
    for (const one of [query({ scope: undefined }), query({}, '&scope=secrets:read')])
      assert.deepEqual((await judge(one, issuer)).scopes, ['secrets:names']);
  });

  for (const [named, isOwn] of [
    [`${issuer}/mcp`, true],
    [`${issuer}/mcp/`, true],
    [`${issuer}/mcp?vault=1`, true],
    [`${issuer}/mcp//`, false],
    [`${issuer}/mcp#`, false],
    [`${issuer}/mcp#part`, false],
    [issuer, false],
    ['https://me@vault.example.com/mcp', false],
    ['http://vault.example.com/mcp', false],
    ['mcp', false],
  ] as const)
    it(`is ${isOwn ? '' : 'not '}for the tool endpoint: ${named}`, () => {
      const judged = () => resourceIn([named], issuer);
      if (isOwn) assert.equal(judged(), `${issuer}/mcp`);
      else assert.throws(judged, { error: 'invalid_target' });
    });
});
