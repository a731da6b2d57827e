/** Members, groups and organizations: what they are given, and by whom. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Caller } from '../src/access/caller.ts';
import { grantOfRole } from '../src/access/policy.ts';
import { groupsWith } from '../src/domain/people/groups.ts';
import { limitOf } from '../src/domain/people/organizations.ts';
import { grantsAfter, grantsText } from '../src/domain/people/vault-grants.ts';
import type { OrganizationRow } from '../src/store/records/organizations.ts';
import type { Store } from '../src/store/store.ts';
import {
  audits,
  type DomainWorld,
  day,
  domainWorld,
  joined,
  organization,
  refused,
  setUp,
  signedIn,
} from './accounts-world.ts';
import { asking, takes } from './asking.ts';

let world: DomainWorld;
let owner: Caller;
let ownerId: string;
let acme: string;
let vault: string;
let another: string;
let names = 0;
before(async () => {
  world = await domainWorld();
  const { caller, person } = await setUp(world);
  owner = { ...caller, proof: { ...caller.proof, provenAt: world.now() + day } };
  [ownerId, acme] = [person.member.id, person.member.organization_id];
  vault = (await world.vaults.create(owner, { name: 'one' })).id;
  another = (await world.vaults.create(owner, { name: 'two' })).id;
});
after(() => world.close());

const query = { page: 1, limit: 100 };
const email = () => `person${++names}@example.org`;
async function key(more: Partial<Parameters<DomainWorld['apiKeys']['create']>[1]> = {}): Promise<Caller> {
  const { token } = await world.apiKeys.create(world.operator(acme), {
    name: `key ${++names}`,
    role: 'owner',
    ...more,
  });
  return world.authenticate.apiKey(token!, world.origin());
}
const asMember = async (role: Parameters<typeof joined>[3]) =>
  (await joined(world, acme, email(), role)).caller;
const editor = (vault_id: string) => ({ vault_id, role: 'editor' as const });
const viewer = (vault_id: string) => ({ vault_id, role: 'viewer' as const });
/** As it is held: without an end. */
const lasting = <G extends object>(grant: G) => ({ ...grant, until: null });

describe('roles in vaults', () => {
  it('are stored in the order of the vaults', () => {
    const [a, b, c] = ['a', 'b', 'c'].map(editor);
    for (const given of [
      [a, b, c],
      [c, b, a],
      [b, c, a],
    ])
      assert.equal(grantsText(given.map(one => lasting(one!))), JSON.stringify([a, b, c]));
    assert.equal(
      grantsText([{ role: 'viewer', vault_id: 'a', until: null, more: 1 } as never]),
      '[{"vault_id":"a","role":"viewer"}]',
    );
  });

  it('are a list of their own, or changes to the one that was there', () => {
    const before = [editor('a'), viewer('b')].map(lasting);
    const after = (body: Parameters<typeof grantsAfter>[1]) => grantsAfter(before, body, 5);
    assert.deepEqual(after({}), before);
    assert.deepEqual(after({ grants: [] }), []);
    assert.deepEqual(after({ grants: [editor('c')] }), [lasting(editor('c'))]);
    const change_grants = [viewer('a'), { vault_id: 'b', role: 'none' as const }, editor('c')];
    assert.deepEqual(after({ change_grants }), [viewer('a'), editor('c')].map(lasting));
  });

  it('may have an end in the future, beside one without', async () => {
    const short = { ...editor('a'), until: 6 };
    const before = [lasting(viewer('a')), lasting(viewer('b'))];
    const change_grants = [viewer('a'), short];
    assert.deepEqual(grantsAfter(before, { change_grants }, 5), [before[1], before[0], short]);
    assert.equal(
      grantsText([short, lasting(viewer('a'))]),
      '[{"vault_id":"a","role":"viewer"},{"vault_id":"a","role":"editor until 1970-01-01T00:00:00.006Z"}]',
    );
    for (const until of [5, 4])
      for (const field of ['grants', 'change_grants'] as const)
        await refused(
          (async () => grantsAfter(before, { [field]: [{ ...short, until }] }, 5))(),
          'INVALID_REQUEST',
          { field, reason: 'must have an until in the future, or none' },
        );
    assert.deepEqual(grantsAfter([short], { grants: [short] }, 7), [short], 'as it was');
  });

  it('are 500 at most', async () => {
    const before = Array.from({ length: 499 }, (_, index) => lasting(editor(`v${index}`)));
    assert.equal(grantsAfter(before, { change_grants: [editor('w')] }, 5).length, 500);
    await refused(
      (async () => grantsAfter(before, { change_grants: [editor('w'), editor('x')] }, 5))(),
      'INVALID_REQUEST',
      {
        field: 'change_grants',
        reason: 'must leave at most 500 entries in grants',
      },
    );
  });
});

