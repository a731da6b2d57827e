/**
 * Whether a caller may still act, once what it rests on changed: the decision by itself, over rows in memory. That every
 * route asks is tested over HTTP, in authority.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Caller, type ProvenBy, trustedCaller } from '../src/access/caller.ts';
import { grantOfRole } from '../src/access/policy.ts';
import { type AuthorityParts, authorityWith } from '../src/domain/authority.ts';
import { callerOf as keyCaller } from '../src/domain/credentials/api-key-callers.ts';
import { credentialOf, type Restrictions } from '../src/domain/credentials/credential.ts';
import { type People, type Person, callerOf as personCaller } from '../src/domain/people/people.ts';
import { longestSession, proofOf } from '../src/domain/sessions/dashboard-sessions.ts';
import type { DashboardSessionRow } from '../src/store/records/accounts.ts';
import type { CredentialRow } from '../src/store/records/credentials.ts';

const origin = { address: '192.0.2.1', userAgent: '', requestId: 'r' };
const started = 1_000;

/** Rows in memory, which a test may change; one that says so is not believed. */
class Rows {
  now = started;
  keys = keysWith(keyRow('k'));
  session: DashboardSessionRow | undefined = sessionRow();
  person: Person | undefined = personWith({});

  /** Stand-ins for the store and the stamps. */
  readonly authority = authorityWith({
    store: {
      credentials: { byId: async (id: string) => this.keys.get(id) },
      accounts: { session: async (id: string) => (id === 's' ? this.session : undefined) },
      conditions: { unchanged: (rows: readonly ProvenBy[]) => rows.map(({ table, id }) => `${table} ${id}`) },
    },
    stamps: { credential: { believe }, session: { believe } },
    people: { fresh: async id => (id === 'm' ? this.person : undefined) } as People,
    now: () => this.now,
  } as unknown as AuthorityParts);

  keyCaller(id = 'k'): Promise<Caller | null> {
    return keyCaller(
      {
        key: async wanted => this.keys.has(wanted) && credentialOf(this.keys.get(wanted)!),
        member: async () => 'm',
        holder: async () => this.person,
        now: () => this.now,
      } as Parameters<typeof keyCaller>[0],
      credentialOf(this.keys.get(id)!),
      origin,
    );
  }

  personCaller(): Caller {
    return personCaller(this.person!, origin, proofOf(this.session!, this.person!), this.now);
  }
}

function believe<Row extends { readonly name?: string; readonly method?: string }>(row: Row): Row {
  if (row.name === 'forged' || row.method === 'forged') throw new Error('not believed');
  return row;
}

function keyRow(
  id: string,
  members: Partial<CredentialRow> = {},
  narrowing: Restrictions = {},
): CredentialRow {
  return {
    id,
    name: id,
    kind: 'api-key',
    organization_id: 'org',
    role: 'editor',
    revision: 1,
    revoked_at: null,
    expiration_date: null,
    created_by: 'operator',
    narrowing: JSON.stringify({ maker: 'm', ...narrowing }),
    ...members,
  } as CredentialRow;
}

/** Beside another that may do the same. */
function keysWith(key: CredentialRow): Map<string, CredentialRow> {
  return new Map([key, keyRow('other')].map(row => [row.id, row]));
}

function sessionRow(members: Partial<DashboardSessionRow> = {}): DashboardSessionRow {
  const times = { created_at: started, proven_at: null };
  return {
    ...times,
    id: 's',
    member_id: 'm',
    epoch: 2,
    revision: 1,
    method: 'password',
    ...members,
  } as DashboardSessionRow;
}

function personWith(member: object, account: object = {}, groups: readonly object[] = []): Person {
  return {
    member: {
      id: 'm',
      email: 'm@example.org',
      organization_id: 'org',
      state: 'active',
      role: 'editor',
      revision: 1,
      grants: '[]',
      ...member,
    },
    account: { id: 'a', revision: 1, epoch: 2, ...account },
    groups,
  } as unknown as Person;
}

const revised = { revision: 2 };

