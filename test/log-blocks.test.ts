/** What is written into the logs, gathered into blocks, and read back from texts that anyone may have written. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { firstIdAt, idGenerator } from '../src/contract/id.ts';
import {
  blockIdOf,
  blockOf,
  countsOf,
  entriesOf,
  entryIdIn,
  indexRowsOf,
  newBlockId,
  partsIn,
  type WrittenEntry,
} from '../src/logs/blocks.ts';
import {
  type AuditEntry,
  auditText,
  isSuccess,
  logText,
  quoted,
  type RequestEntry,
} from '../src/logs/entries.ts';
import {
  continuedIn,
  idsIn,
  isDated,
  isPrunedChain,
  type LoggedLink,
  removalIn,
  writtenAt,
} from '../src/logs/logged-link.ts';
import { Refusals } from '../src/logs/refusals.ts';

const newId = idGenerator(Date.now);
const [organization, other, vault, key] = [newId(), newId(), newId(), newId()];
const at = '2026-01-01T00:00:00.000Z';

const answer: RequestEntry = {
  organization_id: organization,
  success: true,
  resource_type: 'vault',
  ip_address: '203.0.113.1',
  route: '/api/v1/vaults/{vault_id}',
  method: 'GET',
  status: 200,
  vault_id: vault,
  access_key_id: key,
  requested: 'name',
  tool: null,
  user_agent: 'x',
  duration_ms: 1.5,
  request_id: null,
};
const refusal: RequestEntry = { ...answer, success: false, status: 401, reason: 'expired' };

type Mutable = { -readonly [field in keyof RequestEntry]: RequestEntry[field] };

/** What is told of a request wherever its entry is. */
function commonOf({ duration_ms, request_id, count, ...common }: RequestEntry): string {
  return JSON.stringify(common);
}

/** The entries as they should be: answers in their order, then refusals, those that are equal as one. */
function plainBlock(given: readonly RequestEntry[]): { entry: RequestEntry; count: number }[] {
  const refused: { entry: RequestEntry; count: number }[] = [];
  for (const entry of given.filter(({ success }) => !success)) {
    const mayShare = (one: RequestEntry) => one.request_id === null || one.status === 429;
    const equal = refused.find(
      one => mayShare(one.entry) && mayShare(entry) && commonOf(one.entry) === commonOf(entry),
    );
    if (equal === undefined) refused.push({ entry, count: entry.count ?? 1 });
    else equal.count += entry.count ?? 1;
  }
  return [...given.filter(({ success }) => success).map(entry => ({ entry, count: 1 })), ...refused];
}

function checkBlock(given: readonly RequestEntry[]): void {
  const id = newBlockId(newId);
  const { text, parts, places } = blockOf(at, given);
  const entries = entriesOf(id, text);
  const expected = plainBlock(given).map(({ entry, count }, place) => ({
    id: entryIdIn(id, place),
    created_at: at,
    ...(JSON.parse(commonOf(entry)) as RequestEntry),
    duration_ms: entry.duration_ms,
    request_id: entry.request_id ?? entryIdIn(id, place),
    count,
  }));
  assert.deepEqual(entries, expected);
  for (const [index, place] of places.entries()) {
    const { id: _, created_at: __, ...entry } = entries[place]!;
    assert.equal(commonOf(entry), JSON.stringify(JSON.parse(commonOf(given[index]!))));
    const isItsOwn =
      given[index]!.success || (given[index]!.request_id !== null && given[index]!.status !== 429);
    if (isItsOwn) assert.equal(entry.request_id, given[index]!.request_id ?? entryIdIn(id, place));
  }
  assert.deepEqual(partsIn(text), parts);
  const sum = (entries: readonly { count?: number }[]) =>
    entries.reduce((total, { count = 1 }) => total + count, 0);
  for (const part of parts) {
    const own: readonly WrittenEntry[] = entries.filter(one =>
      (['organization_id', 'vault_id', 'access_key_id', 'status', 'ip_address'] as const).every(
        field => one[field] === part[field],
      ),
    );
    assert.equal(part.entries, own.length);
    assert.equal(part.requests, sum(own) === own.length ? null : sum(own));
  }
  assert.equal(
    parts.reduce((total, part) => total + part.entries, 0),
    entries.length,
  );
}