describe('a member', () => {
  const invite = (more: object = {}, by = owner) =>
    world.members.create(by, { email: email(), role: 'viewer', ...more });
  const tooMuch = { message: 'A member can’t be given more permissions than the person inviting them' };

  it('has what their inviter gives, in vaults that are there', async () => {
    const { id, grants, role, group_ids, state } = await invite({ grants: [editor(another), viewer(vault)] });
    assert.deepEqual(
      [grants, role, group_ids, state],
      [
        [viewer(vault), editor(another)].toSorted((a, b) => (a.vault_id < b.vault_id ? -1 : 1)),
        'viewer',
        [],
        'invited',
      ],
    );
    assert.deepEqual((await invite()).grants, []);
    const missing = { field: 'grants', reason: 'must name vaults by their ids' };
    await refused(invite({ grants: [editor(world.parts.newId())] }), 'NOT_FOUND', missing);
    const gone = [editor(world.parts.newId())];
    await refused(world.members.update(owner, id, { grants: gone }), 'NOT_FOUND', missing);
    assert.deepEqual(await world.members.get(owner, id), { ...(await world.members.get(owner, id)), grants });
  });

  it('keeps a role in a vault that was deleted since', async () => {
    const third = (await world.vaults.create(owner, { name: 'three' })).id;
    const { id } = await invite({ grants: [editor(third)] });
    await world.vaults.remove(owner, third, false);
    const { grants } = await world.members.update(owner, id, { change_grants: [editor(vault)] });
    assert.equal(grants.length, 2);
  });

  it('is not given more than whoever gives has', async () => {
    const admin = await asMember('admin');
    await refused(invite({ role: 'owner' }, admin), 'FORBIDDEN', tooMuch);
    await refused(invite({ role: 'editor' }, await key({ role: 'admin' })), 'FORBIDDEN', tooMuch);
    const { id } = await invite();
    await refused(world.members.update(admin, id, { role: 'owner' }), 'FORBIDDEN', tooMuch);
    await refused(world.members.update(admin, id, { change_grants: [editor(vault)] }), 'FORBIDDEN', tooMuch);
    assert.equal((await world.members.get(owner, id)).role, 'viewer');
  });

  it('is not touched by whoever has less, also in what their groups give', async () => {
    const admin = await asMember('admin');
    const { id } = await invite({ role: 'none' });
    await world.groups.create(owner, { name: `group ${++names}`, grants: [editor(vault)], member_ids: [id] });
    for (const member of [ownerId, id]) {
      await refused(world.members.update(admin, member, { role: 'viewer' }), 'FORBIDDEN', tooMuch);
      await refused(world.members.invite(admin, member), 'FORBIDDEN', tooMuch);
      await refused(world.members.remove(admin, member), 'FORBIDDEN', tooMuch);
    }
  });

  it('is given nothing by what ends, which may take away', async () => {
    const brief = await key({ expiration_date: world.now() + day });
    const { id } = await invite();
    await refused(invite({}, brief), 'FORBIDDEN', tooMuch);
    await refused(world.members.update(brief, id, { role: 'none' }), 'FORBIDDEN', tooMuch);
    await refused(world.members.invite(brief, id), 'FORBIDDEN', tooMuch);
    await world.members.remove(brief, id);
    await refused(world.members.get(owner, id), 'NOT_FOUND');
  });

  it('stays what they were where a change leaves it out', async () => {
    const { id } = await invite({ role: 'auditor', grants: [viewer(vault)] });
    const { grants, role } = await world.members.update(owner, id, { change_grants: [viewer(another)] });
    assert.deepEqual([role, grants.length], ['auditor', 2]);
    const changed = await world.members.update(owner, id, { role: 'viewer' });
    assert.deepEqual([changed.role, changed.grants.length], ['viewer', 2]);
  });

  it('is listed with their groups, for those who see the whole organization', async () => {
    const { id } = await invite();
    const { id: group } = await world.groups.create(owner, { name: `group ${++names}`, member_ids: [id] });
    await world.groups.create(owner, { name: `group ${++names}`, member_ids: [ownerId] });
    const { data, pagination } = await world.members.list(owner, query);
    assert.equal(pagination.total, data.length);
    assert.deepEqual(data.find(one => one.id === id)!.group_ids, [group]);
    assert.deepEqual((await world.members.get(owner, id)).group_ids, [group]);
    assert.deepEqual((await world.members.update(owner, id, {})).group_ids, [group]);
    assert.deepEqual((await world.members.list(owner, { ...query, page: 9 })).data, []);
    const narrow = await key({ vault_ids: [vault] });
    assert.deepEqual(await world.members.list(narrow, query), {
      data: [],
      pagination: { total: 0, ...query },
    });
  });

  it('leaves their groups when they are removed, and nobody else does', async () => {
    const [one, two] = [(await invite()).id, (await invite()).id];
    const { id } = await world.groups.create(owner, { name: `group ${++names}`, member_ids: [one, two] });
    await world.members.remove(owner, one);
    assert.deepEqual((await world.groups.get(owner, id)).member_ids, [two]);
  });

  it('is invited again by others, never by themselves or a key of theirs', async () => {
    const own = { message: 'You can’t re-invite yourself; ask another administrator' };
    const { caller, person } = await joined(world, acme, email(), 'owner');
    const mine = { ...caller, proof: { ...caller.proof, provenAt: world.now() } };
    const { token } = await world.apiKeys.create(mine, { name: `key ${++names}`, role: 'owner' });
    const theirs = await world.authenticate.apiKey(token!, world.origin());
    for (const by of [mine, theirs])
      await refused(world.members.invite(by, person.member.id), 'FORBIDDEN', own);
    const again = await world.members.invite(owner, person.member.id);
    assert.deepEqual([again.state, again.id], ['invited', person.member.id]);
    assert.equal((await world.accounts.joining.invitation(again.token, world.origin())).role, 'owner');
  });
});

