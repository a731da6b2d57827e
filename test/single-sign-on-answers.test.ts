/** What an issuer of single sign-on is asked, and who somebody is by its answers. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it, mock } from 'node:test';
import { SignJWT } from 'jose';
import type { SignOnIdentity } from '../src/domain/sign-in/sign-on-identities.ts';
import { singleSignOnWith } from '../src/domain/sign-in/single-sign-on.ts';
import { Keyring } from '../src/keyring/keyring.ts';
import { refused } from './accounts-world.ts';
import { type IssuerKey, newKey } from './token-issuer.ts';

const minute = 60_000;
const issuer = 'https://issuer.example.org';
const back = 'https://vault.example.org/auth/oidc/callback';
const keyring = Keyring.create('deployment');

let key: IssuerKey;
let time = Date.now();
/** What the issuer answers, by the path, and what it was asked. */
let answers: Record<string, (body: URLSearchParams) => unknown>;
let asked: string[] = [];
let sent: URLSearchParams;
let nonce: string;

/** Answers in the place of the issuer. */
async function answer(url: string | URL | Request, options?: RequestInit): Promise<Response> {
  const { pathname } = new URL(String(url));
  asked.push(pathname);
  const found = answers[pathname];
  if (found === undefined) return new Response('{}', { status: 500 });
  const body = new URLSearchParams(String(options?.body ?? ''));
  if (pathname === '/token') sent = body;
  return Response.json(await found(body));
}

const discovery = (of = issuer, tokenEndpoint = `${of}/token`) => ({
  issuer: of,
  authorization_endpoint: `${of}/authorize`,
  token_endpoint: tokenEndpoint,
  userinfo_endpoint: `${of}/userinfo`,
  jwks_uri: `${of}/keys`,
  id_token_signing_alg_values_supported: ['ES256'],
});

function idToken(claims: object): Promise<string> {
  const now = Math.floor(Date.now() / 1_000);
  const usual = { iss: issuer, aud: 'strongroom', sub: 's', iat: now, exp: now + 60, nonce };
  return new SignJWT({ ...usual, ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: key.kid })
    .sign(key.privateKey);
}

/** The issuer tells these claims in its token, and those where it is asked for them; null for none at all. */
function tells(inToken: object, told: object | null = null, of = issuer): void {
  answers = {
    '/.well-known/openid-configuration': () => discovery(of),
    '/keys': () => ({ keys: [key.jwk] }),
    '/token': async () => ({
      access_token: 'x',
      token_type: 'bearer',
      id_token: await idToken({ iss: of, ...inToken }),
    }),
    ...(told === null ? {} : { '/userinfo': () => ({ sub: 's', ...told }) }),
  };
}

const service = (more: object = {}) => {
  const settings = {
    issuer,
    clientId: 'strongroom',
    clientSecret: null,
    name: 'Acme',
    groupsClaim: 'groups',
    ...more,
  };
  let ids = 0;
  return singleSignOnWith(
    settings,
    keyring,
    () => time,
    () => `id ${++ids}`,
  );
};

async function signOn(by = service(), proves: string | null = null) {
  const { url, kept } = await by.start(back, proves);
  const { searchParams } = new URL(url);
  nonce = searchParams.get('nonce')!;
  const state = searchParams.get('state')!;
  return by.finish(new URL(`${back}?code=c&state=${state}`), kept);
}

/** That it is refused, and why, which is for the operator. */
async function isRefused(attempt: Promise<unknown>, why: string): Promise<void> {
  const error = await attempt.then(
    () => assert.fail('not refused'),
    (caught: { code: string; cause: Error }) => caught,
  );
  assert.deepEqual([error.code, error.cause?.message], ['UNAUTHORIZED', why]);
}

