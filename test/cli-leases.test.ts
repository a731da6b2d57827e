/** Short-lived credentials at the command line: `run --lease`, `leases …` and `issuers …`. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { Away, RefusedRequest, type RemoteRequest } from '../src/cli/connection/remote.ts';
import { heldLeases, leaseIn, leasesFor } from '../src/cli/vault/held-leases.ts';
import { atTheLatest } from './ending.ts';
import { eventually } from './harness.ts';
import { type LeaseWorld, startLeases } from './leases-world.ts';
import { binary, collect } from './tool.ts';

describe('what run --lease obtains', () => {
  const minute = 60_000;
  const safe = { 'allow-unsafe-names': false };

  /** A service whose time only passes while a credential waits to be renewed. */
  function serviceDouble() {
    const state = { now: 0, longest: 10 * minute, away: false, isRefusing: false };
    const asked: string[] = [];
    const notes: string[] = [];
    const waits: { until: number; go: () => void }[] = [];
    let count = 0;
    const given = (id: string, createdAt: number) => {
      const until = Math.min(state.now + 5 * minute, createdAt + state.longest);
      return { id, expires_at: new Date(until).toISOString(), renewable: until < createdAt + state.longest };
    };
    const created = new Map<string, number>();
    const request = async ({ method, path, body }: RemoteRequest) => {
      asked.push(`${method} ${path}`);
      if (state.away) throw new Away('away');
      if (method === 'DELETE') return { lease: { id: 'x', state: 'revoking' } };
      if (path.endsWith('/renew')) {
        if (state.isRefusing) throw new RefusedRequest('ended', 409);
        const id = path.split('/').at(-2)!;
        return { lease: given(id, created.get(id)!) };
      }
      count += 1;
      const id = `lease-${count}`;
      created.set(id, state.now);
      const { name } = body as { name: string };
      return {
        lease: given(id, state.now),
        data: { username: 'u', password: `p${count}`, url: `${name}://u` },
      };
    };
    const leases = (...wanted: string[]) =>
      heldLeases(wanted.map(leaseIn), safe, {
        request,
        key: async () => 'key',
        vault: 'self',
        now: () => state.now,
        wait: (milliseconds, signal) =>
          new Promise((resolve, reject) => {
            waits.push({ until: state.now + milliseconds, go: resolve });
            signal.addEventListener('abort', () => reject(new Error('aborted')));
          }),
        note: text => void notes.push(text),
      });
    const pass = async (until: number) => {
      state.now = until;
      for (const one of waits.splice(0)) one.until <= until ? one.go() : waits.push(one);
      await new Promise(resolve => setImmediate(resolve));
    };
    return { state, asked, notes, leases, pass };
  }

  it('is named by the flag, and each field is a variable', async () => {
    const { leases } = serviceDouble();
    const held = leases('db=app-db', 'reports-db');
    await held.obtain();
    assert.deepEqual(held.variables, {
      DB_USERNAME: 'u',
      DB_PASSWORD: 'p1',
      DB_URL: 'app-db://u',
      REPORTS_DB_USERNAME: 'u',
      REPORTS_DB_PASSWORD: 'p2',
      REPORTS_DB_URL: 'reports-db://u',
    });
    assert.deepEqual(
      held.secrets.map(({ name }) => name),
      ['DB_PASSWORD', 'DB_URL', 'REPORTS_DB_PASSWORD', 'REPORTS_DB_URL'],
    );
    for (const wrong of ['=app', 'db=', '1db=app', 'd b=app'])
      assert.throws(() => leaseIn(wrong), /NAME=ISSUER/);
  });

  it('is renewed when two thirds of its life are over, also after an attempt that failed', async () => {
    const { state, asked, leases, pass, notes } = serviceDouble();
    await leases('db').obtain();
    await pass(3 * minute);
    assert.equal(asked.length, 1);
    state.away = true;
    await pass((10 / 3) * minute);
    assert.equal(asked.length, 2);
    state.away = false;
    await pass(4.6 * minute);
    assert.deepEqual(asked.slice(1), Array(2).fill('POST /api/v1/vaults/self/leases/lease-1/renew'));
    assert.deepEqual(notes, []);
  });

  it('is replaced when it can’t be renewed any longer, and the old one revoked after that', async () => {
    const { asked, leases, pass, notes } = serviceDouble();
    const held = leases('db=app');
    await held.obtain();
    for (const at of [3.4, 7, 9.1]) {
      assert.equal(await held.replace(), false);
      await pass(at * minute);
    }
    assert.match(notes[0]!, /credential of app can’t be renewed and ends at/);
    assert.equal(await held.replace(), true);
    assert.equal(held.variables.DB_PASSWORD, 'p2');
    assert.ok(!asked.some(line => line.startsWith('DELETE')), 'the program still uses it');
    await held.revokeReplaced();
    assert.equal(asked.at(-1), 'DELETE /api/v1/vaults/self/leases/lease-1');
    assert.equal(await held.replace(), false);
  });

  it('is told about when the service has ended it', async () => {
    const { state, leases, pass, notes } = serviceDouble();
    const held = leases('db');
    await held.obtain();
    state.isRefusing = true;
    await pass(4 * minute);
    assert.equal(notes.length, 1);
    assert.equal(await held.replace(), true);
  });

  it('is revoked at the end, even one that was being obtained; nothing is obtained later', async () => {
    const { asked, leases, notes, state } = serviceDouble();
    const held = leases('a', 'b');
    const obtained = held.obtain();
    await held.end();
    await obtained.catch(() => {});
    const deleted = asked.filter(line => line.startsWith('DELETE')).length;
    assert.equal(deleted, asked.length - deleted, 'as many as were obtained');
    await assert.rejects(held.obtain());
    const other = leases('c');
    await other.obtain();
    state.away = true;
    await other.end();
    assert.match(notes.at(-1)!, /could not be revoked and ends at/);
  });

  it('may not change what is run, and requires an access key', async () => {
    const { leases, asked } = serviceDouble();
    const held = leases('openssl=db');
    await assert.rejects(held.obtain(), /changes what is run/);
    await held.end();
    assert.equal(asked.at(-1), 'DELETE /api/v1/vaults/self/leases/lease-1');
    const settings = { url: 'http://127.0.0.1:1', accessKey: null, workload: null, vault: null } as never;
    assert.throws(() => leasesFor(settings, [], safe), /access key/);
  });
});

