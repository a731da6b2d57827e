/** Several people who change the same group or member: nobody takes back what another one did. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { onBothEngines } from './at-once.ts';
import { type Answer, type Service, startService } from './harness.ts';

onBothEngines('changes to groups and members', engine => {
  let service: Service;
  let vaults: string[];
  let members: string[];
  let group: string;

  const ok = async (method: string, path: string, body?: object): Promise<Answer['body']> => {
    const answer = await service.call(method, `/v1/${path}`, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const inTurn = async (count: number, make: (at: number) => Promise<string>) => {
    const ids: string[] = [];
    for (let at = 0; at < count; at++) ids.push(await make(at));
    return ids;
  };
  const refused = async (path: string, body: object, field: string) => {
    const answer = await service.call('PUT', `/v1/${path}`, body);
    assert.equal(answer.body.error.details.field, field, answer.text);
    assert.equal(answer.status, field === 'grants' ? 404 : 400, answer.text);
  };

  before(async () => {
    service = await startService({ engine });
    vaults = await inTurn(4, async at => (await ok('POST', 'vaults', { name: `vault ${at}` })).id);
    const invited = (at: number) => ({ email: `p${at}@example.org`, role: 'none' });
    members = await inTurn(4, async at => (await ok('POST', 'members', invited(at))).id);
    group = (await ok('POST', 'groups', { name: 'team' })).id;
  });
  after(() => service.stop());

  it('members are put into a group and taken out one by one, by as many as like at once', async () => {
    await Promise.all(members.map(id => ok('PUT', `groups/${group}`, { add_member_ids: [id] })));
    assert.deepEqual((await ok('GET', `groups/${group}`)).member_ids.toSorted(), members.toSorted());
    const [first, second, ...others] = members as [string, string, ...string[]];
    await Promise.all([first, second].map(id => ok('PUT', `groups/${group}`, { remove_member_ids: [id] })));
    assert.deepEqual((await ok('GET', `groups/${group}`)).member_ids.toSorted(), others.toSorted());
    const again = await ok('PUT', `groups/${group}`, { add_member_ids: others, remove_member_ids: [first] });
    assert.deepEqual(again.member_ids.toSorted(), others.toSorted(), 'what is so already stays so');
  });

  it('so are roles in single vaults, of groups and of members', async () => {
    for (const path of [`groups/${group}`, `members/${members[0]}`]) {
      const change = (vault_id: string, role: string) =>
        ok('PUT', path, { change_grants: [{ vault_id, role }] });
      await Promise.all(vaults.map(id => change(id, 'viewer')));
      await Promise.all([change(vaults[0]!, 'editor'), change(vaults[1]!, 'none')]);
      const { grants } = await ok('GET', path);
      assert.deepEqual(
        grants.map(({ vault_id, role }: Record<string, string>) => [vault_id, role]),
        [
          [vaults[0], 'editor'],
          [vaults[2], 'viewer'],
          [vaults[3], 'viewer'],
        ],
      );
    }
  });

  it('a change names what exists, and goes with no whole list', async () => {
    const nobody = '01999999-9999-7999-8999-999999999999';
    const [vault_id] = vaults;
    await refused(`groups/${group}`, { member_ids: [], add_member_ids: [members[0]] }, 'member_ids');
    await refused(
      `groups/${group}`,
      { grants: [], change_grants: [{ vault_id, role: 'viewer' }] },
      'change_grants',
    );
    await refused(`groups/${group}`, { change_grants: [{ vault_id: nobody, role: 'viewer' }] }, 'grants');
    const missing = await service.call('PUT', `/v1/groups/${group}`, { add_member_ids: [nobody] });
    assert.equal(missing.status, 404, missing.text);
  });
});
