/**
 * Asking for a role in a vault, with an end: for what one can see, decided by somebody else who could give it, exactly as
 * it was asked for, once.
 */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { onBothEngines } from './at-once.ts';
import { type Json, unique } from './document.ts';
import { type Answer, callService, loopbackWebhooks, makeOrganization } from './harness.ts';
import { type Browser, type EmptyService, invite, setUp, startEmpty } from './people.ts';
import { startReceiver } from './receiver.ts';

const hour = 3_600_000;

onBothEngines('requests for a role', engine => {
  let service: EmptyService;
  let owner: Browser;
  let vaultId: string;
  let secretId: string;

  before(async () => {
    service = await startEmpty(engine, loopbackWebhooks);
    owner = await setUp(service);
    service.clock.stand();
    vaultId = (await ok(owner.post('/v1/vaults', { name: 'asked for' }))).id;
    secretId = (await ok(owner.post('/v1/secrets', { vault_id: vaultId, name: 'S', value: 'x' }))).id;
  });
  after(() => service.stop());

  async function ok(answer: Promise<Answer>): Promise<Json> {
    const { status, text, body } = await answer;
    assert.equal(status, 200, text);
    return body;
  }
  const at = (milliseconds: number) => new Date(service.clock.now() + milliseconds).toISOString();
  const joined = (role: string) => invite(service, owner, `${unique('p')}@example.org`, role);
  const ask = (browser: Browser, more: Json = {}) =>
    browser.post('/auth/role-requests', { vault_id: vaultId, role: 'reader', until: at(hour), ...more });
  const decide = (browser: Browser, id: string, how = 'approve') =>
    browser.post(`/auth/role-requests/${id}/${how}`).then(async answer => {
      if (answer.body?.error?.code !== 'PROOF_REQUIRED') return answer;
      await ok(browser.prove());
      return browser.post(`/auth/role-requests/${id}/${how}`);
    });
  const reveal = (browser: Browser) => browser.post(`/v1/secrets/${secretId}/reveal`);
  const waiting = async () => (await ok(owner.get('/v1/role-requests'))).data.map((one: Json) => one.id);

  it('tell webhooks who asks for what, and what was decided', async () => {
    const receiver = await startReceiver();
    const events = ['role.requested', 'role.decided'];
    await ok(owner.post('/v1/webhooks', { url: receiver.url, events, vault_ids: [vaultId] }));
    const { browser } = await joined('viewer');
    const made = await ok(ask(browser, { reason: 'not told' }));
    await ok(decide(owner, made.id, 'refuse'));
    const other = await ok(ask(browser));
    await ok(decide(owner, other.id));
    const arrived = await receiver.received(4, 60_000);
    const asked = ({ id, member, until }: Json) => ({
      id,
      type: 'role_request',
      name: member.email,
      vault_id: vaultId,
      role: 'reader',
      until,
    });
    const told = (id: string) =>
      arrived.filter(({ body }) => body.data.id === id).map(({ body }) => [body.type, body.data]);
    assert.deepEqual(
      new Map(told(made.id) as never),
      new Map<string, Json>([
        ['role.requested', asked(made)],
        ['role.decided', { ...asked(made), state: 'refused' }],
      ]),
    );
    assert.deepEqual(new Map(told(other.id) as never).get('role.decided'), {
      ...asked(other),
      state: 'approved',
    });
    assert.ok(!arrived.some(({ text }) => text.includes('not told')));
    await receiver.close();
  });

  it('are approved as they are, give the role until its end, and are in the audit log', async () => {
    const { browser, id } = await joined('viewer');
    const until = at(hour);
    const made = await ok(ask(browser, { until, reason: 'the payments job' }));
    assert.deepEqual(
      [made.state, made.role, made.until, made.reason, made.member.id, made.decided_by],
      ['pending', 'reader', until, 'the payments job', id, null],
    );
    assert.equal((await reveal(browser)).status, 403, 'asking gives nothing');
    assert.deepEqual(await waiting(), [made.id]);
    const done = await ok(decide(owner, made.id));
    assert.deepEqual([done.state, done.until], ['approved', until]);
    assert.deepEqual(await waiting(), []);
    assert.equal((await reveal(browser)).status, 200);
    assert.deepEqual((await ok(owner.get(`/v1/members/${id}`))).grants, [
      { vault_id: vaultId, role: 'reader', until },
    ]);
    const { data } = await ok(owner.get('/v1/audit-logs?limit=30'));
    const entries = data.filter((one: Json) => one.details?.member_id === id);
    assert.deepEqual(
      entries.map((one: Json) => [one.action, one.details.role, one.details.until]),
      [
        ['role-request.approved', 'reader', until],
        ['role-request.created', 'reader', until],
      ],
    );
    assert.ok(data.some((one: Json) => one.action === 'member.updated' && one.subject.id === id));
    service.clock.pass(hour);
    assert.equal((await reveal(browser)).status, 403);
    assert.equal((await decide(owner, made.id)).status, 400, 'once');
  });

  it('leave the role that somebody has there without an end', async () => {
    const { browser, id } = await joined('none');
    await ok(owner.call('PUT', `/v1/members/${id}`, { grants: [{ vault_id: vaultId, role: 'viewer' }] }));
    const until = at(hour);
    const { id: request } = await ok(ask(browser, { role: 'editor', until }));
    await ok(decide(owner, request));
    const write = () => browser.post('/v1/secrets', { vault_id: vaultId, name: unique('S'), value: 'x' });
    assert.equal((await write()).status, 200);
    service.clock.pass(hour);
    assert.equal((await write()).status, 403);
    assert.equal((await browser.get(`/v1/secrets/${secretId}`)).status, 200);
  });

  it('are decided by somebody else who could give the role, in a session', async () => {
    const { browser: admin } = await joined('admin');
    const { browser, id } = await joined('viewer');
    const own = await ok(ask(admin, { role: 'viewer' }));
    assert.equal((await decide(admin, own.id)).status, 403, 'nobody decides about their own');
    assert.equal((await decide(admin, own.id, 'refuse')).status, 403);
    const theirs = await ok(ask(browser));
    assert.equal((await decide(admin, theirs.id)).status, 403, 'an admin can’t give what they don’t have');
    for (const how of ['approve', 'refuse'])
      assert.equal((await decide(browser, own.id, how)).status, 403, 'a viewer manages nobody');
    const key = await ok(owner.post('/v1/api-keys', { name: unique('key'), role: 'owner' }));
    const byKey = await callService(
      service.url,
      'POST',
      `/auth/role-requests/${theirs.id}/approve`,
      {},
      key.token,
    );
    assert.equal(byKey.status, 401);
    assert.deepEqual((await ok(owner.get(`/v1/members/${id}`))).grants, []);
    assert.equal((await ok(decide(admin, theirs.id, 'refuse'))).state, 'refused');
    assert.equal((await decide(owner, theirs.id)).status, 400);
    assert.equal((await reveal(browser)).status, 403);
    await ok(decide(owner, own.id, 'refuse'));
  });

  it('give the role without a proof to nobody', async () => {
    const { browser } = await joined('viewer');
    const { id } = await ok(ask(browser));
    service.clock.pass(6 * 60_000);
    const unproven = await owner.once('POST', `/auth/role-requests/${id}/approve`, {});
    assert.deepEqual([unproven.status, unproven.body.error.code], [403, 'PROOF_REQUIRED']);
    assert.ok((await waiting()).includes(id));
    await ok(browser.call('DELETE', `/auth/role-requests/${id}`));
  });

  it('name a vault that one can see; any other is like one that does not exist', async () => {
    const hidden = await ok(owner.post('/v1/vaults', { name: unique('hidden') }));
    const { browser, id } = await joined('none');
    assert.equal((await ask(browser)).status, 403, 'who sees no vault asks for none');
    await ok(owner.call('PUT', `/v1/members/${id}`, { grants: [{ vault_id: vaultId, role: 'viewer' }] }));
    const [theirs, nobodys] = [
      await ask(browser, { vault_id: hidden.id }),
      await ask(browser, { vault_id: '01999999-9999-7999-8999-999999999999' }),
    ];
    assert.deepEqual([theirs.status, theirs.text], [404, nobodys.text]);
    for (const until of [at(0), at(-1), 'soon', null])
      assert.equal((await ask(browser, { until })).status, 400, `${until}`);
    for (const body of [{ role: 'none' }, { reason: 'x'.repeat(501) }, { until: undefined }])
      assert.equal((await ask(browser, body)).status, 400, JSON.stringify(body));
    const { key } = await makeOrganization(service.place, unique('Other'), 'enterprise', 0);
    const elsewhere = await callService(service.url, 'GET', '/v1/role-requests', undefined, key);
    assert.deepEqual(elsewhere.body.data, []);
  });

  it('are seen by whoever asked, and withdrawn by them alone', async () => {
    const { browser } = await joined('viewer');
    const { browser: another } = await joined('viewer');
    const { id } = await ok(ask(browser));
    assert.deepEqual(
      (await ok(browser.get('/auth/role-requests'))).data.map((one: Json) => [one.id, one.state]),
      [[id, 'pending']],
    );
    assert.deepEqual((await ok(another.get('/auth/role-requests'))).data, []);
    assert.equal((await another.get('/v1/role-requests')).status, 403);
    assert.equal((await another.call('DELETE', `/auth/role-requests/${id}`)).status, 404);
    await ok(browser.call('DELETE', `/auth/role-requests/${id}`));
    assert.equal((await browser.call('DELETE', `/auth/role-requests/${id}`)).status, 404);
    assert.equal((await ok(browser.get('/auth/role-requests'))).data[0].state, 'withdrawn');
    assert.equal((await decide(owner, id)).status, 400);
  });

  it('wait for a week at most, and until the role would end; 20 of a member’s at a time', async () => {
    const { browser } = await joined('viewer');
    const all: Json[] = [];
    for (let at = 0; at < 20; at++) all.push(await ok(ask(browser)));
    const { status, body } = await ask(browser);
    assert.equal(status, 400);
    assert.match(body.error.message, /^At most 20 of your requests can wait at a time/);
    service.clock.pass(hour);
    assert.equal((await decide(owner, all[0].id)).status, 400, 'it would have ended');
    const long = await ok(ask(browser, { until: at(30 * 24 * hour) }));
    assert.equal(long.expires_at, at(7 * 24 * hour));
    await ok(browser.call('DELETE', `/auth/role-requests/${long.id}`));
  });

  it('are decided once, however many decide at the same time', async () => {
    const { browser, id } = await joined('viewer');
    const { browser: second } = await joined('owner');
    const { id: request } = await ok(ask(browser));
    await ok(owner.prove());
    const answers = await Promise.all([
      decide(owner, request),
      decide(second, request, 'refuse'),
      decide(owner, request),
    ]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400]);
    const [found] = (await ok(browser.get('/auth/role-requests'))).data;
    const { grants } = await ok(owner.get(`/v1/members/${id}`));
    assert.equal(grants.length, found.state === 'approved' ? 1 : 0);
  });
});
