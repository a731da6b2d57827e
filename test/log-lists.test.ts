/** What is found in the logs by whom, and who has read a secret. The logs are in memory. */
import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { Caller } from '../src/access/caller.ts';
import { grantOfRole } from '../src/access/policy.ts';
import { Failure } from '../src/contract/errors.ts';
import { firstIdAt, idGenerator } from '../src/contract/id.ts';
import { type Logs, logsWith, matching } from '../src/domain/operations/logs.ts';
import { type Readers, readersWith } from '../src/domain/operations/readers.ts';
import { receiptOf } from '../src/logs/chain.ts';
import type { RequestEntry } from '../src/logs/entries.ts';
import type { AuditFilter } from '../src/store/records/logs.ts';
import type { RequestFilter } from '../src/store/records/request-logs.ts';
import { type Asking, asking, takes } from './asking.ts';
import { type MemoryLink, MemoryLog, noon } from './memory-log.ts';

const newId = idGenerator(Date.now);
const [organizationId, vault, other, key] = [newId(), newId(), newId(), newId()];
const entry = (said: Partial<RequestEntry> = {}): Partial<RequestEntry> => ({
  organization_id: organizationId,
  vault_id: vault,
  access_key_id: key,
  status: 200,
  ip_address: '192.0.2.1',
  requested: 'secrets',
  ...said,
});
const caller = { organizationId, ...grantOfRole('owner') } as unknown as Caller;

let log: MemoryLog;
let vaults: readonly string[] | null;
let credentials: Map<string, { name: string; narrowing: string }>;
let versions: Map<number, number>;
let unwritable: boolean;
let asked: Record<string, unknown>[];
let logs: Asking<Logs, typeof takes.logs>;
let readers: Asking<Readers, typeof takes.readers>;
const secret = { id: newId(), name: 'TOKEN', version: 2, vault_id: vault };

beforeEach(() => {
  log = new MemoryLog();
  [vaults, unwritable, asked] = [null, false, []];
  credentials = new Map([[key, { name: 'agent', narrowing: '{}' }]]);
  versions = new Map([
    [1, noon - 1_000_000],
    [2, noon],
  ]);
  const shown = <T>(row: T) => ({ ...row, verified: true });
  const within = ({ id }: { id: string }, { fromId, beforeId }: Partial<RequestFilter>) =>
    (fromId === undefined || id >= fromId) && (beforeId === undefined || id < beforeId);
  const newest = (stream: string, filter: Partial<RequestFilter>) => {
    asked.push({ stream, ...filter });
    return log.stored
      .filter(link => link.stream === stream && within(link, filter))
      .toSorted((one, two) => (one.id < two.id ? 1 : -1))
      .map(link => ({ ...link, entry: link.text }));
  };
  const parts = {
    ledger: {
      settle: async () => {
        if (unwritable) throw new Failure('UNAVAILABLE');
      },
    },
    shown: {
      blocks: async (rows: object[]) => rows.map(shown),
      block: async (row: object) => shown(row),
      audits: async (rows: object[]) => rows.map(shown),
      audit: async (row: object) => shown(row),
    },
    stamps: { credential: { believe: <T>(row: T) => row } },
    guard: {
      admit: async (by: Caller, action: string) => ({ caller: by, action, vaults }),
      within: async (permit: object) => permit,
      found: async (_: unknown, row: unknown) => {
        if (row === undefined) throw new Failure('NOT_FOUND');
        return row;
      },
      during: (_: unknown, verb: string, entries: unknown) => ({ verb, entries }),
    },
    store: {
      credentials: { byId: async (id: string) => credentials.get(id) },
      runs: { ofAccessKeys: async () => ({ keys: [], rows: [] }) },
      requestLogs: {
        newest: async (filter: RequestFilter, limit: number) => newest('request', filter).slice(0, limit),
        page: async (filter: RequestFilter) => ({ blocks: newest('request', filter), skip: 1 }),
        total: async () => 77,
        block: async (id: string) => newest('request', {}).find(row => row.id === id),
      },
      logs: {
        newestAudits: async (filter: AuditFilter, limit: number) => newest('audit', filter).slice(0, limit),
        auditPage: async (filter: AuditFilter) => ({ rows: newest('audit', filter), total: 88 }),
        audit: async (_: string, id: string) => newest('audit', {}).find(row => row.id === id),
      },
    },
  };
  logs = asking(parts.guard as never, logsWith(parts as never), takes.logs);
  const own = readersWith(
    parts as never,
    {
      find: async () => secret,
      version: async (_: unknown, version: number) =>
        versions.has(version) ? { created_at: versions.get(version) } : null,
    } as never,
  );
  readers = asking(parts.guard as never, own, takes.readers);
});

