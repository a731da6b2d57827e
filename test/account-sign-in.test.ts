/** Signing in and joining, by password, code and passkey: who is let in, and what is written down of others. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { mintToken } from '../src/access/token.ts';
import { Failure } from '../src/contract/errors.ts';
import { accountSubject, type Person, peopleWith } from '../src/domain/people/people.ts';
import { lockOutWith } from '../src/domain/sessions/lock-out.ts';
import { passwordsWith } from '../src/domain/sign-in/passwords.ts';
import { type SignInParts, signInWith } from '../src/domain/sign-in/sign-in.ts';
import { codeAt, stepAt } from '../src/domain/sign-in/totp.ts';
import type { Store } from '../src/store/store.ts';
import {
  audits,
  type DomainWorld,
  day,
  domainWorld,
  joined,
  minute,
  organization,
  password,
  refused,
  type SignedInAs,
  setUp,
  signedIn,
  site,
} from './accounts-world.ts';
import { Authenticator, fromBase32 } from './authenticator.ts';

let world: DomainWorld;
let first: string;
let other: string;
const setUps: string[] = [];
before(async () => {
  world = await domainWorld();
});
after(() => world.close());

const joining = () => world.accounts.joining;
const signIn = () => world.accounts.signIn;
const byPassword = (name: string, more: Record<string, string> = {}, origin = world.origin()) =>
  signIn().byPassword({ email: `${name}@example.org`, password, ...more }, origin);
const passkey = () => new Authenticator(site.origin);
const newest = (organizationId: string | null, limit = 1) =>
  audits(world, organizationId, limit).map(({ action, subject }) => [action, subject?.name ?? null]);

/** That an address is refused everything once so many attempts of it failed. */
async function blocks(attempt: (origin: ReturnType<DomainWorld['origin']>) => Promise<unknown>) {
  const origin = world.origin();
  for (let count = 0; count < 60; count++) await refused(attempt(origin), 'UNAUTHORIZED');
  await refused(attempt(origin), 'RATE_LIMITED');
  world.pass(minute);
}

describe('the set-up', () => {
  it('is asked for until there is an organization, with the token that the start prints', async () => {
    assert.equal(await joining().setupRequired(), true);
    const token = (await joining().setupToken())!;
    const body = { email: 'owner@example.org', organization: 'Acme', password };
    const wrong = mintToken('setup', '00000000-0000-7000-8000-000000000001');
    setUps.push(token, wrong);
    await refused(joining().setUp(site, { ...body, token: wrong }, world.origin()), 'UNAUTHORIZED');
    assert.deepEqual(newest(null), [['organization.setup_refused', null]]);
    await refused(joining().setupOptions(site, wrong, body.email, world.origin()), 'UNAUTHORIZED');
    await blocks(origin => joining().setUp(site, { ...body, token: wrong }, origin));
    assert.equal(await joining().setupRequired(), true);
    const options = await joining().setupOptions(site, token, 'owner@example.org', world.origin());
    assert.ok(options.challenge);
  });

  it('makes an owner, and is over', async () => {
    const { session, person } = await setUp(world);
    first = person.member.organization_id;
    assert.deepEqual(
      [session.method, person.member.role, person.member.state],
      ['password', 'owner', 'active'],
    );
    assert.equal(await joining().setupRequired(), false);
    assert.equal(await joining().setupToken(), null);
    const body = { email: 'again@example.org', organization: 'Again', password };
    for (const token of setUps) {
      await refused(joining().setUp(site, { ...body, token }, world.origin()), 'UNAUTHORIZED');
      await refused(joining().setupOptions(site, token, body.email, world.origin()), 'UNAUTHORIZED');
    }
    other = await organization(world, 'Other');
  });

  it('makes an owner by a passkey too, in a deployment of its own', async () => {
    const own = await domainWorld();
    const { joining } = own.accounts;
    const token = (await joining.setupToken())!;
    const email = 'owner@example.org';
    const credential = passkey().create(
      (await joining.setupOptions(site, token, email, own.origin())) as never,
    );
    const body = { token, email, organization: 'Acme', passkey: { name: 'Key', credential } };
    const as = await signedIn(own, await joining.setUp(site, body, own.origin()));
    assert.deepEqual([as.session.method, as.person.account.password], ['passkey', null]);
    assert.deepEqual(
      (await own.accounts.factors.passkeys(as)).map(({ name }) => name),
      ['Key'],
    );
    await own.close();
  });
});

