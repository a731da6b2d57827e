/** Redis users as leases: over a double that speaks its protocol. `npm run interop` runs the same against real servers. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { commandBytes, Malformed, RespError, replyIn } from '../src/egress/resp.ts';
import {
  callService,
  enginesInTurn,
  eventually,
  loopbackWebhooks,
  type Service,
  startService,
} from './harness.ts';
import { startRedisDouble } from './redis-target.ts';

describe('the protocol of Redis', () => {
  const reply = (text: string) => replyIn(Buffer.from(text));

  it('sends lengths, so that no text becomes another command', () => {
    assert.equal(
      commandBytes(['ACL', 'é\r\n*1\r\n$8\r\nFLUSHALL']).toString(),
      '*2\r\n$3\r\nACL\r\n$20\r\né\r\n*1\r\n$8\r\nFLUSHALL\r\n',
    );
  });

  it('reads every kind of reply, once all of it has arrived', () => {
    assert.deepEqual(reply('+OK\r\nmore'), { reply: 'OK', end: 5 });
    assert.deepEqual(reply('-NOPERM no\r\n')!.reply, new RespError('NOPERM no'));
    const nested = '*3\r\n$-1\r\n*2\r\n:7\r\n$2\r\n\r\n\r\n*-1\r\n';
    assert.deepEqual(reply(nested)!.reply, [null, [7, '\r\n'], null]);
    for (let length = 0; length < nested.length; length++) assert.equal(reply(nested.slice(0, length)), null);
  });

  it('refuses what is malformed, too long or too deep', () => {
    for (const text of ['HTTP/1.1 400\r\n', '$x\r\n', '$-2\r\n', '$1048577\r\n', '*-5\r\n', '$1\r\nabc\r\n'])
      assert.throws(() => reply(text), Malformed, text);
    assert.throws(() => reply(`${'*1\r\n'.repeat(9)}:1\r\n`), Malformed);
    assert.throws(() => reply(`+${'x'.repeat(1024 * 1024 + 1)}`), Malformed);
    assert.equal(reply(`${'*1\r\n'.repeat(8)}:1\r\n`)!.end, 36);
  });
});

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`leases of Redis users, on ${engine}`, () => {
    let service: Service;
    let redis: Awaited<ReturnType<typeof startRedisDouble>>;
    let vaultId: string;
    let issuerId: string;
    let key: string;
    const made = async (path: string, body: unknown) => {
      const { status, text, body: answer } = await service.call('POST', path, body);
      assert.equal(status, 200, text);
      return answer;
    };
    const issuer = (more: object = {}) => ({
      vault_id: vaultId,
      name: 'cache',
      provider: 'redis',
      connection: { url: redis.url },
      template: { rules: ['~app:*', '+@read', '-@dangerous'] },
      ...more,
    });
    before(async () => {
      redis = await startRedisDouble();
      service = await startService({ engine, flags: loopbackWebhooks });
      vaultId = (await made('/v1/vaults', { name: 'production' })).id;
      issuerId = (await made('/v1/issuers', issuer())).id;
      key = (await made('/v1/access-keys', { vault_id: vaultId, name: 'web' })).token;
    });
    after(async () => {
      await service.stop();
      await redis.close();
    });
    const ask = (method: string, path: string, body?: unknown) =>
      callService(service.url, method, `/api/v1/vaults/${vaultId}/${path}`, body, key);
    const issue = () => ask('POST', 'leases', { name: 'cache', ttl: 3_600 });
    const living = async () =>
      (await service.call('GET', '/v1/leases?state=living&limit=100')).body.data as {
        id: string;
        username: string;
      }[];
    const check = () => service.call('POST', `/v1/issuers/${issuerId}/check`);
    async function allGone(what: string): Promise<void> {
      await eventually(what, async () => {
        service.clock.pass(61_000);
        return (await living()).length === 0;
      });
      assert.deepEqual(await redis.users(), [], what);
    }

    it('gives a user with the rules, by the digest of its password, that may never administer the server', async () => {
      const { status, text, body } = await issue();
      assert.equal(status, 200, text);
      const { username, password, url } = body.data;
      assert.deepEqual(redis.rulesOf(username), [
        'reset',
        `#${hash('sha256', password)}`,
        '~app:*',
        '+@read',
        '-@dangerous',
        '-@admin',
        'on',
      ]);
      assert.ok(!redis.seen.flat().includes(password));
      assert.ok(await redis.opens(url));
      const renewed = await ask('POST', `leases/${body.lease.id}/renew`, { ttl: 7_200 });
      assert.equal(renewed.status, 200, renewed.text);
      const saved = redis.saves();
      await ask('DELETE', `leases/${body.lease.id}`);
      await allGone('it is removed');
      assert.ok(redis.saves() > saved, 'a restart brings it not back');
      assert.ok(!(await redis.opens(url)));
    });

    it('is not renewed once its user is gone', async () => {
      const { lease, data } = (await issue()).body;
      redis.forget(data.username);
      assert.equal((await ask('POST', `leases/${lease.id}/renew`)).status, 400);
      await ask('DELETE', `leases/${lease.id}`);
      await allGone('one that is not there is gone');
    });

    it('takes rules only, which can’t set passwords, add users or end the rules', async () => {
      for (const rule of [
        '>password',
        'nopass',
        'on',
        'reset',
        'resetpass',
        '#0000',
        '(~x +get)',
        'allkeys',
        '~a b',
        '+get -@all',
        '+@admin\r\nACL',
        '%X~x',
        '~',
      ]) {
        const { status, text } = await service.call(
          'POST',
          '/v1/issuers',
          issuer({ name: 'bad', template: { rules: [rule] } }),
        );
        assert.equal(status, 400, `${rule}: ${text}`);
        assert.match(text, /template/);
      }
      for (const template of [{ member_of: ['app'] }, {}, { rules: ['+get'], connection_limit: 1 }]) {
        const { status, body } = await service.call('POST', '/v1/issuers', issuer({ name: 'bad', template }));
        assert.deepEqual([status, body.error.details.field.startsWith('template.')], [400, true]);
      }
      const wrong = { provider: 'postgresql', connection: { url: 'postgres://a:b@h/x' } };
      const { status } = await service.call('POST', '/v1/issuers', issuer({ name: 'bad', ...wrong }));
      assert.equal(status, 400, 'rules are not for databases');
      for (const url of [
        'redis://h',
        'redis://a:s3cr3t@h/x',
        'redis://a:s3cr3t@h?x=1',
        'http://a:s3cr3t@h',
      ]) {
        const refused = await service.call(
          'POST',
          '/v1/issuers',
          issuer({ name: 'bad', connection: { url } }),
        );
        assert.deepEqual([refused.status, refused.body.error.details.field], [400, 'connection'], url);
        assert.ok(!refused.text.includes('s3cr3t'));
      }
    });

    it('says what the connection lacks, with the command that fixes it, and leaves nothing behind', async () => {
      assert.deepEqual((await check()).body, { ok: true, problems: [] });
      redis.state.refuse = 'NOPERM User strongroom has no permissions';

      const { body } = await check();
      redis.state.refuse = null;
      assert.equal(
        body.problems[0].statement,
        'ACL SETUSER strongroom +acl|setuser +acl|getuser +acl|deluser +acl|save',
      );
      redis.state.refuse = 'ERR unknown category';
      assert.match((await check()).body.problems[0].problem, /could not be created: ERR unknown category/);
      redis.state.refuse = null;
      assert.deepEqual(await redis.users(), []);
    });

    it('is only disabled while its removal could not be saved, and tried again', async () => {
      const { lease } = (await issue()).body;
      const state = async () => (await service.call('GET', `/v1/leases/${lease.id}`)).body.state;
      redis.state.saves = false;
      await ask('DELETE', `leases/${lease.id}`);
      await eventually('it is disabled', async () => (await state()) === 'disabled');
      assert.deepEqual(await redis.users(), []);
      redis.state.saves = true;
      await allGone('it is saved');
    });

    it('interrupted at any command, before or after the server got it, no user is without a lease', async () => {
      const steps = async (work: () => Promise<unknown>) => {
        redis.state.count = 0;
        await work();
        return redis.state.count;
      };
      const first = (await issue()).body.lease.id;
      const ofIssue = await steps(issue);
      const ofRevoke = await steps(async () => {
        await ask('DELETE', `leases/${first}`);
        await eventually(
          'gone',
          async () => (await service.call('GET', `/v1/leases/${first}`)).body.state === 'gone',
        );
      });
      assert.ok(ofIssue >= 2 && ofRevoke >= 2, `${ofIssue} ${ofRevoke}`);
      const known = async (what: string) => {
        const names = new Set((await living()).map(({ username }) => username));
        for (const user of await redis.users()) assert.ok(names.has(user), what);
      };
      for (const cut of ['before', 'after'] as const) {
        for (let at = 1; at <= ofIssue; at++) {
          Object.assign(redis.state, { count: 0, cutAt: at, cut });
          assert.equal((await issue()).status, 503, `${cut} ${at}`);
          redis.state.cutAt = 0;
          await known(`issuing, ${cut} ${at}`);
        }
        for (let at = 1; at <= ofRevoke; at++) {
          const { lease } = (await issue()).body;
          Object.assign(redis.state, { count: 0, cutAt: at, cut });
          await ask('DELETE', `leases/${lease.id}`);
          await eventually(`revoking, ${cut} ${at}`, async () => {
            service.clock.pass(6_000);
            return (await service.call('GET', `/v1/leases/${lease.id}`)).body.state === 'gone';
          });
          redis.state.cutAt = 0;
          await known(`revoking, ${cut} ${at}`);
        }
      }
      for (const { id } of await living()) await service.call('POST', `/v1/leases/${id}/revoke`);
      await allGone('all are gone');
    });
  });
}
