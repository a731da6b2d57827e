/** Who has access to a vault, and by what: every way by itself and together, and nobody whose role has ended. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { onBothEngines } from './at-once.ts';
import type { Json } from './document.ts';
import { type Answer, callService, makeOrganization } from './harness.ts';
import { type Browser, type EmptyService, invite, setUp, startEmpty } from './people.ts';

onBothEngines('people of a vault', engine => {
  let service: EmptyService;
  let owner: Browser;
  let vault: Json;
  let other: Json;

  before(async () => {
    service = await startEmpty(engine);
    owner = await setUp(service);
    service.clock.stand();
    [vault, other] = [await make('vaults', { name: 'one' }), await make('vaults', { name: 'other' })];
  });
  after(() => service.stop());

  async function ok(answer: Promise<Answer>): Promise<Json> {
    const { status, text, body } = await answer;
    assert.equal(status, 200, text);
    return body;
  }
  const make = (kind: string, body: Json) => ok(owner.post(`/v1/${kind}`, body));
  const peopleOf = (query = '', { id } = vault) => ok(owner.get(`/v1/vaults/${id}/people${query}`));
  const accessOf = async (email: string) =>
    (await peopleOf(`?q=${email}`)).data.map((one: Json) => one.access)[0] ?? null;

  it('are those with a role in the organization, in the vault or in a group, each with where it comes from', async () => {
    const until = new Date(service.clock.now() + 3_600_000).toISOString();
    const at = (role: string, more: Json = {}) => ({ vault_id: vault.id, role, ...more });
    const { id } = await make('members', {
      email: 'all@example.org',
      role: 'viewer',
      grants: [at('writer'), at('reader', { until })],
    });
    await make('members', {
      email: 'elsewhere@example.org',
      role: 'none',
      grants: [{ vault_id: other.id, role: 'owner' }],
    });
    const alone = await make('members', { email: 'group-alone@example.org', role: 'none' });
    const group = await make('groups', {
      name: 'team',
      grants: [at('editor')],
      member_ids: [id, alone.id],
    });
    const byGroup = { by: 'group', role: 'editor', group: { id: group.id, name: 'team' } };
    assert.deepEqual(await accessOf('all@'), [
      { by: 'organization', role: 'viewer' },
      { by: 'vault', role: 'writer' },
      { by: 'vault', role: 'reader', until },
      byGroup,
    ]);
    assert.deepEqual(await accessOf('group-alone@'), [byGroup]);
    assert.equal(await accessOf('elsewhere@'), null);
    assert.deepEqual(await accessOf('owner@'), [{ by: 'organization', role: 'owner' }]);
    const { data, pagination } = await peopleOf();
    assert.deepEqual(
      [data.map((one: Json) => one.email).sort(), pagination.total],
      [['all@example.org', 'group-alone@example.org', 'owner@example.org'], 3],
    );
    assert.equal((await peopleOf('?limit=1&page=2')).data.length, 1);
  });

  it('are no longer those whose role there has ended', async () => {
    const until = new Date(service.clock.now() + 60_000).toISOString();
    const email = 'shortly@example.org';
    await make('members', { email, role: 'none', grants: [{ vault_id: vault.id, role: 'reader', until }] });
    assert.deepEqual(await accessOf(email), [{ by: 'vault', role: 'reader', until }]);
    service.clock.pass(60_000);
    assert.equal(await accessOf(email), null);
  });

  it('are shown to those who may see members and the vault', async () => {
    const { browser: none, id } = await invite(service, owner, 'none@example.org', 'none');
    await ok(owner.call('PUT', `/v1/members/${id}`, { grants: [{ vault_id: vault.id, role: 'owner' }] }));
    const path = `/v1/vaults/${vault.id}/people`;
    assert.equal((await none.get(path)).status, 403, 'a role in a vault shows no members');
    const { browser: auditor } = await invite(service, owner, 'auditor@example.org', 'auditor');
    assert.equal((await auditor.get(path)).status, 200);
    const { key } = await makeOrganization(service.place, 'Another', 'enterprise', 0);
    assert.equal((await callService(service.url, 'GET', path, undefined, key)).status, 404);
    await ok(owner.call('DELETE', `/v1/vaults/${other.id}`));
    assert.equal((await owner.get(`/v1/vaults/${other.id}/people`)).status, 404);
  });
});
