/** Refusals cost the log little, however many come: equal ones share an entry that says how many they were. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { idGenerator } from '../src/contract/id.ts';
import { blockOf, entriesOf, newBlockId, partsIn } from '../src/logs/blocks.ts';
import type { RequestEntry } from '../src/logs/entries.ts';
import { type Answer, beside, engines, type Service, startService } from './harness.ts';
import { refusedRequests } from './refusal-reasons.ts';
import { inDatabase } from './storage.ts';

interface Entry {
  readonly id: string;
  readonly status: number;
  readonly count: number;
  readonly receipt: string;
  readonly request_id: string;
  readonly user_agent: string;
  readonly reason: string | null;
}

const sum = (entries: readonly Entry[]) => entries.reduce((all, { count }) => all + count, 0);

const entryOf = ({ headers }: Answer) => headers.get('strongroom-receipt')!.split('.')[0];

/** What a caller can compare. */
function sameOf({ text, headers }: Answer): string {
  const own = ['date', 'x-request-id', 'strongroom-receipt'];
  return JSON.stringify([text, [...headers].filter(([name]) => !own.includes(name))]);
}

for (const engine of engines) {
  describe(`refusals in the log, on ${engine}`, () => {
    let service: Service;
    let vaultId: string;
    let key: string;

    before(async () => {
      service = await startService({ engine, flags: ['--behind-proxy', '127.0.0.0/8'] });
      service.clock.standInNewMinute();
      vaultId = (await service.call('POST', '/v1/vaults', { name: 'refusing' })).body.id;
      const limited = { vault_id: vaultId, name: 'limited', rate_limit: 5 };
      key = (await service.call('POST', '/v1/access-keys', limited)).body.token;
    });
    after(() => service.stop());

    const read = (token: string, address: string, agent = 'test', query = '') =>
      service.call('GET', `/api/v1/vaults/${vaultId}${query}`, undefined, token, {
        'x-forwarded-for': address,
        'user-agent': agent,
      });
    const logged = async (filter: string) => {
      const { body } = await service.call('GET', `/v1/request-logs?limit=100&${filter}`);
      return { entries: body.data as Entry[], total: body.pagination.total as number };
    };
    const verify = () => service.call('GET', '/v1/audit-logs/verification');

    it('equal ones that are synced together are one entry, which counts them; totals count them all', async () => {
      const address = '203.0.113.1';
      const answers = await Promise.all(Array.from({ length: 40 }, () => read('sr_vault_bad', address)));
      assert.ok(answers.every(({ status }) => status === 401));
      const { entries, total } = await logged(`ip_address=${address}`);
      assert.ok(entries.length < 40, `${entries.length} entries`);
      assert.equal(sum(entries), 40);
      assert.equal(total, 40);
      const ids = new Set(entries.map(({ id }) => id));
      for (const { headers } of answers) {
        assert.ok(ids.has(headers.get('x-request-id')!), 'each is found by the id that it was told');
        const entry = await service.call('GET', `/v1/request-logs/${headers.get('x-request-id')}`);
        assert.equal(entry.body.receipt, headers.get('strongroom-receipt'));
      }
    });

    it('those of a key past its own limit are few entries, whatever their sender varies', async () => {
      const address = '203.0.113.2';
      const answers = await Promise.all(
        Array.from({ length: 60 }, (_, at) => read(key, address, `agent ${at}`)),
      );
      assert.equal(answers.filter(({ status }) => status === 200).length, 5);
      const { entries, total } = await logged(`ip_address=${address}&status=429`);
      assert.ok(entries.length < 28, `${entries.length} entries`); // One in a quarter of a second.
      assert.equal(sum(entries), 55);
      assert.equal(total, 55);
      assert.match(entries[0]!.user_agent, /^agent \d+$/);
    });

    it('those of an address past its limit are few blocks, and each is answered with what proves it', async () => {
      const address = '203.0.113.3';
      for (let batch = 0; batch < 2; batch++) {
        await Promise.all(Array.from({ length: 30 }, () => read('sr_vault_bad', address)));
      }
      const before = await blocks();
      const answers = await Promise.all(
        Array.from({ length: 300 }, (_, at) => read('sr_vault_bad', address, `agent ${at}`)),
      );
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([429]));
      assert.ok(answers.every(({ headers }) => headers.has('strongroom-receipt')));
      const made = (await blocks()) - before;
      assert.ok(made < 100, `${made} blocks for 300 refusals`);
    });

    const blocks = () =>
      beside(service, async ({ store }) => {
        const rows = await store.requestLogs.stretch(null, 10_000);
        return rows.length;
      });

    it('answers are never folded: each has an entry of its own', async () => {
      service.clock.pass(60_000);
      const address = '203.0.113.4';
      const own = await service.call('POST', '/v1/access-keys', { vault_id: vaultId, name: 'plain' });
      await Promise.all(Array.from({ length: 30 }, () => read(own.body.token, address)));
      const { entries, total } = await logged(`ip_address=${address}`);
      assert.equal(entries.length, 30);
      assert.equal(total, 30);
      assert.ok(entries.every(({ count }) => count === 1));
    });

    it('pages and the export show each entry once, and together they count all requests', async () => {
      const { body } = await service.call('GET', '/v1/request-logs?limit=1');
      const total = body.pagination.total as number;
      const seen: Entry[] = [];
      for (let page = 1; ; page++) {
        const { data } = (await service.call('GET', `/v1/request-logs?limit=20&page=${page}`)).body;
        if (data.length === 0) break;
        seen.push(...data);
      }
      assert.equal(new Set(seen.map(({ id }) => id)).size, seen.length);
      assert.equal(sum(seen), total);
      const { text } = await service.call('GET', '/v1/request-logs/export');
      const exported = text
        .trim()
        .split('\n')
        .map(line => JSON.parse(line) as Entry);
      assert.deepEqual(exported, seen);
      const csv = await service.call('GET', '/v1/request-logs/export?format=csv');
      assert.match(csv.text.split('\n')[0]!, /,count,reason,verified$/);
    });

    it('the overview counts them all', async () => {
      const { body } = await service.call('GET', '/v1/overview');
      const hours = body.reads as { failure: number }[];
      const failures = hours.reduce((all, hour) => all + hour.failure, 0);
      const { body: refused } = await service.call('GET', '/v1/request-logs?status=401&limit=1');
      const { body: limited } = await service.call('GET', '/v1/request-logs?status=429&limit=1');
      assert.equal(failures, refused.pagination.total + limited.pagination.total);
    });

    it('a viewer who goes on asking for what they may not do is told of in few entries, which count it all', async () => {
      const viewer = (await service.call('POST', '/v1/api-keys', { name: 'viewer', role: 'viewer' })).body
        .token;
      const ask = (at: number) =>
        service.call('POST', '/v1/vaults', { name: `no ${at}` }, viewer, { 'user-agent': `agent ${at}` });
      const first = await Promise.all(Array.from({ length: 20 }, (_, at) => ask(at)));
      const more = await Promise.all(Array.from({ length: 100 }, (_, at) => ask(at)));
      assert.ok([...first, ...more].every(({ status }) => status === 403));
      const { body } = await service.call('GET', '/v1/audit-logs?action=vaults:write&limit=100');
      const denied = body.data as (Entry & { outcome: string })[];
      assert.ok(denied.every(({ outcome }) => outcome === 'denied'));
      assert.ok(denied.length >= 21 && denied.length < 70, `${denied.length} entries for 120 refusals`);
      assert.equal(sum(denied), 120);
    });

    it('another subject, action or address is another entry', async () => {
      const viewer = (await service.call('POST', '/v1/api-keys', { name: 'other', role: 'viewer' })).body;
      const ask = (method: string, path: string, address: string) =>
        service.call(method, path, method === 'GET' ? undefined : { name: 'x' }, viewer.token, {
          'x-forwarded-for': address,
        });
      const calls = Array.from({ length: 40 }, () => [
        ask('POST', '/v1/vaults', '203.0.113.10'),
        ask('POST', '/v1/vaults', '203.0.113.11'),
        ask('GET', '/v1/request-logs', '203.0.113.10'),
      ]).flat();
      await Promise.all(calls);
      const { body } = await service.call('GET', '/v1/audit-logs?limit=100');
      const own = (
        body.data as (Entry & { actor: { id: string }; action: string; ip_address: string })[]
      ).filter(({ actor }) => actor.id === viewer.id);
      const kinds = Map.groupBy(own, ({ action, ip_address }) => `${action} ${ip_address}`);
      assert.deepEqual([...kinds].map(([kind, entries]) => [kind, sum(entries)]).toSorted(), [
        ['logs:read 203.0.113.10', 40],
        ['vaults:write 203.0.113.10', 40],
        ['vaults:write 203.0.113.11', 40],
      ]);
    });

    it('each says why it was refused, and its answer is that of all others with its status', async () => {
      const refused = await refusedRequests(service, await service.organization('Other'));
      const byStatus = new Map<number, Set<string>>();
      for (const { reason, about, answer } of refused) {
        const { body } = await service.call('GET', `/v1/request-logs/${entryOf(answer)}`);
        assert.equal(body.reason, reason, about);
        assert.equal(body.status, answer.status, about);
        assert.ok(!answer.text.includes(reason), about);
        const known = byStatus.get(answer.status) ?? new Set();
        byStatus.set(answer.status, known.add(sameOf(answer)));
      }
      for (const status of [401, 404]) assert.equal(byStatus.get(status)!.size, 1, `${status}`);
    });

    it('what was answered has no reason, and neither has what was refused before reasons were recorded', async () => {
      const { entries } = await logged('status=200');
      assert.deepEqual(new Set(entries.map(({ reason }) => reason)), new Set([null]));
      const receipt = await beside(service, async ({ domain }) => {
        const { id } = (await service.call('GET', '/v1/organization')).body;
        return domain.ledger.record({ ...refusal, status: 401, organization_id: id, vault_id: vaultId });
      });
      const { body } = await service.call('GET', `/v1/request-logs/${receipt.split('.')[0]}`);
      assert.deepEqual([body.status, body.reason], [401, null]);
    });

    it('who sees the log of one vault learns nothing of keys of others', async () => {
      const other = (await service.call('POST', '/v1/vaults', { name: 'not theirs' })).body.id;
      const theirs = await service.call('POST', '/v1/access-keys', { vault_id: other, name: 'not theirs' });
      const { headers } = await read(theirs.body.token, '203.0.113.40');
      const auditor = { name: 'one log', role: 'auditor', vault_ids: [vaultId] };
      const { token } = (await service.call('POST', '/v1/api-keys', auditor)).body;
      const path = `/v1/request-logs/${headers.get('x-request-id')}`;
      assert.equal((await service.call('GET', path)).body.reason, 'wrong_vault');
      assert.equal((await service.call('GET', path, undefined, token)).body.reason, 'unknown_credential');
    });

    it('the chains hold', async () => {
      const { body } = await verify();
      assert.deepEqual(body.findings, []);
      assert.equal(body.ok, true);
    });

    it('a stop writes down what is being gathered', async () => {
      const receipts: string[] = [];
      await beside(service, async ({ domain }) => {
        domain.ledger.record(refusal).then(receipt => receipts.push(receipt));
        await domain.ledger.drain();
        await turn();
        assert.equal(receipts.length, 1);
      });
    });

    it('a number that somebody edited where it is found by is told of', async () => {
      const edit = 'UPDATE request_index SET requests = requests + 1 WHERE requests IS NOT NULL';
      await inDatabase(service, edit);
      service.clock.pass(61_000);
      const { body } = await verify();
      assert.deepEqual(
        body.findings.map(({ what }: { what: string }) => what),
        ['edited'],
      );
    });
  });
}

