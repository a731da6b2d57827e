/** Whom somebody is here whom the issuer of single sign-on vouches for. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import { StaleChange } from '../src/domain/kernel/conflict-retries.ts';
import type { Person } from '../src/domain/people/people.ts';
import type { SignInParts } from '../src/domain/sign-in/sign-in.ts';
import { identitiesWith, type SignOnIdentity } from '../src/domain/sign-in/sign-on-identities.ts';
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

let world: DomainWorld;
let first: string;
let other: string;
before(async () => {
  world = await domainWorld();
  first = (await setUp(world)).person.member.organization_id;
  other = await organization(world, 'Other');
});
after(() => world.close());

const issuer = 'https://issuer.example.org';
const identity = (subject: string, more: Partial<SignOnIdentity> = {}): SignOnIdentity => ({
  issuer,
  subject,
  email: `${subject}@example.org`,
  emailVerified: true,
  groups: [],
  ...more,
});
const identities = () => world.accounts.identities;
const enter = (who: SignOnIdentity) => identities().enter(who, world.origin());
const entered = async (who: SignOnIdentity) => (await signedIn(world, (await enter(who))!)).person;
const joins = async (name: string, organizationId = first) =>
  (await joined(world, organizationId, `${name}@example.org`)).person;
const invited = async (name: string, organizationId = first) =>
  (
    await world.members.create(world.operator(organizationId), {
      email: `${name}@example.org`,
      role: 'viewer',
    })
  ).id;
const actions = (limit: number) => audits(world, first, limit).map(({ action }) => action);

/** That somebody is refused for a reason that the operator reads, and the audit log of each of these organizations. */
async function isRefused(
  attempt: () => Promise<unknown>,
  reason: string,
  ...told: [organization: string | null, reason: string][]
) {
  const newest = [null, first, other].map(one => audits(world, one, 1)[0]?.id);
  await assert.rejects(attempt, (error: Failure) => {
    assert.equal(error.code, 'UNAUTHORIZED');
    assert.equal((error.cause as Error).message, `single sign-on was refused: ${reason}`);
    return true;
  });
  for (const [index, one] of [null, first, other].entries()) {
    const entries = audits(world, one);
    const known = entries.findIndex(({ id }) => id === newest[index]);
    const added = entries.slice(0, known < 0 ? entries.length : known);
    assert.deepEqual(
      added.map(({ action, details }) => [action, details.reason]),
      told.filter(([where]) => where === one).map(([, why]) => ['session.refused', why]),
      `in ${one}`,
    );
  }
}

describe('somebody whom the issuer vouches for', () => {
  it('is bound to the account of their verified address when they first come in, and then found by the issuer’s name', async () => {
    const { member } = await joins('ann');
    const person = await entered(identity('ann'));
    assert.deepEqual(
      [person.member.id, person.account.oidc_issuer, person.account.oidc_subject],
      [member.id, issuer, 'ann'],
    );
    assert.deepEqual(actions(2).sort(), ['account.identity_bound', 'session.started']);
    const again = await entered(identity('ann', { email: 'elsewhere@example.org', emailVerified: false }));
    assert.equal(again.member.id, member.id);
    assert.equal(again.account.revision, person.account.revision);
    assert.equal((await entered(identity('ann', { email: null }))).member.id, member.id);
  });

  it('is nobody by an address that is not verified, or that another person of the issuer has', async () => {
    await joins('ben');
    const unverified = 'the issuer does not report the address as verified';
    await isRefused(() => enter(identity('ben', { emailVerified: false })), unverified, [first, unverified]);
    await entered(identity('ben'));
    const taken = 'the account is bound to another person at the issuer';
    await isRefused(() => enter(identity('eve', { email: 'ben@example.org' })), taken, [first, taken]);
    await isRefused(
      () => enter(identity('ben', { email: 'ben@example.org', issuer: 'https://other.example.org' })),
      taken,
      [first, taken],
    );
  });

  it('is nobody by an address that nobody has, or none', async () => {
    const nobody = 'no member has this email address';
    await isRefused(() => enter(identity('nobody')), nobody, [null, nobody]);
    await isRefused(() => enter(identity('nobody', { email: null })), nobody, [null, nobody]);
    await isRefused(() => identities().choices(identity('nobody'), world.origin()), nobody, [null, nobody]);
  });

  it('is told in each organization why not, and counted at their address', async () => {
    for (const where of [first, other]) await joins('cid', where);
    const why = 'the issuer does not report the address as verified';
    const who = identity('cid', { emailVerified: false });
    await isRefused(() => enter(who), `${why}; ${why}`, [first, why], [other, why]);
    const origin = world.origin();
    for (let count = 0; count < 30; count++) {
      await refused(identities().enter(identity('nobody'), origin), 'UNAUTHORIZED');
      await identities().unanswered(origin, 'the issuer’s response is not valid');
    }
    assert.ok(world.attempts.blockedFor(origin.address) > 0);
    const [told] = audits(world, null, 1);
    assert.deepEqual(
      [told!.action, told!.details.reason],
      ['session.refused', 'the issuer’s response is not valid'],
    );
  });

  it('chooses where they are in several organizations, or were invited', async () => {
    const [here, there] = [await joins('dan'), await joins('dan', other)];
    const dan = identity('dan');
    assert.equal(await enter(dan), null);
    assert.deepEqual(await identities().choices(dan, world.origin()), [
      { member_id: here.member.id, organization: 'Acme', role: 'editor', joined: true },
      { member_id: there.member.id, organization: 'Other', role: 'editor', joined: true },
    ]);
    const id = await invited('eli');
    assert.equal(await enter(identity('eli')), null);
    assert.deepEqual(await identities().choices(identity('eli'), world.origin()), [
      { member_id: id, organization: 'Acme', role: 'viewer', joined: false },
    ]);
    assert.equal((await world.people.byMember(id))!.member.state, 'invited');
  });

  it('comes in by an invitation until it expires, to the millisecond', async () => {
    const [id] = [await invited('fay'), await invited('flo')];
    world.pass(7 * day - 1);
    assert.equal(await enter(identity('fay')), null);
    const { member, account } = await chosen(identity('fay'), id);
    assert.deepEqual([member.state, account.oidc_subject, account.invitation], ['active', 'fay', null]);
    assert.deepEqual(actions(3).sort(), ['account.opened', 'member.joined', 'session.started']);
    world.pass(1);
    const expired = 'the invitation has expired';
    await isRefused(() => enter(identity('flo')), expired, [first, expired]);
  });
});

