/** What needs attention: each kind is provoked, shown, and gone when its cause is. Others learn only of what is theirs. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { Matter } from '../src/contract/attention.ts';
import { onBothEngines } from './at-once.ts';
import { type Json, unique } from './document.ts';
import { callService, eventually } from './harness.ts';
import { makeAccessKey } from './mcp-world.ts';
import { Browser, password } from './people.ts';
import { inDatabase } from './storage.ts';
import { startUsesWorld, type UsesWorld } from './uses-world.ts';

const hour = 3_600_000;
const day = 24 * hour;

onBothEngines('what needs attention', engine => {
  let world: UsesWorld;
  let vaultId: string;

  before(async () => {
    world = await startUsesWorld(engine);
    world.service.clock.standAt(Math.ceil(Date.now() / hour) * hour + hour / 2);
    vaultId = (await ok('POST', '/v1/vaults', { name: 'mine' })).id;
  });
  after(() => world.stop());

  const ok = async (method: string, path: string, body?: object, key?: string): Promise<Json> => {
    const answer = await world.service.call(method, path, body, key);
    assert.ok(answer.status < 300, answer.text);
    return answer.body;
  };
  const at = (ahead: number) => new Date(world.service.clock.now() + ahead).toISOString();
  const shown = async (kind: Matter['kind'], key?: string): Promise<Matter[]> => {
    const { matters }: { matters: Matter[] } = await ok('GET', '/v1/attention', undefined, key);
    return matters.filter(one => one.kind === kind);
  };
  const names = async (kind: Matter['kind'], key?: string) =>
    (await shown(kind, key)).map(({ subject }) => subject?.name);
  const secret = (more: object) =>
    ok('POST', '/v1/secrets', { vault_id: vaultId, name: unique('S'), value: 'x', ...more });
  const apiKey = async (more: object): Promise<string> =>
    (await ok('POST', '/v1/api-keys', { name: unique('k'), role: 'owner', ...more })).token;
  const member = async (role: string) => {
    const { token, id } = await ok('POST', '/v1/members', { email: `${unique('m')}@example.org`, role });
    const browser = new Browser(() => world.service.url);
    assert.equal((await browser.post('/auth/invitation/accept', { token, password })).status, 200);
    return { id, browser };
  };

  it('is what expires within a week, and then what has expired, until it is renewed or deleted', async () => {
    const near = await secret({ expiration_date: at(6 * day) });
    await secret({ expiration_date: at(8 * day) });
    const off = await secret({ expiration_date: at(6 * day), enabled: false });
    const key = await ok('POST', '/v1/access-keys', {
      vault_id: vaultId,
      name: unique('ending'),
      expiration_date: at(5 * day),
    });
    assert.deepEqual(await names('expiring'), [key.name, near.name]);
    assert.deepEqual(await names('expired'), []);
    world.service.clock.pass(6 * day);
    assert.deepEqual(await names('expired'), [key.name, near.name]);
    const [, found] = await shown('expired');
    assert.deepEqual(found, {
      kind: 'expired',
      subject: { id: near.id, type: 'secret', name: near.name, vault_id: vaultId },
      since: near.expiration_date,
      count: 1,
      usual: null,
    });
    await ok('PUT', `/v1/secrets/${near.id}`, { expiration_date: null });
    await ok('DELETE', `/v1/access-keys/${key.id}`);
    assert.deepEqual(await names('expired'), []);
    await ok('PUT', `/v1/secrets/${off.id}`, { enabled: true });
    assert.deepEqual(await names('expired'), [off.name]);
    await ok('DELETE', `/v1/secrets/${off.id}`);
    assert.deepEqual(await names('expired'), []);
  });

  it('is a webhook to which nothing can be delivered, or which was disabled because of it', async () => {
    const hook = await ok('POST', '/v1/webhooks', {
      name: unique('hook'),
      url: 'https://127.0.0.1:2/hook',
      events: ['resource.created'],
    });
    assert.deepEqual(await names('webhook_failing'), []);
    await secret({});
    await eventually('the delivery fails', async () => (await shown('webhook_failing')).length === 1);
    assert.deepEqual(await names('webhook_failing'), [hook.name]);
    await ok('PUT', `/v1/webhooks/${hook.id}`, { enabled: false });
    assert.deepEqual(await names('webhook_failing'), [], 'a person disabled it');
    assert.deepEqual(await names('webhook_disabled'), []);
    await ok('DELETE', `/v1/webhooks/${hook.id}`);
    assert.deepEqual(await names('webhook_failing'), []);
  });

  it('is what waits for a decision, for those who may make it and did not ask', async () => {
    const rule = await world.rule({ approval: 'always' });
    const agent = await makeAccessKey(world.service, world.vaultId, { names_only: true, may_use: true });
    const { body: called } = await world.use(
      { rule, method: 'POST', url: `${world.upstream.url}/own/x`, body: 'x' },
      agent.token,
    );
    assert.ok(called.approval?.id, JSON.stringify(called));
    assert.equal((await shown('approvals_waiting'))[0]?.count, 1);
    const admin = await member('admin');
    const seenBy = async (browser: Browser) =>
      (await browser.get('/v1/attention')).body.matters.map(({ kind }: Matter) => kind);
    assert.ok(!(await seenBy(admin.browser)).includes('approvals_waiting'), 'admins decide about no call');

    const asking = await member('viewer');
    const request = { vault_id: vaultId, role: 'reader', until: at(hour) };
    assert.equal((await asking.browser.post('/auth/role-requests', request)).status, 200);
    assert.equal((await shown('role_requests_waiting'))[0]?.count, 1);
    assert.ok((await seenBy(admin.browser)).includes('role_requests_waiting'));
    const visible = await seenBy(asking.browser);
    for (const kind of ['role_requests_waiting', 'approvals_waiting', 'backup_missing'])
      assert.ok(!visible.includes(kind), kind);

    const reviewed = await ok('POST', '/v1/vaults', { name: unique('reviewed'), review: true });
    const editor = await member('editor');
    const proposed = await editor.browser.post('/v1/secrets', {
      vault_id: reviewed.id,
      name: 'P',
      value: 'x',
    });
    assert.equal(proposed.status, 202);
    assert.equal((await shown('proposals_waiting'))[0]?.count, 1);
    assert.ok(!(await seenBy(editor.browser)).includes('proposals_waiting'), 'they proposed it themselves');

    await editor.browser.post(`/v1/proposals/${proposed.body.proposal.id}/reject`);
    await ok('DELETE', `/v1/members/${asking.id}`);
    world.service.clock.pass(day);
    for (const kind of ['approvals_waiting', 'role_requests_waiting', 'proposals_waiting'] as const)
      assert.deepEqual(await shown(kind), [], kind);
  });

  it('is far more refusals than usual', async () => {
    const read = (count: number, path: string) =>
      Promise.all(
        Array.from({ length: count }, () =>
          callService(world.service.url, 'GET', `/api/v1/vaults/${vaultId}${path}`, undefined, token),
        ),
      );
    const { token } = await ok('POST', '/v1/access-keys', { vault_id: vaultId, name: 'loud' });
    world.service.clock.pass(49 * hour);
    await read(19, '?name=NOTHING');
    assert.deepEqual(await shown('refusals'), []);
    await read(1, '?name=NOTHING');
    const [{ count, usual }] = (await shown('refusals')) as [Matter];
    assert.deepEqual([count, usual], [20, 0]);
    const narrowed = await apiKey({ vault_ids: [vaultId] });
    assert.equal((await shown('refusals', narrowed))[0]?.count, 20);
    const elsewhere = await apiKey({ vault_ids: [world.vaultId] });
    assert.deepEqual(await shown('refusals', elsewhere), []);
    assert.deepEqual(await shown('refusals', await apiKey({ role: 'viewer' })), []);
    world.service.clock.pass(2 * hour);
    assert.deepEqual(await shown('refusals'), [], 'those are what is usual now');
    await inDatabase(
      world.service,
      `UPDATE log_hours SET failures = failures * 23 WHERE kind = 'all' AND failures = 20`,
    );
    await read(30, '?name=NOTHING');
    assert.deepEqual(await shown('refusals'), [], 'twenty in two hours are usual, and 30 not far more');
  });

  it('is a credential that nobody used for 90 days, until it is used or revoked', async () => {
    const key = await ok('POST', '/v1/access-keys', { vault_id: vaultId, name: unique('idle') });
    const spare = await ok('POST', '/v1/access-keys', { vault_id: vaultId, name: unique('spare') });
    world.service.clock.pass(91 * day);
    const idle = await names('unused');
    assert.ok(idle.includes(key.name) && idle.includes(spare.name));
    await ok('DELETE', `/v1/access-keys/${spare.id}`);
    await callService(world.service.url, 'GET', '/api/v1/vaults/self', undefined, key.token);
    await eventually('the use is noted', async () => !(await names('unused')).includes(key.name));
    assert.ok(!(await names('unused')).includes(spare.name));
  });

  it('is that no backup is taken, for those who manage the organization', async () => {
    assert.equal((await shown('backup_missing')).length, 1);
    for (const role of ['viewer', 'auditor', 'editor'])
      assert.deepEqual(await shown('backup_missing', await apiKey({ role })), [], role);
  });

  it('is nothing that the caller may not see', async () => {
    const ending = await secret({ expiration_date: at(day) });
    const { matters } = await ok(
      'GET',
      '/v1/attention',
      undefined,
      await apiKey({ scopes: ['organization:read'] }),
    );
    assert.deepEqual(matters, []);
    assert.deepEqual(
      await names('expiring', await apiKey({ scopes: ['organization:read', 'secrets:read'] })),
      [ending.name],
    );
    assert.deepEqual(await names('expiring', await apiKey({ vault_ids: [world.vaultId] })), []);
    const other = await world.service.organization('Other');
    assert.deepEqual(
      (await ok('GET', '/v1/attention', undefined, other.key)).matters.map(({ kind }: Matter) => kind),
      ['backup_missing'],
    );
  });

  it('is a log that was changed, as soon as a verification found it', async () => {
    await world.service.restart();
    assert.deepEqual(await shown('log_broken'), []);
    const newest = '(SELECT id FROM audit_logs ORDER BY id DESC LIMIT 1)';
    const swap = (from: string, to: string) =>
      inDatabase(
        world.service,
        `UPDATE audit_logs SET entry = replace(entry, '"${from}"', '"${to}"') WHERE id = ${newest}`,
      );
    await swap('allowed', 'denied');
    assert.equal((await ok('GET', '/v1/audit-logs/verification')).ok, false);
    assert.equal((await shown('log_broken')).length, 1);
    assert.deepEqual(await shown('log_broken', await apiKey({ role: 'viewer' })), []);
  });
});
