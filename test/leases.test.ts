/** Credentials that live for a short time: who gets them, how they are renewed, and that they end. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { callService, enginesInTurn, eventually } from './harness.ts';
import { issuerBody, type LeaseWorld, startLeases } from './leases-world.ts';

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`leases, on ${engine}`, () => {
    let world: LeaseWorld;
    before(async () => {
      world = await startLeases(engine, true);
    });
    after(() => world.close());

    const actions = async (id: string) =>
      (await world.service.call('GET', '/v1/audit-logs?limit=100')).body.data
        .filter((entry: { subject: { id: string } | null }) => entry.subject?.id === id)
        .map(({ action }: { action: string }) => action)
        .reverse();

    it('gives a user of the database that works, is a member of the role and has no rights itself', async () => {
      const asked = world.service.clock.now();
      const { lease, data } = await world.issue(600);
      const answered = world.service.clock.now();
      assert.match(data.username, /^sr_[a-z2-7]{20}$/);
      assert.ok(await world.opens(data.url));
      assert.equal(lease.renewable, true);
      const begun = Date.parse(lease.expires_at) - 600_000;
      assert.ok(begun >= asked && begun <= answered);
      const [user] = await world.target.sql(
        `SELECT rolvaliduntil, rolsuper, rolcreaterole, rolcreatedb, rolconfig FROM pg_roles WHERE rolname = $1`,
        [data.username],
      );
      const grace = (user!.rolvaliduntil as Date).getTime() - Date.parse(lease.expires_at);
      assert.equal(grace, 60_000, 'the database ends it a minute later by itself');
      assert.deepEqual([user!.rolsuper, user!.rolcreaterole, user!.rolcreatedb], [false, false, false]);
      assert.deepEqual(user!.rolconfig, [`role=${world.target.group}`]);
      const [{ held }] = (await world.target.sql(
        `SELECT count(*)::int AS held FROM pg_shdepend WHERE refobjid = (SELECT oid FROM pg_roles WHERE rolname = $1)
         AND deptype IN ('a', 'o')`,
        [data.username],
      )) as [{ held: number }];
      assert.equal(held, 0, 'nothing is granted to it');
      assert.deepEqual(await actions(lease.id), ['lease.created', 'lease.issued']);
    });

    it('sends a verifier and never the password, which is stored nowhere', async () => {
      const { data } = await world.issue();
      const [{ rolpassword }] = (await world.target.sql(
        'SELECT rolpassword FROM pg_authid WHERE rolname = $1',
        [data.username],
      )) as [{ rolpassword: string }];
      assert.match(rolpassword, /^SCRAM-SHA-256\$4096:/);
      const { text } = await world.service.call('GET', '/v1/leases');
      assert.ok(!text.includes(data.password));
    });

    it('writes the request into the log before it answers', async () => {
      const { lease } = await world.issue();
      const { body } = await world.service.call('GET', '/v1/request-logs?limit=50');
      const texts = body.data.map(
        ({ requested, status }: Record<string, unknown>) => `${status} ${requested}`,
      );
      assert.ok(texts.includes(`102 lease=issue id=${lease.id} app-db`), texts.join('\n'));
      assert.ok(texts.includes(`200 lease=issue id=${lease.id} app-db`), texts.join('\n'));
    });

    it('renews until the longest life of the issuer', async () => {
      const { lease, data } = await world.issue(60);
      const renewed = await world.ask('POST', `leases/${lease.id}/renew`, { ttl: 86_400 });
      assert.equal(renewed.status, 200, renewed.text);
      const life = Date.parse(renewed.body.lease.expires_at) - world.service.clock.now();
      assert.ok(life > 86_300_000 && life <= 86_400_000);
      assert.equal(renewed.body.lease.renewable, false);
      const [{ rolvaliduntil }] = (await world.target.sql(
        'SELECT rolvaliduntil FROM pg_roles WHERE rolname = $1',
        [data.username],
      )) as [{ rolvaliduntil: Date }];
      assert.equal(rolvaliduntil.getTime() - Date.parse(renewed.body.lease.expires_at), 60_000);
      const shorter = await world.ask('POST', `leases/${lease.id}/renew`, { ttl: 60 });
      assert.equal(shorter.body.lease.expires_at, renewed.body.lease.expires_at, 'never shorter');
      const byDefault = await world.ask('POST', `leases/${lease.id}/renew`);
      assert.equal(byDefault.status, 200, byDefault.text);
    });

    it('ends open sessions when it is revoked, and removes the user with what it owns', async () => {
      const { lease, data } = await world.issue();
      const table = `left_${lease.id.replaceAll('-', '')}`;
      const client = new pg.Client(data.url);
      const over = new Promise(resolve => client.on('error', resolve));
      await client.connect();
      await client.query(`SET ROLE NONE; CREATE TABLE public.${table} (id int)`);
      const { status, body, text } = await world.ask('DELETE', `leases/${lease.id}`);
      assert.deepEqual([status, body], [200, { lease: { id: lease.id, state: 'revoking' } }], text);
      await world.ended(lease.id);
      await over;
      assert.ok(!(await world.target.users()).includes(data.username));
      assert.ok(!(await world.opens(data.url)));
      const [found] = await world.target.sql('SELECT tableowner FROM pg_tables WHERE tablename = $1', [
        table,
      ]);
      assert.equal(found!.tableowner, world.target.group);
      assert.deepEqual(await actions(lease.id), [
        'lease.created',
        'lease.issued',
        'lease.ended',
        'lease.revoked',
      ]);
      const again = await world.ask('DELETE', `leases/${lease.id}`);
      assert.deepEqual(again.body, { lease: { id: lease.id, state: 'gone' } });
      const late = await world.ask('POST', `leases/${lease.id}/renew`);
      assert.equal(late.status, 400, late.text);
    });

    it('is disabled where someone else’s grant keeps it from being removed, and tried again until it is gone', async () => {
      const { lease, data } = await world.issue();
      await world.target.sql(`GRANT SELECT ON orders TO ${data.username}`);
      await world.service.call('POST', `/v1/leases/${lease.id}/revoke`);
      await eventually('it gives no access', async () => (await world.state(lease.id)) === 'disabled');
      assert.ok(!(await world.opens(data.url)));
      const { body } = await world.service.call('GET', `/v1/leases/${lease.id}`);
      assert.notEqual(body.failing_since, null);
      await world.target.sql(`REVOKE SELECT ON orders FROM ${data.username}`);
      world.service.clock.pass(6_000);
      await world.ended(lease.id);
    });

    it('ends with the access key that holds it, however deep it was made', async () => {
      const { id, token } = await world.accessKey();
      const child = await callService(
        world.service.url,
        'POST',
        '/vault/v1/auth/token/create',
        { ttl: '10m' },
        token,
      );
      assert.equal(child.status, 200, child.text);
      const own = await world.issue(600, token);
      const childs = await world.issue(3_600, child.body.auth.client_token);
      const left = Date.parse(childs.lease.expires_at) - world.service.clock.now();
      assert.ok(left <= 600_000, 'no longer than the key');
      assert.equal((await world.service.call('DELETE', `/v1/access-keys/${id}`)).status, 200);
      await world.ended(own.lease.id);
      await world.ended(childs.lease.id);
      assert.ok(!(await world.opens(childs.data.url)));
      const { body } = await world.service.call('GET', `/v1/leases/${own.lease.id}`);
      assert.equal(body.ended, 'holder');
    });

    it('is given only to keys that could read a secret of the issuer’s name, and found only by its own', async () => {
      const refused: [more: object, status: number][] = [
        [{ names: ['other*'] }, 404],
        [{ kinds: ['key'] }, 404],
        [{ names_only: true }, 403],
      ];
      for (const [more, status] of refused) {
        const { token } = await world.accessKey(more);
        const answer = await world.ask('POST', 'leases', { name: 'app-db' }, token);
        assert.equal(answer.status, status, JSON.stringify(more) + answer.text);
      }
      const { token } = await world.accessKey({ names: ['app-*'], kinds: ['secret'] });
      const { lease } = await world.issue(600, token);
      for (const [method, path] of [
        ['POST', `leases/${lease.id}/renew`],
        ['DELETE', `leases/${lease.id}`],
      ] as const)
        assert.equal((await world.ask(method, path)).status, 404, 'another key of the vault');
      const missing = await world.ask('POST', 'leases', { name: 'nothing' }, token);
      const unseen = await world.ask('POST', 'leases', { name: 'other' }, token);
      assert.deepEqual(missing.body, unseen.body);
      assert.equal(
        (await callService(world.service.url, 'POST', '/api/v1/vaults/self/leases', {})).status,
        401,
      );
    });

    it('tells people who holds what, and lets them end it', async () => {
      const { lease, data } = await world.issue();
      const { body } = await world.service.call(
        'GET',
        `/v1/leases?access_key_id=${world.keyId}&state=active`,
      );
      const found = body.data.find(({ id }: { id: string }) => id === lease.id);
      assert.deepEqual(
        [found.username, found.issuer, found.issuer_id, found.ended],
        [data.username, 'app-db', world.issuerId, null],
      );
      const renewed = await world.service.call('POST', `/v1/leases/${lease.id}/renew`, { ttl: 7_200 });
      assert.ok(renewed.body.expires_at > lease.expires_at, renewed.text);
      const ended = await world.service.call('POST', `/v1/leases/${lease.id}/revoke`);
      assert.equal(ended.body.state, 'revoking');
      await world.ended(lease.id);
      assert.ok(!(await world.opens(data.url)));
    });

    it('an access key holds at most a hundred at a time', async () => {
      const { token } = await world.accessKey();
      await world.made('/v1/issuers', issuerBody(world.vaultId, 'away'));
      const asked = await Promise.all(
        Array.from({ length: 100 }, () => world.ask('POST', 'leases', { name: 'away' }, token)),
      );
      assert.ok(asked.every(({ status }) => status === 503));
      const { status, body } = await world.ask('POST', 'leases', { name: 'app-db' }, token);
      assert.deepEqual([status, /at most 100/.test(body.message)], [400, true]);
    });

    it('a template is only a name: what it contains is never run', async () => {
      const hostile = [
        `x"; DROP TABLE orders; --`,
        `x'; DROP TABLE orders; --`,
        `\\'; DROP TABLE orders; --`,
        `$$; DROP TABLE orders; $$`,
      ];
      for (const [at, group] of hostile.entries()) {
        const target = { url: world.target.url, group };
        const { id } = await world.made('/v1/issuers', issuerBody(world.vaultId, `hostile ${at}`, target));
        const check = await world.service.call('POST', `/v1/issuers/${id}/check`);
        const [{ statement }] = check.body.problems;
        assert.equal(statement, `CREATE ROLE "${group.replaceAll('"', '""')}" NOLOGIN;`);
        assert.equal((await world.ask('POST', 'leases', { name: `hostile ${at}` })).status, 503);
        await world.target.sql(statement);
        await world.target.sql(
          `GRANT "${group.replaceAll('"', '""')}" TO ${world.target.admin} WITH ADMIN OPTION`,
        );
        const { lease } = (await world.ask('POST', 'leases', { name: `hostile ${at}` })).body;
        await world.ask('DELETE', `leases/${lease.id}`);
        await world.ended(lease.id);
        await world.target.sql(`DROP ROLE "${group.replaceAll('"', '""')}"`);
      }
      assert.equal((await world.target.sql('SELECT * FROM orders')).length, 1);
    });

    it('an address that is not opened is not connected to, and a URL is never repeated', async () => {
      for (const url of ['postgres://a:s3cr3t@10.1.2.3/x', 'postgres://a:s3cr3t@[::ffff:10.1.2.3]/x']) {
        const { id } = await world.made('/v1/issuers', {
          ...issuerBody(world.vaultId, url.length.toString()),
          connection: { url },
        });
        const { body } = await world.service.call('POST', `/v1/issuers/${id}/check`);
        assert.match(body.problems[0].problem, /the address is not allowed$/);
      }
      for (const url of [
        'http://a:s3cr3t@x/',
        'postgres://h/x',
        'postgres://a:s3cr3t@h/x?options=-c',
        'postgres://a:s3cr3t@h/x?sslmode=prefer',
      ]) {
        const answer = await world.service.call('POST', '/v1/issuers', {
          ...issuerBody(world.vaultId, 'bad'),
          connection: { url },
        });
        assert.deepEqual([answer.status, answer.body.error.details.field], [400, 'connection'], url);
        assert.ok(!answer.text.includes('s3cr3t'));
      }
      const { text } = await world.service.call('GET', '/v1/issuers');
      assert.ok(!text.includes('s3cr3t') && !text.includes('correct-horse'));
    });

    it('in a vault with review only an owner sets up issuers, and an editor elsewhere', async () => {
      const { id: vault_id } = await world.made('/v1/vaults', { name: 'reviewed', review: true });
      const { token } = await world.made('/v1/api-keys', { name: 'editor', role: 'editor' });
      const as = (key: string, body: object) =>
        callService(world.service.url, 'POST', '/v1/issuers', body, key);
      assert.equal((await as(token, issuerBody(vault_id, 'db'))).status, 403);
      assert.equal((await as(token, issuerBody(world.vaultId, 'editors'))).status, 200);
      assert.equal((await as(world.service.key, issuerBody(vault_id, 'db'))).status, 200);
      const { token: admin } = await world.made('/v1/api-keys', { name: 'admin', role: 'admin' });
      assert.equal((await as(admin, issuerBody(world.vaultId, 'admins'))).status, 403);
    });

    it('ends when it expires', async () => {
      const { lease, data } = await world.issue(60);
      world.service.clock.pass(61_000);
      await world.ended(lease.id);
      assert.ok(!(await world.target.users()).includes(data.username));
      const { body } = await world.service.call('GET', `/v1/leases/${lease.id}`);
      assert.equal(body.ended, 'expired');
    });

    it('fails where the database refuses, and leaves nothing behind', async () => {
      await world.target.sql(`REVOKE ${world.target.group} FROM ${world.target.admin} CASCADE`);
      const answer = await world.ask('POST', 'leases', { name: 'app-db' });
      assert.equal(answer.status, 503, answer.text);
      assert.match(answer.body.message, /^The issuer is not available: refused with 42501$/);
      const check = await world.service.call('POST', `/v1/issuers/${world.issuerId}/check`);
      assert.equal(check.body.ok, false);
      const [{ problem, statement }] = check.body.problems;
      assert.match(problem, /can’t make others members of app_/);
      await world.target.sql(statement);
      const fixed = await world.service.call('POST', `/v1/issuers/${world.issuerId}/check`);
      assert.deepEqual(fixed.body, { ok: true, problems: [] });
      const { body } = await world.service.call('GET', '/v1/leases?state=creating');
      const [failed] = body.data;
      assert.equal(failed.issuer, 'app-db');
      world.service.clock.pass(61_000);
      await eventually('it is looked for once', async () => (await world.state(failed.id)) === 'disabled');
      world.service.clock.pass(61_000);
      await world.ended(failed.id);
    });

    it('keeps the issuer and the vault while there are leases, unless they are to be revoked', async () => {
      const { lease, data } = await world.issue();
      const refused = await world.service.call('DELETE', `/v1/issuers/${world.issuerId}`);
      assert.deepEqual([refused.status, refused.body.error.code], [400, 'CONFLICT']);
      const vault = await world.service.call('DELETE', `/v1/vaults/${world.vaultId}`);
      assert.deepEqual([vault.status, vault.body.error.code], [400, 'CONFLICT'], vault.text);
      const removed = await world.service.call('DELETE', `/v1/issuers/${world.issuerId}?revoke=true`);
      assert.equal(removed.status, 200, removed.text);
      await world.ended(lease.id);
      assert.ok(!(await world.opens(data.url)));
      await eventually('the issuer is deleted', async () => {
        const { status } = await world.service.call('GET', `/v1/issuers/${world.issuerId}`);
        return status === 404;
      });
      assert.deepEqual(await world.target.users(), [], 'no user is left of all of these tests');
    });
  });
}
