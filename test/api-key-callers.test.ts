/** Who calls with an API key, and what a member has: the decision by itself. That each request asks is tested over HTTP, in credentials. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  callerOf,
  goodMakers,
  isOf,
  type KeyLookup,
  makerOf,
  mayLend,
} from '../src/domain/credentials/api-key-callers.ts';
import type { Login, Restrictions } from '../src/domain/credentials/credential.ts';
import {
  type Holder,
  isIn,
  rightsOf,
  rightsProvenBy,
  rolesListed,
  vaultRolesOf,
} from '../src/domain/credentials/member-rights.ts';
import type { CredentialRow } from '../src/store/records/credentials.ts';
import type { MemberGroupRow } from '../src/store/records/member-groups.ts';

const now = 1_000;
const origin = { address: '192.0.2.1', userAgent: '', requestId: 'r' };
const id = (last: number) => `01890000-0000-7000-8000-${String(last).padStart(12, '0')}`;

function keyOf(name: string, narrowing: Restrictions = {}, members: Partial<CredentialRow> = {}) {
  const row = {
    id: name,
    name,
    kind: 'api-key',
    organization_id: 'org',
    role: 'editor',
    revision: 3,
    revoked_at: null,
    expiration_date: null,
    created_by: 'operator',
    narrowing: JSON.stringify(narrowing),
    ...members,
  } as CredentialRow;
  return { row, narrowing };
}
type Key = ReturnType<typeof keyOf>;

const holderWith = (member: object = {}, groups: readonly object[] = []): Holder =>
  ({
    member: {
      id: 'm',
      organization_id: 'org',
      state: 'active',
      role: 'viewer',
      revision: 5,
      grants: '[]',
      ...member,
    },
    account: { id: 'a', revision: 6, epoch: 2 },
    groups,
  }) as unknown as Holder;

/** Keys and members in memory: a key is whose it says. */
function lookIn(keys: readonly Key[], holder?: Holder): KeyLookup<Key> {
  return {
    key: async wanted => keys.find(({ row }) => row.id === wanted),
    member: async ({ narrowing }) => narrowing.login?.member_id ?? narrowing.maker ?? null,
    holder: async memberId => (memberId === 'm' ? holder : undefined),
    now: () => now,
  };
}

const login: Login = { member_id: 'm', epoch: 2 };

describe('a member', () => {
  const rows: [string, Login | undefined, object, boolean][] = [
    ['that is active', undefined, {}, true],
    ['that is not', undefined, { state: 'invited' }, false],
    ['signed in as then', login, {}, true],
    ['signed in before their last change', { ...login, epoch: 1 }, {}, false],
    ['that is another', { ...login, member_id: 'n' }, {}, false],
    ['that signed in and is no longer active', login, { state: 'disabled' }, false],
  ];
  for (const [what, given, member, expected] of rows)
    it(`${what} is ${expected ? '' : 'not '}who they were`, () =>
      assert.equal(isOf(given, holderWith(member)), expected));

  it('has the roles of their own and of their groups, in whatever order these are written', () => {
    const given = (...grants: [string, string][]) => ({
      grants: JSON.stringify(grants.map(([vault_id, role]) => ({ vault_id, role }))),
    });
    const own = given(['v2', 'viewer'], ['v1', 'editor']);
    const group = given(['v1', 'auditor'], ['v2', 'viewer'], ['v3', 'owner']);
    const plain = (...roles: string[]) => roles.map(role => ({ role, until: null }));
    const expected = [
      ['v1', plain('auditor', 'editor')],
      ['v2', plain('viewer')],
      ['v3', plain('owner')],
    ];
    for (const rows of [
      [own, group],
      [group, own],
    ])
      assert.deepEqual([...vaultRolesOf(rows, 0)], expected);
    const holder = holderWith(own, [{ ...group, id: 'g', revision: 7 }]);
    const { role, vaultRoles } = rightsOf(holder, 0);
    assert.deepEqual([role, [...vaultRoles]], ['viewer', expected]);
    assert.deepEqual(rolesListed(vaultRoles).slice(0, 2), [
      { vault_id: 'v1', role: 'auditor' },
      { vault_id: 'v1', role: 'editor' },
    ]);
    assert.deepEqual(rightsProvenBy(holder), [
      { table: 'members', id: 'm', revision: 5 },
      { table: 'member_groups', id: 'g', revision: 7 },
    ]);
  });

  it('is in a group by hand, or by signing in', () => {
    const group = { member_ids: '["a"]', signed_on_ids: '["b"]' } as MemberGroupRow;
    assert.deepEqual(
      ['a', 'b', 'c'].map(one => isIn(group, one)),
      [true, true, false],
    );
  });

  it('lends no more of a vault than they may see, as who they were', () => {
    const lends = (given: Login, member: object, narrowing: Restrictions) =>
      mayLend(given, holderWith(member), 'v1', narrowing, 5);
    const names: Restrictions = { names_only: true };
    assert.equal(lends(login, {}, names), true);
    assert.equal(lends(login, {}, {}), false, 'a viewer reads no value');
    assert.equal(lends(login, {}, { names_only: true, may_use: true }), false);
    assert.equal(lends(login, {}, { kinds: ['certificate'] }), true);
    assert.equal(lends(login, { role: 'editor' }, {}), true);
    assert.equal(lends({ ...login, epoch: 1 }, { role: 'editor' }, names), false);
    const elsewhere = { role: 'none', grants: '[{"vault_id":"v2","role":"editor"}]' };
    assert.equal(lends(login, elsewhere, names), false);
  });
});

