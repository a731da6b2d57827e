/**
 * A rolling upgrade: the program of an earlier commit beside this one, over one PostgreSQL. What the older one served before, it
 * goes on serving, whatever the newer one creates, uses and changes; and the other way round.
 */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Running, serve } from '../src/service/serve.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { type Answer, callService, eventually } from './harness.ts';
import { hasCommit, type OlderProgram, olderProgram } from './older-program.ts';
import { oneThread } from './one-thread.ts';
import { Browser, password } from './people.ts';
import { dataFolder, freshDatabase } from './postgres.ts';

/** A commit of the day before each change to what is stored, the oldest first. Those of a release stay. */
const commits = {
  'release 0.1.0 (schema 009)': '254026af87969eadeb1a29eb59dd49c4ff9d9722',
  'before access keys had a narrowing key (schema 015)': '7d77eb22ccd1f9a23b2ee01e483aed61905dfb36',
} as const;

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
type Json = any;

for (const [name, commit] of Object.entries(commits)) {
  const why = `there is no commit ${commit} in the history of this checkout: the older program can’t be run`;
  const isThere = hasCommit(commit);
  if (!isThere) process.stderr.write(`NOT TESTED: a rolling upgrade from ${name}. ${why}\n`);
  describe(`beside ${name}`, { skip: isThere ? false : why }, () => {
    let program: OlderProgram;
    let older: Awaited<ReturnType<OlderProgram['serve']>>;
    let newer: Running;
    let start: () => Promise<Running>;
    let key: string;
    /** The first release had no such address. */
    let hasPublicKeys: boolean;
    const folders: string[] = [];
    const reports: string[] = [];

    before(async () => {
      program = await olderProgram(commit);
      for (let at = 0; at < 2; at++) folders.push(await dataFolder());
      const url = await freshDatabase();
      const place = ['--data', folders[0]!, '--database-url', url];
      const setup = program.run(['setup', '--json', ...place]);
      key = JSON.parse(setup).api_key ?? JSON.parse(setup).key;
      older = await program.serve(place);
      await makeAll('older', 'made before the upgrade');
      const { token } = all[0]!.publicToken;
      hasPublicKeys = (await call('older', 'GET', '/api/v1/public-key', undefined, token)).status === 200;
      const rootKey = ['--root-key-file', join(folders[0]!, 'root.key')];
      const flags = ['--data', folders[1]!, '--database-url', url, ...rootKey, '--port', '0'];
      const parts = { report: (line: string) => void reports.push(line), ...oneThread };
      start = () => serve(readConfig(serveOptions, flags, {}), parts);
      newer = await start();
    });
    after(async () => {
      await newer?.stop();
      await older?.stop();
      await program?.remove();
      for (const folder of folders) await rm(folder, { recursive: true, force: true });
    });

    const sides = ['older', 'newer'] as const;
    type Side = (typeof sides)[number];
    const urlOf = (side: Side) => (side === 'older' ? older.url : newer.url);
    const call = (side: Side, method: string, path: string, body?: unknown, token = key) =>
      callService(urlOf(side), method, path, body, token);
    async function ok(answer: Promise<Answer>, what: string): Promise<Json> {
      const { status, text, body } = await answer;
      assert.equal(status, 200, `${what}: ${text}`);
      return body;
    }

    interface Made {
      readonly what: string;
      readonly by: Side;
      readonly vaultId: string;
      readonly accessKey: Json;
      readonly counted: Json;
      readonly publicToken: Json;
      readonly apiKey: Json;
      readonly identity: Json;
      readonly secretId: Json;
      readonly member: Json;
      readonly paths: readonly string[];
    }
    const all: Made[] = [];

    /** One of everything that the older program knows. */
    async function makeAll(by: Side, what: string): Promise<void> {
      const made = (kind: string, body: object) =>
        ok(call(by, 'POST', `/v1/${kind}`, body), `${kind} ${what}`);
      const vault = await made('vaults', { name: what });
      const at = { vault_id: vault.id };
      const secret = await made('secrets', { ...at, name: 'S', value: 'one' });
      const pair = await made('keys', { ...at, name: 'k', generate: { key_type: 'EC', curve: 'P-256' } });
      const self_signed = { subject: 'CN=example.org', days: 30 };
      const certificate = await made('certificates', { ...at, name: 'c', key_id: pair.id, self_signed });
      const accessKey = await made('access-keys', { ...at, name: 'plain' });
      const counted = await made('access-keys', { ...at, name: 'counted', names: ['S*'], max_uses: 50 });
      const publicToken = await made('public-tokens', { key_id: pair.id, name: 'public' });
      const apiKey = await made('api-keys', { name: `api ${what}`, role: 'viewer', vault_ids: [vault.id] });
      const hook = { name: what, url: 'https://hooks.invalid/', events: ['resource.expired'] };
      const webhook = await made('webhooks', hook);
      const machine = { name: what, method: 'secret_id', vault_ids: [vault.id] };
      const identity = await made('identities', machine);
      const secretId = await made('secret-ids', { identity_id: identity.id, name: 'sid' });
      const member = await made('members', {
        email: `${what.replaceAll(' ', '-')}@example.org`,
        role: 'viewer',
      });
      const paths = [
        `/v1/vaults/${vault.id}`,
        `/v1/secrets/${secret.id}`,
        `/v1/keys/${pair.id}`,
        `/v1/certificates/${certificate.id}`,
        ...[accessKey, counted].map(({ id }: Json) => `/v1/access-keys/${id}`),
        `/v1/public-tokens/${publicToken.id}`,
        `/v1/api-keys/${apiKey.id}`,
        `/v1/webhooks/${webhook.id}`,
        `/v1/identities/${identity.id}`,
        `/v1/secret-ids/${secretId.id}`,
        `/v1/members/${member.id}`,
      ];
      all.push({
        what,
        by,
        vaultId: vault.id,
        accessKey,
        counted,
        publicToken,
        apiKey,
        identity,
        secretId,
        member,
        paths,
      });
    }

    /** Everything that can be done with what was made, at one side. */
    async function exercise(side: Side, one: Made, value: string): Promise<void> {
      const what = `${one.what}, at the ${side} one`;
      const path = `/api/v1/vaults/${one.vaultId}`;
      for (const { token } of [one.accessKey, one.counted]) {
        const { secrets } = await ok(call(side, 'GET', path, undefined, token), what);
        assert.equal(secrets.find((secret: Json) => secret.name === 'S').value, value, what);
      }
      if (hasPublicKeys)
        await ok(call(side, 'GET', '/api/v1/public-key', undefined, one.publicToken.token), what);
      await ok(call(side, 'GET', '/v1/vaults', undefined, one.apiKey.token), what);
      const proof = { identity_id: one.identity.id, secret_id: one.secretId.token };
      const login = await ok(callService(urlOf(side), 'POST', '/api/v1/login', proof), what);
      await ok(call(side, 'GET', path, undefined, login.access_key ?? login.token), what);
      for (const each of one.paths) await ok(call(side, 'GET', each), `${each} ${what}`);
      const secret = one.paths.find(each => each.startsWith('/v1/secrets/'))!;
      assert.equal((await ok(call(side, 'POST', `${secret}/reveal`), what)).value, value, what);
    }

    async function changeAll(side: Side, one: Made): Promise<void> {
      const name = `${side} ${one.what}`;
      for (const path of one.paths) {
        const [, , kind] = path.split('/');
        const body = { members: { role: 'auditor' }, secrets: { value: side } }[kind!] ?? { name };
        await ok(call(side, 'PUT', path, body), `PUT ${path} of what was ${one.what}`);
      }
    }

    it('creates and uses everything on both sides, created before the upgrade, by the older one and by the newer one', async () => {
      await makeAll('older', 'made by the older one');
      await makeAll('newer', 'made by the newer one');
      for (const side of sides) for (const one of all) await exercise(side, one, 'one');
      await newer.stop(); // It notes what was used.
      for (const one of all) await exercise('older', one, 'one');
      newer = await start();
      for (const one of all) await exercise('newer', one, 'one');
    });

    it('changes everything on both sides, and the other one goes on with it', async () => {
      for (const side of sides) {
        for (const one of all) await changeAll(side, one);
        // What one acknowledged, the other serves within a second.
        await sleep(1_000);
        for (const one of all) for (const at of sides) await exercise(at, one, side);
      }
    });

    it('lists and verifies everything on both sides', async () => {
      const kinds = ['vaults', 'secrets', 'keys', 'certificates', 'access-keys', 'public-tokens', 'api-keys'];
      const more = ['webhooks', 'identities', 'secret-ids', 'members', 'request-logs', 'audit-logs'];
      for (const kind of [...kinds, ...more]) {
        const [one, other] = await Promise.all(
          sides.map(side => ok(call(side, 'GET', `/v1/${kind}?limit=5`), `${kind} at the ${side} one`)),
        );
        assert.ok(one.data.length > 0, kind);
        assert.deepEqual(
          new Set(one.data.map(({ id }: Json) => id)).size,
          new Set(other.data.map(({ id }: Json) => id)).size,
          kind,
        );
      }
      for (const side of sides) {
        await eventually('the log is verified', async () => {
          const { body } = await call(side, 'GET', '/v1/audit-logs/verification');
          return body.ok !== null;
        });
        const { body } = await call(side, 'GET', '/v1/audit-logs/verification');
        assert.deepEqual(body.findings, [], `the ${side} one`);
      }
    });

    it('gives nothing at the older one by a role that only the newer one knows', async () => {
      const { vaultId } = all[0]!;
      for (const role of ['reader', 'writer']) {
        const made = { name: role, role, vault_ids: [vaultId] };
        const { id, token } = await ok(call('newer', 'POST', '/v1/api-keys', made), role);
        await ok(call('newer', 'GET', '/v1/secrets', undefined, token), role);
        for (const path of ['secrets', 'vaults', 'whoami'])
          assert.equal((await call('older', 'GET', `/v1/${path}`, undefined, token)).status, 403, path);
        await ok(call('older', 'GET', `/v1/api-keys/${id}`), role);
      }
      const { id } = await ok(
        call('newer', 'POST', '/v1/members', { email: 'reader@example.org', role: 'reader' }),
        'a reader',
      );
      await ok(call('older', 'GET', `/v1/members/${id}`), 'a reader');
      await ok(call('older', 'GET', '/v1/members'), 'the list with a reader');
      for (const one of all) await exercise('older', one, 'newer');
    });

    it('gives nothing at the older one by a role with an end, and leaves its end when it changes another role', async () => {
      // The first release has no roles in vaults, and refuses the rows that have one.
      if ((await call('older', 'GET', '/v1/groups')).status === 404) return;
      const { vaultId } = all[0]!;
      const email = 'until-tomorrow@example.org';
      const until = new Date(Date.now() + 86_400_000).toISOString();
      const grants = [{ vault_id: vaultId, role: 'editor', until }];
      const invited = await ok(
        call('newer', 'POST', '/v1/members', { email, role: 'none', grants }),
        'invited until tomorrow',
      );
      const [newerOne, olderOne] = [new Browser(newer.url), new Browser(older.url)];
      await ok(newerOne.post('/auth/invitation/accept', { token: invited.token, password }), email);
      await ok(newerOne.get('/v1/secrets'), 'at the newer one');
      for (const [cookie, value] of newerOne.cookies) olderOne.cookies.set(cookie, value);
      assert.notEqual((await olderOne.get('/v1/secrets')).status, 200, 'at the older one');
      const added = { change_grants: [{ vault_id: all[1]!.vaultId, role: 'viewer' }] };
      const changed = await call('older', 'PUT', `/v1/members/${invited.id}`, added);
      // A program that can't change one role by itself replaces the whole list, with what its caller sends.
      if (changed.body.error?.details.field === 'change_grants') return;
      await ok(Promise.resolve(changed), 'changed by the older one');
      await sleep(1_000);
      const after = await ok(call('newer', 'GET', `/v1/members/${invited.id}`), 'after the change');
      assert.equal(after.grants.length, 2);
      assert.equal(after.grants.find((one: Json) => one.vault_id === vaultId).until, until);
      await ok(call('older', 'GET', '/v1/api-keys'), 'everyone else');
    });

    it('serves everything but a template at the older one, and never its text', async () => {
      const { vaultId, accessKey } = all[0]!;
      const literal = 'the-text-of-a-template';
      const template = { vault_id: vaultId, name: 'T', kind: 'template', value: `${literal}:\${S}` };
      const { id, enabled } = await ok(call('newer', 'POST', '/v1/secrets', template), 'a template');
      assert.equal(enabled, true);
      const path = `/api/v1/vaults/${vaultId}`;
      const readAt = (side: Side, query = '') =>
        call(side, 'GET', `${path}${query}`, undefined, accessKey.token);
      for (const value of ['one', 'two']) {
        const secret = all[0]!.paths.find(each => each.startsWith('/v1/secrets/'))!;
        await ok(call(value === 'one' ? 'newer' : 'older', 'PUT', secret, { value }), value);
        await sleep(1_000);
        assert.equal((await ok(readAt('newer', '?format=map'), 'newer')).T, `${literal}:${value}`);
        const { secrets } = await ok(readAt('older'), 'the vault at the older one');
        assert.equal(secrets.find((one: Json) => one.name === 'S').value, value);
        assert.ok(!secrets.some((one: Json) => one.name === 'T'));
      }
      assert.equal((await call('older', 'GET', `${path}/${id}`, undefined, accessKey.token)).status, 404);
      assert.ok(!(await call('older', 'POST', `/v1/secrets/${id}/reveal`)).text.includes(literal));
      await ok(call('older', 'GET', `/v1/secrets/${id}`), 'its record');
      await ok(call('older', 'PUT', `/v1/secrets/${id}`, { name: 'TT' }), 'renamed by the older one');
      await sleep(1_000);
      assert.equal((await ok(readAt('newer', '?format=map'), 'newer')).TT, `${literal}:two`);
      await ok(call('newer', 'PUT', `/v1/secrets/${id}`, { kind: 'value', value: 'plain' }), 'a value now');
      await sleep(1_000);
      const { secrets } = await ok(readAt('older'), 'a value');
      assert.equal(secrets.find((one: Json) => one.name === 'TT').value, 'plain');
      for (const side of sides) await ok(call(side, 'GET', `/v1/secrets?vault_id=${vaultId}`), side);
    });

    it('signs people in on both sides, and their sessions are good on both', async () => {
      for (const side of sides) {
        const email = `joins-${side}@example.org`;
        const { token } = await ok(call(side, 'POST', '/v1/members', { email, role: 'viewer' }), email);
        const at = new Browser(() => urlOf(side));
        await ok(at.post('/auth/invitation/accept', { token, password }), email);
        for (const other of sides) {
          const there = new Browser(() => urlOf(other));
          await ok(there.signIn(email), `${email} at the ${other} one`);
          for (const [cookie, value] of at.cookies) there.cookies.set(cookie, value);
          await ok(there.get('/v1/vaults'), `the session of ${email} at the ${other} one`);
        }
      }
    });

    it('refuses on both sides what was revoked on one', async () => {
      for (const one of all) {
        const [by, other] =
          one.by === 'older' ? (['newer', 'older'] as const) : (['older', 'newer'] as const);
        const { id, token } = one.accessKey;
        await ok(call(by, 'DELETE', `/v1/access-keys/${id}`), one.what);
        const path = `/api/v1/vaults/${one.vaultId}`;
        assert.equal((await call(by, 'GET', path, undefined, token)).status, 401);
        await eventually(
          'the other replica refuses the revoked key',
          async () => (await call(other, 'GET', path, undefined, token)).status === 401,
        );
      }
    });

    it('says nothing of edited data', () => {
      const alarms = [...older.said, ...reports].filter(line =>
        /not as it was written|not intact/.test(line),
      );
      assert.deepEqual(alarms, []);
    });
  });
}
