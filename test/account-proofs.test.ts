/** Proving oneself again, and changing what one proves oneself by: password, passkeys, one-time codes. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { codeAt, stepAt } from '../src/domain/sign-in/totp.ts';
import {
  audits,
  type DomainWorld,
  domainWorld,
  joined,
  minute,
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
before(async () => {
  world = await domainWorld();
  first = (await setUp(world)).person.member.organization_id;
});
after(() => world.close());

const factors = () => world.accounts.factors;
const proofs = () => world.accounts.proofs;
const sessions = () => world.accounts.sessions;
/** The same session as it is stored now, from an address at which nothing failed. */
const again = (as: SignedInAs) => sessions().again(as.session.id, world.origin());
const prove = async (as: SignedInAs, given: object = { password }) =>
  proofs().prove(await again(as), site, given);
const goesOn = (as: SignedInAs) =>
  again(as).then(
    () => true,
    () => false,
  );
const newest = (limit = 1) => audits(world, first, limit).map(({ action }) => action);
let people = 0;
const person = () => joined(world, first, `person${++people}@example.org`);
const other = async (as: SignedInAs) =>
  signedIn(world, await sessions().start((await again(as)).person, 'password', world.origin(), {}));

const key = new Authenticator(site.origin);
async function adds(as: SignedInAs, authenticator = new Authenticator(site.origin)) {
  const options = await factors().passkeyOptions(await again(as), site);
  return factors().addPasskey(as, site, 'Key', authenticator.create(options as never));
}
async function byPasskey(): Promise<SignedInAs> {
  const { joining } = world.accounts;
  const email = `person${++people}@example.org`;
  const { token } = await world.members.create(world.operator(first), { email, role: 'viewer' });
  const options = await joining.invitationOptions(site, token, world.origin());
  const authenticator = new Authenticator(site.origin);
  const body = { token, passkey: { credential: authenticator.create(options as never) } };
  return signedIn(world, await joining.accept(site, body, world.origin()));
}
async function withCodes() {
  const as = await person();
  await prove(as);
  const seed = fromBase32((await factors().beginCodes(as)).secret);
  const code = (off = 0) => codeAt(seed, stepAt(world.now()) + off);
  const { recovery_codes } = await factors().confirmCodes(as, code());
  world.pass(minute);
  return { as, code, recovery_codes };
}

