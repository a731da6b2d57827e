/** Signing a command line in: its codes, who allows it, and the API keys that come of it. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { mintToken, parseToken } from '../src/access/token.ts';
import { lockOutWith } from '../src/domain/sessions/lock-out.ts';
import { loginKeysWith } from '../src/domain/sessions/login-keys.ts';
import { deviceLoginsWith } from '../src/domain/sign-in/device-logins.ts';
import type { DeviceLoginRow } from '../src/store/records/device-logins.ts';
import type { Store } from '../src/store/store.ts';
import {
  audits,
  type DomainWorld,
  day,
  domainWorld,
  hour,
  joined,
  minute,
  organization,
  password,
  refused,
  type SignedInAs,
  setUp,
  site,
} from './accounts-world.ts';

let world: DomainWorld;
let owner: SignedInAs;
let acme: string;
let people = 0;
before(async () => {
  world = await domainWorld();
  owner = await proven(await setUp(world));
  acme = owner.person.member.organization_id;
});
after(() => world.close());

const devices = () => world.accounts.deviceLogins;
const keys = () => world.accounts.loginKeys;
/** As they are stored now, having proven themselves just now, from an address of their own. */
async function proven(as: SignedInAs): Promise<SignedInAs> {
  const { sessions, proofs } = world.accounts;
  await proofs.prove(await sessions.again(as.session.id, world.origin()), site, { password });
  return sessions.again(as.session.id, world.origin());
}
const person = async (role: Parameters<typeof joined>[3] = 'editor') =>
  proven(await joined(world, acme, `person${++people}@example.org`, role));
/** In a new minute: how often one may ask, and enter codes, is counted by minutes. */
async function begin(
  asked: Parameters<ReturnType<typeof devices>['begin']>[0] = { client: 'cli', host: 'laptop' },
) {
  world.pass(minute);
  const begun = await devices().begin(asked, world.origin());
  return { ...begun, entered: begun.user_code.replace('-', '') };
}
const poll = (code: string, origin = world.origin()) => devices().poll(code, origin);
async function later(code: string) {
  world.pass(2_000);
  return poll(code);
}
const approve = (as: SignedInAs, user_code: string, more: object = {}) =>
  devices().approve(as, { user_code, role: 'viewer', ...more });
async function signedIn(as: SignedInAs, more: object = {}) {
  const { entered, device_code } = await begin();
  await approve(await proven(as), entered, more);
  return (await later(device_code)).api_key!;
}
const unknown = { field: 'user_code', reason: 'is unknown, expired or has been used' };

/** The same with one of its parts changed. */
function devicesBy(changed: Partial<Store['deviceLogins']>, pick?: (below: number) => number) {
  const { parts, attempts } = world;
  const store = { ...parts.store, deviceLogins: { ...parts.store.deviceLogins, ...changed } } as Store;
  const lockOut = lockOutWith({ ...parts, attempts });
  return deviceLoginsWith({ ...parts, store }, lockOut, keys(), world.accounts.proofs, pick);
}