const block = (at: number, ...said: readonly Partial<RequestEntry>[]) =>
  log.block(at, 1, {
    alike: said.map(entry),
    entries: said.map((_, number) => [number, 1]),
  });
const reads = (at: number, count: number) =>
  log.block(at, 1, { alike: [entry()], entries: Array.from({ length: count }, () => [0, 1]) });
const idOf = (link: MemoryLink, place = 0) => link.id.slice(0, -3) + `${place}`.padStart(3, '0');
const page = { page: 1, limit: 10 };
async function all<T>(watched: unknown): Promise<T[]> {
  const found: T[] = [];
  for await (const one of (watched as { entries: AsyncIterable<T> }).entries) found.push(one);
  return found;
}

describe('entries of a block', () => {
  const filters: [
    what: string,
    filter: Partial<RequestFilter>,
    said: Partial<RequestEntry>,
    isFound: boolean,
  ][] = [
    ['of the organization', {}, {}, true],
    ['of another one', {}, { organization_id: other }, false],
    ['of a vault', { vaultId: vault }, {}, true],
    ['of another vault', { vaultId: vault }, { vault_id: other }, false],
    ['of one of some vaults', { vaultIds: [other, vault] }, {}, true],
    ['of none of them', { vaultIds: [other] }, {}, false],
    ['of no vault at all', { vaultIds: [vault] }, { vault_id: null }, false],
    ['of an access key', { accessKeyId: key }, {}, true],
    ['of another access key', { accessKeyId: key }, { access_key_id: other }, false],
    ['with a status', { status: 200 }, {}, true],
    ['with another status', { status: 200 }, { status: 404 }, false],
    ['from an address', { address: '192.0.2.1' }, {}, true],
    ['from another address', { address: '192.0.2.1' }, { ip_address: '192.0.2.2' }, false],
  ];
  for (const [what, filter, said, isFound] of filters)
    it(`are ${isFound ? 'found' : 'not found'}: ${what}`, () => {
      const link = { ...block(0, said), verified: true };
      assert.equal(matching(link as never, { organizationId, ...filter }).length, isFound ? 1 : 0);
    });

  it('are shown newest first, with their receipts, and without whose they are', () => {
    const link = block(0, {}, { narrowing: { id: 'n' } as never, reason: 'expired' });
    const found = matching({ ...link, verified: false } as never, { organizationId });
    assert.deepEqual(
      found.map(({ id, narrowing, reason, verified }) => [id, narrowing, reason, verified]),
      [
        [idOf(link, 1), { id: 'n' }, 'expired', false],
        [idOf(link), null, null, false],
      ],
    );
    assert.equal(found[1]!.receipt, receiptOf(idOf(link), link.hash));
    assert.ok(!('organization_id' in found[0]!));
  });

  const reasons: [
    reason: NonNullable<RequestEntry['reason']>,
    vaultIds: string[] | undefined,
    shown: string,
  ][] = [
    ['wrong_vault', undefined, 'wrong_vault'],
    ['wrong_vault', [vault], 'unknown_credential'],
    ['expired', [vault], 'expired'],
  ];
  for (const [reason, vaultIds, shown] of reasons)
    it(`say ${shown} for ${reason} to those who see ${vaultIds === undefined ? 'all' : 'some'} vaults`, () => {
      const link = { ...block(0, { reason }), verified: true };
      assert.equal(matching(link as never, { organizationId, vaultIds })[0]!.reason, shown);
    });
});