describe('single sign-on', () => {
  before(async () => {
    key = await newKey('one', 'ES256');
    mock.method(globalThis, 'fetch', answer);
  });
  after(() => mock.restoreAll());
  beforeEach(() => {
    asked = [];
  });

  describe('an issuer', () => {
    it('is looked up once, in ten seconds, and again after it failed', async () => {
      const by = service();
      answers = {};
      await refused(by.start(back, null), 'UNAVAILABLE', { retryAfter: 5 });
      tells({ email: 'a@example.org', groups: [] });
      const timeout = mock.method(AbortSignal, 'timeout');
      await by.start(back, null);
      await by.start(back, null);
      assert.deepEqual(asked.filter(path => path.startsWith('/.well-known')).length, 2);
      await signOn(by);
      assert.ok(timeout.mock.callCount() > 0);
      for (const { arguments: given } of timeout.mock.calls) assert.deepEqual(given, [10_000]);
      timeout.mock.restore();
    });

    it('is asked to sign somebody in anew where they are to prove themselves, and only there', async () => {
      tells({});
      const parameters = async (proves: string | null) =>
        new URL((await service().start(back, proves)).url).searchParams;
      const proving = await parameters('session');
      assert.deepEqual([proving.get('prompt'), proving.get('max_age')], ['login', '300']);
      const usual = await parameters(null);
      assert.deepEqual([usual.get('prompt'), usual.get('max_age')], [null, null]);
      assert.deepEqual([usual.get('scope'), usual.get('code_challenge_method')], ['openid email', 'S256']);
    });

    it('is told the secret that there is', async () => {
      tells({ email: 'a@example.org', groups: [] });
      await signOn(service({ clientSecret: 'secret' }));
      assert.equal(sent.get('client_secret'), 'secret');
      await signOn(service());
      assert.deepEqual([sent.get('client_secret'), sent.get('client_id')], [null, 'strongroom']);
      assert.ok(sent.get('code_verifier'));
    });

    it('is asked in the clear only where it is named so', async () => {
      const local = 'http://127.0.0.1:1';
      tells({ email: 'a@example.org', groups: [] }, null, local);
      assert.equal((await signOn(service({ issuer: local }))).identity.issuer, local);
      tells({ email: 'a@example.org', groups: [] });
      answers['/.well-known/openid-configuration'] = () =>
        discovery(issuer, 'http://issuer.example.org/token');
      await isRefused(signOn(), 'the issuer’s response is not valid');
    });
  });

  describe('an answer', () => {
    const person: SignOnIdentity = {
      issuer,
      subject: 's',
      email: 'a@example.org',
      emailVerified: true,
      groups: [],
    };
    const whole = { email: 'a@example.org', email_verified: true, groups: ['g'] };

    const rows: [
      name: string,
      inToken: object,
      told: object | null,
      expected: Partial<SignOnIdentity>,
      claim?: string | null,
    ][] = [
      ['says it all in its token', whole, null, { groups: ['g'] }],
      ['lists no groups where none are asked for', { ...whole, null: ['n'] }, null, {}, null],
      [
        'tells groups where it is asked',
        { ...whole, groups: undefined },
        { groups: ['h'], email: 'b@example.org' },
        { groups: ['h'] },
      ],
      ['tells groups in another claim', { ...whole, roles: ['r'] }, null, { groups: ['r'] }, 'roles'],
      ['tells no groups', { ...whole, groups: undefined }, null, {}],
      [
        'tells the address where it is asked',
        { groups: ['g'] },
        { ...whole, groups: ['h'] },
        { groups: ['g'] },
      ],
      ['tells the address and the groups there', {}, whole, { groups: ['g'] }],
      ['tells the address there, and no groups are asked for', {}, whole, {}, null],
      [
        'calls the address verified in words',
        { ...whole, email_verified: 'true' },
        null,
        { emailVerified: false, groups: ['g'] },
      ],
      [
        'does not report the address as verified',
        { ...whole, email_verified: false },
        null,
        { emailVerified: false, groups: ['g'] },
      ],
      [
        'takes the word for the address that it is of',
        { email: 'a@example.org' },
        { email_verified: true },
        { emailVerified: false },
      ],
      ['has an address that is none', { ...whole, email: 7 }, null, { email: null, groups: ['g'] }],
      ['has no address', { groups: ['g'] }, {}, { email: null, emailVerified: false, groups: ['g'] }],
      ['lists one group', { ...whole, groups: 'g' }, null, { groups: ['g'] }],
      ['lists what are no groups', { ...whole, groups: ['g', 7, null, ['h']] }, null, { groups: ['g'] }],
      ['lists groups in another form', { ...whole, groups: ['e\u0301'] }, null, { groups: ['\u00e9'] }],
      [
        'names a subject of 255 characters',
        { ...whole, sub: 's'.repeat(255) },
        null,
        { subject: 's'.repeat(255), groups: ['g'] },
      ],
    ];
    for (const [name, inToken, told, expected, groupsClaim = 'groups'] of rows)
      it(`${name}: ${JSON.stringify(expected).slice(0, 60)}`, async () => {
        tells(inToken, told);
        const { identity, proves } = await signOn(service({ groupsClaim }));
        assert.deepEqual(identity, { ...person, ...expected });
        assert.equal(proves, null);
      });

    it('is asked for more only where the token does not say it', async () => {
      const isAsked = async (inToken: object, groupsClaim: string | null = 'groups') => {
        asked = [];
        tells(inToken, whole);
        await signOn(service({ groupsClaim }));
        return asked.includes('/userinfo');
      };
      assert.equal(await isAsked(whole), false);
      assert.equal(await isAsked({ email: 'a@example.org' }, null), false);
      assert.equal(await isAsked({ email: 'a@example.org' }), true);
      assert.equal(await isAsked({ groups: ['g'] }), true);
      assert.equal(await isAsked({}, null), true);
    });

    it('lists five thousand groups at most', async () => {
      const groups = Array.from({ length: 5_001 }, (_, index) => `g${index}`);
      tells({ ...whole, groups });
      assert.deepEqual((await signOn()).identity.groups, groups.slice(0, 5_000));
    });

    it('is none without a subject, an address, or what was asked for', async () => {
      tells({ ...whole, sub: 's'.repeat(256) });
      await isRefused(signOn(), 'the issuer names no subject');
      tells({ ...whole, sub: '' });
      await isRefused(signOn(), 'the issuer names no subject');
      tells({ groups: ['g'] });
      await isRefused(signOn(), 'the issuer does not provide the email address');
      tells({ ...whole, nonce: 'another' });
      await isRefused(signOn(), 'the issuer’s response is not valid');
    });

    it('proves somebody again who signed in within five minutes', async () => {
      const now = Math.floor(Date.now() / 1_000);
      tells({ ...whole, auth_time: now - 290 });
      assert.equal((await signOn(service(), 'session')).proves, 'session');
      for (const auth_time of [undefined, now - 400]) {
        tells({ ...whole, auth_time });
        await isRefused(signOn(service(), 'session'), 'the issuer’s response is not valid');
        assert.equal((await signOn(service())).proves, null);
      }
    });
  });

  describe('what the browser keeps', () => {
    const none = 'the browser has no sign-on in progress, or it has expired';

    it('is good for ten minutes, to the millisecond, and for what it was kept for', async () => {
      const by = service();
      tells({ email: 'a@example.org', groups: [] });
      const { url, kept } = await by.start(back, null);
      const { searchParams } = new URL(url);
      nonce = searchParams.get('nonce')!;
      const finish = (value: string | null) =>
        by.finish(new URL(`${back}?code=c&state=${searchParams.get('state')}`), value);
      time += 10 * minute - 1;
      const { identity } = await finish(kept);
      const value = by.keep(identity);
      await isRefused(finish(value), none);
      await isRefused(finish(null), none);
      await isRefused(finish('x'), none);
      time += 1;
      await isRefused(finish(kept), none);
      time += 10 * minute - 2;
      assert.deepEqual(by.kept(value), { identity, id: 'id 1', expires: time + 1 });
      time += 1;
      await isRefused((async () => by.kept(value))(), none);
      await isRefused((async () => by.kept(null))(), none);
    });
  });
});