describe('a command line that asks', () => {
  it('is shown as it calls itself, to whoever enters its code', async () => {
    const { user_code, device_code, expires_in, interval, entered } = await begin();
    assert.match(user_code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    assert.deepEqual([expires_in, interval], [600, 2]);
    const { client, host, roles, created_at, expires_at } = await devices().find(owner, entered);
    assert.deepEqual(
      [client, host, roles],
      ['cli', 'laptop', ['owner', 'admin', 'editor', 'writer', 'reader', 'viewer', 'auditor']],
    );
    assert.equal(Date.parse(expires_at) - Date.parse(created_at), 600_000);
    assert.deepEqual((await devices().find(await person('viewer'), entered)).roles, ['viewer']);
    assert.deepEqual(await poll(device_code), { status: 'pending', interval: 2, api_key: null });
    const nameless = await begin({});
    const asked = await devices().find(owner, nameless.entered);
    assert.deepEqual([asked.client, asked.host], ['', '']);
  });

  it('is told to wait where it polls within two seconds, each for itself', async () => {
    const [one, two] = [await begin(), await begin()];
    const statuses = [];
    for (const { device_code } of [one, two, one]) statuses.push((await poll(device_code)).status);
    world.pass(1_999);
    statuses.push((await poll(one.device_code)).status);
    world.pass(2_000);
    statuses.push((await poll(one.device_code)).status);
    assert.deepEqual(statuses, ['pending', 'pending', 'slow_down', 'slow_down', 'pending']);
  });

  it('has ten minutes, to the millisecond', async () => {
    const { entered, device_code } = await begin();
    world.pass(10 * minute - 1);
    await devices().find(owner, entered);
    assert.equal((await poll(device_code)).status, 'pending');
    world.pass(1);
    await refused(devices().find(owner, entered), 'INVALID_REQUEST', unknown);
    assert.equal((await poll(device_code)).status, 'expired');
  });

  it('is another one’s with another code', async () => {
    const { device_code } = await begin();
    const { id } = parseToken(device_code)!;
    for (const wrong of [
      'x',
      mintToken('device', id),
      mintToken('device', world.parts.newId()),
      mintToken('api', id),
    ])
      await refused(poll(wrong), 'UNAUTHORIZED');
    const origin = world.origin();
    for (let count = 0; count < 60; count++) await refused(poll('x', origin), 'UNAUTHORIZED');
    await refused(poll('x', origin), 'RATE_LIMITED');
  });

  it('asks thirty times a minute at most', async () => {
    world.pass(minute - (world.now() % minute));
    const origin = world.origin();
    for (let count = 0; count < 30; count++) await devices().begin({}, origin);
    await refused(devices().begin({}, origin), 'RATE_LIMITED', { retryAfter: 60 });
    world.pass(59_000);
    await refused(devices().begin({}, origin), 'RATE_LIMITED', { retryAfter: 1 });
    world.pass(1_000);
    await devices().begin({}, origin);
  });

  it('waits with ten thousand others at most', async () => {
    const ask = (waiting: number) => devicesBy({ waiting: async () => waiting }).begin({}, world.origin());
    await ask(9_999);
    await refused(ask(10_000), 'UNAVAILABLE', { retryAfter: 60 });
  });

  it('is given another code where one is in use', async () => {
    const picked = [...Array(8).fill(0), ...Array(8).fill(0), ...Array(8).fill(1)];
    const { begin } = devicesBy({}, () => picked.shift()!);
    assert.equal((await begin({}, world.origin())).user_code, 'BBBB-BBBB');
    assert.equal((await begin({}, world.origin())).user_code, 'CCCC-CCCC');
    await devices().find(await person(), 'CCCCCCCC');
  });

  it('is one of ten thousand whose polls are remembered', async () => {
    const { keyring, stamps } = world.parts;
    const rows = new Map<string, DeviceLoginRow>();
    const codes = Array.from({ length: 10_001 }, () => {
      const id = world.parts.newId();
      const code = mintToken('device', id);
      const times = { created_at: world.now(), expires_at: world.now() + minute };
      const asked = { request: '{}', state: 'pending', approval: null, ...times } as const;
      rows.set(
        id,
        stamps.deviceLogin.stamp({ id, user_code: id, digest: keyring.tokenDigest(code), ...asked }),
      );
      return code;
    });
    const there = devicesBy({ byId: async id => rows.get(id) });
    const status = async (code: string) => (await there.poll(code, world.origin())).status;
    for (const code of codes.slice(0, -1)) await status(code);
    assert.equal(await status(codes.at(-2)!), 'slow_down');
    // With one more it begins anew: the memory of it is bounded.
    assert.equal(await status(codes[0]!), 'pending');
  });
});

describe('a person', () => {
  it('allows a command line once, having proven themselves, what they have themselves', async () => {
    const { entered, device_code } = await begin();
    const as = await person('viewer');
    await refused(approve(as, entered, { role: 'editor' }), 'FORBIDDEN');
    const unproven = { ...as, session: { ...as.session, proven_at: null } };
    await refused(approve(unproven, entered), 'PROOF_REQUIRED');
    const until = world.now() + 12 * hour;
    await approve(as, entered);
    const [told] = audits(world, acme, 1);
    assert.equal(told!.action, 'device-login.approved');
    const { ip_address, ...given } = told!.details as Record<string, unknown>;
    assert.ok(ip_address);
    assert.deepEqual(given, { role: 'viewer', expiration_date: new Date(until).toISOString() });
    assert.equal(told!.subject!.name, 'Command line on laptop');
    await refused(approve(as, entered), 'INVALID_REQUEST', unknown);
    const { status, api_key } = await poll(device_code);
    assert.deepEqual(
      [status, api_key!.role, api_key!.name],
      ['approved', 'viewer', 'Command line on laptop'],
    );
    assert.equal(api_key!.expiration_date, new Date(until).toISOString());
    const caller = await world.authenticate.apiKey(api_key!.token!, world.origin());
    assert.equal(caller.proof.provenAt, as.session.proven_at);
    await refused(later(device_code), 'UNAUTHORIZED');
  });

  it('says for how long, and how it is called where it did not', async () => {
    const { entered, device_code } = await begin({});
    await approve(await person(), entered, { expires_in: 60 });
    const until = world.now() + 60_000;
    const { api_key } = await later(device_code);
    assert.deepEqual(
      [api_key!.name, api_key!.expiration_date],
      ['Command line', new Date(until).toISOString()],
    );
  });

  it('refuses a command line, which is over then', async () => {
    const { entered, device_code } = await begin();
    const as = await person();
    await devices().deny(as, entered);
    const [told] = audits(world, acme, 1);
    assert.deepEqual([told!.action, Object.keys(told!.details)], ['device-login.denied', ['ip_address']]);
    const { id } = parseToken(device_code)!;
    const row = world.database.prepare('SELECT state, approval FROM device_logins WHERE id = ?').get(id)!;
    assert.deepEqual([row.state, row.approval], ['denied', null]);
    assert.deepEqual(await poll(device_code), { status: 'denied', interval: 2, api_key: null });
    await refused(approve(as, entered), 'INVALID_REQUEST', unknown);
  });

  it('enters ten codes a minute at most, and each that is unknown counts at their address', async () => {
    world.pass(minute - (world.now() % minute));
    const as = await person();
    for (let count = 0; count < 10; count++)
      await refused(devices().find(as, 'BCDFGHJK'), 'INVALID_REQUEST', unknown);
    const [told] = audits(world, acme, 1);
    assert.deepEqual([told!.action, told!.details.reason], ['device-login.refused', 'unknown code']);
    await refused(devices().find(as, 'BCDFGHJK'), 'RATE_LIMITED', { retryAfter: 60 });
    const { origin } = as.caller;
    for (let count = 0; count < 49; count++) await refused(poll('x', origin), 'UNAUTHORIZED');
    const other = await person();
    const there = { ...other, caller: { ...other.caller, origin } };
    await refused(devices().find(there, 'BCDFGHJK'), 'INVALID_REQUEST');
    const { entered } = await devicesBegun(other);
    await refused(devices().find(there, entered), 'RATE_LIMITED');
  });
  const devicesBegun = async (as: SignedInAs) => {
    const { user_code } = await devices().begin({}, world.origin());
    const entered = user_code.replace('-', '');
    await devices().find(as, entered);
    return { entered };
  };

  it('is shown nothing that was edited in the database', async () => {
    const { entered, device_code } = await begin();
    const { id } = parseToken(device_code)!;
    world.database.prepare(`UPDATE device_logins SET request = '{"host":"other"}' WHERE id = ?`).run(id);
    await refused(devices().find(owner, entered), 'INTERNAL_ERROR');
    await refused(poll(device_code), 'INTERNAL_ERROR');
  });

  it('who proves themselves otherwise by now, or is gone, gives nothing', async () => {
    const as = await person();
    const [one, two] = [await begin(), await begin()];
    const now = await proven(as);
    for (const { entered } of [one, two]) await approve(now, entered);
    await world.accounts.factors.changePassword(now, { current: password, password: 'another password' });
    assert.deepEqual(await later(one.device_code), { status: 'denied', interval: 2, api_key: null });
    await world.members.remove(world.operator(acme), as.person.member.id);
    assert.equal((await later(two.device_code)).status, 'denied');
  });
});

describe('the API keys of command lines', () => {
  const keysBy = (credentials: object) => {
    const { parts, people, authenticate } = world;
    const store = { ...parts.store, credentials: { ...parts.store.credentials, ...credentials } } as Store;
    return loginKeysWith({ ...parts, store, people, authenticate });
  };
  const listed = async (as: SignedInAs) => (await keys().list(as)).map(({ id }) => id);

  it('are listed for their person, as long as they work', async () => {
    const as = await person();
    const none = keysBy({ madeBy: () => Promise.reject(new Error('nothing is to be asked')) });
    assert.deepEqual(await none.list(as), []);
    const one = await signedIn(as);
    const brief = await signedIn(as, { expires_in: 300 });
    assert.deepEqual(await listed(as), [brief.id, one.id]);
    world.pass(5 * minute);
    assert.deepEqual(await listed(as), [one.id]);
    assert.deepEqual(await listed(owner), []);
    await world.accounts.factors.changePassword(await proven(as), {
      current: password,
      password: 'another password',
    });
    const after = await world.accounts.sessions.again(as.session.id, world.origin());
    assert.deepEqual(await listed(after), []);
  });

  it('are not the others that their person made', async () => {
    const as = await proven(owner);
    const { id } = await world.apiKeys.create(as.caller, { name: 'other', role: 'viewer' });
    const own = await signedIn(owner);
    assert.deepEqual(await listed(owner), [own.id]);
    await refused(keys().revoke(owner, id), 'NOT_FOUND');
  });

  it('are listed with what they created, the newest hundred', async () => {
    const as = await person('owner');
    const [one, two] = [await signedIn(as, { role: 'owner' }), await signedIn(as, { role: 'owner' })];
    const caller = await world.authenticate.apiKey(one.token!, world.origin());
    const { id: vaultId } = await world.vaults.create(caller, { name: 'by a command line' });
    const identity = await world.identities.create(caller, {
      name: 'm',
      method: 'secret_id',
      vault_ids: [vaultId],
    });
    const shown = async () => new Map((await keys().list(as)).map(key => [key.id, key.created]));
    assert.deepEqual((await shown()).get(one.id), [{ type: 'identity', id: identity.id, name: 'm' }]);
    assert.deepEqual((await shown()).get(two.id), []);
    for (let count = 0; count < 101; count++)
      await world.accessKeys.create(caller, { vault_id: vaultId, name: `key ${count}` });
    const created = (await shown()).get(one.id)!;
    assert.deepEqual([created.length, created[0]!.name, created.at(-2)!.name], [101, 'key 100', 'key 1']);
  });

  it('are twenty at most: the oldest give way, and so do those that are over', async () => {
    const as = await person();
    const revokedAt = async (id: string) => (await world.parts.store.credentials.byId(id))!.revoked_at;
    const brief = await signedIn(as, { expires_in: 61 });
    const made = [];
    for (let count = 0; count < 20; count++) made.push(await signedIn(as, { expires_in: 30 * 24 * 3_600 }));
    assert.ok(await revokedAt(brief.id));
    assert.equal((await listed(as)).length, 20);
    assert.equal(await revokedAt(made[0]!.id), null);
    await signedIn(as);
    assert.ok(await revokedAt(made[0]!.id));
    assert.equal(await revokedAt(made[1]!.id), null);
    assert.equal((await listed(as)).length, 20);
  });

  it('are revoked by their person', async () => {
    const as = await person();
    const [one, two] = [await signedIn(as), await signedIn(as)];
    await refused(keys().revoke(owner, one.id), 'NOT_FOUND');
    await keys().revoke(as, one.id);
    assert.deepEqual(await listed(as), [two.id]);
    await refused(keys().revoke(as, one.id), 'NOT_FOUND');
  });

  it('end themselves, which other API keys don’t', async () => {
    const as = await person();
    const { token, id } = await signedIn(as);
    await keys().revokeItself(token!, world.origin());
    assert.deepEqual(await listed(as), []);
    await refused(keys().revokeItself(token!, world.origin()), 'UNAUTHORIZED');
    const only = { message: 'Only the API key of a signed-in command line can be revoked this way' };
    const other = await world.apiKeys.create(world.operator(acme), { name: 'nobody’s', role: 'viewer' });
    await refused(keys().revokeItself(other.token!, world.origin()), 'FORBIDDEN', only);
    const next = await signedIn(as);
    const gone = keysBy({ byId: async () => undefined });
    await refused(gone.revokeItself(next.token!, world.origin()), 'FORBIDDEN', only);
    const row = (await world.parts.store.credentials.byId(next.id))!;
    const edited = keysBy({ byId: async () => ({ ...row, name: 'edited' }) });
    await refused(edited.revokeItself(next.token!, world.origin()), 'INTERNAL_ERROR');
    assert.notEqual(id, next.id);
  });

  it('are given in the person’s own organization', async () => {
    const other = await organization(world, 'Other');
    const as = await proven(await joined(world, other, 'other@example.org', 'owner'));
    const { token } = await signedIn(as);
    assert.equal((await world.authenticate.apiKey(token!, world.origin())).organizationId, other);
    world.pass(day);
  });
});