describe('an invitation', () => {
  const invited = (email: string) =>
    world.members.create(world.operator(first), { email: `${email}@example.org`, role: 'viewer' });
  const accept = (token: string, more: object = { password }) =>
    joining().accept(site, { token, ...more }, world.origin());

  it('is shown to whoever has it, and joins them by a password once', async () => {
    const { token } = await invited('ann');
    assert.deepEqual(await joining().invitation(token, world.origin()), {
      email: 'ann@example.org',
      organization: 'Acme',
      role: 'viewer',
    });
    const { session, person } = await signedIn(world, await accept(token));
    assert.deepEqual([session.method, person.member.state], ['password', 'active']);
    await refused(accept(token), 'UNAUTHORIZED');
    assert.deepEqual(newest(null), [['invitation.refused', null]]);
  });

  it('joins them by a passkey, which has a name', async () => {
    const { token } = await invited('ben');
    const options = await joining().invitationOptions(site, token, world.origin());
    const credential = passkey().create(options as never);
    const as = await signedIn(world, await accept(token, { passkey: { credential } }));
    assert.deepEqual([as.session.method, as.person.account.password], ['passkey', null]);
    assert.deepEqual(
      (await world.accounts.factors.passkeys(as)).map(({ name }) => name),
      ['Passkey'],
    );
  });

  it('is good for 7 days, to the millisecond', async () => {
    const { token } = await invited('cid');
    world.pass(7 * day - 1);
    await joining().invitation(token, world.origin());
    world.pass(1);
    await refused(joining().invitation(token, world.origin()), 'UNAUTHORIZED');
    await refused(accept(token), 'UNAUTHORIZED');
  });

  it('is refused where it is none, and an address that tries too many waits', async () => {
    const { token } = await invited('dan');
    const id = (await world.people.byEmail('dan@example.org'))[0]!.account.id;
    for (const wrong of [
      'x',
      mintToken('invite', id),
      mintToken('invite', world.parts.newId()),
      mintToken('api', id),
    ])
      await refused(joining().invitation(wrong, world.origin()), 'UNAUTHORIZED');
    await blocks(origin => joining().invitation('x', origin));
    await joining().invitationOptions(site, token, world.origin());
    const joinedBefore = (await world.people.byEmail('owner@example.org'))[0]!.account.id;
    await refused(joining().invitation(mintToken('invite', joinedBefore), world.origin()), 'UNAUTHORIZED');
  });

  it('of somebody who is a member by now is none', async () => {
    const { token, id } = await invited('eve');
    const { stamps, store, guard } = world.parts;
    const { member } = (await world.people.fresh(id))!;
    const active = stamps.member.revise(member, { state: 'active' }, world.now());
    await guard.own(world.operator(first), 'member.joined', {
      subjects: [{ type: 'member', id, name: member.email, revision: active.revision }],
      statements: [store.organizations.updateMember(active)],
      touches: [id],
    });
    await refused(joining().invitation(token, world.origin()), 'UNAUTHORIZED');
  });
});