describe('an API key whose rows changed', () => {
  const rows: [string, Partial<Rows>, boolean][] = [
    ['is renamed', { keys: keysWith(keyRow('k', { ...revised, name: 'new name' })) }, true],
    ['is used', { keys: keysWith(keyRow('k', revised)) }, true],
    ['is revoked', { keys: keysWith(keyRow('k', { ...revised, revoked_at: 5 })) }, false],
    ['has expired', { keys: keysWith(keyRow('k', { expiration_date: started })) }, false],
    ['is removed', { keys: new Map() }, false],
    ['may do more', { keys: keysWith(keyRow('k', { ...revised, role: 'owner' })) }, false],
    ['may do less', { keys: keysWith(keyRow('k', revised, { scopes: ['vaults:read'] })) }, false],
    ['is for fewer vaults', { keys: keysWith(keyRow('k', revised, { vault_ids: ['v'] })) }, false],
    ['ends now', { keys: keysWith(keyRow('k', { ...revised, expiration_date: 9_999 })) }, false],
    ['is another’s', { keys: keysWith(keyRow('k', { organization_id: 'foreign' })) }, false],
    ['has a member who changed', { person: personWith(revised) }, true],
    ['has a member with another role', { person: personWith({ role: 'viewer' }) }, false],
    [
      'has a member with a role in a vault',
      { person: personWith({ grants: '[{"vault_id":"v","role":"admin"}]' }) },
      false,
    ],
    ['has no member any more', { person: undefined }, false],
  ];
  for (const [what, change, isGood] of rows)
    it(`${isGood ? 'goes on' : 'is over'} where it ${what}`, async () => {
      const world = new Rows();
      const before = (await world.keyCaller())!;
      Object.assign(world, change);
      const after = await world.authority.renewed(before);
      if (isGood) assert.deepEqual(after, await world.keyCaller(), 'with the rows as they are now');
      else assert.equal(after, null);
    });

  it('is over where it moved to another organization, however much it may do there', async () => {
    const world = new Rows();
    const before = (await world.keyCaller())!;
    world.keys.set('k', keyRow('k', { organization_id: 'foreign' }));
    world.person = personWith({ organization_id: 'foreign' });
    assert.notEqual(await world.keyCaller(), null);
    assert.equal(await world.authority.renewed(before), null);
  });

  it('is not taken for another that may do the same', async () => {
    const world = new Rows();
    const before = (await world.keyCaller('other'))!;
    world.keys.set('other', keyRow('other', { revoked_at: 5 }));
    assert.equal(await world.authority.renewed(before), null);
  });

  it('fails where its row is not believed', async () => {
    const world = new Rows();
    const before = (await world.keyCaller())!;
    world.keys.set('k', keyRow('k', { name: 'forged' }));
    await assert.rejects(world.authority.renewed(before), /not believed/);
  });

  it('ends with the key that it was made with', async () => {
    const world = new Rows();
    world.keys.set('k', keyRow('k', {}, { made_with: ['other'] }));
    const before = (await world.keyCaller())!;
    assert.deepEqual(await world.authority.renewed(before), before);
    world.keys.set('other', keyRow('other', { revoked_at: 5 }));
    assert.equal(await world.authority.renewed(before), null);
  });

  it('belongs to nobody where the operator created it, and goes on without a member', async () => {
    const world = new Rows();
    world.keys.set('k', keyRow('k', {}, { maker: null }));
    const { within: _, ...own } = (await world.keyCaller())!;
    world.person = undefined;
    const after = await world.authority.renewed({ ...own, within: null });
    assert.equal(after?.within, null);
  });
});

describe('a member who is signed in, whose rows changed', () => {
  const rows: [string, Partial<Rows>, boolean][] = [
    ['is as before', {}, true],
    ['proved who they are', { session: sessionRow({ revision: 2, proven_at: 7 }) }, true],
    ['used a code', { person: personWith({}, revised) }, true],
    ['has another address', { person: personWith({ email: 'n@example.org' }) }, true],
    ['signed out', { session: undefined }, false],
    ['is no member any more', { person: undefined }, false],
    ['has another role', { person: personWith({ role: 'viewer' }) }, false],
    ['is reset', { person: personWith({}, { epoch: 3 }) }, false],
    ['is disabled', { person: personWith({ state: 'invited' }) }, false],
    ['has the session of another', { session: sessionRow({ member_id: 'n' }) }, false],
    ['has a session that will end', { now: started + longestSession - 1 }, true],
    ['has a session that ended', { now: started + longestSession }, false],
  ];
  for (const [what, change, isGood] of rows)
    it(`${isGood ? 'goes on' : 'is over'} where they ${what}`, async () => {
      const world = new Rows();
      const before = world.personCaller();
      Object.assign(world, change);
      const after = await world.authority.renewed(before);
      if (isGood) assert.deepEqual(after, world.personCaller(), 'with the rows as they are now');
      else assert.equal(after, null);
    });

  it('fails where the session is not believed', async () => {
    const world = new Rows();
    const before = world.personCaller();
    world.session = sessionRow({ method: 'forged' });
    await assert.rejects(world.authority.renewed(before), /not believed/);
  });

  it('is over without a session, whatever else proves them', async () => {
    const world = new Rows();
    const caller = world.personCaller();
    const rows = caller.proof.rows.filter(({ table }) => table !== 'sessions');
    assert.equal(await world.authority.renewed({ ...caller, proof: { ...caller.proof, rows } }), null);
  });
});