describe('the last owner', () => {
  const last = { message: 'The last owner can’t be removed or given another role; add another owner first' };

  it('stays one, whatever else of them is changed', async () => {
    const there = await organization(world, 'Last');
    const operator = world.operator(there);
    const { person } = await joined(world, there, 'last@example.org', 'owner');
    const { id } = person.member;
    await refused(world.members.update(operator, id, { role: 'editor' }), 'CONFLICT', last);
    await refused(world.members.remove(operator, id), 'CONFLICT', last);
    await refused(world.members.invite(operator, id), 'CONFLICT', last);
    assert.equal((await world.members.update(operator, id, { role: 'owner' })).role, 'owner');
    assert.equal((await world.members.update(operator, id, { grants: [] })).role, 'owner');
    await joined(world, there, 'next@example.org', 'owner');
    assert.equal((await world.members.update(operator, id, { role: 'editor' })).role, 'editor');
  });

  it('is one who has joined: others come and go', async () => {
    const there = await organization(world, 'Ownerless');
    const operator = world.operator(there);
    const invited = await world.members.create(operator, { email: 'a@example.org', role: 'owner' });
    await world.members.update(operator, invited.id, { role: 'viewer' });
    await world.members.update(operator, invited.id, { role: 'owner' });
    await world.members.remove(operator, invited.id);
    const { person } = await joined(world, there, 'b@example.org', 'editor');
    await world.members.update(operator, person.member.id, { role: 'viewer' });
    await world.members.invite(operator, person.member.id);
    await world.members.remove(operator, person.member.id);
  });

  it('is let in again by the operator, by their very address', async () => {
    const there = await organization(world, 'Recovered');
    const operator = world.operator(there);
    const { person } = await joined(world, there, 'lost@example.org', 'owner');
    await joined(world, there, 'other@example.org', 'admin');
    await refused(world.members.recover(operator, 'ｌost@example.org'), 'NOT_FOUND');
    await refused(world.members.recover(operator, 'none@example.org'), 'NOT_FOUND');
    await refused(world.members.recover(operator, 'other@example.org'), 'FORBIDDEN', {
      message: 'The member is not an owner',
    });
    const { id, state } = await world.members.recover(operator, 'Lost@Example.org');
    assert.deepEqual([id, state], [person.member.id, 'invited']);
    assert.ok(audits(world, there, 3).some(({ action }) => action === 'member.recovered'));
  });
});