describe('a block of request entries', () => {
  const differing: Partial<Mutable>[] = [
    { access_key_id: null },
    { narrowing: { names: ['a'] } as never },
    { vault_id: null },
    { organization_id: null },
    { status: 204 },
    { requested: 'others' },
    { ip_address: '203.0.113.2' },
    { user_agent: 'a "quoted" one' },
    { route: '/other' },
    { method: 'POST' },
    { tool: 'use_secret' },
    { duration_ms: 2 },
    { request_id: 'own' },
    { request_id: 'it’s “own”' },
    { count: 3 },
    { reason: 'revoked' },
    { status: 429 },
    { status: 429, request_id: 'own' },
    {},
  ];
  for (const one of differing)
    it(`is read back as it was handed in, where one differs in ${JSON.stringify(one)}`, () => {
      const { count, reason, ...more } = one;
      const [answered, refused]: [Mutable, Mutable] = [
        { ...answer, ...more },
        { ...refusal, ...one },
      ];
      if (answered.status >= 400) answered.status = 200;
      if (refused.status < 400) refused.status = 404;
      for (const given of [
        [answer, answered],
        [answered, answer, answered],
        [refusal, refused],
        [refused, refusal, refused],
        [refused, answer, refused, answered, refused],
      ])
        checkBlock(given);
    });

  it('is read back whatever was handed in', () => {
    const entry = fc
      .record({ success: fc.boolean(), fields: fc.subarray(differing, { maxLength: 3 }) })
      .map(({ success, fields }): RequestEntry => {
        const all = Object.assign({}, ...fields) as Partial<Mutable>;
        const { count, reason, ...more } = all;
        if (success) return { ...answer, ...more, status: 200 };
        return { ...refusal, ...all, status: more.status === 429 ? 429 : 401 };
      });
    fc.assert(fc.property(fc.array(entry, { minLength: 1, maxLength: 12 }), checkBlock), { numRuns: 50 });
  });

  it('writes no number behind what happened once', () => {
    assert.match(blockOf(at, [refusal]).text, /"entries":\[\[0,1\.5\]\]\}$/);
    assert.match(blockOf(at, [{ ...refusal, request_id: 'own' }]).text, /"entries":\[\[0,1\.5,"own"\]\]\}$/);
  });

  it('gives each entry its own id, with its place as the last three digits', () => {
    const id = newBlockId(newId);
    assert.match(id, /000$/);
    assert.deepEqual(
      [entryIdIn(id, 1), entryIdIn(id, 4_095)],
      [`${id.slice(0, -3)}001`, `${id.slice(0, -3)}fff`],
    );
    assert.equal(blockIdOf(entryIdIn(id, 4_095)), id);
  });

  it('is told of in the index part by part, strangers’ requests excepted', () => {
    const { parts } = blockOf(at, [{ ...answer, organization_id: null }, answer]);
    assert.deepEqual(indexRowsOf('block', parts), [
      {
        organization_id: organization,
        block_id: 'block',
        part: 1,
        vault_id: vault,
        access_key_id: key,
        status: 200,
        ip_address: '203.0.113.1',
        entries: 1,
        requests: null,
      },
    ]);
  });

  it('counts for each organization what was asked, not what was written', () => {
    const counted = [
      { organization_id: organization, entries: 2, requests: 9 },
      { organization_id: other, entries: 3, requests: null },
      { organization_id: null, entries: 5, requests: null },
      { organization_id: organization, entries: 1, requests: null },
    ];
    assert.deepEqual(countsOf('request', counted), [
      { organization_id: organization, stream: 'request', total: 10 },
      { organization_id: other, stream: 'request', total: 3 },
    ]);
  });
});

const change: AuditEntry = {
  organization_id: organization,
  actor: { kind: 'member', id: key, name: 'Ada' },
  action: 'vault.created',
  outcome: 'allowed',
  subject: { type: 'vault', id: vault, name: 'main' },
  revision: 1,
  vault_id: vault,
  ip_address: '203.0.113.1',
  user_agent: 'x',
  request_id: 'r',
  details: {},
};

