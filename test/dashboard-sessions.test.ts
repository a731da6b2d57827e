/** Sessions of the dashboard: whose they are, until when, and who ends them. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { mintToken } from '../src/access/token.ts';
import { mailboxWith } from '../src/domain/kernel/mailbox.ts';
import type { Person } from '../src/domain/people/people.ts';
import { dashboardSessionsWith, isSignedIn, proofOf } from '../src/domain/sessions/dashboard-sessions.ts';
import { lockOutWith } from '../src/domain/sessions/lock-out.ts';
import { mailSettingsWith } from '../src/domain/sessions/mail-settings.ts';
import {
  audits,
  type DomainWorld,
  day,
  domainWorld,
  hour,
  joined,
  minute,
  organization,
  refused,
  setUp,
  signedIn,
} from './accounts-world.ts';

let world: DomainWorld;
let owner: Person;
before(async () => {
  world = await domainWorld();
  owner = (await setUp(world)).person;
});
after(() => world.close());

const sessions = () => world.accounts.sessions;
const started = (person = owner, method = 'password') => sessions().start(person, method, world.origin(), {});
const found = (token: string | null) => sessions().find(token, world.origin());
const row = async (token: string) => (await found(token))!.session;
const stored = async (id: string) => (await world.parts.store.accounts.session(id))!;
/** A use that is written down, which nobody waits for. */
async function used(token: string): Promise<void> {
  const { id } = await row(token);
  for (let tries = 0; tries < 500 && (await stored(id)).used_at !== world.now(); tries++) await sleep(10);
}

describe('a session', () => {
  it('is found by its token alone', async () => {
    const token = await started();
    const { caller, person, session } = (await found(token))!;
    assert.equal(person.member.email, 'owner@example.org');
    assert.deepEqual([caller.kind, caller.id, caller.role], ['member', owner.member.id, 'owner']);
    for (const other of [
      null,
      '',
      'x',
      mintToken('session', session.id),
      mintToken('session', world.parts.newId()),
      mintToken('api', session.id),
    ])
      assert.equal(await found(other), null, String(other));
  });

  it('is not read again while it is known, and is once it is not', async () => {
    const { accounts } = world.parts.store;
    const read = accounts.session;
    const token = await started();
    await found(token);
    let reads = 0;
    const counted = (id: string) => {
      reads++;
      return read(id);
    };
    Object.assign(accounts, { session: counted });
    // What was heard of a change just now is not kept from before it.
    for (let tries = 0; tries < 100 && (tries === 0 || reads > 0); tries++) {
      reads = 0;
      await found(token);
    }
    assert.equal(reads, 0);
    await found(mintToken('session', world.parts.newId()));
    assert.equal(reads, 1);
    Object.assign(accounts, { session: read });
  });

  it('ends after 12 hours without use, to the millisecond', async () => {
    const [one, other] = [await started(), await started()];
    world.pass(12 * hour - 1);
    assert.ok(await found(one));
    world.pass(1);
    assert.equal(await found(other), null);
    assert.ok(await found(one), 'was used since');
  });

  it('that looks idle here goes on where it was used elsewhere', async () => {
    const token = await started();
    const before = await row(token);
    world.pass(11 * hour);
    const used = world.parts.stamps.session.stamp({ ...before, used_at: world.now() });
    await world.parts.store.accounts.noteSessionUse(used);
    world.pass(hour);
    assert.ok(await found(token));
  });

  it('ends after 7 days however much it is used, to the millisecond', async () => {
    const [token, again] = [await started(), await started()];
    const { id } = await row(token);
    for (let passed = 0; passed < 7 * day - 11 * hour; passed += 11 * hour) {
      world.pass(11 * hour);
      assert.ok(await found(token));
    }
    world.pass((7 * day - 1) % (11 * hour));
    await used(token);
    await sessions().again(id, world.origin());
    world.pass(1);
    assert.equal(await found(token), null);
    await refused(sessions().again(id, world.origin()), 'UNAUTHORIZED');
    assert.equal(await found(again), null);
  });

  it('has the time of its use written down once a minute', async () => {
    const token = await started();
    const { id, used_at } = await row(token);
    world.pass(minute - 1);
    await found(token);
    await started();
    assert.equal((await stored(id)).used_at, used_at);
    world.pass(1);
    await used(token);
    assert.equal((await stored(id)).used_at, used_at + minute);
  });

  it('gives way, the oldest first, to one more than 20', async () => {
    const { person } = await joined(world, owner.member.organization_id, 'many@example.org');
    const tokens = [];
    for (let count = 0; count < 19; count++) tokens.push(await started(person));
    const [oldest, next] = [(await row(tokens[0]!)).id, (await row(tokens[1]!)).id];
    assert.equal((await sessions().list((await found(tokens[0]!))!)).length, 20, 'with that of joining');
    tokens.push(await started(person));
    assert.ok(await found(tokens[0]!));
    tokens.push(await started(person));
    assert.equal(await found(tokens[0]!), null);
    assert.ok(await found(tokens[1]!));
    const listed = await sessions().list((await found(tokens.at(-1)!))!);
    assert.equal(listed.length, 20);
    assert.deepEqual([listed.some(({ id }) => id === oldest), listed.at(-1)!.id], [false, next]);
    const told = audits(world, person.member.organization_id, 4);
    assert.ok(told.some(({ action, subject }) => action === 'session.ended' && subject!.id === oldest));
  });
});