describe('a proof of the session', () => {
  it('is the password, for five minutes to the millisecond', async () => {
    const as = await person();
    await refused(proofs().require(as), 'PROOF_REQUIRED');
    const { revision } = as.person.account;
    await prove(as);
    assert.equal((await again(as)).person.account.revision, revision);
    assert.deepEqual(newest(), ['session.proven']);
    world.pass(5 * minute - 1);
    assert.deepEqual((await proofs().require(await again(as))).columns, {});
    world.pass(1);
    await refused(proofs().require(await again(as)), 'PROOF_REQUIRED');
  });

  it('is none where it is wrong, by the name of the field; what was given is told in the log', async () => {
    const { as, code } = await withCodes();
    await refused(prove(as, { password: 'wrong' }), 'INVALID_REQUEST', {
      field: 'password',
      reason: 'is incorrect',
    });
    assert.deepEqual(newest(), ['account.proof_refused']);
    await refused(prove(as, { code: code(9) }), 'INVALID_REQUEST', { field: 'code' });
    await refused(prove(as, {}), 'INVALID_REQUEST', { field: '' });
    const simple = await person();
    await refused(prove(simple, { code: '123456' }), 'INVALID_REQUEST', { field: 'code' });
    await refused(proofs().require(simple), 'PROOF_REQUIRED');
  });

  it('is a code, which is used up by it', async () => {
    const { as, code, recovery_codes } = await withCodes();
    const given = code();
    await prove(as, { code: given });
    assert.deepEqual(newest(2).toSorted(), ['account.code_used', 'session.proven']);
    await refused(prove(as, { code: given }), 'INVALID_REQUEST', { field: 'code' });
    const [spare] = recovery_codes;
    await prove(as, { code: spare });
    await refused(prove(as, { code: spare }), 'INVALID_REQUEST', { field: 'code' });
    assert.ok((await again(as)).session.proven_at);
  });

  it('is a passkey of its own person, by each challenge once', async () => {
    const as = await person();
    await prove(as);
    await adds(as, key);
    const proven = async (who: SignedInAs) => key.get((await proofs().options(who, site)) as never);
    world.pass(minute);
    const credential = await proven(as);
    await prove(as, { credential });
    assert.equal((await again(as)).session.proven_at, world.now());
    await assert.rejects(prove(as, { credential }));
    const stranger = await person();
    await refused(prove(stranger, { credential: await proven(stranger) }), 'INVALID_REQUEST', {
      field: 'credential',
    });
    const unknown = new Authenticator(site.origin).get((await proofs().options(as, site)) as never);
    await refused(prove(as, { credential: unknown }), 'INVALID_REQUEST', { field: 'credential' });
    const untrue = key.get((await proofs().options(as, site)) as never, { challenge: 'eA' });
    await refused(prove(as, { credential: untrue }), 'INVALID_REQUEST', { field: 'credential' });
    // Where it was not asked for, no site is there that it could be of.
    await refused(proofs().require(as, { credential: await proven(as) }), 'INVALID_REQUEST', {
      field: 'credential',
    });
  });

  it('is asked of no address that failed too often', async () => {
    const as = await person();
    const from = { ...as, caller: { ...as.caller, origin: world.origin() } };
    const credential = new Authenticator(site.origin).get((await proofs().options(as, site)) as never);
    const attempt = () => proofs().prove(from, site, { credential });
    for (let count = 0; count < 60; count++) await refused(attempt(), 'INVALID_REQUEST');
    await refused(attempt(), 'RATE_LIMITED');
  });

  it('can be guessed five times in a session, and one that is right forgets the guesses', async () => {
    const as = await person();
    const wrong = () => refused(prove(as, { password: 'wrong' }), 'INVALID_REQUEST');
    for (let count = 0; count < 4; count++) await wrong();
    await prove(as);
    for (let count = 0; count < 5; count++) await wrong();
    await refused(prove(as), 'RATE_LIMITED');
  });

  it('is the issuer’s word for the very person', async () => {
    const { member } = (await person()).person;
    const identity = {
      issuer: 'https://i.example.org',
      subject: 's',
      email: member.email,
      emailVerified: true,
      groups: [],
    };
    const as = await signedIn(world, (await world.accounts.identities.enter(identity, world.origin()))!);
    const by = (said: object) =>
      proofs().proveByIdentity(as.session.id, { ...identity, ...said }, world.origin());
    for (const said of [{ issuer: 'https://other.example.org' }, { subject: 'other' }]) {
      await refused(by(said), 'INVALID_REQUEST', { field: '' });
      const [told] = audits(world, first, 1);
      assert.deepEqual(
        [told!.action, told!.details.reason],
        ['account.proof_refused', 'the issuer named another person'],
      );
    }
    await refused(proofs().require(await again(as)), 'PROOF_REQUIRED');
    await by({});
    await proofs().require(await again(as));
  });
});

describe('a password', () => {
  it('is changed by the one before, and ends all other sessions', async () => {
    const as = await person();
    const others = await other(as);
    const change = (current: string | undefined, next: string) =>
      factors().changePassword(as, { current, password: next });
    await refused(change('wrong', 'another password'), 'INVALID_REQUEST', { field: 'current' });
    await refused(change(undefined, 'another password'), 'PROOF_REQUIRED');
    assert.equal(await goesOn(others), true);
    const { epoch } = as.person.account;
    await change(password, 'another password');
    assert.deepEqual([await goesOn(as), await goesOn(others)], [true, false]);
    // What was given by the one before, as to a command line, ends too.
    assert.equal((await again(as)).person.account.epoch, epoch + 1);
    assert.ok(newest(2).includes('account.password_changed') && newest(2).includes('session.renewed'));
    await prove(as, { password: 'another password' });
    await change(undefined, password);
    await prove(as);
  });

  it('and a code together are used up by what they change', async () => {
    const { as, code } = await withCodes();
    const given = code();
    await factors().removeCodes(as, { code: given });
    assert.equal((await again(as)).person.account.totp, null);
    await refused(prove(as, { code: given }), 'INVALID_REQUEST', { field: 'code' });
  });
});