describe('the text of an entry', () => {
  const names: [given: string, written: string][] = [
    ['plain', 'plain'],
    ['Zoë 😀 \u0001', 'Zoë 😀 \u0001'],
    ['a\0b', 'a\ufffdb'],
    ['half \ud83d', 'half \ufffd'],
    ['\udfff', '\ufffd'],
    ['\ud800\0', '\ufffd\ufffd'],
    ['\\u0000', '\\u0000'],
  ];
  for (const [given, written] of names)
    it(`is one that every database reads: ${JSON.stringify(given)}`, () => {
      const text = auditText('id', at, { ...change, user_agent: given, details: { list: [given, 1, null] } });
      assert.deepEqual(JSON.parse(text), {
        id: 'id',
        created_at: at,
        ...change,
        user_agent: written,
        details: { list: [written, 1, null] },
      });
    });

  for (let code = 0; code < 0x100; code++) {
    const text = `a${String.fromCharCode(code)}b`;
    if (JSON.stringify(text) !== quoted(text))
      it(`is quoted as JSON: ${code}`, () => assert.fail(quoted(text)));
  }

  const agents: [given: string, shown: string][] = [
    ['curl/8 "x" \\', 'curl/8 "x" \\'],
    ['a\nb\tc\x7f', 'a\ufffdb\ufffdc\ufffd'],
    ['a\u202eb\u200bc\u2028d\u2029', 'a\ufffdb\ufffdc\ufffdd\ufffd'],
    ['\ud83d', '\ufffd'],
    ['Zoë 😀', 'Zoë 😀'],
    ['x'.repeat(256), 'x'.repeat(256)],
    ['x'.repeat(257), 'x'.repeat(256)],
    ['\n'.repeat(257), '\ufffd'.repeat(256)],
  ];
  for (const [given, shown] of agents)
    it(`stays one readable line: ${JSON.stringify(given.slice(0, 20))}, ${given.length} characters`, () =>
      assert.equal(logText(given), shown));

  it('is of an answer below 400, and of a refusal from there on', () =>
    assert.deepEqual([200, 399, 400, 500].map(isSuccess), [true, true, false, false]));
});

