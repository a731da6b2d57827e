import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { enginesInTurn } from './harness.ts';
import { type Browser, type EmptyService, invite, setUp, startEmpty } from './people.ts';

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`the plan on ${engine}`, () => {
    let service: EmptyService;
    let owner: Browser;

    before(async () => {
      service = await startEmpty(engine);
      owner = await setUp(service);
    });
    after(() => service.stop());

    const change = (who: Browser, body: object) => who.call('PUT', '/v1/organization', body);

    it('an owner who is signed in changes it, and the next request of a key obeys it', async () => {
      const key = (await owner.post('/v1/api-keys', { name: 'program', role: 'viewer' })).body.token;
      const limit = async () => {
        const answer = await fetch(`${service.url}/v1/vaults`, {
          headers: { authorization: `Bearer ${key}` },
        });
        return answer.headers.get('x-ratelimit-limit');
      };
      await change(owner, { plan: 'pro' });
      assert.equal(await limit(), '1000');
      const free = await change(owner, { plan: 'free' });
      assert.deepEqual([free.body.plan, free.body.rate_limit, await limit()], ['free', 100, '100']);
      const custom = await change(owner, { plan: 'enterprise', enterprise_limit: 250 });
      assert.deepEqual([custom.body.plan, custom.body.rate_limit, await limit()], ['enterprise', 250, '250']);
      const unlimited = await change(owner, { enterprise_limit: 0 });
      assert.deepEqual([unlimited.body.rate_limit, await limit()], [null, null]);
    });

    it('each change of it is written down', async () => {
      const recorded = async () => (await owner.get('/v1/audit-logs?action=organization.plan_changed')).body;
      const before = (await recorded()).pagination.total;
      for (const limit of [250, 0]) await change(owner, { plan: 'enterprise', enterprise_limit: limit });
      const { data, pagination } = await recorded();
      assert.equal(pagination.total, before + 2);
      assert.equal(data[0].actor.kind, 'member');
    });

    it('no key changes it, not even an owner’s, and no other role', async () => {
      const key = (await owner.post('/v1/api-keys', { name: 'all', role: 'owner' })).body.token;
      const byKey = await fetch(`${service.url}/v1/organization`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ plan: 'free' }),
      });
      assert.equal(byKey.status, 403);
      const { browser: admin } = await invite(service, owner, 'admin@example.org', 'admin');
      assert.equal((await change(admin, { enterprise_limit: 1 })).status, 403);
      assert.equal((await change(admin, { name: 'Renamed by an admin' })).status, 200);
    });

    it('a plan that does not exist, and a limit below 0, are refused by name', async () => {
      for (const body of [{ plan: 'gold' }, { enterprise_limit: -1 }]) {
        const refused = await change(owner, body);
        assert.equal(refused.status, 400);
        assert.equal(refused.body.error.details.field, Object.keys(body)[0]);
      }
    });
  });
}