const kept = (who: SignOnIdentity) => ({
  identity: who,
  id: world.parts.newId(),
  expires: world.now() + 600_000,
});
async function chosen(who: SignOnIdentity, memberId: string): Promise<Person> {
  return (await signedIn(world, await identities().choose(kept(who), memberId, world.origin()))).person;
}

describe('a choice', () => {
  it('is of an organization that is theirs, and is made once', async () => {
    const [here, there] = [await joins('gil'), await joins('gil', other)];
    const stranger = await joins('strange');
    const gil = identity('gil');
    const one = kept(gil);
    const choose = (id: string) => identities().choose(one, id, world.origin());
    assert.equal((await signedIn(world, await choose(there.member.id))).person.member.id, there.member.id);
    const used = 'this sign-on was already used';
    await isRefused(() => choose(there.member.id), used, [null, used]);
    await isRefused(() => choose(here.member.id), used, [null, used]);
    const not = 'the person can’t sign in to the chosen organization';
    await isRefused(() => identities().choose(kept(gil), stranger.member.id, world.origin()), not, [
      null,
      not,
    ]);
    assert.equal((await chosen(gil, here.member.id)).account.oidc_subject, 'gil');
  });

  it('of one that is closed is refused for the reason that it is', async () => {
    const [here] = [await joins('hal'), await joins('hal', other)];
    const why = 'the issuer does not report the address as verified';
    const hal = identity('hal', { emailVerified: false });
    await isRefused(() => identities().choose(kept(hal), here.member.id, world.origin()), why, [first, why]);
  });

  it('fails as its session does, and is refused as used only where that is taken', async () => {
    const { member } = await joins('ida');
    const failing = (...errors: Error[]) => {
      const { parts, people } = world;
      const start = async () => {
        const error = errors.shift();
        if (error !== undefined) throw error;
        return 'token';
      };
      const lockOut = { failed: () => {} };
      const stub = { ...parts, people, lockOut, sessions: { start } } as unknown as SignInParts;
      return identitiesWith(stub).choose(kept(identity('ida')), member.id, world.origin());
    };
    for (const error of [
      new Error('broken'),
      Object.assign(new Error('broken'), { code: 'CONFLICT' }),
      new Failure('UNAVAILABLE'),
    ])
      await assert.rejects(failing(error), caught => caught === error);
    assert.equal(await failing(new StaleChange()), 'token');
    await refused(failing(new Failure('CONFLICT')), 'UNAUTHORIZED');
  });
});

describe('groups that the issuer fills', () => {
  it('are entered and left as it says, at once, and no others', async () => {
    const operator = world.operator(first);
    const { member } = await joins('jan');
    const { member: another } = await joins('jon');
    const make = (name: string, single_sign_on: boolean) =>
      world.groups.create(operator, { name, single_sign_on });
    const [filled, own] = [await make('staff', true), await make('own', false)];
    const inGroup = async (id: string) => (await world.groups.get(operator, id)).signed_on_member_ids;

    await entered(identity('jon', { groups: ['staff', 'own'] }));
    const jan = await entered(identity('jan', { groups: ['staff', 'own', 'unknown'] }));
    assert.deepEqual(await inGroup(filled.id), [another.id, member.id]);
    assert.deepEqual(await inGroup(own.id), []);
    assert.deepEqual(
      jan.groups.map(({ id }) => id),
      [filled.id],
    );

    const before = await world.parts.store.memberGroups.byId(first, filled.id);
    await entered(identity('jan', { groups: ['staff'] }));
    assert.equal((await world.parts.store.memberGroups.byId(first, filled.id))!.revision, before!.revision);

    const left = await entered(identity('jan'));
    assert.deepEqual(await inGroup(filled.id), [another.id]);
    assert.deepEqual(left.groups, []);
    await entered(identity('jan'));
    assert.deepEqual(await inGroup(filled.id), [another.id]);
  });

  it('are all that a browser keeps of the groups while its person chooses', async () => {
    const operator = world.operator(first);
    await joins('kim');
    for (const [name, single_sign_on] of [
      ['kept', true],
      ['left', false],
    ] as const)
      await world.groups.create(operator, { name, single_sign_on });
    await world.groups.create(world.operator(other), { name: 'theirs', single_sign_on: true });
    const groups = ['left', 'kept', 'theirs', 'none'];
    const brief = await identities().brief(identity('kim', { groups }));
    assert.deepEqual(brief, identity('kim', { groups: ['kept'] }));
  });
});