describe('a link as it is found', () => {
  const time = Date.parse(at);
  const id = firstIdAt(time);
  const link = (text: unknown, more: Partial<LoggedLink> = {}): LoggedLink => ({
    ...{ seq: 1, hash: 'h', mark: 'm', id, writer: 'w' },
    text: typeof text === 'string' ? text : JSON.stringify(text),
    ...more,
  });

  it('was written when its id says', () => {
    assert.equal(writtenAt(link('')), time);
    assert.ok(Number.isNaN(writtenAt(link('', { id: 'none' }))));
  });

  const dates: [created: unknown, isDated: boolean][] = [
    [at, true],
    [new Date(time + 1_000).toISOString(), true],
    [new Date(time - 1_000).toISOString(), true],
    [new Date(time + 1_001).toISOString(), false],
    [new Date(time - 1_001).toISOString(), false],
    [undefined, false],
    ['yesterday', false],
  ];
  for (const [created_at, expected] of dates)
    it(`${expected ? 'is' : 'is not'} of the time that its id tells: ${created_at}`, () =>
      assert.equal(isDated(link({ created_at }), 1_000), expected));

  it('that can’t be read, or whose id is none, is of no time', () => {
    for (const text of ['', 'null', '{', '7']) assert.equal(isDated(link(text), Infinity), false);
    assert.equal(isDated(link({ created_at: at }, { id: 'none' }), Infinity), false);
  });

  it('has the ids of its entries, none where they can’t be read', () => {
    const { text } = blockOf(at, [answer, { ...answer, duration_ms: 2 }]);
    assert.deepEqual(idsIn('request', link(text)), [entryIdIn(id, 0), entryIdIn(id, 1)]);
    assert.deepEqual(idsIn('audit', link(text)), [id]);
    assert.deepEqual(idsIn('audit', link('{')), [id]);
    assert.deepEqual(idsIn('request', link('{')), []);
    assert.deepEqual(idsIn('request', link({ alike: [], entries: 'all' })), []);
  });

  const chain = { writer: 'w', seq: 7, hash: 'h', mark: 'm' };
  const file = { number: 3, file: 'audit-3', sha256: 'ab' };
  const pruned = (details: unknown) => ({ action: 'request_logs.pruned', details });
  const archived = (details: unknown) => ({ action: 'audit_logs.archived', details });
  const removals: [what: string, text: unknown, expected: unknown][] = [
    ['what was pruned', pruned({ chains: [chain] }), { request: [chain], audit: [], archived: null }],
    [
      'chains that are none',
      pruned({ chains: [chain, null, { ...chain, seq: '7' }] }),
      { request: [chain], audit: [], archived: null },
    ],
    ['no list of chains', pruned({ chains: 'all' }), null],
    ['no chains', pruned({}), null],
    ['no details', pruned(null), null],
    [
      'what was archived',
      archived({ ...file, chains: [chain], request_chains: [chain] }),
      { request: [chain], audit: [chain], archived: { ...file, chains: [chain] } },
    ],
    [
      'an archive without requests',
      archived({ ...file, chains: [chain] }),
      { request: [], audit: [chain], archived: { ...file, chains: [chain] } },
    ],
    ['an archive without chains', archived(file), null],
    ['an archive without a number', archived({ ...file, number: '3', chains: [] }), null],
    ['an archive without a file', archived({ ...file, file: null, chains: [] }), null],
    ['an archive without a hash', archived({ ...file, sha256: 3, chains: [] }), null],
    ['an archive without details', archived(undefined), null],
    [
      'another action that names it',
      { action: 'vault.created', details: { chains: [chain], name: 'request_logs.pruned' } },
      null,
    ],
    [
      'another action, with a file',
      { action: 'vault.created', details: { ...file, chains: [chain], name: 'audit_logs.archived' } },
      null,
    ],
    ['an entry of another kind', { action: 'vault.created', details: { chains: [chain] } }, null],
    ['what can’t be read', '"request_logs.pruned', null],
    [
      'what is not written as entries are',
      '{"action":"request_logs\\u002epruned","details":{"chains":[]}}',
      null,
    ],
    ['nothing', 'null', null],
  ];
  for (const [what, text, expected] of removals)
    it(`says that retention removed ${expected === null ? 'nothing' : 'something'}: ${what}`, () =>
      assert.deepEqual(removalIn(link(text)), expected));

  const chains: [given: unknown, isChain: boolean][] = [
    [chain, true],
    [{ ...chain, seq: 0 }, true],
    [{ ...chain, seq: 1.5 }, false],
    [{ ...chain, writer: null }, false],
    [{ ...chain, hash: 7 }, false],
    [{ ...chain, mark: undefined }, false],
    [null, false],
    [undefined, false],
    ['chain', false],
  ];
  for (const [given, isChain] of chains)
    it(`${isChain ? 'names' : 'names no'} end of a chain: ${JSON.stringify(given)}`, () =>
      assert.equal(isPrunedChain(given), isChain));

  const continued = { action: 'log.timeline_continued', organization_id: null, details: { from: 1, to: 2 } };
  const timelines: [what: string, text: unknown, expected: unknown][] = [
    ['the entry that is nobody’s', continued, { from: 1, to: 2, at }],
    ['without numbers', { ...continued, details: null }, { from: Number.NaN, to: Number.NaN, at }],
    ['the entry of an organization', { ...continued, organization_id: organization }, null],
    ['one that does not say whose it is', { ...continued, organization_id: undefined }, null],
    ['another action that names it', { ...continued, action: 'vault.created', name: continued.action }, null],
    ['another action', { ...continued, action: 'vault.created' }, null],
    ['what can’t be read', '{"log.timeline_continued', null],
    ['what is not written as entries are', JSON.stringify(continued).replace('log.', 'log\\u002e'), null],
    ['nothing', 'null', null],
  ];
  for (const [what, text, expected] of timelines)
    it(`says that the database ${expected === null ? 'went on as it was' : 'has a new timeline'}: ${what}`, () =>
      assert.deepEqual(continuedIn(link(text)), expected));
});