describe('the member whose an API key is', () => {
  const made = (key: Key, ...stored: Key[]) =>
    makerOf(
      {
        store: {
          credentials: { byId: async (one: string) => stored.find(({ row }) => row.id === one)?.row },
        },
        stamps: { credential: { believe: (row: object) => row } },
      } as unknown as Parameters<typeof makerOf>[0],
      key,
    );
  const by = (created_by: string, narrowing: Restrictions = {}, name = 'key') =>
    keyOf(name, narrowing, { created_by });

  const rows: [string, Key, Key[], string | null][] = [
    ['that signed in', by(id(1), { login, maker: 'n' }), [], 'm'],
    ['that was noted', by(id(1), { maker: 'n' }), [], 'n'],
    ['that was noted as the operator’s', by(id(1), { maker: null }), [], null],
    ['created by the operator', by('operator'), [], null],
    ['created by a member', by(id(1)), [], id(1)],
    ['created by a key of a member’s', by(id(1)), [by(id(2), {}, id(1))], id(2)],
    ['created by a key that noted it', by(id(1)), [by(id(2), { maker: 'n' }, id(1))], 'n'],
    ['created by a key of the operator’s', by(id(1)), [by('operator', {}, id(1))], null],
  ];
  for (const [what, key, stored, expected] of rows)
    it(`of one ${what} is ${expected}`, async () => assert.equal(await made(key, ...stored), expected));
});

describe('a caller with an API key', () => {
  const rows = (...tables: [string, string, number][]) =>
    tables.map(([table, one, revision]) => ({ table, id: one, revision }));

  it('of the operator’s has what its record gives', async () => {
    const caller = await callerOf(lookIn([]), keyOf('key', {}, { expiration_date: now + 9 }), origin);
    assert.deepEqual(caller, {
      kind: 'api-key',
      id: 'key',
      name: 'key',
      organizationId: 'org',
      origin,
      role: 'editor',
      vaultRoles: new Map(),
      scopes: null,
      vaultIds: null,
      until: now + 9,
      within: null,
      proof: { rows: rows(['credentials', 'key', 3]), until: now + 9 },
    });
  });

  it('of a member’s has that within what they have, and rests on their rows', async () => {
    const holder = holderWith();
    const caller = await callerOf(lookIn([], holder), keyOf('key', { maker: 'm' }), origin);
    assert.deepEqual(caller!.within, rightsOf(holder, 0));
    assert.deepEqual(caller!.proof, {
      rows: rows(['credentials', 'key', 3], ['members', 'm', 5]),
      until: null,
    });
  });

  it('of a sign-in rests on how its member proves who they are, and says when they did', async () => {
    const look = lookIn([], holderWith());
    const caller = await callerOf(look, keyOf('key', { login }), origin);
    assert.deepEqual(caller!.proof, {
      rows: rows(['credentials', 'key', 3], ['members', 'm', 5], ['accounts', 'a', 6]),
      until: null,
      provenAt: null,
    });
    const proven = await callerOf(look, keyOf('key', { login: { ...login, proven_at: 7 } }), origin);
    assert.equal(proven!.proof.provenAt, 7);
  });

  it('that was made with a sign-in rests on that too', async () => {
    const look = lookIn([keyOf('maker', { login })], holderWith());
    const caller = await callerOf(look, keyOf('key', { maker: 'm', made_with: ['maker'] }), origin);
    assert.deepEqual(
      caller!.proof.rows,
      rows(['credentials', 'key', 3], ['credentials', 'maker', 3], ['members', 'm', 5], ['accounts', 'a', 6]),
    );
    assert.ok(!('provenAt' in caller!.proof));
  });

  const over: [string, Restrictions, Holder | undefined][] = [
    ['is no member any more', { maker: 'm' }, undefined],
    ['is not active', { maker: 'm' }, holderWith({ state: 'disabled' })],
    ['is another organization’s', { maker: 'm' }, holderWith({ organization_id: 'other' })],
    ['proves who they are in another way', { login: { ...login, epoch: 1 } }, holderWith()],
  ];
  for (const [what, narrowing, holder] of over)
    it(`is none where its member ${what}, and ends what was made with it`, async () => {
      const key = keyOf('maker', narrowing);
      const look = lookIn([key], holder);
      assert.equal(await callerOf(look, key, origin), null);
      assert.equal(await goodMakers(look, { made_with: ['maker'] }), null);
      assert.equal(await callerOf(look, keyOf('key', { made_with: ['maker'] }), origin), null);
    });

  const makers: [string, Partial<CredentialRow>, boolean][] = [
    ['is good', {}, true],
    ['is good a while longer', { expiration_date: now + 1 }, true],
    ['is over', { expiration_date: now }, false],
    ['is revoked', { revoked_at: 5 }, false],
    ['is no API key', { kind: 'access-key' }, false],
    ['is not there', { id: 'elsewhere' }, false],
  ];
  for (const [what, members, expected] of makers)
    it(`made with a key that ${what} is ${expected ? 'one' : 'none'}`, async () => {
      const [first, maker] = [keyOf('first'), keyOf('maker', {}, members)];
      const look = lookIn([first, maker]);
      const made_with = ['first', 'maker'];
      assert.deepEqual(await goodMakers(look, { made_with }), expected ? [first, maker] : null);
      assert.equal((await callerOf(look, keyOf('key', { made_with }), origin)) !== null, expected);
      assert.deepEqual(await goodMakers(look, {}), []);
    });
});
