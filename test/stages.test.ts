/** Stages: vaults in an order, compared as a matrix, and a name changed in all of them. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { openStrongroom } from '../src/service/opening/open.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { onBothEngines } from './at-once.ts';
import { type Json, unique } from './document.ts';
import { eventually, type Service, startService, timePassing } from './harness.ts';
import { type Receiver, startReceiver, until } from './receiver.ts';
import { inDatabase } from './storage.ts';

const nowhere = '01999999-9999-7999-8999-999999999999';
const minute = 60_000;

onBothEngines('stages', engine => {
  let service: Service;

  before(async () => {
    service = await startService({ engine });
  });
  after(() => service.stop());

  async function ok(answer: Promise<{ status: number; body: Json; text: string }>): Promise<Json> {
    const { status, body, text } = await answer;
    assert.equal(status, 200, text);
    return body;
  }
  const call = (method: string, path: string, body?: unknown, key?: string) =>
    service.call(method, path, body, key);
  const vault = async (name = unique('vault'), more = {}): Promise<string> =>
    (await ok(call('POST', '/v1/vaults', { name, ...more }))).id;
  const add = async (vault_id: string, name: string, value = 'x', more = {}): Promise<string> =>
    (await ok(call('POST', '/v1/secrets', { vault_id, name, value, ...more }))).id;
  const stageOf = (vault_ids: readonly string[], name = unique('stage')): Promise<Json> =>
    ok(call('POST', '/v1/stages', { name, vault_ids }));
  const compared = (id: string, body: object = {}, key?: string): Promise<Json> =>
    ok(call('POST', `/v1/stages/${id}/compare`, body, key));
  const keyOf = async (role: string, more = {}): Promise<string> =>
    (await ok(call('POST', '/v1/api-keys', { name: unique('key'), role, ...more }))).token;
  const table = ({ rows }: Json) =>
    rows.map(({ name, cells }: Json) => [
      name,
      ...cells.map((cell: Json) => cell && (cell.state === 'active' ? cell.value : cell.state)),
    ]);
  const stages = async (path = '/v1/stages', key?: string) =>
    (await ok(call('GET', path, undefined, key))).data;
  const actionsOn = async (id: string) =>
    (await ok(call('GET', `/v1/audit-logs?subject_id=${id}`))).data.map((entry: Json) => entry.action);

  it('are a collection: named once, in the order given, changed and deleted with an entry for each', async () => {
    const ids = [await vault(), await vault(), await vault()];
    const stage = await stageOf(ids, 'payments');
    assert.deepEqual(await ok(call('GET', `/v1/stages/${stage.id}`)), stage);
    assert.deepEqual(stage.vault_ids, ids);
    const taken = await call('POST', '/v1/stages', { name: 'payments', vault_ids: ids });
    assert.deepEqual([taken.status, taken.body.error.details.field], [400, 'name']);
    assert.deepEqual(
      (await stages('/v1/stages?q=PAYM')).map((one: Json) => one.id),
      [stage.id],
    );
    assert.deepEqual(await stages('/v1/stages?q=billing'), []);
    const turned = await ok(call('PUT', `/v1/stages/${stage.id}`, { vault_ids: ids.toReversed() }));
    assert.deepEqual([turned.name, turned.vault_ids], ['payments', ids.toReversed()]);
    const renamed = await ok(call('PUT', `/v1/stages/${stage.id}`, { name: 'billing' }));
    assert.deepEqual([renamed.name, renamed.vault_ids], ['billing', ids.toReversed()]);
    for (const vault_ids of [[], [ids[0], ids[0]], Array.from({ length: 9 }, () => nowhere)])
      assert.equal((await call('PUT', `/v1/stages/${stage.id}`, { vault_ids })).status, 400);
    const missing = await call('PUT', `/v1/stages/${stage.id}`, { vault_ids: [nowhere] });
    assert.deepEqual([missing.status, missing.body.error.details.field], [404, 'vault_ids']);
    await ok(call('DELETE', `/v1/stages/${stage.id}`));
    assert.equal((await call('GET', `/v1/stages/${stage.id}`)).status, 404);
    const updates = ['stage.updated', 'stage.updated'];
    assert.deepEqual(await actionsOn(stage.id), ['stage.deleted', ...updates, 'stage.created']);
  });

  it('are at most 50 for the same vault', async () => {
    const [full, spare] = [await vault(), await vault()];
    for (let at = 0; at < 50; at++) await stageOf([full]);
    const refused = (answer: { status: number; body: Json; text: string }) => {
      assert.deepEqual([answer.status, answer.body.error.details.field], [400, 'vault_ids']);
      assert.match(answer.text, /in 50 stages already/);
    };
    refused(await call('POST', '/v1/stages', { name: unique('stage'), vault_ids: [spare, full] }));
    const { id } = await stageOf([spare]);
    refused(await call('PUT', `/v1/stages/${id}`, { vault_ids: [spare, full] }));
    await ok(call('PUT', `/v1/stages/${id}`, { name: unique('stage') }));
  });

  it('leave out a vault in the trash, until it is restored', async () => {
    const [one, other] = [await vault(), await vault()];
    const { id } = await stageOf([one, other]);
    await ok(call('DELETE', `/v1/vaults/${one}`));
    assert.deepEqual((await ok(call('GET', `/v1/stages/${id}`))).vault_ids, [other]);
    assert.deepEqual((await compared(id)).vaults.length, 1);
    await ok(call('POST', `/v1/resources/${one}/restore`));
    assert.deepEqual((await ok(call('GET', `/v1/stages/${id}`))).vault_ids, [one, other]);
  });

  it('are compared as a matrix: missing, expired, disabled, the same and different, with the age of each', async () => {
    const [dev, staging, live] = [await vault('dev'), await vault('staging'), await vault('live')];
    const { id } = await stageOf([dev, staging, live]);
    const soon = { expiration_date: new Date(service.clock.now() + 30 * minute).toISOString() };
    for (const at of [dev, staging, live]) await add(at, 'SAME', 'equal');
    for (const at of [dev, live]) await add(at, 'GAP', at);
    for (const at of [dev, staging, live]) await add(at, 'OLD', 'equal', at === live ? soon : {});
    for (const at of [dev, staging, live])
      await add(at, 'OFF', 'equal', at === staging ? { enabled: false } : {});
    await add(dev, 'NEW');
    service.clock.pass(31 * minute);
    const all = await compared(id);
    assert.deepEqual(all.vaults, [
      { id: dev, name: 'dev' },
      { id: staging, name: 'staging' },
      { id: live, name: 'live' },
    ]);
    const rows = [
      ['GAP', 1, null, 2],
      ['NEW', 1, null, null],
      ['OFF', 1, 'disabled', 1],
      ['OLD', 1, 1, 'expired'],
      ['SAME', 1, 1, 1],
    ];
    assert.deepEqual(table(all), rows);
    assert.equal(all.missing, 1, 'the last vault lacks NEW');
    const secret = await ok(call('GET', `/v1/secrets/${all.rows[0].cells[0].id}`));
    assert.equal(all.rows[0].cells[0].updated_at, secret.updated_at);
    const different = await compared(id, { different: true });
    assert.deepEqual(table(different), rows.slice(0, 4), 'an expired secret is not the same');
    const lacking = await compared(id, { missing: true, limit: 1 });
    assert.deepEqual([table(lacking), lacking.pagination.total], [[rows[1]], 1]);
    assert.deepEqual(table(await compared(id, { page: 5, limit: 1 })), [rows[4]]);
  });

  it('are recorded and counted as comparisons, and say nothing of values to those who may not reveal all', async () => {
    const [one, other] = [await vault(), await vault()];
    for (const at of [one, other]) await add(at, 'GUESSED', 'the same');
    const { id } = await stageOf([one, other]);
    const valuesFor = async (key: string) =>
      (await compared(id, {}, key)).rows[0].cells.map((cell: Json) => cell.value);
    assert.deepEqual(await valuesFor(await keyOf('viewer')), [null, null]);
    assert.deepEqual(await valuesFor(await keyOf('admin')), [null, null]);
    assert.deepEqual(await actionsOn(one), ['vault.created'], 'nothing was opened');
    const editor = await keyOf('editor');
    assert.deepEqual(await valuesFor(editor), [1, 1]);
    assert.deepEqual(await actionsOn(one), ['vault.compared', 'vault.created']);
    service.clock.standInNewMinute();
    for (let times = 0; times < 60; times++) await valuesFor(editor);
    assert.equal((await call('POST', `/v1/stages/${id}/compare`, {}, editor)).status, 429);
    const named = await keyOf('owner', { scopes: ['vaults:read'] });
    assert.equal((await call('POST', `/v1/stages/${id}/compare`, {}, named)).status, 403);
  });

  it('show to a member of some vaults these vaults, and are changed only by those who may change each', async () => {
    const [mine, hidden, other] = [await vault(), await vault(), await vault()];
    for (const at of [mine, hidden]) await add(at, 'SECRET');
    await add(hidden, 'HIDDEN');
    const shared = await stageOf([mine, hidden]);
    const foreign = await stageOf([hidden, other]);
    const key = await keyOf('editor', { vault_ids: [mine] });
    const as = (method: string, path: string, body?: unknown) => call(method, path, body, key);
    const seen = (await ok(as('GET', '/v1/stages?limit=100'))).data;
    assert.deepEqual(
      seen.map((one: Json) => [one.id, one.vault_ids]),
      [[shared.id, [mine]]],
    );
    assert.equal((await as('GET', '/v1/stages')).body.pagination.total, 1);
    assert.deepEqual((await ok(as('GET', `/v1/stages/${shared.id}`))).vault_ids, [mine]);
    const matrix = await ok(as('POST', `/v1/stages/${shared.id}/compare`, {}));
    assert.deepEqual(table(matrix), [['SECRET', 1]]);
    assert.deepEqual(
      [matrix.missing, matrix.vaults.length],
      [0, 1],
      'nor how many are missing where they see nothing',
    );
    const unseen = `/v1/stages/${foreign.id}`;
    const never = `/v1/stages/${nowhere}`;
    for (const [method, path, body] of [
      ['GET', ''],
      ['PUT', '', { name: 'mine' }],
      ['DELETE', ''],
      ['POST', '/compare', {}],
      ['POST', '/rename', { secret_id: nowhere, name: 'X' }],
    ] as const) {
      const [a, b] = [await as(method, unseen + path, body), await as(method, never + path, body)];
      assert.deepEqual([a.status, a.text], [404, b.text], `${method} ${path}`);
    }
    for (const [method, body] of [
      ['PUT', { name: foreign.name }],
      ['PUT', { vault_ids: [mine] }],
      ['PUT', { vault_ids: [hidden] }],
      ['PUT', { vault_ids: [nowhere] }],
      ['DELETE'],
    ] as const) {
      const refused = await as(method, `/v1/stages/${shared.id}`, body);
      assert.equal(refused.status, 403, `${method} ${JSON.stringify(body)}`);
      assert.ok(!refused.text.includes(hidden));
    }
    assert.deepEqual((await ok(call('GET', `/v1/stages/${shared.id}`))).vault_ids, [mine, hidden]);
    const away = await service.organization(unique('Other'));
    assert.equal((await call('GET', `/v1/stages/${shared.id}`, undefined, away.key)).status, 404);
  });

  it('are saved by whoever may change each of their vaults, and tell nothing of the names of others', async () => {
    const [one, two, hidden] = [await vault(), await vault(), await vault()];
    const foreign = await stageOf([hidden, one]);
    const key = await keyOf('editor', { vault_ids: [one, two] });
    const as = (method: string, path: string, body?: unknown) => call(method, path, body, key);
    const made = await ok(as('POST', '/v1/stages', { name: foreign.name, vault_ids: [one, two] }));
    assert.deepEqual([made.name, made.vault_ids], [foreign.name, [one, two]]);
    const again = await as('POST', '/v1/stages', { name: foreign.name, vault_ids: [two] });
    assert.deepEqual([again.status, again.body.error.details.field], [400, 'name'], 'their own name');
    const [none, missing] = [
      await as('POST', '/v1/stages', { name: unique('free'), vault_ids: [one, hidden] }),
      await as('POST', '/v1/stages', { name: unique('free'), vault_ids: [one, nowhere] }),
    ];
    assert.deepEqual([none.status, none.text], [404, missing.text]);
    const turned = await ok(as('PUT', `/v1/stages/${made.id}`, { vault_ids: [two, one] }));
    assert.deepEqual(turned.vault_ids, [two, one]);
    const renamed = await ok(as('PUT', `/v1/stages/${made.id}`, { name: 'theirs' }));
    assert.equal(renamed.name, 'theirs');
    const beyond = await as('PUT', `/v1/stages/${made.id}`, { vault_ids: [two, hidden] });
    assert.deepEqual([beyond.status, beyond.body.error.details.field], [404, 'vault_ids']);
    const viewer = await keyOf('viewer', { vault_ids: [one, two] });
    assert.equal((await call('DELETE', `/v1/stages/${made.id}`, undefined, viewer)).status, 403);
    assert.equal((await ok(call('GET', `/v1/stages/${made.id}`))).name, 'theirs');
    await ok(call('PUT', `/v1/stages/${made.id}`, { vault_ids: [one, two] }));
    await ok(as('DELETE', `/v1/stages/${made.id}`));
    const entries = (await ok(call('GET', `/v1/audit-logs?subject_id=${made.id}`))).data;
    assert.deepEqual(entries.map(({ action, subject }: Json) => [action, subject.name]).toReversed(), [
      ['stage.created', foreign.name],
      ['stage.updated', foreign.name],
      ['stage.updated', 'theirs'],
      ['stage.updated', 'theirs'],
      ['stage.deleted', 'theirs'],
    ]);
  });

  it('rename a secret in all their vaults, or in none', async () => {
    const [one, two, three, outside] = [await vault(), await vault(), await vault(), await vault()];
    const { id } = await stageOf([one, two, three]);
    const [first, second] = [await add(one, 'DB'), await add(two, 'DB')];
    const elsewhere = await add(outside, 'DB');
    const rename = (secret_id: string, name: string, key?: string) =>
      call('POST', `/v1/stages/${id}/rename`, { secret_id, name }, key);
    const { data } = await ok(rename(second, 'DATABASE'));
    assert.deepEqual(data, [
      { id: first, name: 'DATABASE', vault_id: one },
      { id: second, name: 'DATABASE', vault_id: two },
    ]);
    assert.equal((await ok(call('GET', `/v1/secrets/${elsewhere}`))).name, 'DB');
    assert.deepEqual(await actionsOn(first), ['secret.updated', 'secret.created']);
    await add(two, 'TAKEN');
    const taken = await rename(first, 'TAKEN');
    assert.deepEqual([taken.status, taken.body.error.details.field], [400, 'name']);
    assert.deepEqual(
      table(await compared(id)).map(([name]: string[]) => name),
      ['DATABASE', 'TAKEN'],
    );
    for (const wrong of [elsewhere, nowhere]) {
      const refused = await rename(wrong, 'NEW');
      assert.deepEqual([refused.status, refused.body.error.details.field], [404, 'secret_id']);
    }
    assert.equal((await rename(first, 'NEW', await keyOf('viewer'))).status, 403);
    const inOne = await keyOf('editor', { vault_ids: [one] });
    const partly = await ok(rename(first, 'OWN', inOne));
    assert.deepEqual(
      partly.data.map((renamed: Json) => renamed.vault_id),
      [one],
      'whoever sees one vault renames in that one',
    );
    const scoped = await keyOf('editor', { scopes: ['secrets:write', 'vaults:read'] });
    assert.equal((await rename(first, 'NEW', scoped)).status, 403);
  });

  it('take over the tags of vaults once, in their order, and leave the tags', async () => {
    const stage = (place: string) => ({ tags: { stage: place, team: 'shop' } });
    const live = await vault(unique('v'), stage('shop/west/10'));
    const dev = await vault(unique('v'), stage('shop/west/2'));
    await vault(unique('v'), stage('production'));
    const own = await stageOf([dev], 'kept');
    await vault(unique('v'), stage('kept/1'));
    const due = () =>
      inDatabase(service, 'INSERT INTO stage_tags (organization_id) VALUES (?)', service.organizationId);
    const left = async () => (await inDatabase(service, 'SELECT organization_id FROM stage_tags')).length;
    await due();
    const opened = await Promise.all(
      ['one', 'other'].map(() => {
        const config = readConfig(serveOptions, service.place, {});
        return openStrongroom(config, false, service.clock.now, { elapsed: timePassing() });
      }),
    );
    await Promise.all(opened.map(({ domain }) => domain.stageTakeover.step()));
    await Promise.all(opened.map(one => one.close()));
    assert.equal(await left(), 0);
    const [taken, ...others] = await stages('/v1/stages?q=shop');
    assert.deepEqual([taken.name, taken.vault_ids, others], ['shop/west', [dev, live], []]);
    assert.deepEqual(
      (await ok(call('GET', `/v1/stages/${own.id}`))).vault_ids,
      [dev],
      'what people made stays',
    );
    assert.deepEqual(await stages('/v1/stages?q=production'), []);
    const { tags } = await ok(call('GET', `/v1/vaults/${dev}`));
    assert.deepEqual(tags, { stage: 'shop/west/2', team: 'shop' });
    const [entry] = (await ok(call('GET', `/v1/audit-logs?subject_id=${taken.id}`))).data;
    assert.deepEqual([entry.action, entry.actor.kind], ['stage.created', 'service']);
    await ok(call('DELETE', `/v1/stages/${taken.id}`));
    await service.restart();
    assert.deepEqual(await stages('/v1/stages?q=shop'), [], 'what was deleted does not come back');
    await service.restartAfter(due);
    await eventually('the service takes over when it starts', async () => (await left()) === 0);
    assert.equal((await stages('/v1/stages?q=shop')).length, 1);
  });
});

onBothEngines('a secret that is missing at the end of a stage', engine => {
  let service: Service;
  let receiver: Receiver;

  before(async () => {
    service = await startService({ engine });
    receiver = await startReceiver();
  });
  after(async () => {
    await receiver.close();
    await service.stop();
  });

  async function made(path: string, body: object): Promise<Json> {
    const answer = await service.call('POST', path, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  }
  const secret = (vault_id: string, name: string): Promise<Json> =>
    made('/v1/secrets', { vault_id, name, value: 'x' });
  const told = (name: string) => receiver.arrivals.filter(({ body }) => body.data.secret === name);
  const toldTimes = (name: string, count: number) => until(() => told(name).length >= count, 20_000);

  it('is told once, a few minutes after it was written, and again once it was mended and is missing again', async () => {
    const [staging, live] = [
      await made('/v1/vaults', { name: 's' }),
      await made('/v1/vaults', { name: 'l' }),
    ];
    const events = ['stage.secret_missing'];
    await made('/v1/webhooks', { url: receiver.url, events });
    const vault_ids = [live.id, staging.id];
    await made('/v1/webhooks', { url: `${receiver.url}/narrow`, events, vault_ids });
    const stage = await made('/v1/stages', { name: 'shop', vault_ids: [staging.id, live.id] });
    await secret(staging.id, 'MISSING');
    for (const at of [staging.id, live.id]) await secret(at, 'PRESENT');
    await secret(live.id, 'ONLY_THERE');
    service.clock.pass(2 * minute);
    await secret(staging.id, 'MARK');
    service.clock.pass(4 * minute);
    await toldTimes('MISSING', 1);
    assert.equal(told('MARK').length, 0, 'it was just written');
    const { data, type } = told('MISSING')[0]!.body;
    assert.deepEqual(
      [type, data],
      [
        'stage.secret_missing',
        {
          id: stage.id,
          type: 'stage',
          name: 'shop',
          vault_id: null,
          secret: 'MISSING',
          missing_in: live.id,
          present_in: staging.id,
        },
      ],
    );
    service.clock.pass(2 * minute);
    await toldTimes('MARK', 1);
    const mended = await secret(live.id, 'MISSING');
    service.clock.pass(2 * minute);
    await eventually('the notice is gone', async () => {
      const rows = await inDatabase(service, 'SELECT name FROM stage_notices');
      return rows.every(row => row.name !== 'MISSING');
    });
    assert.equal(told('MISSING').length, 1);
    await service.call('DELETE', `/v1/secrets/${mended.id}`);
    service.clock.pass(2 * minute);
    await toldTimes('MISSING', 2);
    await secret(staging.id, 'LAST');
    service.clock.pass(6 * minute);
    await toldTimes('LAST', 1);
    const names = receiver.arrivals.map(({ body }) => body.data.secret).toSorted();
    assert.deepEqual(names, ['LAST', 'MARK', 'MISSING', 'MISSING'], 'nor to a webhook of some vaults');
    await service.call('DELETE', `/v1/stages/${stage.id}`);
    assert.deepEqual(await inDatabase(service, 'SELECT name FROM stage_notices'), []);
  });
});
