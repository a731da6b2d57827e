/** Machines that prove who they are: what they are given, what it is good for, and when it ends. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { JWTPayload } from 'jose';
import { narrow } from '../src/client/client.ts';
import { openStrongroom } from '../src/service/opening/open.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { onEngines } from './at-once.ts';
import {
  type Answer,
  eventually,
  loopbackWebhooks,
  type Service,
  startService,
  timePassing,
} from './harness.ts';
import { startProvider } from './issuer.ts';
import { newKey, startTokenIssuer, type TokenIssuer } from './token-issuer.ts';

const opened = [...loopbackWebhooks, '--allow-private-issuers', '127.0.0.0/8'];

onEngines('a workload identity', engine => {
  let service: Service;
  let issuer: TokenIssuer;
  let vaultId: string;
  let named = 0;

  before(async () => {
    issuer = await startTokenIssuer([await newKey('one')]);
    service = await startService({ engine, flags: opened });
    vaultId = await vault('production');
    await made('/v1/secrets', { vault_id: vaultId, name: 'WEB_URL', value: 'web' });
    await made('/v1/secrets', { vault_id: vaultId, name: 'DB_URL', value: 'db' });
  });
  after(async () => {
    await service?.stop();
    await issuer?.close();
  });

  async function made(path: string, body: object, key?: string) {
    const answer = await service.call('POST', path, body, key);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  }
  const vault = async (name: string): Promise<string> => (await made('/v1/vaults', { name })).id;
  const trusted = () => ({
    method: 'jwt',
    issuer: issuer.url,
    audience: 'strongroom',
    subjects: ['repo:acme/shop:*'],
  });
  const identity = (more: object = {}) =>
    made('/v1/identities', { name: `ci ${++named}`, ...trusted(), vault_ids: [vaultId], ...more });
  const bySecret = (more: object = {}) =>
    made('/v1/identities', { name: `role ${++named}`, method: 'secret_id', vault_ids: [vaultId], ...more });

  function claims(more: object = {}): JWTPayload {
    const iat = Math.floor(service.clock.now() / 1_000);
    return { iss: issuer.url, sub: 'repo:acme/shop:main', aud: 'strongroom', iat, exp: iat + 300, ...more };
  }
  const post = (body: object): Promise<Answer> => service.call('POST', '/api/v1/login', body, null);
  const tokenLogin = async (identity_id: string, more: object = {}) =>
    post({ identity_id, jwt: await issuer.sign(claims()), ...more });
  async function loggedIn(identity_id: string, more: object = {}) {
    const answer = await tokenLogin(identity_id, more);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  }
  const read = (token: string, vault = 'self') =>
    service.call('GET', `/api/v1/vaults/${vault}?format=map`, undefined, token);
  const entries = async (query: string) => (await service.call('GET', `/v1/audit-logs?${query}`)).body.data;

  // Before the others, because this issuer has a clock of its own.
  it('logs in with a token of a certified issuer, found by its discovery document', async () => {
    const { url, tokenFor, close } = await startProvider();
    try {
      const { id } = await identity({ issuer: url, subjects: ['worker'], claims: { client_id: ['worker'] } });
      assert.equal((await post({ identity_id: id, jwt: await tokenFor('strongroom') })).status, 200);
      assert.equal((await post({ identity_id: id, jwt: await tokenFor('elsewhere') })).status, 401);
    } finally {
      await close();
    }
  });

  it('gets an access key that is one like any other: narrowed, listed, logged, revoked', async () => {
    const { id } = await identity({ names: ['WEB_*'], lifetime: 600, rate_limit: 1000 });
    const key = await loggedIn(id);
    assert.match(key.token, /^sr_vault_/);
    assert.equal(Date.parse(key.expiration_date) - Date.parse(key.created_at), 600_000);
    assert.deepEqual((await read(key.token, vaultId)).body, { WEB_URL: 'web' });
    const { token: less } = await narrow(key.token, { names: ['DB_*'] });
    assert.deepEqual((await read(less, vaultId)).body, {}, 'its holder may restrict it');

    const listed = await service.call('GET', `/v1/access-keys?identity_id=${id}`);
    assert.deepEqual(
      listed.body.data.map((one: { id: string; identity_id: string }) => [one.id, one.identity_id]),
      [[key.id, id]],
    );
    const [entry] = await entries(`subject_id=${key.id}`);
    assert.deepEqual(
      [entry.action, entry.actor.kind, entry.actor.id],
      ['access-key.created', 'identity', id],
    );
    assert.deepEqual(entry.details, { method: 'jwt', subject: 'repo:acme/shop:main' });
    const { body: requests } = await service.call('GET', `/v1/request-logs?access_key_id=${key.id}`);
    assert.equal(requests.data[0].status, 200);
    const { body: shown } = await service.call('GET', `/v1/identities/${id}`);
    assert.ok(shown.last_login_at !== null);

    const change = (expiration_date: string | null) =>
      service.call('PUT', `/v1/access-keys/${key.id}`, { expiration_date });
    assert.equal((await change(null)).status, 400, 'it is not made to last');
    assert.equal((await change('2099-01-01T00:00:00Z')).status, 400);
    assert.equal((await change(key.expiration_date)).status, 200);
    assert.equal((await service.call('DELETE', `/v1/access-keys/${key.id}`)).status, 200);
    assert.equal((await read(key.token)).status, 401);
  });

  it('names its access key by what it proved, unless people would not see all of that', async () => {
    const { id, name } = await identity();
    const nameFor = async (sub: string) => {
      const answer = await tokenLogin(id, { jwt: await issuer.sign(claims({ sub })) });
      assert.equal(answer.status, 200, answer.text);
      const { body } = await service.call('GET', `/v1/access-keys/${answer.body.id}`);
      return body.name;
    };
    assert.equal(await nameFor('repo:acme/shop:main'), `${name}: repo:acme/shop:main`);
    for (const hidden of [
      '\u200b',
      '\u00ad',
      '\u202e',
      '\ufe0f',
      '\u{e0041}',
      '\u3164',
      '\ue000',
      '\n',
      '\u001b',
    ])
      assert.equal(await nameFor(`repo:acme/shop:ma${hidden}in`), name, escape(hidden));
  });

  it('logs in by Vault’s dialect too, in its words, and is refused in the same for every reason', async () => {
    const login = (mount: string, body: object) =>
      service.call('PUT', `/vault/v1/auth/${mount}/login`, body, null);
    const { id, name } = await identity({ lifetime: 600 });
    for (const mount of ['jwt', 'kubernetes', 'somewhere']) {
      const { status, body } = await login(mount, { role: id, jwt: await issuer.sign(claims()) });
      assert.equal(status, 200);
      assert.deepEqual(
        [body.auth.lease_duration, body.auth.metadata, body.auth.token_type],
        [600, { role_name: name }, 'service'],
      );
      assert.equal((await read(body.auth.client_token)).status, 200);
    }
    const { body: parent } = await login('jwt', { role: id, jwt: await issuer.sign(claims()) });
    const create = '/vault/v1/auth/token/create';
    const { body: child } = await service.call('POST', create, { ttl: '5m' }, parent.auth.client_token);
    assert.equal((await read(child.auth.client_token)).status, 200);
    assert.equal((await service.call('PUT', `/v1/identities/${id}`, { lifetime: 300 })).status, 200);
    assert.equal((await read(child.auth.client_token)).status, 401, 'it ends with what it was made with');

    const { id: role_id } = await bySecret();
    const { token: secret_id } = await made('/v1/secret-ids', { identity_id: role_id });
    const { body: given } = await login('approle', { role_id, secret_id });
    assert.equal((await read(given.auth.client_token)).status, 200);

    const wrong = await issuer.sign(claims({ aud: 'elsewhere' }));
    const refused = {
      approle: 'invalid role or secret ID',
      jwt: 'error validating token',
      kubernetes: 'permission denied',
    };
    for (const [mount, message] of Object.entries(refused)) {
      const tries = [
        {},
        { role: id, jwt: wrong },
        { role: name, jwt: wrong },
        { role_id, secret_id: 'x' },
        { role_id: {} },
      ];
      for (const body of tries) {
        const answer = await login(mount, body);
        assert.equal(answer.status, mount === 'kubernetes' ? 403 : 400, answer.text);
        assert.deepEqual(answer.body, { errors: [message] });
      }
      service.clock.pass(61_000);
    }
  });

  it('opens its first vault, or the one that is asked for', async () => {
    const second = await vault('staging');
    const { id } = await identity({ vault_ids: [vaultId, second] });
    assert.equal((await loggedIn(id)).vault_id, vaultId);
    assert.equal((await loggedIn(id, { vault_id: second })).vault_id, second);
  });

  it('loses its access keys with time, and they are removed', async () => {
    const { id } = await identity({ lifetime: 60 });
    const key = await loggedIn(id);
    assert.equal((await read(key.token)).status, 200);
    service.clock.pass(61_000);
    assert.equal((await read(key.token)).status, 401);
    const kept = await loggedIn(id);
    const config = readConfig(serveOptions, service.place, {});
    const strongroom = await openStrongroom(config, false, service.clock.now, { elapsed: timePassing() });
    try {
      await strongroom.domain.housekeeping.step();
      assert.equal(await strongroom.store.credentials.byId(key.id), undefined);
      assert.ok((await strongroom.store.credentials.byId(kept.id)) !== undefined);
    } finally {
      await strongroom.close();
    }
  });

  it('loses them at once with any change to it, with its end, and with the vault', async () => {
    const own = await vault('own');
    const ends: Record<string, (id: string) => Promise<Answer>> = {
      narrowed: id => service.call('PUT', `/v1/identities/${id}`, { names: ['A*'] }),
      'with another subject': id => service.call('PUT', `/v1/identities/${id}`, { subjects: ['x'] }),
      deleted: id => service.call('DELETE', `/v1/identities/${id}`),
      'without its vault': () => service.call('DELETE', `/v1/vaults/${own}`),
    };
    for (const [how, end] of Object.entries(ends)) {
      const { id } = await identity({ vault_ids: [own] });
      const key = await loggedIn(id);
      assert.equal((await read(key.token)).status, 200);
      assert.equal((await end(id)).status, 200, how);
      assert.equal((await read(key.token)).status, 401, how);
      if (how === 'without its vault') continue;
      assert.deepEqual((await service.call('GET', `/v1/access-keys?identity_id=${id}`)).body.data, [], how);
      assert.equal((await service.call('GET', `/v1/access-keys/${key.id}`)).status, 404, how);
    }
  });

  it('is refused where it comes from elsewhere, has ended, or its vault is gone', async () => {
    const gone = await vault('gone');
    const elsewhere = await identity({ cidrs: ['203.0.113.0/24'] });
    const ended = await identity({ expiration_date: new Date(service.clock.now() + 30_000).toISOString() });
    const homeless = await identity({ vault_ids: [gone] });
    const soon = await loggedIn(ended.id);
    assert.equal(soon.expiration_date, ended.expiration_date, 'a key does not outlive its identity');
    await service.call('DELETE', `/v1/vaults/${gone}`);
    service.clock.pass(31_000);
    for (const { id } of [elsewhere, ended, homeless]) assert.equal((await tokenLogin(id)).status, 401);
    const reasons = await entries('action=identity.login_refused&limit=3');
    assert.deepEqual(
      reasons.map((one: { details: { reason: string } }) => one.details.reason),
      ['the vault was deleted', 'the identity has expired', 'the address is outside the identity’s networks'],
    );
  });

  it('keeps what it was, and what a GET shows can be put back', async () => {
    const { id } = await identity({ claims: { ref: ['main'] }, names: ['WEB_*'] });
    const { body: before } = await service.call('GET', `/v1/identities/${id}`);
    const same = await service.call('PUT', `/v1/identities/${id}`, before);
    assert.equal(same.status, 200, same.text);
    assert.deepEqual({ ...same.body, updated_at: '' }, { ...before, updated_at: '' });
    const other = await service.call('PUT', `/v1/identities/${id}`, { ...before, method: 'secret_id' });
    assert.equal(other.status, 400, other.text);
  });

  it('does not take a number for the next one, where numbers are too large to be told apart', async () => {
    const { id } = await identity({ claims: { run: ['9007199254740991', '9007199254740992', '*'] } });
    const status = async (run: number) =>
      (await post({ identity_id: id, jwt: await issuer.sign(claims({ run })) })).status;
    assert.equal(await status(2 ** 53 - 1), 200);
    for (const run of [2 ** 53, 2 ** 53 + 2, -(2 ** 53), 1e300])
      assert.equal(await status(run), 401, `${run}`);
    assert.equal(await status(1.5), 200);
  });

  it('can’t be made of what proves nothing', async () => {
    const { jwk } = await newKey('pasted');
    const wrong: [body: object, field: string][] = [
      [{ audience: null }, 'audience'],
      [{ issuer: null }, 'issuer'],
      [{ issuer: 'not a url' }, 'issuer'],
      [{ issuer: 'http://10.0.0.1' }, 'issuer'],
      [{ issuer: 'https://192.168.0.1' }, 'issuer'],
      [{ issuer: 'https://me:word@issuer.example' }, 'issuer'],
      [{ issuer: 'https://issuer.example?x=1' }, 'issuer'],
      [{ subjects: null }, 'subjects'],
      [{ subjects: [] }, 'subjects'],
      [{ subjects: ['*'] }, 'subjects'],
      [{ subjects: ['repo:a', '**'], claims: { ref: ['*'] } }, 'subjects'],
      [{ jwks: { keys: [] } }, 'jwks.keys'],
      [{ jwks: { keys: [{ kty: 'oct', k: 'AAAA' }] } }, 'jwks'],
      [{ jwks: { keys: [{ ...jwk, d: 'AAAA' }] } }, 'jwks'],
      [{ ca_pem: 'x' }, 'ca_pem'],
      [{ method: 'secret_id' }, 'issuer'],
      [{ method: 'certificate', issuer: null, audience: null }, 'ca_pem'],
      [{ lifetime: 3_601 }, 'lifetime'],
      [{ lifetime: 59 }, 'lifetime'],
      [{ vault_ids: [] }, 'vault_ids'],
      [{ cidrs: ['10.0.0.1'] }, 'cidrs'],
    ];
    for (const [body, field] of wrong) {
      const whole = { name: 'wrong', ...trusted(), vault_ids: [vaultId], ...body };
      const answer = await service.call('POST', '/v1/identities', whole);
      assert.equal(answer.status, 400, `${JSON.stringify(body)}: ${answer.text}`);
      assert.equal(answer.body.error.details.field, field, answer.text);
    }
    await identity({ name: 'taken' });
    const taken = await service.call('POST', '/v1/identities', {
      name: 'taken',
      ...trusted(),
      vault_ids: [vaultId],
    });
    assert.equal(taken.body.error.code, 'CONFLICT');
  });

  it('proves itself by pasted keys, where its issuer can’t be asked, and by none but its own', async () => {
    const [own, other] = [await newKey('k'), await newKey('k')];
    const [ownId, otherId] = await Promise.all(
      [own, other].map(
        async ({ jwk }) =>
          (await identity({ issuer: 'https://kubernetes.default.svc', jwks: { keys: [jwk] } })).id,
      ),
    );
    const jwt = await issuer.sign(claims({ iss: 'https://kubernetes.default.svc' }), {}, own);
    assert.equal((await post({ identity_id: ownId, jwt })).status, 200);
    assert.equal((await post({ identity_id: otherId, jwt })).status, 401);
    const bare = await identity({ issuer: null, jwks: { keys: [own.jwk] } });
    assert.equal((await post({ identity_id: bare.id, jwt })).status, 401);
    const unnamed = await issuer.sign(claims({ iss: undefined }), {}, own);
    assert.equal((await post({ identity_id: bare.id, jwt: unnamed })).status, 200);
  });

  it('is not given to whoever could not read what it shows', async () => {
    const { token: admin } = await made('/v1/api-keys', { name: 'admin', role: 'admin' });
    const body = { name: 'by an admin', ...trusted(), vault_ids: [vaultId] };
    assert.equal((await service.call('POST', '/v1/identities', body, admin)).status, 403);
    const { id } = await made('/v1/identities', { ...body, names_only: true }, admin);
    const change = (key?: string) => service.call('PUT', `/v1/identities/${id}`, { names_only: false }, key);
    assert.equal((await change(admin)).status, 403);
    assert.equal((await change()).status, 200);
    const subjects = { subjects: ['repo:admin/own:*'] };
    assert.equal((await service.call('PUT', `/v1/identities/${id}`, subjects, admin)).status, 403);
    const role = await bySecret();
    const secret = { identity_id: role.id, name: 's' };
    assert.equal((await service.call('POST', '/v1/secret-ids', secret, admin)).status, 403);
    const { id: secretId } = await made('/v1/secret-ids', secret);
    const longer = { max_uses: null };
    assert.equal((await service.call('PUT', `/v1/secret-ids/${secretId}`, longer, admin)).status, 403);
    assert.equal((await service.call('DELETE', `/v1/secret-ids/${secretId}`, undefined, admin)).status, 200);
  });

  it('does not outlive the API key that made it', async () => {
    const expiration_date = new Date(service.clock.now() + 3_600_000).toISOString();
    const { token } = await made('/v1/api-keys', { name: 'short', role: 'owner', expiration_date });
    const body = { ...trusted(), vault_ids: [vaultId] };
    const own = await made('/v1/identities', { name: 'by a short key', ...body }, token);
    assert.equal(own.expiration_date, expiration_date);
    const { id } = await identity();
    const change = { subjects: ['repo:short/own:*'] };
    assert.equal((await service.call('PUT', `/v1/identities/${id}`, change, token)).status, 403);
    const endless = { name: 'endless', ...body, expiration_date: null };
    assert.equal((await service.call('POST', '/v1/identities', endless, token)).status, 403);
  });

  it('counts as a reader when something is renamed into its names', async () => {
    const { token: admin } = await made('/v1/api-keys', { name: 'renamer', role: 'admin' });
    const own = await vault('renamed');
    const secret = await made('/v1/secrets', { vault_id: own, name: 'HIDDEN', value: 'x' });
    await identity({ vault_ids: [own], names: ['SHOWN_*'] });
    const rename = (name: string, key?: string) =>
      service.call('PUT', `/v1/secrets/${secret.id}`, { name }, key);
    assert.equal((await rename('SHOWN_X', admin)).status, 403);
    assert.equal((await rename('OTHER', admin)).status, 200);
    assert.equal((await rename('SHOWN_X')).status, 200);
  });

  it('logs in by a secret id: shown once, stored as a digest, used up, revoked, expired', async () => {
    const { id } = await bySecret();
    const create = (more: object = {}) => made('/v1/secret-ids', { identity_id: id, ...more });
    const bySecretId = (secret_id: string, identity_id = id) => post({ identity_id, secret_id });
    const once = await create({ max_uses: 1 });
    assert.match(once.token, /^sr_login_/);
    const shown = await service.call('GET', `/v1/secret-ids/${once.id}`);
    assert.ok(!shown.text.includes(once.token));
    const answers = await Promise.all([1, 2, 3].map(() => bySecretId(once.token)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401, 401]);
    assert.equal((await service.call('GET', `/v1/secret-ids/${once.id}`)).body.uses, 1);

    const [many, revoked] = [await create(), await create()];
    for (let use = 0; use < 3; use++) assert.equal((await bySecretId(many.token)).status, 200);
    await service.call('DELETE', `/v1/secret-ids/${revoked.id}`);
    assert.equal((await bySecretId(revoked.token)).status, 401);
    const stranger = await bySecret();
    assert.equal((await bySecretId(many.token, stranger.id)).status, 401);
    assert.equal((await read(many.token)).status, 401, 'it opens no vault itself');
    assert.equal((await service.call('GET', '/v1/vaults', undefined, many.token)).status, 401);
    const listed = await service.call('GET', `/v1/secret-ids?identity_id=${id}`);
    assert.deepEqual(
      listed.body.data.map((one: { id: string }) => one.id),
      [many.id, once.id],
    );
    const late = new Date(service.clock.now() + 400 * 86_400_000).toISOString();
    for (const expiration_date of [late, null])
      assert.equal(
        (await service.call('POST', '/v1/secret-ids', { identity_id: id, expiration_date })).status,
        400,
      );
    service.clock.pass(31 * 86_400_000);
    assert.equal((await bySecretId(many.token)).status, 401, 'in 30 days it is over');
  });

  it('takes its secret ids along when it is deleted', async () => {
    const { id } = await bySecret();
    const { id: secretId, token } = await made('/v1/secret-ids', { identity_id: id });
    await service.call('DELETE', `/v1/identities/${id}`);
    assert.equal((await post({ identity_id: id, secret_id: token })).status, 401);
    assert.equal((await service.call('GET', `/v1/secret-ids/${secretId}`)).status, 404);
  });

  if (engine === 'postgres')
    it('loses its access keys at every replica', async () => {
      const replica = await service.replica();
      const { id } = await identity();
      const { token } = await loggedIn(id);
      const statusThere = async () => {
        const headers = { authorization: `Bearer ${token}` };
        return (await fetch(`${replica.url}/api/v1/vaults/self`, { headers })).status;
      };
      assert.equal(await statusThere(), 200);
      await service.call('PUT', `/v1/identities/${id}`, { lifetime: 60 });
      await eventually(
        'the replica refuses the token of the changed identity',
        async () => (await statusThere()) === 401,
      );
    });

  it('follows its issuer to new keys, asking at most once in ten seconds', async () => {
    const rotating = await startTokenIssuer([await newKey('old')]);
    try {
      const { id } = await identity({ issuer: rotating.url });
      const login = async (key = rotating.keys[0]!) =>
        (await post({ identity_id: id, jwt: await rotating.sign(claims({ iss: rotating.url }), {}, key) }))
          .status;
      assert.equal(await login(), 200);
      const [old] = rotating.keys;
      rotating.keys = [await newKey('new')];
      assert.deepEqual(
        [await login(), await login(), rotating.asked()],
        [401, 401, 1],
        'it was contacted moments ago',
      );
      service.clock.pass(11_000);
      assert.deepEqual([await login(), rotating.asked()], [200, 2]);
      assert.equal(await login(old), 401, 'a key that is no longer published');
      const unknown = await newKey('unheard of');
      service.clock.pass(11_000);
      const many = await Promise.all(Array.from({ length: 8 }, () => login(unknown)));
      assert.deepEqual([new Set(many).size, rotating.asked()], [1, 3]);

      rotating.answer = (_, response) => response.destroy();
      service.clock.pass(6 * 60_000);
      assert.equal(await login(), 200, 'an issuer that is away is believed on what it said');
      service.clock.pass(60 * 60_000);
      assert.equal(await login(), 401, 'but not for ever');
      rotating.answer = null;
      service.clock.pass(11_000);
      assert.equal(await login(), 200);
    } finally {
      await rotating.close();
    }
  });

  it('believes no issuer that sends it elsewhere, says too much, or is another', async () => {
    const odd = await startTokenIssuer([await newKey('odd')]);
    const json = { 'content-type': 'application/json' };
    const keys = () => JSON.stringify({ keys: odd.keys.map(({ jwk }) => jwk) });
    const found = (more: object) => JSON.stringify({ issuer: odd.url, jwks_uri: `${odd.url}/keys`, ...more });
    const at = (discovery: string, keySet = keys(), status = 200): TokenIssuer['answer'] => {
      const headers = { ...json, location: `${issuer.url}/keys` };
      return ({ url }, response) =>
        response.writeHead(status, headers).end(url === '/keys' ? keySet : discovery);
    };
    const answers: Record<string, TokenIssuer['answer']> = {
      'a redirect': at(found({}), keys(), 302),
      'an error': at(found({}), keys(), 500),
      'no JSON': at('<html>'),
      null: at('null'),
      'another issuer': at(found({ issuer: issuer.url })),
      'no keys': at(found({ jwks_uri: undefined })),
      'keys at an inner address': at(found({ jwks_uri: 'https://10.0.0.1/keys' })),
      'keys in a file': at(found({ jwks_uri: 'file:///etc/passwd' })),
      'an empty set': at(found({}), '{"keys":[]}'),
      'a secret among the keys': at(
        found({}),
        JSON.stringify({ keys: [{ kty: 'oct', k: 'AAAA', kid: 'odd' }] }),
      ),
      'too much': at(found({}), `${' '.repeat(300_000)}${keys()}`),
    };
    try {
      const { id } = await identity({ issuer: odd.url });
      const login = async () =>
        (await post({ identity_id: id, jwt: await odd.sign(claims({ iss: odd.url })) })).status;
      for (const [what, answer] of Object.entries(answers)) {
        service.clock.pass(11_000);
        odd.answer = answer;
        assert.equal(await login(), 401, what);
      }
      odd.answer = null;
      service.clock.pass(11_000);
      assert.equal(await login(), 200);
    } finally {
      await odd.close();
    }
  });

  it('asks no issuer at an inner address that the operator has not opened', async () => {
    const { id } = await identity();
    await service.restart(loopbackWebhooks);
    const asked = issuer.asked();
    assert.equal((await tokenLogin(id)).status, 401);
    assert.equal(issuer.asked(), asked);
    const body = { name: 'closed', ...trusted(), vault_ids: [vaultId] };
    assert.equal((await service.call('POST', '/v1/identities', body)).status, 400);
    await service.restart(opened);
    assert.equal((await tokenLogin(id)).status, 200);
  });
});