describe('a request', () => {
  it('without a session is refused, and so is a session that is none', async () => {
    await refused(sessions().require(null, world.origin()), 'UNAUTHORIZED');
    await refused(sessions().require('x', world.origin()), 'UNAUTHORIZED');
    assert.equal(
      (await sessions().require(await started(), world.origin())).person.member.id,
      owner.member.id,
    );
  });

  it('that need not be of anybody is of nobody without a session, which counts as no failure', async () => {
    const origin = world.origin();
    for (let count = 0; count < 61; count++) assert.equal(await sessions().recognise(null, origin), null);
    assert.equal(await sessions().recognise('x', origin), null);
  });

  it('that need not be of anybody is of whom it is, and a session that is none counts as a failure', async () => {
    const origin = world.origin();
    for (let count = 0; count < 60; count++) assert.equal(await sessions().recognise('x', origin), null);
    await refused(sessions().recognise('x', origin), 'RATE_LIMITED');
    const known = await sessions().recognise(await started(), origin);
    assert.equal(known!.person.member.id, owner.member.id);
    assert.equal(await sessions().recognise(null, origin), null);
  });
});

describe('a session as the store has it now', () => {
  it('is that of its person, until it has ended', async () => {
    const token = await started();
    const { id } = await row(token);
    const { person, caller, session } = await sessions().again(id, world.origin());
    assert.deepEqual([person.member.id, caller.id, session.id], [owner.member.id, owner.member.id, id]);
    world.pass(12 * hour - 1);
    await sessions().again(id, world.origin());
    world.pass(1);
    await refused(sessions().again(id, world.origin()), 'UNAUTHORIZED');
    await refused(sessions().again(world.parts.newId(), world.origin()), 'UNAUTHORIZED');
  });

  it('is refused where its person is no longer one, or proves themselves otherwise by now', async () => {
    const { person, session } = await joined(world, owner.member.organization_id, 'gone@example.org');
    const token = await started(person);
    const { parts } = world;
    const { account, member } = person;
    const whom: [string, Person | undefined][] = [
      ['nobody', undefined],
      ['another epoch', { ...person, account: { ...account, epoch: account.epoch + 1 } }],
      ['invited', { ...person, member: { ...member, state: 'invited' } }],
      ['another member', owner],
    ];
    for (const [name, now] of whom) {
      const people = { ...world.people, byMember: async () => now, fresh: async () => now };
      const there = dashboardSessionsWith(
        parts,
        people,
        lockOutWith({ ...parts, attempts: world.attempts }),
        mailSettingsWith(parts, mailboxWith(parts, false)),
      );
      await refused(there.again(session.id, world.origin()), 'UNAUTHORIZED');
      assert.equal(await there.find(token, world.origin()), null, name);
    }
    await sessions().again(session.id, world.origin());
    assert.ok(await found(token));
  });
});