describe('the request log', () => {
  it('is listed by page, also while nothing can be written', async () => {
    const [one, two] = [block(0, {}), block(1, {}, {})];
    for (const isUnwritable of [false, true]) {
      unwritable = isUnwritable;
      const { data, pagination } = await logs.requests(caller, { ...page, limit: 1 });
      assert.deepEqual([data.map(({ id }) => id), pagination.total], [[idOf(two)], 77]);
    }
    const { data } = await logs.requests(caller, page);
    assert.deepEqual(
      data.map(({ id }) => id),
      [idOf(two), idOf(one)],
    );
  });

  it('is asked for what the query says, in the vaults that the caller is given', async () => {
    await logs.requests(caller, {
      ...page,
      vault_id: vault,
      access_key_id: key,
      status: 200,
      ip_address: 'a',
      from: noon,
      to: noon + 5,
    });
    vaults = [vault];
    await logs.requests(caller, page);
    const [full, narrowed] = asked.map(({ vaultIds, fromId, beforeId }) => [vaultIds, fromId, beforeId]);
    assert.deepEqual(full, [undefined, firstIdAt(noon), firstIdAt(noon + 5)]);
    assert.deepEqual(narrowed, [[vault], undefined, undefined]);
    assert.deepEqual(
      [asked[0]!.vaultId, asked[0]!.accessKeyId, asked[0]!.status, asked[0]!.address],
      [vault, key, 200, 'a'],
    );
  });

  it('has single entries for those who see them', async () => {
    const link = block(0, {}, { vault_id: other }, { organization_id: other });
    assert.equal((await logs.request(caller, idOf(link, 1))).vault_id, other);
    await assert.rejects(logs.request(caller, idOf(link, 2)), { code: 'NOT_FOUND' });
    await assert.rejects(logs.request(caller, idOf(link, 3)), { code: 'NOT_FOUND' });
    await assert.rejects(logs.request(caller, newId()), { code: 'NOT_FOUND' });
    vaults = [vault];
    assert.equal((await logs.request(caller, idOf(link))).id, idOf(link));
    await assert.rejects(logs.request(caller, idOf(link, 1)), { code: 'NOT_FOUND' });
  });

  for (const count of [0, 50, 51, 120])
    it(`is exported as a whole: ${count} blocks`, async () => {
      const links = Array.from({ length: count }, (_, at) => block(at, {}));
      const watched = await logs.exportRequests(caller, {});
      assert.deepEqual(
        (await all<{ id: string }>(watched)).map(({ id }) => id),
        links.reverse().map(link => idOf(link)),
      );
      assert.equal((watched as unknown as { verb: string }).verb, 'request-logs.exported');
      if (count < 2) return;
      const part = await all(await logs.exportRequests(caller, { to: noon + 2 }));
      assert.equal(part.length, 2);
    });
});

describe('the audit log', () => {
  const audit = (at: number, said: object = {}) =>
    log.audit(at, { organization_id: organizationId, action: 'secret.updated', ...said });

  it('is shown to those who see all vaults', async () => {
    const link = audit(0);
    const { data, pagination } = await logs.audits(caller, page);
    assert.deepEqual([data.length, pagination.total], [1, 88]);
    const [{ count, receipt, verified }] = data as [never];
    assert.deepEqual([count, receipt, verified], [1, receiptOf(link.id, link.hash), true]);
    assert.equal((await logs.audit(caller, link.id)).receipt, receiptOf(link.id, link.hash));
    await assert.rejects(logs.audit(caller, newId()), { code: 'NOT_FOUND' });
    vaults = [vault];
    asked = [];
    const none = await logs.audits(caller, page);
    assert.deepEqual([none.data, none.pagination.total, asked], [[], 0, []]);
    assert.deepEqual(await all(await logs.exportAudits(caller, {})), []);
    assert.deepEqual(asked, []);
  });

  it('is asked for what the query says', async () => {
    const query = { action: 'a', subject_id: 's', actor_id: 'b' };
    await logs.audits(caller, { ...page, ...query, from: noon } as never);
    const { stream, ...filter } = asked[0]!;
    assert.deepEqual(filter, {
      organizationId,
      action: 'a',
      subjectId: 's',
      actorId: 'b',
      fromId: firstIdAt(noon),
      beforeId: undefined,
    });
    assert.equal(stream, 'audit');
  });

  for (const count of [0, 500, 501])
    it(`is exported as a whole: ${count} entries`, async () => {
      const links = Array.from({ length: count }, (_, at) => audit(at));
      const found = await all<{ receipt: string }>(await logs.exportAudits(caller, {}));
      assert.deepEqual(
        found.map(({ receipt }) => receipt),
        links.reverse().map(({ id, hash }) => receiptOf(id, hash)),
      );
    });
});