describe('the command line with issuers', () => {
  let world: LeaseWorld;
  before(async () => {
    world = await startLeases('sqlite');
  });
  after(() => world.close());

  function start(args: readonly string[], env: Record<string, string>, input = '') {
    const child = spawn(process.execPath, [binary, ...args], {
      env: { PATH: process.env.PATH, HOME: '/nonexistent', STRONGROOM_URL: world.service.url, ...env },
    });
    const killed = atTheLatest(() => child.kill('SIGKILL'));
    child.stdin.on('error', () => {}).end(input);
    return { child, done: collect(child).finally(killed) };
  }
  const asProgram = (...args: string[]) => start(args, { STRONGROOM_ACCESS_KEY: world.key });
  const asAdmin = (args: string[], input = '') =>
    start(args, { STRONGROOM_API_KEY: world.service.key }, input).done;
  const allGone = () =>
    eventually('all users are removed', async () => (await world.target.users()).length === 0);

  it('run --lease gives a program a user that works, and removes it when the program ends', async () => {
    await world.service.call('POST', '/v1/secrets', { vault_id: world.vaultId, name: 'A', value: 'value-a' });
    const shell = 'printf %s "$A $DB_URL" | base64 -w 0; echo; echo "$DB_PASSWORD"; read line; exit 7';
    const { child, done } = asProgram('run', '--lease', 'db=app-db', '--', 'sh', '-c', shell);
    const { code, stdout, stderr } = await done;
    void child;
    assert.equal(code, 7, stderr);
    const [encoded, shown] = stdout.split('\n') as [string, string];
    const [a, url] = Buffer.from(encoded, 'base64').toString().split(' ') as [string, string];
    assert.equal(a, 'value-a');
    assert.match(url, /^postgres:\/\/sr_/);
    assert.equal(shown, '[secret DB_PASSWORD]', 'it is masked');
    await allGone();
    assert.ok(!(await world.opens(url)));
  });

  it('run --lease revokes when it is ended by a signal', async () => {
    const { child, done } = asProgram(
      'run',
      '--lease',
      'db=app-db',
      '--',
      'sh',
      '-c',
      'echo ready; exec sleep 60',
    );
    await once(child.stdout!, 'data');
    assert.equal((await world.target.users()).length, 1);
    child.kill('SIGTERM');
    assert.equal((await done).signal, 'SIGTERM');
    await allGone();
  });

  it('run --lease starts nothing if there is no such issuer', async () => {
    const { code, stdout, stderr } = await asProgram('run', '--lease', 'db=other', '--', 'echo', 'ran').done;
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /not found/);
  });

  it('sets an issuer up, lists and checks it, lists and ends its leases, and deletes it', async () => {
    const args = ['issuers', 'create', 'reports', '--member-of', world.target.group, '--max-ttl', '7200'];
    const created = await asAdmin(args, `${world.target.url}\n`);
    assert.equal(created.code, 0, created.stderr);
    assert.match(created.stderr, /the issuer is created\n.*the issuer works/s);
    const refused = await asAdmin(
      ['issuers', 'create', 'other', '--member-of', 'no_role', '-'],
      world.target.url,
    );
    assert.equal(refused.code, 1, 'the check failed');
    assert.match(refused.stderr, /role no_role doesn’t exist\nstrongroom: +CREATE ROLE "no_role" NOLOGIN;/);
    const listed = await asAdmin(['issuers', 'list']);
    assert.match(listed.stdout, /reports +production +postgresql +127\.0\.0\.1:\d+ +3600 7200 +ready/);
    assert.doesNotMatch(listed.stdout, /correct-horse/);
    const checked = await asAdmin(['issuers', 'check', 'other']);
    assert.equal(checked.code, 1);
    assert.match(checked.stdout, /CREATE ROLE "no_role" NOLOGIN;/);
    const { lease, data } = await world.issue();
    const leases = await asAdmin(['leases', 'list', 'app-db']);
    assert.match(leases.stdout, new RegExp(`${lease.id} +active +app-db +${data.username} +key `));
    const renewed = await asAdmin(['leases', 'renew', lease.id, '--ttl', '7200']);
    assert.match(renewed.stderr, /expires at 20/);
    const revoked = await asAdmin(['leases', 'revoke', lease.id]);
    assert.match(revoked.stderr, new RegExp(`${data.username} is revoking`));
    await world.ended(lease.id);
    assert.equal((await asAdmin(['leases', 'list'])).stdout, '');
    assert.match((await asAdmin(['leases', 'list', '--all'])).stdout, / gone /);
    assert.match((await asAdmin(['leases', 'revoke', 'nonsense'])).stderr, /named by its id/);
    for (const name of ['reports', 'other']) {
      const deleted = await asAdmin(['issuers', 'delete', name]);
      assert.match(deleted.stderr, new RegExp(`deleted ${name}`));
    }
  });
});