describe('a password', () => {
  it('signs in whose it is, and is refused alike for everybody else', async () => {
    const { person } = await joined(world, first, 'fay@example.org');
    const { session } = await signedIn(world, await byPassword('fay'));
    assert.deepEqual([session.method, session.member_id], ['password', person.member.id]);
    await refused(byPassword('fay', { password: 'wrong' }), 'UNAUTHORIZED');
    assert.deepEqual(newest(first), [['session.refused', 'fay@example.org']]);
    const before = audits(world, first, 1)[0]!.id;
    await refused(byPassword('nobody'), 'UNAUTHORIZED');
    assert.deepEqual(newest(null), [['session.refused', null]]);
    assert.equal(audits(world, first, 1)[0]!.id, before);
  });

  it('is that of one organization where one is named, else of the oldest', async () => {
    const [here, there] = [
      await joined(world, first, 'gil@example.org'),
      await joined(world, other, 'gil@example.org'),
    ];
    const where = async (name?: string) =>
      (await signedIn(world, await byPassword('gil', name === undefined ? {} : { organization: name })))
        .person.member.id;
    assert.equal(await where(), here.person.member.id);
    assert.equal(await where('Acme'), here.person.member.id);
    assert.equal(await where('Other'), there.person.member.id);
    await refused(byPassword('gil', { organization: 'None' }), 'UNAUTHORIZED');
    assert.deepEqual(newest(null), [['session.refused', null]]);
    await refused(byPassword('gil', { password: 'wrong' }), 'UNAUTHORIZED');
    for (const one of [first, other]) assert.deepEqual(newest(one), [['session.refused', 'gil@example.org']]);
  });

  it('is not tried at an account that is locked, and at another of the same address it is', async () => {
    const here = await joined(world, first, 'hal@example.org');
    await joined(world, other, 'hal@example.org');
    for (let count = 0; count < 5; count++)
      await refused(byPassword('hal', { organization: 'Acme', password: 'wrong' }), 'UNAUTHORIZED');
    await refused(byPassword('hal', { organization: 'Acme' }), 'RATE_LIMITED');
    const { person } = await signedIn(world, await byPassword('hal'));
    assert.equal(person.member.organization_id, other);
    world.pass(30_000);
    assert.equal((await signedIn(world, await byPassword('hal'))).person.member.id, here.person.member.id);
    for (let count = 0; count < 4; count++)
      await refused(byPassword('hal', { organization: 'Acme', password: 'wrong' }), 'UNAUTHORIZED');
    await byPassword('hal', { organization: 'Acme' });
  });

  it('is refused to an address that failed too often', async () => {
    const origin = world.origin();
    for (let count = 0; count < 60; count++)
      await refused(byPassword(`nobody${count}`, {}, origin), 'UNAUTHORIZED');
    await refused(byPassword('fay', {}, origin), 'RATE_LIMITED');
    world.pass(minute);
    await byPassword('fay', {}, origin);
  });
});

/** Signing in where one of its parts is another. */
function signInBy(changed: Partial<SignInParts>) {
  const { parts, people, attempts } = world;
  const lockOut = lockOutWith({ ...parts, attempts });
  const pool = { derive: async () => Buffer.from('derived'), close: async () => {} };
  const passwords = passwordsWith(parts.keyring, pool, { memory: 8, passes: 1, parallelism: 1 });
  const { sessions } = world.accounts;
  return signInWith({ ...parts, people, lockOut, passwords, sessions, ...changed } as SignInParts);
}

