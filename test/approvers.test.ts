/**
 * What an approval is worth, and how many can be waited for: no more than its approver may do when it is used, and no more
 * calls than one access key has, however many it makes of itself.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { narrow } from '../src/client/client.ts';
import { onEngines } from './at-once.ts';
import { callService, eventually } from './harness.ts';
import { makeAccessKey } from './mcp-world.ts';
import { Browser, password } from './people.ts';
import { startUsesWorld, type UsesWorld } from './uses-world.ts';

interface Approver {
  readonly id: string;
  readonly browser: Browser;
}

onEngines('approvals', engine => {
  let world: UsesWorld;
  let rule: string;
  let calls = 0;

  before(async () => {
    world = await startUsesWorld(engine);
    rule = await world.rule({ approval: 'always' });
  });
  after(() => world.stop());

  const member = async (given: object): Promise<Approver> => {
    const email = `m${Math.random()}@example.org`;
    const { body } = await world.service.call('POST', '/v1/members', { email, ...given });
    const browser = new Browser(() => world.service.url);
    const accepted = await browser.post('/auth/invitation/accept', { token: body.token, password });
    assert.equal(accepted.status, 200, accepted.text);
    return { id: body.id, browser };
  };
  const newCall = () => ({ rule, method: 'POST', url: `${world.upstream.url}/own/${++calls}`, body: 'x' });
  const newAgent = async (): Promise<string> =>
    (await makeAccessKey(world.service, world.vaultId, { names_only: true, may_use: true })).token;
  /** A call that waits, and is approved. */
  const approved = async ({ browser }: Approver, scope: 'call' | 'rule') => {
    const agent = await newAgent();
    const call = newCall();
    const { id } = (await world.use(call, agent)).body.approval;
    const { status, text } = await browser.post(`/auth/approvals/${id}/approve`, { scope });
    assert.equal(status, 200, text);
    return { id, use: (url = world.service.url) => useAt(url, call, agent) };
  };
  const useAt = (url: string, call: object, key: string) =>
    callService(url, 'POST', `/api/v1/vaults/${world.vaultId}/use`, { secret: 'GITHUB_TOKEN', ...call }, key);

  describe('are worth what their approver may do when they are used', () => {
    const withdrawals: Readonly<Record<string, (id: string) => Promise<unknown>>> = {
      'who was removed': id => world.service.call('DELETE', `/v1/members/${id}`),
      'who has to come in anew': id => world.service.call('POST', `/v1/members/${id}/invitation`),
      'who was given less': id => world.service.call('PUT', `/v1/members/${id}`, { role: 'viewer' }),
    };
    for (const [who, withdraw] of Object.entries(withdrawals)) {
      it(`and nothing from one ${who}, for a call as for a rule`, async () => {
        const person = await member({ role: 'editor' });
        const [one, all] = [await approved(person, 'call'), await approved(person, 'rule')];
        assert.equal((await all.use()).status, 200);
        const before = world.upstream.requests.length;
        await withdraw(person.id);
        for (const { id, use } of [one, all]) {
          const { status, body } = await use();
          assert.equal(status, 403);
          assert.equal(body.message, 'Forbidden: a person has to approve this call first');
          assert.notEqual(body.approval.id, id, 'it waits for somebody else');
        }
        assert.equal(world.upstream.requests.length, before);
      });
    }

    it('also where a group or a single vault gave them that', async () => {
      const { service, vaultId } = world;
      const grants = [{ vault_id: vaultId, role: 'editor' }];
      const inVault = await member({ role: 'none', grants });
      const inGroup = await member({ role: 'none' });
      const group = { name: `g${Math.random()}`, grants, member_ids: [inGroup.id] };
      const { body: made, text } = await service.call('POST', '/v1/groups', group);
      assert.ok(made.id, text);
      const given = [await approved(inVault, 'call'), await approved(inGroup, 'call')];
      const standing = [await approved(inVault, 'rule'), await approved(inGroup, 'rule')];
      for (const { use } of standing) assert.equal((await use()).status, 200);
      await service.call('PUT', `/v1/members/${inVault.id}`, { grants: [] });
      await service.call('PUT', `/v1/groups/${made.id}`, { member_ids: [] });
      for (const { use } of [...given, ...standing]) assert.equal((await use()).status, 403);
    });

    it('and nothing any more from one whose rights were taken away and given back', async () => {
      const person = await member({ role: 'editor' });
      const [one, all] = [await approved(person, 'call'), await approved(person, 'rule')];
      for (const role of ['viewer', 'editor'])
        await world.service.call('PUT', `/v1/members/${person.id}`, { role });
      assert.deepEqual([(await one.use()).status, (await all.use()).status], [403, 403]);
      assert.equal(
        (await (await approved(person, 'rule')).use()).status,
        200,
        'what they approve now counts',
      );
    });

    if (engine === 'postgres') {
      it('at every replica', async () => {
        const replica = await world.service.replica();
        const person = await member({ role: 'editor' });
        const [one, all] = [await approved(person, 'call'), await approved(person, 'rule')];
        assert.equal((await all.use(replica.url)).status, 200);
        await world.service.call('PUT', `/v1/members/${person.id}`, { role: 'viewer' });
        assert.equal((await one.use(replica.url)).status, 403, 'at once, where it is used up');
        await eventually(
          'the replica refuses what a former approver allowed',
          async () => (await all.use(replica.url)).status === 403,
        );
      });
    }
  });

  describe('are waited for by twenty calls of an access key at most', () => {
    const child = async (parent: string): Promise<string> => {
      const create = '/vault/v1/auth/token/create';
      return (await callService(world.service.url, 'POST', create, {}, parent)).body.auth.client_token;
    };
    const answersTo = async (times: number, keyAt: (at: number) => string) => {
      const answers = await Promise.all(
        Array.from({ length: times }, (_, at) => world.use(newCall(), keyAt(at))),
      );
      const count = (status: number) => answers.filter(answer => answer.status === status).length;
      return { waiting: count(403), refused: count(429), answers };
    };

    it('however many keys its holder made of it, and however many ask at once', async () => {
      const parent = await newAgent();
      const made = await Promise.all(
        ['*', 'GITHUB_*', '*_TOKEN', 'G*'].map(async name => (await narrow(parent, { names: [name] })).token),
      );
      const { waiting, refused, answers } = await answersTo(30, at => made[at % made.length]!);
      assert.deepEqual([waiting, refused], [20, 10]);
      const { body } = answers.find(({ status }) => status === 429)!;
      assert.equal(body.message, 'At most 20 calls with an access key can wait for approval at a time');
      assert.equal((await world.use(newCall(), parent)).status, 429);
      assert.equal((await world.use(newCall(), await newAgent())).status, 403, 'others wait for themselves');
    });

    it('however many access keys it created, and whatever became of them', async () => {
      const parent = await newAgent();
      const made = [await child(parent), await child(parent)];
      const { waiting, refused } = await answersTo(24, at => made[at % 2]!);
      assert.deepEqual([waiting, refused], [20, 4]);
      await callService(world.service.url, 'POST', '/vault/v1/auth/token/revoke-self', {}, made[0]!);
      for (const key of [parent, await child(parent)])
        assert.equal((await world.use(newCall(), key)).status, 429);
    });

    it('and again once they were decided', async () => {
      const person = await member({ role: 'editor' });
      const parent = await newAgent();
      const { answers } = await answersTo(20, () => parent);
      const { id } = answers[0]!.body.approval;
      await person.browser.post(`/auth/approvals/${id}/refuse`);
      assert.equal((await world.use(newCall(), parent)).status, 403);
      assert.equal((await world.use(newCall(), parent)).status, 429);
    });
  });
});