describe('a group', () => {
  const create = (more: object = {}, by = owner) =>
    world.groups.create(by, { name: `group ${++names}`, ...more });
  const tooMuch = { message: 'A group can’t have more permissions than the caller' };

  it('has what was asked for, and nothing else', async () => {
    const { id, created_at, updated_at, name, ...rest } = await create();
    assert.deepEqual(rest, { grants: [], member_ids: [], single_sign_on: false, signed_on_member_ids: [] });
    const full = await create({ grants: [editor(vault)], member_ids: [ownerId], single_sign_on: true });
    assert.deepEqual([full.grants, full.member_ids, full.single_sign_on], [[editor(vault)], [ownerId], true]);
    assert.deepEqual(await world.groups.get(owner, full.id), full);
  });

  it('has members and vaults that are there; who was one before may be gone', async () => {
    const noMember = { field: 'member_ids', reason: 'must name members by their ids' };
    const noVault = { field: 'grants', reason: 'must name vaults by their ids' };
    const gone = world.parts.newId();
    await refused(create({ member_ids: [ownerId, gone] }), 'NOT_FOUND', noMember);
    await refused(create({ grants: [editor(gone)] }), 'NOT_FOUND', noVault);
    const third = (await world.vaults.create(owner, { name: 'four' })).id;
    const { id } = await create({ member_ids: [ownerId], grants: [editor(third)] });
    await refused(world.groups.update(owner, id, { member_ids: [gone] }), 'NOT_FOUND', noMember);
    await refused(world.groups.update(owner, id, { add_member_ids: [gone] }), 'NOT_FOUND', noMember);
    await refused(world.groups.update(owner, id, { grants: [editor(gone)] }), 'NOT_FOUND', noVault);
    await world.vaults.remove(owner, third, false);
    await world.groups.update(owner, id, { name: `group ${++names}` });
  });

  it('stays what it was where a change leaves it out, and is changed in part', async () => {
    const [one, two] = [await asMember('viewer'), await asMember('viewer')];
    const before = await create({
      grants: [editor(vault)],
      member_ids: [ownerId, one.id],
      single_sign_on: true,
    });
    const { updated_at, ...same } = await world.groups.update(owner, before.id, { name: before.name });
    assert.deepEqual({ ...same, updated_at: before.updated_at }, before);
    const { member_ids } = await world.groups.update(owner, before.id, {
      add_member_ids: [two.id],
      remove_member_ids: [ownerId],
    });
    assert.deepEqual(member_ids, [one.id, two.id]);
    const changed = await world.groups.update(owner, before.id, {
      name: 'renamed',
      grants: [],
      member_ids: [ownerId],
      single_sign_on: false,
    });
    assert.deepEqual(
      [changed.name, changed.grants, changed.member_ids, changed.single_sign_on],
      ['renamed', [], [ownerId], false],
    );
  });

  it('has 1,000 members at most', async () => {
    const { parts, records } = world;
    const member = await parts.store.organizations.member(acme, ownerId);
    const organizations = { ...parts.store.organizations, member: async () => member };
    const own = groupsWith({ ...parts, store: { ...parts.store, organizations } as Store }, records);
    const groups = asking(parts.guard, own, takes.groups);
    const { id } = await create();
    const ids = Array.from({ length: 1_000 }, () => parts.newId());
    await groups.update(owner, id, { member_ids: ids.slice(1) });
    const added = await groups.update(owner, id, { add_member_ids: [ids[0]!] });
    assert.equal(added.member_ids.length, 1_000);
    await refused(groups.update(owner, id, { add_member_ids: [ownerId] }), 'INVALID_REQUEST', {
      field: 'add_member_ids',
      reason: 'must leave at most 1000 entries in member_ids',
    });
  });

  it('whose members the issuer names has them until it is asked no longer, or for another name', async () => {
    const filled = async (name: string) => {
      const group = await create({ name, single_sign_on: true });
      const { person } = await joined(world, acme, email());
      const { member } = person;
      const identity = {
        issuer: 'https://i.example.org',
        subject: member.id,
        email: member.email,
        emailVerified: true,
        groups: [name],
      };
      await signedIn(world, (await world.accounts.identities.enter(identity, world.origin()))!);
      assert.deepEqual((await world.groups.get(owner, group.id)).signed_on_member_ids, [member.id]);
      return { id: group.id, member: member.id };
    };
    const after = async (name: string, change: object) => {
      const { id, member } = await filled(name);
      const { signed_on_member_ids } = await world.groups.update(owner, id, change);
      return signed_on_member_ids.includes(member);
    };
    assert.equal(await after('a', { grants: [viewer(vault)] }), true);
    assert.equal(await after('b', { name: 'b', single_sign_on: true }), true);
    assert.equal(await after('c', { name: 'other' }), false);
    assert.equal(await after('d', { single_sign_on: false }), false);
    const { id, member } = await filled('e');
    await world.members.remove(owner, member);
    assert.deepEqual((await world.groups.get(owner, id)).signed_on_member_ids, []);
  });

  it('is not given more than whoever gives has, nor touched by whoever has less', async () => {
    const admin = await asMember('admin');
    await refused(create({ grants: [editor(vault)] }, admin), 'FORBIDDEN', tooMuch);
    const plain = await create();
    await refused(world.groups.update(admin, plain.id, { grants: [editor(vault)] }), 'FORBIDDEN', tooMuch);
    const strong = await create({ grants: [editor(vault)] });
    await refused(world.groups.update(admin, strong.id, { grants: [] }), 'FORBIDDEN', tooMuch);
    await refused(world.groups.remove(admin, strong.id), 'FORBIDDEN', tooMuch);
    assert.deepEqual((await world.groups.get(owner, strong.id)).grants, [editor(vault)]);
    await world.groups.remove(owner, strong.id);
    await refused(world.groups.get(owner, strong.id), 'NOT_FOUND');
  });

  it('is given nothing by what ends, which may remove it', async () => {
    const brief = await key({ expiration_date: world.now() + day });
    await refused(create({}, brief), 'FORBIDDEN', tooMuch);
    const { id } = await create();
    await refused(world.groups.update(brief, id, { name: 'renamed by it' }), 'FORBIDDEN', tooMuch);
    await world.groups.remove(brief, id);
  });

  it('is listed for those who see the whole organization', async () => {
    const { id } = await create();
    assert.ok((await world.groups.list(owner, query)).data.some(group => group.id === id));
    const narrow = await key({ vault_ids: [vault] });
    assert.deepEqual(await world.groups.list(narrow, query), {
      data: [],
      pagination: { total: 0, ...query },
    });
  });
});