describe('what happens while a password is derived', () => {
  const matching = { derive: async () => Buffer.from(''), mark: () => Buffer.from('') as never };
  const attempt = (now: Person | undefined, matches = () => true) =>
    signInBy({
      people: { ...world.people, fresh: async () => now },
      passwords: { ...matching, matches },
    }).byPassword({ email: 'fay@example.org', password }, world.origin());

  it('counts: who was removed, invited anew or has another password by then is refused', async () => {
    const [fay] = await world.people.byEmail('fay@example.org');
    await signedIn(world, await attempt(fay));
    await refused(attempt(undefined), 'UNAUTHORIZED');
    await refused(attempt({ ...fay!, member: { ...fay!.member, state: 'invited' } }), 'UNAUTHORIZED');
    let asked = 0;
    await refused(
      attempt(fay, () => ++asked === 1),
      'UNAUTHORIZED',
    );
  });

  it('is the same whoever has the address', async () => {
    const done: string[] = [];
    const passwords = {
      derive: async () => Buffer.from(String(done.push('derive'))),
      mark: () => Buffer.from(String(done.push('compare'))) as never,
      matches: () => done.push('compare') === 0,
    };
    const { store, stamps } = world.parts;
    const told = <T extends object>(name: string, of: T): T =>
      new Proxy(of, {
        get: (target, member) => {
          const found = Reflect.get(target, member);
          if (typeof found !== 'function') return found;
          return (...given: unknown[]) => {
            done.push(`${name}.${String(member)}`);
            return (found as (...these: unknown[]) => unknown)(...given);
          };
        },
      });
    const watched = {
      ...store,
      accounts: told('accounts', store.accounts),
      memberGroups: told('memberGroups', store.memberGroups),
    } as Store;
    const people = peopleWith({ store: watched, stamps });
    const asked = async (email: string) => {
      done.length = 0;
      await refused(
        signInBy({ people, passwords }).byPassword({ email, password }, world.origin()),
        'UNAUTHORIZED',
      );
      return [...done];
    };
    const known = await asked('fay@example.org');
    assert.deepEqual(known, [
      'accounts.membersByEmail',
      'accounts.accountOf',
      'memberGroups.naming',
      'derive',
      'compare',
    ]);
    assert.deepEqual(await asked('unknown@example.org'), known);
  });
});

describe('a session that can’t be started', () => {
  it('is a refusal where a code or challenge was used by then, and an error otherwise', async () => {
    await joined(world, first, 'ned@example.org');
    const attempt = (error: Error) =>
      signInBy({
        passwords: {
          derive: async () => Buffer.from(''),
          mark: () => Buffer.from('') as never,
          matches: () => true,
        },
        sessions: { ...world.accounts.sessions, start: () => Promise.reject(error) },
      }).byPassword({ email: 'ned@example.org', password }, world.origin());
    await refused(attempt(new Failure('CONFLICT')), 'UNAUTHORIZED');
    assert.deepEqual(newest(first), [['session.refused', 'ned@example.org']]);
    for (const error of [
      new Failure('UNAVAILABLE'),
      new Error('broken'),
      Object.assign(new Error('broken'), { code: 'CONFLICT' }),
    ])
      await assert.rejects(attempt(error), caught => caught === error);
  });
});

describe('a second factor', () => {
  let as: SignedInAs;
  let seed: Buffer;

  before(async () => {
    const { factors, proofs } = world.accounts;
    as = await joined(world, first, 'ida@example.org');
    await proofs.prove(as, site, { password });
    const { secret } = await factors.beginCodes(as);
    seed = fromBase32(secret);
    await factors.confirmCodes(as, code());
    world.pass(minute);
  });
  const code = (off = 0) => codeAt(seed, stepAt(world.now()) + off);

  it('is asked for once the password is right, and each code signs in once', async () => {
    await refused(byPassword('ida'), 'SECOND_FACTOR_REQUIRED');
    await refused(byPassword('ida', { password: 'wrong' }), 'UNAUTHORIZED');
    await refused(byPassword('ida', { code: code(9) }), 'UNAUTHORIZED');
    assert.deepEqual(newest(first), [['session.refused', 'ida@example.org']]);
    const given = code();
    const { session } = await signedIn(world, await byPassword('ida', { code: given }));
    assert.equal(session.method, 'password+code');
    assert.ok(newest(first, 2).some(([action]) => action === 'account.code_used'));
    await refused(byPassword('ida', { code: given }), 'UNAUTHORIZED');
    world.pass(minute);
    await byPassword('ida', { code: code() });
  });

  it('can be guessed five times, and a success forgets the guesses', async () => {
    const wrong = () => refused(byPassword('ida', { code: code(9) }), 'UNAUTHORIZED');
    world.pass(minute);
    for (let count = 0; count < 4; count++) await wrong();
    await byPassword('ida', { code: code() });
    world.pass(minute);
    for (let count = 0; count < 5; count++) await wrong();
    await refused(byPassword('ida', { code: code() }), 'RATE_LIMITED');
    world.pass(minute);
    await byPassword('ida', { code: code() });
  });
});

