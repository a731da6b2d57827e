/**
 * Roles in single vaults: a member's own and those of their groups. A vault that somebody has no role in is to them like
 * one that does not exist; what they are given or lose is theirs, or not, from the next request on; nobody gives more
 * than they have; and an API key never has more than the member whose it is.
 */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { grantedRoleNames, type RoleName, roleNames, vaultPermissions } from '../src/contract/names.ts';
import { onEngines } from './at-once.ts';
import { type Json, unique } from './document.ts';
import { type Answer, callService, makeOrganization } from './harness.ts';
import { type Browser, type EmptyService, invite, setUp, startEmpty } from './people.ts';
import { inDatabase } from './storage.ts';

const nowhere = '01999999-9999-7999-8999-999999999999';

/** In a vault of their own, and in another one. */
const pairsOfRoles = grantedRoleNames.flatMap(own => roleNames.map(other => [own, other] as const));
const reveals = (role: RoleName) => vaultPermissions['secrets:reveal'].includes(role as never);
const sameIn = ({ body }: Answer): boolean => body.results[0].same;

/** What a comparison of the two vaults tells, where the values are the same and where they are not. */
function comparedAs(own: RoleName, other: RoleName) {
  if (other === 'none') return [404, 404];
  const told = reveals(own) && reveals(other);
  return told
    ? [
        [1, 1],
        [1, 2],
      ]
    : [
        [null, null],
        [null, null],
      ];
}

/** How a guess of the other vault's value is answered: one who may reveal nothing anywhere gets 403 first. */
function statusAs(own: RoleName, other: RoleName): number {
  if (reveals(other)) return 200;
  return other === 'none' && reveals(own) ? 404 : 403;
}