describe('refusals over a limit', () => {
  interface Written {
    readonly requests: RequestEntry[];
    readonly audit: (readonly AuditEntry[])[];
    readonly clock: { now: number };
    readonly refusals: Refusals;
  }

  function gathering(): Written {
    const [requests, audit, clock] = [[] as RequestEntry[], [] as (readonly AuditEntry[])[], { now: 90_000 }];
    const refusals = new Refusals({
      record: async entry => `request ${requests.push(entry)}`,
      commit: async entries => `audit ${audit.push(entries)}`,
      now: () => clock.now,
    });
    return { requests, audit, clock, refusals };
  }

  const denied: AuditEntry = { ...change, outcome: 'denied' };

  it('share one entry where they are equal in all that their sender can’t choose, and are answered with it', async () => {
    const { requests, refusals } = gathering();
    const all = [
      refusals.request(refusal),
      refusals.request({ ...refusal, user_agent: 'y', request_id: 'own', duration_ms: 9 }),
      refusals.request({ ...refusal, ip_address: '203.0.113.2' }),
    ];
    assert.deepEqual(requests, []);
    refusals.flush();
    assert.deepEqual(await Promise.all(all), ['request 1', 'request 1', 'request 2']);
    assert.deepEqual(requests, [
      { ...refusal, count: 2 },
      { ...refusal, ip_address: '203.0.113.2', count: 1 },
    ]);
    refusals.flush();
    assert.equal(requests.length, 2);
  });

  it('are written a quarter of a second after the first by themselves, once', async ({ mock }) => {
    mock.timers.enable({ apis: ['setTimeout'] });
    const { requests, refusals } = gathering();
    const all = [refusals.request(refusal)];
    mock.timers.tick(249);
    all.push(refusals.request({ ...refusal, status: 429 }));
    assert.equal(requests.length, 0);
    mock.timers.tick(1);
    assert.deepEqual(await Promise.all(all), ['request 1', 'request 2']);
    for (const status of [400, 401, 404]) {
      void refusals.request({ ...refusal, status });
      mock.timers.tick(10);
    }
    mock.timers.tick(220);
    assert.equal(requests.length, 5);
    void refusals.request(refusal);
    mock.timers.tick(249);
    assert.equal(requests.length, 5, 'each waits for its own moment');
    mock.timers.tick(1_000);
    assert.equal(requests.length, 6);
  });

  it('are written at once where there are a thousand kinds of them', () => {
    const { requests, refusals } = gathering();
    for (let number = 0; number < 1_000; number++)
      void refusals.request({ ...refusal, requested: `${number}` });
    void refusals.request({ ...refusal, requested: '7' });
    assert.equal(requests.length, 0);
    void refusals.request({ ...refusal, requested: 'one more' });
    assert.equal(requests.length, 1_000);
    refusals.flush();
    assert.equal(requests.length, 1_001);
  });

  it('fail as their entry does', async () => {
    const fails = async () => {
      throw new Error('full');
    };
    const refusals = new Refusals({ record: fails, commit: fails, now: () => 0 });
    const waiting = refusals.request(refusal);
    refusals.flush();
    await assert.rejects(waiting, /full/);
  });

  it('of an action are written each at once, twenty times in a minute, and then gathered', async () => {
    const { audit, clock, refusals } = gathering();
    for (let number = 0; number < 20; number++)
      assert.equal(await refusals.denial({ ...denied, request_id: `${number}` }), `audit ${number + 1}`);
    clock.now = 119_999;
    const gathered = [refusals.denial(denied), refusals.denial({ ...denied, user_agent: 'y' })];
    assert.equal(audit.length, 20);
    assert.equal(await refusals.denial({ ...denied, action: 'vault.purged' }), 'audit 21');
    refusals.flush();
    assert.deepEqual(await Promise.all(gathered), ['audit 22', 'audit 22']);
    assert.deepEqual(audit[21], [{ ...denied, count: 2 }]);
    const alone = refusals.denial(denied);
    refusals.flush();
    await alone;
    assert.deepEqual(audit[22], [denied]);
    clock.now = 120_000;
    void refusals.denial(denied);
    assert.equal(audit.length, 24, 'a new minute');
    assert.equal(await refusals.denial(denied), 'audit 25');
  });

  it('of an action are counted anew once ten thousand kinds are', async () => {
    const { audit, refusals } = gathering();
    const deny = (kind: number) => void refusals.denial({ ...denied, action: `${kind}` });
    for (let number = 0; number < 21; number++) deny(0);
    assert.equal(audit.length, 20);
    for (let kind = 1; kind < 9_999; kind++) deny(kind);
    deny(0);
    assert.equal(audit.length, 20 + 9_998);
    deny(9_999);
    deny(0);
    assert.equal(audit.length, 20 + 9_998 + 2);
    refusals.flush();
  });
});
