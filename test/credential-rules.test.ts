/** What credentials a caller may create, change, see and revoke, and for how long: row by row, in the domain alone. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Caller } from '../src/access/caller.ts';
import { parseToken } from '../src/access/token.ts';
import { type DomainWorld, type Joined, minute, openDomain } from './domain-world.ts';
import { refusalOf } from './refusal-of.ts';

const tooMuch = 'FORBIDDEN: A credential can’t have more permissions than its creator';
const givenFor =
  'INVALID_REQUEST: expiration_date can’t be later than it is now: the credential was issued until then, or ends with the key that created it';
const page = { page: 1, limit: 100 };
const iso = (time: number) => new Date(time).toISOString();

describe('a credential', () => {
  let world: DomainWorld;
  let vaultId: string;
  let otherVault: string;
  let keyId: string;
  let soon: number;

  before(async () => {
    world = await openDomain();
    const { domain, operator } = world;
    vaultId = (await domain.vaults.create(operator, { name: 'one' })).id;
    otherVault = (await domain.vaults.create(operator, { name: 'two' })).id;
    const place = { vault_id: vaultId, name: 'K' };
    keyId = (await domain.keys.create(operator, { ...place, generate: { key_type: 'EC', curve: 'P-256' } }))
      .id;
    soon = world.now() + 60 * minute;
  });
  after(() => world.close());

  const by = (more: Partial<Caller>): Caller => ({ ...world.operator, ...more });
  const ending = () => by({ until: soon });
  const inOneVault = (): Caller => by({ vaultIds: [vaultId] });

  describe('of any kind', () => {
    type Kind = 'apiKeys' | 'accessKeys' | 'publicTokens';
    const bodies = {
      apiKeys: () => ({ name: 'a', role: 'viewer' as const }),
      accessKeys: () => ({ name: 'a', vault_id: vaultId }),
      publicTokens: () => ({ name: 'a', key_id: keyId }),
    };
    const create = (kind: Kind, caller = world.operator, more: object = {}) =>
      world.domain[kind].create(caller, { ...bodies[kind](), ...more } as never) as Promise<{
        id: string;
        expiration_date: string | null;
        token?: string;
      }>;
    const update = (kind: Kind, id: string, body: object, caller = world.operator) =>
      world.domain[kind].update(caller, id, body as never) as Promise<{ expiration_date: string | null }>;

    for (const kind of ['apiKeys', 'accessKeys', 'publicTokens'] as const) {
      it(`ends with the key that makes it, at the latest (${kind})`, async () => {
        const end = async (caller: Caller, more: object = {}) =>
          (await create(kind, caller, more)).expiration_date;
        assert.equal(await end(world.operator), null);
        assert.equal(await end(world.operator, { expiration_date: soon + 1 }), iso(soon + 1));
        assert.equal(await end(ending()), iso(soon));
        assert.equal(await end(ending(), { expiration_date: soon - 1 }), iso(soon - 1));
        assert.equal(await end(ending(), { expiration_date: soon }), iso(soon));
        for (const expiration_date of [soon + 1, null])
          assert.equal(await refusalOf(create(kind, ending(), { expiration_date })), tooMuch);
      });

      it(`is prolonged by what lasts as long (${kind})`, async () => {
        const { id } = await create(kind, world.operator, { expiration_date: soon - 1 });
        const renamed = await update(kind, id, { name: 'b' }, ending());
        assert.equal(renamed.expiration_date, iso(soon - 1), 'a new name leaves it as it is');
        assert.equal(
          (await update(kind, id, { expiration_date: soon }, ending())).expiration_date,
          iso(soon),
        );
        for (const expiration_date of [soon + 1, null])
          assert.equal(await refusalOf(update(kind, id, { expiration_date }, ending())), tooMuch);
        assert.equal((await update(kind, id, { expiration_date: null })).expiration_date, null);
      });

      it(`that ends with what made it is not made to last longer (${kind})`, async () => {
        const maker = await world.domain.apiKeys.create(world.operator, {
          name: 'maker',
          role: 'owner',
          expiration_date: soon,
        });
        const caller = await world.domain.authenticate.apiKey(maker.token!, world.origin);
        const { id } = await create(kind, caller, { expiration_date: soon - 1 });
        assert.equal(await refusalOf(update(kind, id, { expiration_date: soon })), givenFor);
        assert.equal(await refusalOf(update(kind, id, { expiration_date: soon - 2 })), 'done');
      });

      it(`is told of by an event where it opens a vault, and kept with what restricts it (${kind})`, async () => {
        const { id } = await create(kind);
        const told = () =>
          world.sql('SELECT type FROM events WHERE resource_id = ?', id).map(row => row.type);
        const [stored] = world.sql('SELECT narrowing_key FROM credentials WHERE id = ?', id);
        const isOfVault = kind === 'accessKeys';
        assert.deepEqual(told(), isOfVault ? ['access_key.created'] : []);
        assert.equal(stored!.narrowing_key !== null, isOfVault);
        await update(kind, id, { name: 'b' });
        await world.domain[kind].remove(world.operator, id, false);
        assert.deepEqual(told(), isOfVault ? ['access_key.created', 'access_key.revoked'] : []);
      });
    }

    it('is listed to callers who may see where it is', async () => {
      const listed = async (kind: Kind, caller = world.operator, query: object = {}) =>
        (await world.domain[kind].list(caller, { ...page, ...query } as never)).data.length;
      const before = await listed('accessKeys', world.operator, { vault_id: otherVault });
      assert.equal(before, 0);
      await create('accessKeys', world.operator, { vault_id: otherVault });
      const all = await listed('accessKeys');
      assert.equal(await listed('accessKeys', world.operator, { vault_id: otherVault }), 1);
      assert.equal(await listed('accessKeys', inOneVault()), all - 1);
      assert.equal(await listed('accessKeys', inOneVault(), { vault_id: vaultId }), all - 1);
      assert.equal(await listed('accessKeys', inOneVault(), { vault_id: otherVault }), 0);
      const tokens = await listed('publicTokens');
      assert.ok(tokens > 0);
      assert.equal(await listed('publicTokens', inOneVault()), tokens);
      assert.equal(await listed('publicTokens', by({ vaultIds: [otherVault] })), 0);
      assert.ok((await listed('apiKeys')) > 0);
      assert.equal(await listed('apiKeys', inOneVault()), 0, 'API keys belong to no vault');
    });

    it('of an identity is written down with it, and no other is', async () => {
      const identity = await world.domain.identities.create(world.operator, {
        name: 'robot',
        method: 'secret_id',
        vault_ids: [vaultId],
      } as never);
      await world.domain.secretIds.create(world.operator, { identity_id: identity.id } as never);
      assert.deepEqual((await world.audits(1))[0]!.details, { identity_id: identity.id });
      await create('accessKeys');
      assert.deepEqual((await world.audits(1))[0]!.details, {});
    });
  });

  describe('of a person who signed in a while ago', () => {
    let person: Joined;
    let id: string;

    before(async () => {
      person = await world.join('person@example.org', 'owner');
      const made = await world.domain.accessKeys.create(person.caller, {
        vault_id: vaultId,
        name: 'made',
        expiration_date: world.now() + 24 * 60 * minute,
        max_uses: 5,
      });
      id = made.id;
      world.pass(5 * minute);
    });

    const rows: [string, object, boolean][] = [
      ['is renamed', { name: 'new name' }, true],
      ['keeps its uses', { max_uses: 5 }, true],
      ['gets more uses', { max_uses: 6 }, false],
      ['gets uses without end', { max_uses: null }, false],
      ['gets another end', { expiration_date: 0 }, false],
      ['shows other kinds', { kinds: ['key'] }, false],
    ];
    for (const [what, body, isTaken] of rows)
      it(`${what} ${isTaken ? 'without' : 'only with'} a new proof`, async () => {
        const given = 'expiration_date' in body ? { expiration_date: world.now() + 60 * minute } : body;
        const told = await refusalOf(world.domain.accessKeys.update(person.caller, id, given));
        assert.equal(told, isTaken ? 'done' : 'PROOF_REQUIRED: Confirm your identity first');
      });

    it('keeps what is not sent', async () => {
      const { max_uses } = await world.domain.accessKeys.update(world.operator, id, { name: 'again' });
      assert.equal(max_uses, 5);
      const changed = await world.domain.accessKeys.update(world.operator, id, { max_uses: null });
      assert.equal(changed.max_uses, null);
    });
  });

  describe('that reads', () => {
    it('is given by callers who read that much themselves, in that vault', async () => {
      const { accessKeys } = world.domain;
      const unreading = by({
        scopes: ['access-keys:write', 'access-keys:read', 'vaults:read', 'secrets:read'],
      });
      const refused = /^FORBIDDEN: You can’t grant access that you don’t have/;
      const body = { vault_id: vaultId, name: 'a' };
      assert.match(await refusalOf(accessKeys.create(unreading, body)), refused);
      const names = { kinds: ['secret' as const], names_only: true };
      const { id } = await accessKeys.create(unreading, { ...body, ...names });
      assert.match(await refusalOf(accessKeys.update(unreading, id, { names_only: false })), refused);
      assert.match(
        await refusalOf(accessKeys.create(world.operator, { ...body, vault_id: keyId })),
        /^NOT_FOUND/,
      );
    });

    it('is not given for an address that is none', async () => {
      const body = { vault_id: vaultId, name: 'a', cidrs: ['10.0.0.0/33'] };
      assert.match(
        await refusalOf(world.domain.accessKeys.create(world.operator, body)),
        /^INVALID_REQUEST: cidrs /,
      );
    });

    it('by OAuth, or created with another, is changed with that one alone', async () => {
      const { accessKeys, ownAccessKeys } = world.domain;
      const parent = await accessKeys.create(world.operator, { vault_id: vaultId, name: 'parent' });
      const wanted = { name: 'child', lifetime: minute, maxUses: null };
      const child = await ownAccessKeys.createChild(parent.token!, world.origin, wanted);
      assert.equal(
        await refusalOf(accessKeys.update(world.operator, child.id, { name: 'b' })),
        'CONFLICT: This access key was created with another one: update that one, or revoke this one',
      );
      assert.equal(await refusalOf(accessKeys.update(world.operator, parent.id, { name: 'b' })), 'done');
    });
  });

  describe('that is an API key', () => {
    it('has no more than the caller who creates or renames it', async () => {
      const { apiKeys } = world.domain;
      const admin = by({ role: 'admin' });
      assert.equal(await refusalOf(apiKeys.create(admin, { name: 'a', role: 'owner' })), tooMuch);
      const owner = await apiKeys.create(world.operator, { name: 'a', role: 'owner' });
      assert.equal(await refusalOf(apiKeys.update(admin, owner.id, { name: 'b' })), tooMuch);
      const { id, role, scopes, vault_ids } = await apiKeys.create(admin, { name: 'a', role: 'admin' });
      assert.deepEqual([role, scopes, vault_ids], ['admin', null, null]);
      assert.equal(await refusalOf(apiKeys.update(admin, id, { name: 'b' })), 'done');
    });

    it('is restricted to permissions and vaults that there are', async () => {
      const { apiKeys } = world.domain;
      const scopes = ['vaults:read' as const];
      const made = await apiKeys.create(world.operator, {
        name: 'a',
        role: 'owner',
        scopes,
        vault_ids: [vaultId],
      });
      assert.deepEqual([made.scopes, made.vault_ids], [scopes, [vaultId]]);
      const wrong = { name: 'a', role: 'owner' as const, vault_ids: [vaultId, keyId] };
      assert.match(await refusalOf(apiKeys.create(world.operator, wrong)), /^NOT_FOUND: vault_ids /);
      assert.equal(await refusalOf(apiKeys.create(inOneVault(), { name: 'a', role: 'viewer' })), tooMuch);
      const restricted = by({ scopes: ['api-keys:write', 'vaults:read'] });
      assert.equal(await refusalOf(apiKeys.create(restricted, { name: 'a', role: 'viewer' })), tooMuch);
      assert.equal(
        await refusalOf(apiKeys.create(restricted, { name: 'a', role: 'viewer', scopes })),
        'done',
      );
    });
  });

  describe('that shows the public half of a key', () => {
    it('is called by the key where nothing is said', async () => {
      const { publicTokens } = world.domain;
      assert.equal((await publicTokens.create(world.operator, { key_id: keyId })).name, 'K');
      const named = await publicTokens.create(world.operator, { key_id: keyId, name: 'own' });
      assert.equal(named.name, 'own');
      assert.equal(parseToken(named.token!)!.id, named.id);
      assert.match(
        await refusalOf(publicTokens.create(world.operator, { key_id: vaultId })),
        /^NOT_FOUND: key_id /,
      );
    });
  });
});
