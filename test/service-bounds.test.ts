/** Bounds of a running service that no schema declares: at each of them it answers, and one past it it refuses. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Json } from './document.ts';
import { type Answer, type Service, startService } from './harness.ts';
import { asking, form, type OAuthWorld, startOAuth } from './oauth-world.ts';
import { setUp, startEmpty } from './people.ts';

let service: Service;
let vaultId: string;
before(async () => {
  service = await startService({});
  vaultId = (await ok('/v1/vaults', { name: 'bounds' })).id;
});
after(() => service.stop());

async function ok(path: string, body: object, key?: string): Promise<Json> {
  const answer = await service.call('POST', path, body, key);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}
const at = (days: number) => new Date(service.clock.now() + days * 86_400_000).toISOString();
const secret = (name: string) => ok('/v1/secrets', { vault_id: vaultId, name, value: 'x' });

describe('the body of a request', () => {
  /** JSON of exactly so many bytes. */
  const padded = (length: number, body: object = {}) => JSON.stringify(body).padEnd(length, ' ');
  const tooLong = /\d+ (KiB|MiB)/;

  async function bounded(size: number, send: (body: string) => Promise<Answer>): Promise<void> {
    assert.doesNotMatch((await send(padded(size))).text, tooLong);
    const past = await send(padded(size + 1));
    assert.ok(past.status === 400 || past.status === 413, past.text);
    assert.match(past.text, tooLong);
  }

  it('has 1 MiB, and not one byte more', () =>
    bounded(1024 * 1024, body => service.call('POST', '/v1/vaults', body)));

  it('that signs in has 16 KiB, and not one byte more', () =>
    bounded(16 * 1024, body => service.call('POST', '/auth/password', body, null)));

  it('from someone who is signed in has 16 KiB under /auth, and not one byte more', async t => {
    const empty = await startEmpty('sqlite');
    t.after(() => empty.stop());
    const owner = await setUp(empty);
    await bounded(16 * 1024, body => owner.once('POST', '/auth/proof', body));
  });

  it('that calls a tool has 128 KiB, and not one byte more', async () => {
    const { token } = await ok('/v1/access-keys', { vault_id: vaultId, name: 'tools' });
    await bounded(128 * 1024, body => service.call('POST', '/mcp', body, token));
  });

  it('that uses a secret has 256 KiB, and not one byte more', async () => {
    const key = { vault_id: vaultId, name: 'user', names_only: true, may_use: true };
    const { token } = await ok('/v1/access-keys', key);
    const path = `/api/v1/vaults/${vaultId}/use`;
    await bounded(256 * 1024, body => service.call('POST', path, body, token));
  });

  it('is nested 32 levels deep, and not 33', async () => {
    const nested = (depth: number) =>
      service.call('POST', '/v1/vaults', `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);
    assert.doesNotMatch((await nested(32)).text, /nested deeper/);
    assert.match((await nested(33)).text, /nested deeper than 32 levels/);
  });
});

describe('what one has of a kind', () => {
  it('API keys that were made one with another are eight, and not one more', async () => {
    const body = { name: 'next', role: 'owner', expiration_date: at(1) };
    const made = (key?: string) => service.call('POST', '/v1/api-keys', body, key);
    let key = (await made()).body.token;
    for (let makers = 1; makers <= 8; makers++) {
      const next = await made(key);
      assert.equal(next.status, 200, `${makers}: ${next.text}`);
      key = next.body.token;
    }
    const past = await made(key);
    assert.equal(past.status, 403, past.text);
    assert.match(past.text, /At most 8 API keys/);
  });

  it('use rules of a secret are fifty, and not one more', async () => {
    const { id } = await secret('RULED');
    const rule = (number: number) => ({
      ...{ secret_id: id, name: `rule ${number}`, hosts: ['example.com'], methods: ['GET'], paths: ['/'] },
      ...{ place: { type: 'bearer' }, response: 'status-only' },
    });
    for (let number = 1; number <= 50; number++) await ok('/v1/use-rules', rule(number));
    const past = await service.call('POST', '/v1/use-rules', rule(51));
    assert.equal(past.body.error.code, 'CONFLICT', past.text);
    assert.match(past.text, /50 use rules/);
  });

  it('logins of one identity are 1,200 a minute, and not one more', async () => {
    service.clock.standInNewMinute();
    const identity = { name: 'busy', method: 'secret_id', vault_ids: [vaultId] };
    const { id } = await ok('/v1/identities', identity);
    const { token } = await ok('/v1/secret-ids', { identity_id: id });
    const login = () => service.call('POST', '/api/v1/login', { identity_id: id, secret_id: token }, null);
    for (let count = 0; count < 1_200; count += 50) {
      const answers = await Promise.all(Array.from({ length: 50 }, login));
      assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200], answers[0]!.text);
    }
    assert.equal((await login()).status, 429);
    service.clock.run();
  });

  it('entries about a secret that are looked through for readers are 499 for a complete answer, and not one more', async () => {
    const { id } = await secret('READ');
    const complete = async () => (await service.call('GET', `/v1/secrets/${id}/readers`)).body.complete;
    const reveal = () => ok(`/v1/secrets/${id}/reveal`, {});
    for (let count = 0; count < 490; count += 49) await Promise.all(Array.from({ length: 49 }, reveal));
    for (let count = 490; count < 498; count++) await reveal(); // It was created by one more.
    assert.equal(await complete(), true);
    await reveal();
    assert.equal(await complete(), false);
  });

  it('the overview shows fifty of what expires and ten of the busiest, and not one more', async () => {
    for (let number = 0; number < 51; number++)
      await ok('/v1/api-keys', { name: `ends ${number}`, role: 'viewer', expiration_date: at(9) });
    for (let number = 0; number < 11; number++) {
      const { id } = await ok('/v1/vaults', { name: `busy ${number}` });
      const { token } = await ok('/v1/access-keys', { vault_id: id, name: 'reader' });
      await service.call('GET', `/api/v1/vaults/${id}`, undefined, token);
    }
    const { body, text } = await service.call('GET', '/v1/overview');
    assert.equal(body.expiring.length, 50, text);
    assert.equal(body.busiest_vaults.length, 10);
    service.clock.pass(10 * 86_400_000);
    const { matters, complete } = (await service.call('GET', '/v1/attention')).body;
    assert.equal(matters.filter(({ kind }: { kind: string }) => kind === 'expired').length, 50);
    assert.equal(complete, false);
  });

  it('a child of an access key in Vault’s dialect lives a day at most', async () => {
    const { token } = await ok('/v1/access-keys', { vault_id: vaultId, name: 'parent' });
    const child = (ttl: string) =>
      service.call('POST', '/vault/v1/auth/token/create', { ttl }, null, { 'x-vault-token': token });
    service.clock.standInNewMinute();
    assert.equal((await child('86400s')).body.auth.lease_duration, 86_400);
    assert.equal((await child('86401s')).body.auth.lease_duration, 86_400);
    service.clock.run();
  });
});

describe('OAuth', () => {
  let world: OAuthWorld;
  before(async () => {
    world = await startOAuth('sqlite', ['--oauth', 'offered']);
  });
  after(() => world.service.stop());

  it('the body of a request for tokens has 16 KiB, and not one byte more', async () => {
    const send = async (length: number) => {
      const fields = { grant_type: 'refresh_token', refresh_token: 'x' };
      const base = new URLSearchParams({ ...fields, x: '' }).toString().length;
      return form(world.service.url, '/oauth/token', { ...fields, x: 'y'.repeat(length - base) });
    };
    const [fits, past] = [await send(16 * 1024), await send(16 * 1024 + 1)];
    assert.notEqual(fits.text, past.text);
    assert.match(past.text, /16 KiB|too large|invalid_request/);
    assert.doesNotMatch(fits.text, /16 KiB|too large/);
  });

  it('the state of an authorization request has 2,048 characters, and not one more', async () => {
    const asked = (length: number) =>
      world.owner.post('/auth/oauth/request', {
        request: asking(world.service.url, { state: 's'.repeat(length) }).query,
      });
    const [fits, past] = [await asked(2_048), await asked(2_049)];
    assert.equal(fits.status, 200, fits.text);
    assert.match(past.text, /state.is.too.long/);
  });
});