describe('a passkey', () => {
  const key = passkey();
  const proven = async (quirks = {}) => key.get((await signIn().requestOptions(site)) as never, quirks);
  const byPasskey = async (quirks = {}, from = world.origin()) =>
    signIn().byPasskey(site, await proven(quirks), from);

  before(async () => {
    const { token } = await world.members.create(world.operator(first), {
      email: 'jan@example.org',
      role: 'viewer',
    });
    const options = await joining().invitationOptions(site, token, world.origin());
    const body = { token, passkey: { credential: key.create(options as never) } };
    await joining().accept(site, body, world.origin());
  });

  it('signs in whose it is, by each challenge once', async () => {
    const credential = await proven();
    const { session, person } = await signedIn(
      world,
      await signIn().byPasskey(site, credential, world.origin()),
    );
    assert.deepEqual([session.method, person.member.email], ['passkey', 'jan@example.org']);
    await refused(signIn().byPasskey(site, credential, world.origin()), 'UNAUTHORIZED');
  });

  it('that signed something else, or that nobody has, is refused', async () => {
    await refused(byPasskey({ challenge: 'eA' }), 'UNAUTHORIZED');
    assert.deepEqual(newest(first), [['session.refused', 'jan@example.org']]);
    const unknown = passkey().get((await signIn().requestOptions(site)) as never);
    await refused(signIn().byPasskey(site, unknown, world.origin()), 'UNAUTHORIZED');
    assert.deepEqual(newest(null), [['session.refused', null]]);
    await blocks(origin => signIn().byPasskey(site, unknown, origin));
  });

  it('of somebody who has to join again is refused', async () => {
    const [jan] = await world.people.byEmail('jan@example.org');
    const now = { ...jan!, member: { ...jan!.member, state: 'invited' as const } };
    const changed = signInBy({ people: { ...world.people, fresh: async () => now } });
    const before = audits(world, first, 1)[0]!.id;
    await refused(changed.byPasskey(site, await proven(), world.origin()), 'UNAUTHORIZED');
    assert.deepEqual(newest(first), [['session.refused', 'jan@example.org']]);
    assert.notEqual(audits(world, first, 1)[0]!.id, before);
  });
});

describe('a person', () => {
  it('is their member with their account, from memory where it is there', async () => {
    const { store, stamps } = world.parts;
    const [fay] = await world.people.byEmail('fay@example.org');
    const { member, account } = fay!;
    assert.deepEqual(await world.people.byMember(member.id), fay);
    assert.deepEqual(await world.people.byMember(member.id), fay);
    assert.deepEqual(await world.people.byAccount(account.id), fay);
    for (const none of [world.people.byMember, world.people.fresh, world.people.byAccount])
      assert.equal(await none(world.parts.newId()), undefined);
    const without = { ...store, accounts: { ...store.accounts, accountOf: async () => undefined } };
    const people = peopleWith({ store: without as Store, stamps });
    assert.equal(await people.fresh(member.id), undefined);
    assert.deepEqual(await people.byEmail('fay@example.org'), []);
  });

  it('is found by the very same address, in all organizations', async () => {
    const found = async (email: string) =>
      (await world.people.byEmail(email)).map(({ member }) => member.organization_id);
    assert.deepEqual(await found('gil@example.org'), [first, other]);
    assert.deepEqual(await found('GIL@Example.org'), [first, other]);
    assert.deepEqual(await found('gıl@example.org'), []);
    assert.deepEqual(await found('ｇil@example.org'), []);
  });

  it('is named by their address, with what was done where that differs', async () => {
    const [{ account }] = (await world.people.byEmail('fay@example.org')) as [Person];
    const subject = { type: 'account', id: account.id, name: 'x', revision: account.revision };
    assert.deepEqual(accountSubject(account, 'x'), subject);
    assert.deepEqual(accountSubject(account, 'x', 'account.opened'), { ...subject, verb: 'account.opened' });
  });
});