describe('an organization', () => {
  it('may ask as often as its plan says', () => {
    const limit = (plan: string, enterprise_limit: number) =>
      limitOf({ plan, enterprise_limit } as OrganizationRow);
    assert.deepEqual(
      [limit('free', 0), limit('free', 7), limit('pro', 0), limit('enterprise', 0), limit('enterprise', 7)],
      [100, 100, 1_000, null, 7],
    );
  });

  it('is found by its name and by its members, and no other is', async () => {
    assert.equal((await world.organizations.byName('Acme'))!.id, acme);
    assert.equal(await world.organizations.byName('None'), null);
    assert.equal((await world.organizations.get(owner)).name, 'Acme');
    assert.equal(await world.organizations.limit(acme), 1_000);
    const nobody = world.operator(world.parts.newId());
    await refused(world.organizations.get(nobody), 'NOT_FOUND');
    await refused(world.organizations.limit(nobody.organizationId), 'NOT_FOUND');
    await refused(world.organizations.setPlan(nobody, { plan: 'free', enterpriseLimit: 0 }), 'NOT_FOUND');
  });

  it('is given another plan by an owner who is signed in, and by the operator alone', async () => {
    const only = { message: 'Only an owner in the dashboard, or the operator, can change the plan' };
    const byKey = await key();
    const admin = await asMember('admin');
    const newest = () => audits(world, acme, 1)[0]!.action;
    const change = world.organizations.change;
    for (const by of [byKey, admin]) {
      await refused(change(by, { plan: 'free' }), 'FORBIDDEN', only);
      await refused(change(by, { enterprise_limit: 9 }), 'FORBIDDEN', only);
      await refused(change(by, { name: 'Other', enterprise_limit: 9 }), 'FORBIDDEN', only);
    }
    assert.equal((await change(byKey, { name: 'Acme 2', plan: 'pro' })).name, 'Acme 2');
    assert.equal(newest(), 'organization.updated');
    assert.deepEqual(
      (await change(owner, { plan: 'enterprise', enterprise_limit: 5, name: undefined })).rate_limit,
      5,
    );
    assert.equal(newest(), 'organization.plan_changed');
    assert.deepEqual((await change(owner, { enterprise_limit: 6 })).rate_limit, 6);
    assert.equal(newest(), 'organization.plan_changed');
    assert.equal((await change(owner, { plan: 'enterprise' })).name, 'Acme 2');
    assert.equal(newest(), 'organization.updated');
    const set = await world.organizations.setPlan(world.operator(acme), { plan: 'pro', enterpriseLimit: 0 });
    assert.deepEqual([set.plan, set.rate_limit], ['pro', 1_000]);
    assert.equal((await change(owner, { plan: 'free' })).rate_limit, 100);
  });
});