describe('who has read a secret', () => {
  const told = async (version?: number) => {
    const { data, complete } = await readers.of(caller, secret.id, version);
    assert.equal(complete, true);
    return data.map(({ kind, name, reads, last_at }) => `${kind} ${name} ${reads} ${last_at.slice(14, -1)}`);
  };
  const revealed = (at: number, said: object = {}) =>
    log.audit(at, {
      organization_id: organizationId,
      action: 'secret.revealed',
      outcome: 'allowed',
      actor: { kind: 'member', id: 'm', name: 'Ann' },
      details: { version: 2 },
      ...said,
    });

  it('is told by the last read first, and how often', async () => {
    block(1_000, {}, { requested: 'other' }, { requested: 'format=env', access_key_id: other });
    block(2_000, { requested: 'secret=value TOKEN' });
    revealed(500, { actor: { kind: 'api-key', id: 'b', name: 'Bot' } });
    revealed(1_500);
    revealed(3_000);
    credentials.set(other, { name: 'second', narrowing: '{}' });
    assert.deepEqual(await told(), [
      'member Ann 2 00:03.000',
      'access-key agent 2 00:02.000',
      'access-key second 1 00:01.000',
      'api-key Bot 1 00:00.500',
    ]);
  });

  const requests: [requested: string, isRead: boolean][] = [
    ['secrets', true],
    ['secrets,keys', true],
    ['secretsx', false],
    ['format=map', true],
    ['secret=value TOKEN', true],
    ['secret=value TOKEN2', false],
    ['secret=use TOKEN', false],
    ['keys', false],
    ['names', false],
  ];
  for (const [requested, isRead] of requests)
    it(`counts what held the value: ${requested}`, async () => {
      block(0, { requested });
      assert.equal((await told()).length, isRead ? 1 : 0);
    });

  it('counts no stranger', async () => {
    block(0, { access_key_id: null });
    assert.deepEqual(await told(), []);
  });

  const narrowings: [narrowing: object, isReader: boolean][] = [
    [{}, true],
    [{ names: null }, true],
    [{ names: ['TOK*'] }, true],
    [{ names: ['OTHER', 'TOKEN'] }, true],
    [{ names: ['OTHER'] }, false],
  ];
  for (const [narrowing, isReader] of narrowings)
    it(`counts access keys that see its name: ${JSON.stringify(narrowing)}`, async () => {
      credentials.set(key, { name: 'agent', narrowing: JSON.stringify(narrowing) });
      block(0, {});
      assert.equal((await told()).length, isReader ? 1 : 0);
    });

  it('counts an access key that is gone, without a name', async () => {
    credentials.clear();
    block(0, {});
    assert.deepEqual(await told(), ['access-key  1 00:00.000']);
  });

  it('counts reveals of this version that were allowed', async () => {
    revealed(1, { details: { version: 1 } });
    revealed(2, { outcome: 'denied' });
    revealed(3, { action: 'secret.updated' });
    assert.deepEqual(await told(), []);
    revealed(4);
    assert.equal((await told()).length, 1);
  });

  it('is asked of a version, from its beginning to the next one', async () => {
    const fromOf = async (version?: number) => {
      asked = [];
      const { since, version: shown } = await readers.of(caller, secret.id, version);
      return [shown, since, asked[0]!.fromId, asked[0]!.beforeId];
    };
    const first = noon - 1_000_000;
    assert.deepEqual(await fromOf(), [2, new Date(noon).toISOString(), firstIdAt(noon), undefined]);
    assert.deepEqual(await fromOf(1), [1, new Date(first).toISOString(), firstIdAt(first), firstIdAt(noon)]);
    await assert.rejects(readers.of(caller, secret.id, 3), {
      code: 'INVALID_REQUEST',
      field: 'version',
      reason: 'is not a version of this secret',
    });
    unwritable = true;
    await fromOf();
  });

  it('is told by the request log alone to those who see some vaults, and without names to some', async () => {
    block(0, {});
    revealed(0);
    vaults = [vault];
    assert.deepEqual(await told(), ['access-key agent 1 00:00.000']);
    const unnamed = { ...caller, scopes: [] } as unknown as Caller;
    assert.equal((await readers.of(unnamed, secret.id, undefined)).data[0]!.name, '');
  });

  for (const [what, count, isComplete] of [
    ['reads', 9_999, true],
    ['reads', 10_000, false],
    ['reveals', 499, true],
    ['reveals', 500, false],
  ] as const)
    it(`says whether more was not looked at: ${count} ${what}`, async () => {
      if (what === 'reveals') for (let at = 0; at < count; at++) revealed(at);
      else for (let at = 0; at < count; at += 100) reads(at, Math.min(100, count - at));
      const { complete, data } = await readers.of(caller, secret.id, undefined);
      assert.deepEqual([complete, data[0]!.reads], [isComplete, count]);
    });

  it('is looked for in 10,000 entries and not in more', async () => {
    for (let at = 0; at < 201; at++) reads(at, 100);
    const { complete, data } = await readers.of(caller, secret.id, undefined);
    assert.deepEqual([complete, data[0]!.reads], [false, 10_000]);
  });
});