const refusal: RequestEntry = {
  organization_id: null,
  success: false,
  resource_type: 'vault',
  ip_address: '203.0.113.1',
  route: '/api/v1/vaults/{vault_id}',
  method: 'GET',
  status: 429,
  vault_id: null,
  access_key_id: null,
  requested: '',
  tool: null,
  user_agent: 'x',
  duration_ms: 1.5,
  request_id: null,
};

describe('a block', () => {
  const newId = idGenerator(Date.now);
  const organization_id = newId();
  const entry = (more: Partial<RequestEntry> = {}): RequestEntry => ({
    ...refusal,
    organization_id,
    status: 401,
    ...more,
  });
  const good = entry({ success: true, status: 200 });
  const at = '2026-01-01T00:00:00.000Z';

  it('says of each request that was handed in where its entry is', () => {
    const given = [entry(), good, entry({ user_agent: 'y' }), entry(), good, entry({ request_id: 'own' })];
    const { text, places } = blockOf(at, given);
    const id = newBlockId(newId);
    const entries = entriesOf(id, text);
    assert.equal(entries.length, 5);
    for (const [index, place] of places.entries()) {
      const { status, user_agent, success } = entries[place]!;
      const { status: given1, user_agent: given2, success: given3 } = given[index]!;
      assert.deepEqual([status, user_agent, success], [given1, given2, given3]);
    }
    assert.equal(places[0], places[3]);
    assert.equal(entries[places[0]!]!.count, 2);
    assert.equal(entries[places[5]!]!.request_id, 'own', 'what has an id of its own is found by it');
  });

  it('keeps refusals for different reasons apart', () => {
    const given = [entry({ reason: 'expired' }), entry({ reason: 'revoked' }), entry({ reason: 'expired' })];
    const { text, places } = blockOf(at, given);
    const entries = entriesOf(newBlockId(newId), text);
    assert.deepEqual(
      entries.map(({ reason, count }) => [reason, count]),
      [
        ['expired', 2],
        ['revoked', 1],
      ],
    );
    assert.deepEqual(places, [0, 1, 0]);
  });

  it('counts entries for pages, and requests for totals, where the two differ', () => {
    const [part] = partsIn(blockOf(at, [entry(), entry({ count: 7 }), entry({ user_agent: 'y' })]).text);
    assert.equal(part!.entries, 2);
    assert.equal(part!.requests, 9);
    const [plain] = partsIn(blockOf(at, [good, good]).text);
    assert.deepEqual([plain!.entries, plain!.requests], [2, null]);
  });

  it('of an earlier version is read as it was written', () => {
    const common = JSON.stringify(entry(), (name, value) =>
      ['duration_ms', 'request_id'].includes(name) ? undefined : value,
    );
    const old = `{"created_at":"${at}","alike":[${common}],"entries":[[0,1.5],[0,2,"named"],[0,3]]}`;
    const entries = entriesOf(newBlockId(newId), old);
    assert.deepEqual(
      entries.map(({ count, duration_ms }) => [count, duration_ms]),
      [
        [1, 1.5],
        [1, 2],
        [1, 3],
      ],
    );
    assert.equal(entries[1]!.request_id, 'named');
    assert.deepEqual([partsIn(old)[0]!.entries, partsIn(old)[0]!.requests], [3, null]);
  });
});