describe('who is calling', () => {
  const whoami = (caller: Caller) => world.accounts.whoami(caller);

  it('is a member, with their roles in vaults', async () => {
    const { id, token } = await world.members.create(owner, {
      email: 'w@example.org',
      role: 'viewer',
      grants: [editor(vault)],
    });
    const session = await world.accounts.joining.accept(
      {} as never,
      { token, password: 'x' },
      world.origin(),
    );
    const { caller } = await signedIn(world, session);
    const told = await whoami(caller);
    const { name } = await world.organizations.get(owner);
    assert.deepEqual(told, {
      kind: 'member',
      id,
      name: 'w@example.org',
      organization: { id: acme, name },
      member: { id, email: 'w@example.org' },
      role: 'viewer',
      grants: [editor(vault)],
      scopes: null,
      vault_ids: null,
      expiration_date: null,
    });
  });

  it('is an API key: nobody’s, or that of a member, with what it is restricted to and what they have', async () => {
    const scopes = ['organization:read', 'vaults:read'] as const;
    const until = world.now() + day;
    const nobodys = await whoami(await key({ scopes: [...scopes], vault_ids: null, expiration_date: until }));
    assert.deepEqual(
      [nobodys.kind, nobodys.member, nobodys.scopes, nobodys.vault_ids, nobodys.grants],
      ['api-key', null, scopes, null, []],
    );
    assert.equal(nobodys.expiration_date, new Date(until).toISOString());
    const theirs = {
      ...(await key()),
      proof: { rows: [{ table: 'members' as const, id: ownerId, revision: 1 }], until: null },
    };
    assert.deepEqual((await whoami(theirs)).member, { id: ownerId, email: 'owner@example.org' });
    const gone = {
      ...theirs,
      proof: { rows: [{ table: 'members' as const, id: world.parts.newId(), revision: 1 }], until: null },
    };
    assert.equal((await whoami(gone)).member, null);
    const within = {
      ...grantOfRole('viewer'),
      vaultRoles: new Map([[vault, [{ role: 'editor' as const, until: null }]]]),
    };
    assert.deepEqual((await whoami({ ...theirs, within })).grants, [editor(vault)]);
  });

  it('is nobody where the organization is gone', () =>
    refused(whoami(world.operator(world.parts.newId())), 'UNAUTHORIZED'));
});
