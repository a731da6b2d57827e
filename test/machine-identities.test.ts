/** Identities of machines: what they are proven by, what they may be given, and by whom. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Caller } from '../src/access/caller.ts';
import type { IdentityCreate, LoginMethod } from '../src/contract/identities.ts';
import { changedTrust, checkTrust, noTrust, type Trust } from '../src/domain/identities/identity-records.ts';
import { type DomainWorld, day, domainWorld, organization, refused } from './accounts-world.ts';

const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const jwks = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'ES256' }] };
const egress = {
  refusalOf: ({ hostname }: URL) => (hostname === 'inner' ? 'must be outside' : null),
} as never;

describe('what proves an identity', () => {
  const token = { issuer: 'https://issuer.example.org', audience: 'us', subjects: ['repo:acme/*'] };
  const check = (method: LoginMethod, trust: Partial<Trust>) =>
    checkTrust(method, { ...noTrust, ...trust }, egress);

  const good: [method: LoginMethod, trust: Partial<Trust>][] = [
    ['secret_id', {}],
    ['jwt', token],
    ['jwt', { ...token, claims: { a: ['b'] }, single_use: true }],
    ['jwt', { ...token, issuer: null, jwks }],
    ['jwt', { ...token, issuer: 'http://inner/?a#b', jwks }],
    ['jwt', { ...token, subjects: ['*'], claims: { owner: ['acme'] } }],
    ['jwt', { ...token, subjects: ['*'], claims: { owner: ['acme'], any: ['*'] } }],
    ['jwt', { ...token, subjects: ['a'], claims: { any: ['*'] } }],
    ['jwt', { ...token, subjects: ['*a'] }],
  ];
  for (const [method, trust] of good)
    it(`may be ${method} with ${JSON.stringify(trust).slice(0, 80)}`, () => check(method, trust));

  const unused = (method: string) => `is not used by the method ${method}`;
  const any = 'must be more specific than *, unless claims are';
  const bad: [method: LoginMethod, trust: Partial<Trust>, field: string, reason: string | RegExp][] = [
    ['secret_id', { issuer: token.issuer }, 'issuer', unused('secret_id')],
    ['secret_id', { issuer: '' }, 'issuer', unused('secret_id')],
    ['secret_id', { jwks }, 'jwks', unused('secret_id')],
    ['secret_id', { audience: 'us' }, 'audience', unused('secret_id')],
    ['secret_id', { subjects: ['a'] }, 'subjects', unused('secret_id')],
    ['secret_id', { claims: { a: ['b'] } }, 'claims', unused('secret_id')],
    ['secret_id', { single_use: true }, 'single_use', unused('secret_id')],
    ['secret_id', { ca_pem: 'x' }, 'ca_pem', unused('secret_id')],
    ['certificate', { ca_pem: 'x', subjects: ['a'], claims: { a: ['b'] } }, 'claims', unused('certificate')],
    ['jwt', { ...token, ca_pem: 'x' }, 'ca_pem', unused('jwt')],
    ['jwt', { ...token, subjects: null }, 'subjects', 'is required'],
    ['certificate', { ca_pem: 'x' }, 'subjects', 'is required'],
    ['jwt', { ...token, subjects: ['*'] }, 'subjects', any],
    ['jwt', { ...token, subjects: ['a', '***'] }, 'subjects', any],
    ['jwt', { ...token, subjects: ['*'], claims: { a: ['b', '**'] } }, 'subjects', any],
    ['certificate', { ca_pem: 'x', subjects: ['*'] }, 'subjects', any],
    ['certificate', { subjects: ['a'] }, 'ca_pem', 'is required'],
    ['certificate', { subjects: ['a'], ca_pem: 'x' }, 'ca_pem', 'must contain 1 to 20 certificates in PEM'],
    ['jwt', { ...token, audience: null }, 'audience', 'is required'],
    ['jwt', { ...token, jwks: { keys: [] } }, 'jwks', 'must be a JSON Web Key Set with keys'],
    ['jwt', { ...token, issuer: null }, 'issuer', 'is required without jwks'],
    ['jwt', { ...token, issuer: 'issuer' }, 'issuer', 'must be a URL'],
    ['jwt', { ...token, issuer: 'https://inner' }, 'issuer', 'must be outside'],
    ['jwt', { ...token, issuer: 'https://outer/?a' }, 'issuer', 'must not have a query or a fragment'],
    ['jwt', { ...token, issuer: 'https://outer/#a' }, 'issuer', 'must not have a query or a fragment'],
  ];
  for (const [method, trust, field, reason] of bad)
    it(`is not ${method} with ${JSON.stringify(trust).slice(0, 80)}: ${field} ${reason}`, () =>
      refused(check(method, trust), 'INVALID_REQUEST', { field, reason: String(reason) }));

  it('stays as it was where a change leaves it out', () => {
    const before = { ...noTrust, issuer: 'a', audience: 'b', single_use: true };
    assert.deepEqual(changedTrust(before, { name: 'x' }), before);
    assert.deepEqual(changedTrust(before, { issuer: null, single_use: false, subjects: ['s'] }), {
      ...before,
      issuer: null,
      single_use: false,
      subjects: ['s'],
    });
  });
});

const tooMuch = { message: 'A credential can’t have more permissions than its creator' };

describe('an identity', () => {
  let world: DomainWorld;
  let owner: Caller;
  let vault: string;
  let another: string;
  let names = 0;
  before(async () => {
    world = await domainWorld();
    owner = world.operator(await organization(world, 'Acme'));
    vault = (await world.vaults.create(owner, { name: 'one' })).id;
    another = (await world.vaults.create(owner, { name: 'two' })).id;
  });
  after(() => world.close());

  const wanted = (more: Partial<IdentityCreate> = {}): IdentityCreate => ({
    name: `identity ${++names}`,
    method: 'secret_id',
    vault_ids: [vault],
    ...more,
  });
  const create = (more: Partial<IdentityCreate> = {}, by = owner) =>
    world.identities.create(by, wanted(more));
  async function key(more: Partial<Parameters<DomainWorld['apiKeys']['create']>[1]>): Promise<Caller> {
    const { token } = await world.apiKeys.create(owner, { name: `key ${++names}`, role: 'owner', ...more });
    return world.authenticate.apiKey(token!, world.origin());
  }

  it('is what was asked for, and for the rest what is usual', async () => {
    const made = await create();
    const { id, name, created_by, created_at, updated_at, ...rest } = made;
    assert.deepEqual(rest, {
      ...noTrust,
      method: 'secret_id',
      vault_ids: [vault],
      kinds: null,
      names: null,
      names_only: false,
      may_use: false,
      cidrs: null,
      max_uses: null,
      rate_limit: null,
      operations: null,
      lifetime: 900,
      expiration_date: null,
      last_login_at: null,
    });
    assert.deepEqual(await world.identities.get(owner, id), made);
    const narrow = {
      kinds: ['secret' as const],
      names: ['a*'],
      names_only: true,
      may_use: true,
      cidrs: ['10.0.0.0/8'],
      max_uses: 3,
      rate_limit: 5,
      lifetime: 60,
    };
    const full = await create({ ...narrow, expiration_date: world.now() + day });
    for (const [field, value] of Object.entries(narrow)) assert.deepEqual(full[field as never], value, field);
    assert.equal(full.expiration_date, new Date(world.now() + day).toISOString());
    const trust = {
      issuer: null,
      jwks,
      audience: 'us',
      subjects: ['s'],
      claims: { a: ['b'] },
      single_use: true,
    };
    const byToken = await create({ method: 'jwt', ...trust });
    for (const [field, value] of Object.entries(trust))
      assert.deepEqual(byToken[field as never], value, field);
  });

  it('stays what it was where a change leaves it out', async () => {
    const end = world.now() + day;
    const { id } = await create({ max_uses: 3, lifetime: 60, kinds: ['secret'], expiration_date: end });
    const before = await world.identities.get(owner, id);
    const renamed = await world.identities.update(owner, id, { name: 'renamed' });
    assert.deepEqual({ ...renamed, name: before.name }, before);
    const changed = await world.identities.update(owner, id, {
      max_uses: null,
      expiration_date: null,
      lifetime: 120,
      kinds: null,
      vault_ids: [another],
    });
    const { max_uses, expiration_date, lifetime, kinds, vault_ids, name } = changed;
    assert.deepEqual(
      [max_uses, expiration_date, lifetime, kinds, vault_ids, name],
      [null, null, 120, null, [another], 'renamed'],
    );
    const again = await world.identities.update(owner, id, { max_uses: 9, expiration_date: end });
    assert.deepEqual([again.max_uses, again.vault_ids], [9, [another]]);
    assert.equal(again.expiration_date, new Date(end).toISOString());
  });

  it('reads vaults that are there', async () => {
    const told = { field: 'vault_ids', reason: 'is not the id of a vault' };
    const gone = world.parts.newId();
    await refused(create({ vault_ids: [vault, gone] }), 'NOT_FOUND', told);
    const { id } = await create();
    await refused(world.identities.update(owner, id, { vault_ids: [gone] }), 'NOT_FOUND', told);
    await world.identities.update(owner, id, {});
  });

  it('is proven by something, whoever changes it', async () => {
    await refused(create({ issuer: 'https://a' }), 'INVALID_REQUEST', { field: 'issuer' });
    const { id } = await create();
    await refused(world.identities.update(owner, id, { issuer: 'https://a' }), 'INVALID_REQUEST', {
      field: 'issuer',
    });
  });

  it('is given what its maker could read, at each change', async () => {
    const { id } = await create({ names_only: true });
    const blind = await key({
      scopes: [
        'identities:write',
        'identities:read',
        'vaults:read',
        'secrets:read',
        'keys:read',
        'certificates:read',
      ],
    });
    await create({ names_only: true }, blind);
    await refused(create({}, blind), 'FORBIDDEN');
    await refused(world.identities.update(blind, id, { names_only: false }), 'FORBIDDEN');
    await world.identities.update(blind, id, { name: 'seen by names' });
    assert.equal((await world.identities.get(owner, id)).names_only, true);
  });

  it('ends with the API key that made it, and not later', async () => {
    const until = world.now() + day;
    const brief = await key({ expiration_date: until });
    const made = await create({}, brief);
    assert.equal(made.expiration_date, new Date(until).toISOString());
    await refused(create({ expiration_date: until + 1 }, brief), 'FORBIDDEN', tooMuch);
    await refused(create({ expiration_date: null }, brief), 'FORBIDDEN', tooMuch);
    await create({ expiration_date: until }, brief);
    await refused(
      world.identities.update(brief, made.id, { expiration_date: until + 1 }),
      'FORBIDDEN',
      tooMuch,
    );
    const { id } = await create();
    await refused(world.identities.update(brief, id, { name: 'mine' }), 'FORBIDDEN', tooMuch);
    await world.identities.update(owner, id, { expiration_date: until });
    await refused(world.identities.update(brief, id, { name: 'mine' }), 'FORBIDDEN', {
      message:
        'An API key that expires can’t grant access that outlasts it: use one without an expiration date, or sign in',
    });
  });

  it('is neither seen nor made by an API key for single vaults', async () => {
    const query = { page: 1, limit: 10 };
    const narrow = await key({ vault_ids: [vault] });
    assert.deepEqual((await world.identities.list(narrow, query)).data, []);
    assert.equal((await world.identities.list(narrow, query)).pagination.total, 0);
    assert.ok((await world.identities.list(owner, query)).data.length > 1);
    await assert.rejects(create({}, narrow));
  });

  describe('has secret ids', () => {
    let identity: string;
    before(async () => {
      identity = (await create({ name: 'build' })).id;
    });
    const mint = (more: object = {}, by = owner) =>
      world.secretIds.create(by, { identity_id: identity, ...more });
    const at = (time: number) => new Date(time).toISOString();

    it('that end in 30 days, and are named like it, unless it is said otherwise', async () => {
      const made = await mint();
      assert.deepEqual(
        [made.name, made.expiration_date, made.max_uses, made.uses, made.identity_id],
        ['build', at(world.now() + 30 * day), null, 0, identity],
      );
      const other = await mint({ name: 'ci', expiration_date: world.now() + day, max_uses: 2 });
      assert.deepEqual([other.name, other.expiration_date, other.max_uses], ['ci', at(world.now() + day), 2]);
      await refused(mint({ identity_id: world.parts.newId() }), 'NOT_FOUND', {
        field: 'identity_id',
        reason: 'is not the id of an identity',
      });
    });

    it('that end within a year', async () => {
      const told = { field: 'expiration_date', reason: 'must be within a year' };
      const last = world.now() + 366 * day;
      const { id } = await mint({ expiration_date: last });
      await refused(mint({ expiration_date: last + 1 }), 'INVALID_REQUEST', told);
      await refused(mint({ expiration_date: null }), 'INVALID_REQUEST', told);
      await refused(
        world.secretIds.update(owner, id, { expiration_date: last + 1 }),
        'INVALID_REQUEST',
        told,
      );
      await refused(world.secretIds.update(owner, id, { expiration_date: null }), 'INVALID_REQUEST', told);
      await world.secretIds.update(owner, id, { expiration_date: last });
    });

    it('that stay what they were where a change leaves it out', async () => {
      const before = await mint({ max_uses: 2 });
      const { token: _, ...shown } = before;
      assert.deepEqual(await world.secretIds.update(owner, before.id, { name: 'n' }), {
        ...shown,
        name: 'n',
      });
      assert.equal((await world.secretIds.update(owner, before.id, { max_uses: null })).max_uses, null);
      assert.equal((await world.secretIds.update(owner, before.id, { max_uses: 7 })).max_uses, 7);
    });

    it('that end with the API key that made them', async () => {
      const soon = world.now() + day;
      const brief = await key({ expiration_date: soon });
      const made = await mint({}, brief);
      assert.equal(made.expiration_date, at(soon));
      const late = await key({ expiration_date: world.now() + 300 * day });
      assert.equal((await mint({}, late)).expiration_date, at(world.now() + 30 * day));
      await refused(mint({ expiration_date: soon + 1 }, brief), 'FORBIDDEN', tooMuch);
      const { id } = await mint();
      await refused(world.secretIds.update(brief, id, { expiration_date: soon + 1 }), 'FORBIDDEN', tooMuch);
      await refused(
        world.secretIds.update(owner, made.id, { expiration_date: soon + 1 }),
        'INVALID_REQUEST',
        {
          field: 'expiration_date',
        },
      );
      await world.secretIds.update(owner, made.id, { expiration_date: soon - 1 });
    });

    it('from whoever could read what its access keys show', async () => {
      const blind = await key({ scopes: ['identities:write', 'identities:read', 'vaults:read'] });
      await refused(mint({}, blind), 'FORBIDDEN');
      const { id } = await mint();
      await refused(world.secretIds.update(blind, id, { name: 'n' }), 'FORBIDDEN');
    });
  });
});