describe('the list of sessions', () => {
  it('has those of the person that go on, and says which one asks', async () => {
    const { person, session } = await joined(world, owner.member.organization_id, 'list@example.org');
    const token = await started(person);
    const as = (await found(token))!;
    const listed = await sessions().list(as);
    assert.deepEqual(
      listed.map(({ id, current }) => [id, current]),
      [
        [as.session.id, true],
        [session.id, false],
      ],
    );
    world.pass(12 * hour - 1);
    await used(token);
    assert.equal((await sessions().list(as)).length, 2);
    world.pass(1);
    assert.deepEqual(
      (await sessions().list(as)).map(({ id }) => id),
      [as.session.id],
    );
    const later = { ...as, person: { ...person, account: { ...person.account, epoch: 9 } } };
    assert.deepEqual(await sessions().list(later), []);
  });
});

describe('a session is ended', () => {
  it('by its own person, and by nobody else', async () => {
    const { person } = await joined(world, owner.member.organization_id, 'end@example.org');
    const [theirs, mine] = [await started(person), (await found(await started()))!];
    const { id } = await row(theirs);
    await refused(sessions().end(mine, id), 'NOT_FOUND');
    await refused(sessions().end(mine, world.parts.newId()), 'NOT_FOUND');
    assert.ok(await found(theirs));
    await sessions().end((await found(theirs))!, id);
    assert.equal(await found(theirs), null);
  });

  it('by the operator of its organization', async () => {
    const token = await started();
    const { id } = await row(token);
    const other = world.operator(await organization(world, 'Other'));
    await refused(sessions().endBy(other, id), 'NOT_FOUND');
    await refused(
      sessions().endBy(world.operator(owner.member.organization_id), world.parts.newId()),
      'NOT_FOUND',
    );
    assert.ok(await found(token));
    await sessions().endBy(world.operator(owner.member.organization_id), id);
    assert.equal(await found(token), null);
    const [told] = audits(world, owner.member.organization_id, 1);
    assert.deepEqual([told!.action, told!.actor.kind, told!.subject!.id], ['session.ended', 'operator', id]);
  });
});

describe('what a session proves', () => {
  it('is its row, its member, their account and groups, until it ends', async () => {
    const { session, person } = await signedIn(world, await started());
    const { rows, until } = proofOf(session, { ...person, groups: [{ id: 'g', revision: 3 }] as never });
    assert.deepEqual(rows, [
      { table: 'sessions', id: session.id, revision: 1 },
      { table: 'members', id: person.member.id, revision: person.member.revision },
      { table: 'member_groups', id: 'g', revision: 3 },
      { table: 'accounts', id: person.account.id, revision: person.account.revision },
    ]);
    assert.equal(until, session.created_at + 7 * day);
  });

  it('is that its person was there when they signed in, unless the issuer did, or since', async () => {
    const { session, person } = await signedIn(world, await started());
    const provenAt = (method: string, proven_at: number | null) =>
      proofOf({ ...session, method, proven_at }, person).provenAt;
    assert.equal(provenAt('password', null), session.created_at);
    assert.equal(provenAt('passkey', null), session.created_at);
    assert.equal(provenAt('oidc', null), null);
    assert.equal(provenAt('password', 7), 7);
    assert.equal(provenAt('oidc', 7), 7);
  });

  it('is who is signed in, while all of that is so', async () => {
    const { session, person } = await signedIn(world, await started());
    const { member, account } = person;
    const end = session.created_at + 7 * day;
    assert.equal(isSignedIn(session, person, end - 1), true);
    assert.equal(isSignedIn(session, person, end), false);
    for (const other of [
      { ...person, member: { ...member, id: 'other' } },
      { ...person, member: { ...member, state: 'invited' as const } },
      { ...person, account: { ...account, epoch: account.epoch + 1 } },
    ])
      assert.equal(isSignedIn(session, other, end - 1), false);
  });

  it('is that its person proved themselves just now, where they did', async () => {
    const token = await started(owner, 'oidc');
    const as = (await found(token))!;
    assert.equal(as.caller.proof.provenAt, null);
    world.pass(5);
    await sessions().proven(as, {});
    assert.equal((await found(token))!.caller.proof.provenAt, world.now());
  });
});