describe('a passkey', () => {
  it('takes a proof to be added and to be removed', async () => {
    const as = await person();
    await refused(factors().passkeyOptions(as, site), 'PROOF_REQUIRED');
    await refused(factors().addPasskey(as, site, 'Key', {} as never), 'PROOF_REQUIRED');
    await refused(factors().removePasskey(as, world.parts.newId()), 'PROOF_REQUIRED');
  });

  it('is added beside others, which leaves all sessions, and removed, which ends the others', async () => {
    const as = await person();
    const others = await other(as);
    await prove(as);
    const one = await adds(as);
    assert.deepEqual([await goesOn(as), await goesOn(others)], [true, true]);
    assert.equal((await again(as)).person.account.epoch, as.person.account.epoch);
    await refused(factors().removePasskey(as, world.parts.newId()), 'NOT_FOUND');
    const another = await adds(as);
    await factors().removePasskey(as, one.id);
    assert.deepEqual([await goesOn(as), await goesOn(others)], [true, false]);
    assert.deepEqual(
      (await factors().passkeys(as)).map(({ id }) => id),
      [another.id],
    );
    await factors().removePasskey(as, another.id);
    assert.deepEqual(await factors().passkeys(as), []);
  });

  it('is not removed where it is the last of somebody without a password', async () => {
    const as = await byPasskey();
    const theirs = { ...identityOf(as), groups: [] };
    const signedOn = await signedIn(world, (await world.accounts.identities.enter(theirs, world.origin()))!);
    await proofs().proveByIdentity(signedOn.session.id, theirs, world.origin());
    const [only] = await factors().passkeys(signedOn);
    await refused(factors().removePasskey(signedOn, only!.id), 'INVALID_REQUEST', {
      reason: 'set a password before you remove the last passkey',
    });
    await refused(factors().beginCodes(signedOn), 'INVALID_REQUEST', {
      reason: 'set a password before you turn on one-time codes',
    });
    await adds(signedOn);
    await factors().removePasskey(signedOn, only!.id);
    assert.equal((await factors().passkeys(signedOn)).length, 1);
  });

  it('is one of twenty at most', async () => {
    const as = await person();
    await prove(as);
    for (let count = 0; count < 20; count++) await adds(as);
    await refused(adds(as), 'INVALID_REQUEST', { field: '', reason: 'you can have at most 20 passkeys' });
    assert.equal((await factors().passkeys(as)).length, 20);
  });
});

const identityOf = ({ person: { member } }: SignedInAs) => ({
  issuer: 'https://i.example.org',
  subject: member.email,
  email: member.email,
  emailVerified: true,
});

describe('one-time codes', () => {
  it('take a proof, and a code that shows that they were set up', async () => {
    const as = await person();
    await refused(factors().beginCodes(as), 'PROOF_REQUIRED');
    await prove(as);
    await refused(factors().confirmCodes(as, '123456'), 'INVALID_REQUEST', {
      field: 'code',
      reason: 'there is no setup of one-time codes to confirm',
    });
    const others = await other(as);
    const { secret } = await factors().beginCodes(as);
    assert.deepEqual([await goesOn(as), await goesOn(others)], [true, true]);
    const seed = fromBase32(secret);
    const code = (off: number) => codeAt(seed, stepAt(world.now()) + off);
    await refused(factors().confirmCodes(as, code(9)), 'INVALID_REQUEST', {
      field: 'code',
      reason: 'is incorrect',
    });
    assert.equal((await again(as)).person.account.totp, null);
    for (let count = 0; count < 3; count++)
      await refused(factors().confirmCodes(as, code(9)), 'INVALID_REQUEST');
    const { recovery_codes } = await factors().confirmCodes(as, code(0));
    assert.ok(recovery_codes.length > 0);
    assert.deepEqual([await goesOn(as), await goesOn(others)], [true, false]);
    assert.ok((await again(as)).person.account.totp);
    world.pass(minute);
    // What was guessed before is forgotten.
    for (let count = 0; count < 4; count++) await refused(prove(as, { code: code(9) }), 'INVALID_REQUEST');
    await prove(as, { code: code(0) });
  });

  it('are removed by a code or a proof before, which ends other sessions', async () => {
    const { as } = await withCodes();
    const others = await other(as);
    world.pass(5 * minute);
    await refused(factors().removeCodes(as, {}), 'PROOF_REQUIRED');
    await refused(factors().removeCodes(as, { password: 'wrong' }), 'INVALID_REQUEST', { field: 'password' });
    await prove(as);
    await factors().removeCodes(as, {});
    assert.deepEqual([await goesOn(as), await goesOn(others)], [true, false]);
    const { totp, recovery } = (await again(as)).person.account;
    assert.deepEqual([totp, recovery], [null, '[]']);
  });
});
