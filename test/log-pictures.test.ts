/** What the charts show: requests over time, to the entry as in the list, and which access keys read which secrets. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { onBothEngines } from './at-once.ts';
import { type Json, unique } from './document.ts';
import { callService, type Service, startService } from './harness.ts';

const hour = 3_600_000;
const day = 24 * hour;

onBothEngines('pictures of the request log', engine => {
  let service: Service;
  let vaultId: string;
  let otherId: string;
  let start: number;
  const keys: Record<string, { id: string; token: string }> = {};

  before(async () => {
    service = await startService({ engine });
    start = Math.ceil(service.clock.now() / day) * day;
    service.clock.standAt(start);
    vaultId = (await ok('POST', '/v1/vaults', { name: 'read' })).id;
    otherId = (await ok('POST', '/v1/vaults', { name: 'other' })).id;
    for (const [name, vault_id, more] of [
      ['all', vaultId, {}],
      ['some', vaultId, { names: ['A*'] }],
      ['other', otherId, {}],
    ] as const)
      keys[name] = await ok('POST', '/v1/access-keys', { name, vault_id, ...more });
  });
  after(() => service.stop());

  const ok = async (method: string, path: string, body?: object, key?: string): Promise<Json> => {
    const answer = await service.call(method, path, body, key);
    assert.ok(answer.status < 300, answer.text);
    return answer.body;
  };
  const read = async (key: string, query = '', times = 1) => {
    for (let count = 0; count < times; count++)
      await callService(service.url, 'GET', `/api/v1/vaults/self${query}`, undefined, keys[key]!.token);
  };
  const iso = (after: number) => new Date(start + after).toISOString();
  const histogram = (query: string, key?: string) =>
    ok('GET', `/v1/request-logs/histogram?${query}`, undefined, key);
  const secret = (name: string, vault_id = vaultId) =>
    ok('POST', '/v1/secrets', { vault_id, name, value: 'x' });
  const apiKey = async (more: object): Promise<string> =>
    (await ok('POST', '/v1/api-keys', { name: unique('k'), role: 'owner', ...more })).token;

  it('count the requests of each part of a period, as many as the list contains', async () => {
    const at: [after: number, key: string, query: string, times: number][] = [
      [0, 'all', '', 3],
      [0, 'all', '?name=NOTHING', 2],
      [hour - 1, 'some', '', 1],
      [hour, 'all', '', 1],
      [2 * hour, 'other', '', 4],
      [3 * hour, 'all', '?name=NOTHING', 5],
    ];
    for (const [after, key, query, times] of at) {
      service.clock.standAt(start + after);
      await read(key, query, times);
    }
    service.clock.standAt(start + 4 * hour);
    const period = `from=${iso(0)}&to=${iso(4 * hour)}`;
    const { parts, from, to } = await histogram(`${period}&buckets=4`);
    assert.deepEqual([from, to], [iso(0), iso(4 * hour)]);
    assert.deepEqual(parts, [
      { at: iso(0), success: 4, failure: 2 },
      { at: iso(hour), success: 1, failure: 0 },
      { at: iso(2 * hour), success: 4, failure: 0 },
      { at: iso(3 * hour), success: 0, failure: 5 },
    ]);
    const filters = [
      '',
      `&vault_id=${vaultId}`,
      `&access_key_id=${keys.some!.id}`,
      '&status=404',
      '&success=true',
      '&success=false',
      '&ip_address=127.0.0.1',
      `&success=true&vault_id=${otherId}`,
    ];
    for (const filter of filters) {
      const { pagination, data: entries } = await ok('GET', `/v1/request-logs?${period}${filter}&limit=100`);
      const { parts } = await histogram(`${period}${filter}&buckets=7`);
      const sum = (name: 'success' | 'failure') =>
        parts.reduce((total: number, part: Json) => total + part[name], 0);
      assert.equal(sum('success') + sum('failure'), pagination.total, filter);
      const listed = entries.reduce((total: number, one: Json) => total + (one.success ? one.count : 0), 0);
      assert.equal(sum('success'), listed, filter);
    }
  });

  it('are the last 24 hours by the hour, unless another period is asked for', async () => {
    const { from, to, parts } = await histogram('');
    assert.deepEqual([from, to, parts.length], [iso(-20 * hour), iso(4 * hour), 24]);
    const backwards = await service.call(
      'GET',
      `/v1/request-logs/histogram?from=${iso(hour)}&to=${iso(hour)}`,
    );
    assert.equal(backwards.status, 400);
    assert.equal(backwards.body.error.details.field, 'to');
  });

  it('count each of some access keys', async () => {
    const ids = [keys.all!.id, keys.other!.id];
    const query = `from=${iso(0)}&to=${iso(4 * hour)}&buckets=2&access_key_ids=${ids}`;
    assert.deepEqual((await histogram(query)).access_keys, [
      { id: ids[0], requests: [6, 5] },
      { id: ids[1], requests: [0, 4] },
    ]);
    const narrowed = await apiKey({ vault_ids: [vaultId] });
    const { parts, access_keys } = await histogram(query, narrowed);
    assert.deepEqual(access_keys[1], { id: ids[1], requests: [0, 0] });
    assert.deepEqual(
      parts.map(({ success, failure }: Json) => success + failure),
      [7, 5],
    );
    assert.equal((await service.call('GET', '/v1/request-logs/histogram?access_key_ids=x')).status, 400);
    const many = Array.from({ length: 51 }, () => ids[0]);
    const tooMany = await service.call('GET', `/v1/request-logs/histogram?access_key_ids=${many}`);
    assert.equal(tooMany.status, 400);
  });

  it('say which access keys were given which secrets', async () => {
    service.clock.standAt(start + 3 * day);
    const [a, b] = [await secret('A_TOKEN'), await secret('B_TOKEN')];
    const elsewhere = await secret('A_TOKEN', otherId);
    await read('all');
    await read('all', '?secrets=names');
    await read('all', '?format=map');
    await read('some');
    await read('some', '?name=B_TOKEN');
    service.clock.standAt(start + 4 * day);
    await read('some', '?name=A_TOKEN', 2);
    const ids = [a.id, b.id, elsewhere.id];
    const readers = await ok('GET', `/v1/vaults/${vaultId}/readers?secret_ids=${ids}`);
    assert.equal(readers.since, null);
    assert.deepEqual(
      new Map(readers.access_keys.map(({ id, name }: Json) => [id, name])),
      new Map([
        [keys.all!.id, 'all'],
        [keys.some!.id, 'some'],
      ]),
    );
    const cell = (key: string, reads: number, after: number) => ({
      access_key_id: keys[key]!.id,
      reads,
      last_at: iso(after),
    });
    const days = (...last: number[]) => [...Array.from({ length: 14 - last.length }, () => 0), ...last];
    assert.deepEqual(readers.secrets, [
      {
        id: a.id,
        name: 'A_TOKEN',
        readers: [cell('some', 3, 4 * day), cell('all', 2, 3 * day)],
        days: days(3, 2),
      },
      { id: b.id, name: 'B_TOKEN', readers: [cell('all', 2, 3 * day)], days: days(2, 0) },
    ]);
    const created = await secret('A_NEWER');
    const { secrets } = await ok('GET', `/v1/vaults/${vaultId}/readers`);
    assert.deepEqual(
      secrets.map(({ name }: Json) => name),
      ['A_NEWER', 'A_TOKEN', 'B_TOKEN'],
    );
    assert.equal(created.id, secrets[0].id);
    assert.deepEqual(secrets[0].readers, [], 'it did not exist when all secrets were read');
  });

  it('name no access key to those who may not see it, and no vault to those who may not read its log', async () => {
    const { id } = await secret('A_HIDDEN');
    await read('all');
    const path = `/v1/vaults/${vaultId}/readers?secret_ids=${id}`;
    const unnamed = await ok('GET', path, undefined, await apiKey({ scopes: ['logs:read', 'secrets:read'] }));
    assert.deepEqual(unnamed.access_keys, [{ id: keys.all!.id, name: '' }]);
    const status = async (more: object) =>
      (await service.call('GET', path, undefined, await apiKey(more))).status;
    assert.equal(await status({ role: 'viewer' }), 403);
    assert.equal(await status({ scopes: ['logs:read'] }), 403);
    assert.equal(await status({ vault_ids: [otherId] }), 404);
    const many = Array.from({ length: 51 }, () => id);
    const tooMany = await service.call('GET', `/v1/vaults/${vaultId}/readers?secret_ids=${many}`);
    assert.equal(tooMany.status, 400);
  });
});