describe('a caller whom no row proves', () => {
  it('is not renewed', async () => {
    const operator = trustedCaller('operator', 'm', 'operator', 'org', 'r');
    assert.equal(await new Rows().authority.renewed(operator), null);
  });

  it('is not renewed either where the key or the member that it names would be', async () => {
    const world = new Rows();
    for (const caller of [(await world.keyCaller())!, world.personCaller()]) {
      assert.notEqual(await world.authority.renewed(caller), null);
      assert.equal(await world.authority.renewed({ ...caller, proof: { rows: [], until: null } }), null);
    }
  });
});

describe('the authority of a caller ends', () => {
  const rows: [number | null, number, boolean][] = [
    [null, Number.MAX_SAFE_INTEGER, false],
    [5_000, 4_999, false],
    [5_000, 5_000, true],
    [5_000, 5_001, true],
    [0, 1, true],
  ];
  for (const [until, now, isOver] of rows)
    it(`${isOver ? 'by' : 'not by'} ${now}, where it is good until ${until}`, () => {
      const world = new Rows();
      world.now = now;
      const caller = { ...world.personCaller(), proof: { rows: [], until } };
      assert.equal(world.authority.isOver(caller), isOver);
      const vaultRoles = new Map([['v1', [{ role: 'viewer' as const, until }]]]);
      const within = { ...grantOfRole('owner'), vaultRoles };
      const inVault = { ...caller, proof: { rows: [], until: null } };
      assert.equal(world.authority.isOver({ ...inVault, vaultRoles }), isOver, 'by a role in a vault');
      assert.equal(world.authority.isOver({ ...inVault, within }), isOver, 'by one of its member’s');
    });

  it('with a role in a vault that has ended, when it is read again', async () => {
    const world = new Rows();
    const end = world.now + 1_000;
    const grants = JSON.stringify([{ vault_id: 'v1', role: `editor until ${new Date(end).toISOString()}` }]);
    world.person = personWith({ grants });
    const caller = world.personCaller();
    assert.deepEqual([...caller.vaultRoles], [['v1', [{ role: 'editor', until: end }]]]);
    world.now = end - 1;
    assert.notEqual(await world.authority.renewed(caller), null);
    world.now = end;
    assert.equal(await world.authority.renewed(caller), null);
    assert.equal(world.personCaller().vaultRoles.size, 0);
  });
});

describe('what a unit depends on', () => {
  const row = (table: ProvenBy['table'], id: string): ProvenBy => ({ table, id, revision: 1 });
  const rows: [string, ProvenBy[], string[][]][] = [
    ['nothing', [], []],
    ['one row', [row('credentials', 'k')], [['credentials k']]],
    [
      'rows of several tables together',
      [row('sessions', 's'), row('members', 'm'), row('accounts', 'a')],
      [['sessions s', 'members m', 'accounts a']],
    ],
    [
      'a second row of a table by itself',
      [row('credentials', 'k'), row('credentials', 'l'), row('members', 'm'), row('credentials', 'n')],
      [['credentials k', 'members m'], ['credentials l'], ['credentials n']],
    ],
    [
      'each group by itself, because members are in any number of them',
      [row('members', 'm'), row('member_groups', 'g'), row('member_groups', 'h'), row('accounts', 'a')],
      [['members m', 'accounts a'], ['member_groups g'], ['member_groups h']],
    ],
    ['a group alone', [row('member_groups', 'g')], [['member_groups g']]],
  ];
  for (const [what, proven, expected] of rows)
    it(`is ${what}`, () => {
      const world = new Rows();
      const caller = { ...world.personCaller(), proof: { rows: proven, until: null } };
      assert.deepEqual(world.authority.conditions(caller), expected);
    });
});