onEngines('roles in single vaults', engine => {
  let service: EmptyService;
  let owner: Browser;
  /** Two vaults with a secret and an access key in each. */
  let mine: Json;
  let hidden: Json;

  before(async () => {
    service = await startEmpty(engine);
    owner = await setUp(service);
    mine = await vaultWithContents();
    hidden = await vaultWithContents();
  });
  after(() => service.stop());

  async function ok(answer: Promise<Answer>): Promise<Json> {
    const { status, text, body } = await answer;
    assert.equal(status, 200, text);
    return body;
  }

  async function vaultWithContents(): Promise<Json> {
    const vault = await ok(owner.post('/v1/vaults', { name: unique('vault') }));
    const secret = await ok(
      owner.post('/v1/secrets', {
        vault_id: vault.id,
        name: unique('SECRET'),
        value: 'secret of a vault',
        expiration_date: new Date(service.clock.now() + 86_400_000).toISOString(),
      }),
    );
    const key = await ok(owner.post('/v1/access-keys', { vault_id: vault.id, name: unique('reader') }));
    const read = await callService(service.url, 'GET', `/api/v1/vaults/${vault.id}`, undefined, key.token);
    assert.equal(read.status, 200, read.text);
    return { ...vault, secret, key };
  }

  const joined = (role: string) => invite(service, owner, `${unique('p')}@example.org`, role);
  const set = (id: string, body: Json) => ok(owner.call('PUT', `/v1/members/${id}`, body));
  const grant = (role: string, vault = mine) => [{ vault_id: vault.id, role }];
  const makeGroup = (body: Json) => ok(owner.post('/v1/groups', { name: unique('group'), ...body }));
  const seen = async (browser: Browser, path = '/v1/vaults') =>
    (await ok(browser.get(path))).data.map((one: Json) => one.id);
  const reveal = (browser: Browser, vault = mine) => browser.post(`/v1/secrets/${vault.secret.id}/reveal`);

  it('a member with no role has what they are given in a vault, from the next request on, and not a moment longer', async () => {
    const { browser, id } = await joined('none');
    assert.equal((await browser.get('/v1/vaults')).status, 403, 'nothing yet');
    assert.equal((await browser.get('/v1/whoami')).status, 200);
    await set(id, { grants: grant('viewer') });
    assert.deepEqual(await seen(browser), [mine.id]);
    assert.equal((await reveal(browser)).status, 403, 'a viewer may see that it is there');
    assert.equal((await browser.get(`/v1/secrets/${hidden.secret.id}`)).status, 404);
    await set(id, { grants: grant('editor') });
    assert.equal((await reveal(browser, hidden)).status, 404);
    assert.equal((await reveal(browser)).body.value, 'secret of a vault');
    await set(id, { grants: grant('editor', hidden) });
    assert.equal((await reveal(browser)).status, 404);
    assert.deepEqual(await seen(browser), [hidden.id]);
    await set(id, { grants: [] });
    assert.equal((await reveal(browser, hidden)).status, 403);
  });

  it('a role in a vault adds to that in the organization, and takes nothing away', async () => {
    const { browser, id } = await joined('viewer');
    await set(id, { grants: grant('editor') });
    assert.ok((await seen(browser)).includes(hidden.id));
    const write = (vault: Json) =>
      browser.post('/v1/secrets', { vault_id: vault.id, name: unique('S'), value: 'x' });
    assert.equal((await write(mine)).status, 200);
    assert.equal(
      (await write(hidden)).status,
      403,
      'they may see the vault, so it is no secret that it is there',
    );
    assert.equal((await write({ id: nowhere })).status, 404);
    await set(id, { role: 'editor', grants: grant('viewer') });
    assert.equal((await write(mine)).status, 200);
    assert.equal((await browser.post('/v1/vaults', { name: unique('v') })).status, 200);
  });

  it('a stage shows the vaults in which one has a role; a secret is renamed in all that one sees, or in none', async () => {
    const stage = await ok(
      owner.post('/v1/stages', { name: unique('stage'), vault_ids: [mine.id, hidden.id] }),
    );
    const { browser, id } = await joined('none');
    const rename = (vault: Json) =>
      browser.post(`/v1/stages/${stage.id}/rename`, { secret_id: vault.secret.id, name: unique('RENAMED') });
    await set(id, { grants: grant('editor') });
    assert.deepEqual((await ok(browser.get(`/v1/stages/${stage.id}`))).vault_ids, [mine.id]);
    assert.deepEqual((await ok(browser.post(`/v1/stages/${stage.id}/compare`))).vaults.length, 1);
    assert.equal((await browser.call('PUT', `/v1/stages/${stage.id}`, { name: 'theirs' })).status, 403);
    assert.equal((await rename(hidden)).status, 404);
    const same = await ok(owner.call('PUT', `/v1/secrets/${hidden.secret.id}`, { name: mine.secret.name }));
    await set(id, { role: 'viewer', grants: grant('editor') });
    assert.equal((await rename(mine)).status, 403, 'they see the other, and may not change it');
    assert.equal((await ok(owner.get(`/v1/secrets/${mine.secret.id}`))).name, same.name);
    await set(id, { role: 'none', grants: [...grant('editor'), ...grant('editor', hidden)] });
    assert.equal((await ok(rename(mine))).data.length, 2);
    await set(id, { role: 'none', grants: [] });
    assert.equal((await browser.get(`/v1/stages/${stage.id}`)).status, 403);
  });

  it('a comparison tells nothing of values to whoever may not reveal both, whatever else they may do', async () => {
    const vaultOf = async (value: string) => {
      const vault = await ok(owner.post('/v1/vaults', { name: unique('compared') }));
      await ok(owner.post('/v1/secrets', { vault_id: vault.id, name: 'GUESSED', value }));
      return vault.id as string;
    };
    const theirs = await vaultOf('to be guessed');
    const guesses = [await vaultOf('to be guessed'), await vaultOf('something else')];
    const { browser, id } = await joined('none');
    const compared = async (guess: string) => {
      const { status, body } = await browser.post('/v1/vaults/compare', { vault_ids: [guess, theirs] });
      return status === 200 ? body.rows[0].cells.map((cell: Json) => cell.value) : status;
    };
    const compare = (value: string) =>
      browser.post('/v1/secrets/compare', { vault_id: theirs, items: [{ name: 'GUESSED', value }] });
    for (const [own, other] of pairsOfRoles) {
      const there = other === 'none' ? [] : [{ vault_id: theirs, role: other }];
      await set(id, { grants: [...guesses.map(vault_id => ({ vault_id, role: own })), ...there] });
      const about = `${own} in their own, ${other} in the other`;
      const [right, wrong] = [await compared(guesses[0]!), await compared(guesses[1]!)];
      assert.deepEqual([right, wrong], comparedAs(own, other), about);
      const [yes, no] = [await compare('to be guessed'), await compare('something else')];
      assert.equal(yes.status, statusAs(own, other), about);
      if (reveals(other)) assert.deepEqual([yes, no].map(sameIn), [true, false], about);
      else assert.deepEqual([yes.status, yes.text], [no.status, no.text], about);
      service.clock.pass(60_000);
    }
  });

  it('a reader reveals and writes nothing; a writer writes and reveals nothing, and gives nobody access', async () => {
    const { browser, id } = await joined('none');
    const write = () => browser.post('/v1/secrets', { vault_id: mine.id, name: unique('S'), value: 'x' });
    const share = () =>
      browser.post('/v1/access-keys', { vault_id: mine.id, name: unique('k'), names_only: true });
    await set(id, { grants: grant('reader') });
    assert.deepEqual([(await reveal(browser)).status, (await write()).status], [200, 403]);
    assert.equal((await browser.call('DELETE', `/v1/secrets/${mine.secret.id}`)).status, 403);
    assert.equal((await share()).status, 403);
    await set(id, { grants: grant('writer') });
    assert.deepEqual([(await reveal(browser)).status, (await write()).status], [403, 200]);
    const update = { value: 'secret of a vault' };
    const written = await browser.call('PUT', `/v1/secrets/${mine.secret.id}`, update);
    assert.ok(written.status === 200 && !written.text.includes(update.value), written.text);
    assert.equal((await share()).status, 403);
    assert.equal((await browser.call('PUT', `/v1/vaults/${mine.id}`, { description: 'd' })).status, 403);
    assert.equal((await browser.call('DELETE', `/v1/vaults/${mine.id}`)).status, 403);
    await set(id, { grants: [...grant('reader'), ...grant('writer', hidden)] });
    assert.deepEqual([(await reveal(browser)).status, (await reveal(browser, hidden)).status], [200, 403]);
    await set(id, { grants: [] });
  });

  it('a reader of one vault who is a writer of another copies there, and moves nothing', async () => {
    const [from, to] = [await vaultWithContents(), await vaultWithContents()];
    const { browser, id } = await joined('none');
    const copy = (one: Json, vault: Json, move = false) =>
      browser.post('/v1/secrets/copy', { secret_ids: [one.secret.id], vault_id: vault.id, move });
    const namesIn = async (vault: Json) =>
      (await ok(owner.get(`/v1/secrets?vault_id=${vault.id}`))).data.map((one: Json) => one.name);
    await set(id, { grants: [...grant('reader', from), ...grant('writer', to)] });
    assert.equal((await copy(from, to, true)).status, 403, 'taking it away is writing');
    assert.deepEqual([await namesIn(from), await namesIn(to)], [[from.secret.name], [to.secret.name]]);
    assert.equal((await copy(to, from)).status, 403, 'a writer reveals nothing');
    assert.equal((await ok(copy(from, to))).results[0].status, 200);
    assert.ok((await namesIn(to)).includes(from.secret.name));
  });

  it('a vault without a role in it is in no list, count or search', async () => {
    const { browser, id } = await joined('none');
    await set(id, { grants: grant('owner') });
    for (const path of [
      'vaults',
      'secrets',
      'keys',
      'certificates',
      'resources',
      'access-keys',
      'public-tokens',
    ]) {
      const { data, pagination } = await ok(browser.get(`/v1/${path}?limit=100`));
      assert.equal(pagination.total, data.length, path);
      for (const one of data) assert.equal(one.vault_id ?? one.id, mine.id, path);
    }
    for (const name of [hidden.name, hidden.secret.name, hidden.key.name]) {
      for (const path of ['vaults', 'secrets', 'resources', 'access-keys']) {
        const found = await ok(browser.get(`/v1/${path}?q=${name}`));
        assert.deepEqual([found.data, found.pagination.total], [[], 0], `${path} ${name}`);
      }
    }
    for (const path of ['members', 'groups', 'api-keys', 'webhooks', 'identities'])
      assert.equal((await browser.get(`/v1/${path}`)).status, 403, path);
  });

  it('and in no figure, request log, audit log or export', async () => {
    const { browser, id } = await joined('none');
    await set(id, { grants: grant('owner') });
    const logs = await ok(browser.get('/v1/request-logs'));
    assert.ok(logs.data.length > 0 && logs.data.every((one: Json) => one.vault_id === mine.id));
    assert.equal(logs.pagination.total, logs.data.length);
    const overview = await ok(browser.get('/v1/overview'));
    assert.deepEqual([overview.counts.vaults, overview.counts.secrets > 0], [1, true]);
    const exported = await browser.get('/v1/request-logs/export');
    const shown = JSON.stringify([overview, logs, exported.text]);
    for (const { id, name } of [hidden, hidden.secret, hidden.key])
      assert.ok(!shown.includes(id) && !shown.includes(name));
    assert.ok(exported.text.includes(mine.id));
    for (const path of ['audit-logs', 'audit-logs/export']) {
      const { status, text } = await browser.get(`/v1/${path}`);
      assert.ok(status === 200 && !text.includes(hidden.id) && !text.includes(mine.id), path);
    }
  });

  it('what is in it can’t be restored, moved into, filled in bulk or guessed by the names that are taken', async () => {
    const { browser, id } = await joined('none');
    await set(id, { grants: grant('editor') });
    const gone = await ok(owner.post('/v1/secrets', { vault_id: hidden.id, name: unique('S'), value: 'x' }));
    await ok(owner.call('DELETE', `/v1/secrets/${gone.id}`));
    const same = async (ask: (id: string) => Promise<Answer>, there: string) => {
      const [theirs, nobodys] = [await ask(there), await ask(nowhere)];
      assert.deepEqual([theirs.status, theirs.text], [nobodys.status, nobodys.text]);
      return theirs;
    };
    await same(one => browser.post(`/v1/resources/${one}/restore`), gone.id);
    const bulk = await same(
      one => browser.post('/v1/secrets/bulk', { items: [{ vault_id: one, name: 'TAKEN', value: 'x' }] }),
      hidden.id,
    );
    assert.equal(bulk.body.results[0].status, 404);
    await same(one => browser.post('/v1/access-keys', { vault_id: one, name: 'reader' }), hidden.id);
    for (const name of [hidden.name, unique('free')])
      assert.equal((await browser.call('PUT', `/v1/vaults/${mine.id}`, { name })).status, 403, name);
    const described = await browser.call('PUT', `/v1/vaults/${mine.id}`, {
      name: mine.name,
      description: 'd',
    });
    assert.equal(described.status, 200, described.text);
  });

  it('a group gives its members what it has, while they are in it and it has it', async () => {
    const { browser, id } = await joined('none');
    const group = await makeGroup({ grants: grant('viewer'), member_ids: [id] });
    const change = (body: Json) => ok(owner.call('PUT', `/v1/groups/${group.id}`, body));
    assert.deepEqual(await seen(browser), [mine.id]);
    assert.deepEqual((await ok(owner.get(`/v1/members/${id}`))).group_ids, [group.id]);
    await change({ grants: [...grant('viewer'), ...grant('editor', hidden)] });
    assert.equal((await reveal(browser, hidden)).status, 200);
    assert.equal((await reveal(browser)).status, 403);
    await set(id, { grants: grant('editor') });
    assert.equal((await reveal(browser)).status, 200, 'the greater of the two');
    await change({ member_ids: [] });
    assert.deepEqual(await seen(browser), [mine.id]);
    await change({ member_ids: [id] });
    assert.equal((await seen(browser)).length, 2);
    await ok(owner.call('DELETE', `/v1/groups/${group.id}`));
    assert.deepEqual(await seen(browser), [mine.id]);
  });

  it('groups are a collection: named once, searched, found by a vault, and of what does not exist they take nothing', async () => {
    const { id } = await joined('viewer');
    const group = await makeGroup({
      name: unique('searched for'),
      grants: grant('viewer'),
      member_ids: [id],
    });
    const taken = await owner.post('/v1/groups', { name: group.name });
    assert.deepEqual([taken.status, taken.body.error.details.field], [400, 'name']);
    assert.deepEqual(await seen(owner, `/v1/groups?q=${group.name}`), [group.id]);
    assert.ok((await seen(owner, `/v1/groups?vault_id=${mine.id}`)).includes(group.id));
    assert.ok(!(await seen(owner, `/v1/groups?vault_id=${hidden.id}`)).includes(group.id));
    await set(id, { grants: grant('viewer', hidden) });
    assert.deepEqual(await seen(owner, `/v1/members?vault_id=${hidden.id}`), [id]);
    const { key } = await makeOrganization(service.place, unique('Other'), 'enterprise', 0);
    const theirs = await callService(service.url, 'POST', '/v1/vaults', { name: 'theirs' }, key);
    for (const vault_id of [nowhere, theirs.body.id]) {
      const answer = await owner.call('PUT', `/v1/groups/${group.id}`, {
        grants: [{ vault_id, role: 'viewer' }],
      });
      assert.deepEqual([answer.status, answer.body.error.details.field], [404, 'grants']);
    }
    const stranger = await callService(
      service.url,
      'POST',
      '/v1/members',
      { email: 'x@example.org', role: 'viewer' },
      key,
    );
    for (const member of [nowhere, stranger.body.id]) {
      const answer = await owner.call('PUT', `/v1/groups/${group.id}`, { member_ids: [member] });
      assert.deepEqual([answer.status, answer.body.error.details.field], [404, 'member_ids']);
    }
    for (const body of [
      { grants: [...grant('viewer'), ...grant('editor')] },
      { grants: grant('none') },
      { member_ids: [id, id] },
    ])
      assert.equal((await owner.call('PUT', `/v1/groups/${group.id}`, body)).status, 400);
    await ok(owner.call('DELETE', `/v1/members/${id}`));
    assert.deepEqual(
      (await ok(owner.get(`/v1/groups/${group.id}`))).member_ids,
      [],
      'who is removed is in no group',
    );
    const entries = await ok(owner.get(`/v1/audit-logs?subject_id=${group.id}`));
    assert.deepEqual(
      entries.data.map((one: Json) => one.action),
      ['group.updated', 'group.created'],
    );
    assert.deepEqual(entries.data[1].details, { grants: grant('viewer'), member_ids: [id] });
  });

  it('a vault that was deleted keeps the roles in it until it is restored, and a record can be sent back as it is', async () => {
    const vault = await ok(owner.post('/v1/vaults', { name: unique('vault') }));
    const { browser, id } = await joined('none');
    await set(id, { grants: [...grant('viewer'), ...grant('viewer', vault)] });
    await ok(owner.call('DELETE', `/v1/vaults/${vault.id}`));
    assert.deepEqual(await seen(browser), [mine.id]);
    assert.equal((await ok(browser.get('/v1/overview'))).counts.vaults, 1);
    const record = await ok(owner.get(`/v1/members/${id}`));
    assert.deepEqual((await set(id, record)).grants, record.grants);
    await ok(owner.post(`/v1/resources/${vault.id}/restore`));
    assert.equal((await seen(browser)).length, 2);
  });

  it('nobody gives more than they have, by a role, a vault or a group; nor touches who has more', async () => {
    const { browser: admin, id: adminId } = await joined('admin');
    const { id } = await joined('none');
    const put = (path: string, body: Json) => admin.call('PUT', path, body);
    const group = await makeGroup({ grants: grant('editor') });
    const refused: Record<string, Promise<Answer>> = {
      'a role': put(`/v1/members/${id}`, { role: 'editor' }),
      'a vault': put(`/v1/members/${id}`, { grants: grant('editor') }),
      'to themselves': put(`/v1/members/${adminId}`, { grants: grant('editor') }),
      'an invitation': admin.post('/v1/members', {
        email: 'n@example.org',
        role: 'none',
        grants: grant('owner'),
      }),
      'a group': put(`/v1/groups/${group.id}`, { member_ids: [adminId] }),
      'another group': admin.post('/v1/groups', {
        name: 'g',
        grants: grant('editor'),
        member_ids: [adminId],
      }),
    };
    for (const [what, answer] of Object.entries(refused)) assert.equal((await answer).status, 403, what);
    assert.equal((await put(`/v1/members/${id}`, { grants: grant('viewer') })).status, 200);
    await ok(owner.call('PUT', `/v1/groups/${group.id}`, { member_ids: [id] }));
    assert.equal((await admin.post(`/v1/members/${id}/invitation`)).status, 403, 'has more by their group');
    assert.equal((await admin.call('DELETE', `/v1/members/${id}`)).status, 403);
    assert.equal(
      (await put(`/v1/groups/${group.id}`, { grants: [] })).status,
      403,
      'nor takes from what has more',
    );
    assert.equal((await admin.call('DELETE', `/v1/groups/${group.id}`)).status, 403);
    assert.deepEqual((await ok(owner.get(`/v1/groups/${group.id}`))).grants, group.grants);
    await set(adminId, { grants: grant('editor') });
    assert.equal((await put(`/v1/groups/${group.id}`, { member_ids: [id, adminId] })).status, 200);
    assert.equal((await put(`/v1/members/${id}`, { grants: grant('editor') })).status, 200);
    assert.equal((await put(`/v1/members/${id}`, { grants: grant('editor', hidden) })).status, 403);
  });

  it('an access key is given by those who may read what it shows in that vault', async () => {
    const { browser, id } = await joined('viewer');
    await set(id, { grants: grant('editor') });
    const mint = (vault: Json) => browser.post('/v1/access-keys', { vault_id: vault.id, name: unique('k') });
    assert.equal((await mint(mine)).status, 200);
    assert.equal((await mint(hidden)).status, 403);
    const { browser: admin, id: adminId } = await joined('admin');
    await set(adminId, { grants: grant('editor') });
    const identity = (vaults: Json[]) =>
      admin.post('/v1/identities', {
        name: unique('machine'),
        method: 'secret_id',
        vault_ids: vaults.map(one => one.id),
      });
    assert.equal((await identity([mine])).status, 200);
    assert.equal((await identity([mine, hidden])).status, 403);
  });

  it('an API key has at most what its member has, and so has one that it creates; both end with them', async () => {
    const { browser, id } = await joined('owner');
    const asKey = (key: Json) => (method: string, path: string, body?: Json) =>
      callService(service.url, method, path, body, key.token);
    const first = await ok(browser.post('/v1/api-keys', { name: unique('key'), role: 'owner' }));
    const second = await ok(asKey(first)('POST', '/v1/api-keys', { name: unique('key'), role: 'owner' }));
    assert.deepEqual([first.member_id, second.member_id], [id, id]);
    await ok(owner.call('DELETE', `/v1/api-keys/${first.id}`));
    const call = asKey(second);
    assert.equal(
      (await call('GET', '/v1/members')).status,
      200,
      'the key that created it is not what it rests on',
    );
    await set(id, { role: 'none', grants: grant('editor') });
    assert.equal((await call('GET', '/v1/members')).status, 403);
    assert.deepEqual(
      (await call('GET', '/v1/vaults')).body.data.map((one: Json) => one.id),
      [mine.id],
    );
    assert.equal((await call('POST', `/v1/secrets/${mine.secret.id}/reveal`)).status, 200);
    assert.equal((await call('POST', `/v1/secrets/${hidden.secret.id}/reveal`)).status, 404);
    await ok(owner.post(`/v1/members/${id}/invitation`));
    assert.equal((await call('GET', '/v1/vaults')).status, 401, 'who waits to join has nothing');
    await ok(owner.call('DELETE', `/v1/members/${id}`));
    assert.equal((await call('GET', '/v1/vaults')).status, 401);
    const { key } = await makeOrganization(service.place, unique('Operated'), 'enterprise', 0);
    const made = await callService(service.url, 'POST', '/v1/api-keys', { name: 'k', role: 'owner' }, key);
    assert.equal(made.body.member_id, null, 'the operator’s belongs to nobody');
    assert.equal(
      (await callService(service.url, 'GET', '/v1/vaults', undefined, made.body.token)).status,
      200,
    );
  });

  it('a role that somebody writes into the database is not believed, in a member’s record or a group’s', async () => {
    const { browser, id } = await joined('none');
    const group = await makeGroup({ grants: grant('viewer'), member_ids: [id] });
    const text = JSON.stringify(grant('owner', hidden));
    assert.deepEqual(await seen(browser), [mine.id]);
    for (const [table, row, column] of [
      ['members', id, 'grants'],
      ['member_groups', group.id, 'grants'],
      ['member_groups', group.id, 'signed_on_ids'],
    ] as const) {
      const [before] = await inDatabase(service, `SELECT ${column} AS was FROM ${table} WHERE id = '${row}'`);
      await inDatabase(service, `UPDATE ${table} SET ${column} = '${text}' WHERE id = '${row}'`);
      await service.restart();
      assert.equal((await browser.get('/v1/vaults')).status, 500, `${table}.${column}`);
      await inDatabase(
        service,
        `UPDATE ${table} SET ${column} = '${(before as Json).was}' WHERE id = '${row}'`,
      );
    }
    await service.restart();
    assert.deepEqual(await seen(browser), [mine.id]);
  });
});
