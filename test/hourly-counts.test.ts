/** Requests counted by the hour, before and when they are written. The store is a stand-in that keeps what it was given. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import type { BlockPart } from '../src/logs/blocks.ts';
import { HourCounts } from '../src/logs/hourly-counts.ts';
import type { Unit } from '../src/store/engine/engine.ts';
import type { LogHourRow } from '../src/store/records/overview.ts';
import type { Store } from '../src/store/store.ts';

const hour = 3_600_000;
const part = (said: Partial<BlockPart> = {}): BlockPart => ({
  organization_id: 'o',
  vault_id: null,
  access_key_id: null,
  status: 200,
  ip_address: '192.0.2.1',
  entries: 1,
  requests: null,
  ...said,
});

interface Statement {
  readonly rows?: readonly LogHourRow[];
  readonly forgotten?: number;
}

function world() {
  const time = { now: 10 * hour + 1 };
  /** What each unit held. */
  const written: Statement[][] = [];
  const state: { answer: () => Promise<void> } = { answer: async () => {} };
  const store = {
    overview: {
      countHours: (rows: readonly LogHourRow[]) => ({ rows }),
      forgetHours: (forgotten: number) => ({ forgotten }),
    },
    commit: async ([{ statements }]: readonly [Unit]) => {
      await state.answer();
      written.push(statements as unknown as Statement[]);
    },
  } as unknown as Pick<Store, 'commit' | 'overview'>;
  const counts = new HourCounts(store, () => time.now);
  const rows = () => written.flat().flatMap(statement => statement.rows ?? []);
  const told = () =>
    rows().map(
      ({ organization_id, hour: at, kind, subject, successes, failures }) =>
        `${organization_id} ${at / hour} ${kind} ${subject} ${successes} ${failures}`,
    );
  return { time, written, state, counts, rows, told };
}

describe('requests by the hour', () => {
  const cases: [what: string, parts: BlockPart[], told: string[]][] = [
    ['a success counts for its organization', [part()], ['o 10 all  1 0']],
    ['and for its vault', [part({ vault_id: 'v' })], ['o 10 all  1 0', 'o 10 vault v 1 0']],
    ['and for its access key', [part({ access_key_id: 'k' })], ['o 10 access-key k 1 0', 'o 10 all  1 0']],
    [
      'a failure counts for its address too',
      [part({ status: 404, vault_id: 'v' })],
      ['o 10 address 192.0.2.1 0 1', 'o 10 all  0 1', 'o 10 vault v 0 1'],
    ],
    [
      'several are added up',
      [part({ entries: 2 }), part({ entries: 3 }), part({ status: 401 })],
      ['o 10 address 192.0.2.1 0 1', 'o 10 all  5 1'],
    ],
    ['requests count, not entries', [part({ entries: 2, requests: 7 })], ['o 10 all  7 0']],
    ['strangers’ are nobody’s', [part({ organization_id: null, status: 401 })], []],
    [
      'each organization has its own, in one order',
      [part({ organization_id: 'b' }), part({ organization_id: 'a' })],
      ['a 10 all  1 0', 'b 10 all  1 0'],
    ],
  ];
  for (const [what, parts, expected] of cases)
    it(what, async () => {
      const { counts, told, written } = world();
      for (const one of parts) counts.note(one);
      await counts.write();
      assert.deepEqual(told(), expected);
      assert.equal(written.length, expected.length === 0 ? 0 : 1);
      await counts.write();
      assert.deepEqual(told(), expected, 'once');
    });

  it('an hour begins with itself', async () => {
    const { counts, told, time } = world();
    for (const now of [11 * hour - 1, 11 * hour, 12 * hour]) {
      time.now = now;
      counts.note(part());
    }
    await counts.write();
    assert.deepEqual(told(), ['o 10 all  1 0', 'o 11 all  1 0', 'o 12 all  1 0']);
  });

  it('those before 48 hours are forgotten, once in an hour', async () => {
    const { counts, written, time } = world();
    const forgotten = [];
    for (const now of [100 * hour + 1, 100 * hour + 2, 101 * hour]) {
      time.now = now;
      counts.note(part());
      await counts.write();
      forgotten.push(written.at(-1)!.flatMap(statement => statement.forgotten ?? []));
    }
    assert.deepEqual(forgotten, [[52 * hour], [], [53 * hour]]);
  });

  for (const [count, sizes] of [
    [200, [200]],
    [201, [200, 1]],
  ] as const)
    it(`${count} rows are written in statements of 200 at most`, async () => {
      const { counts, written } = world();
      for (let at = 0; at < count; at++) counts.note(part({ organization_id: `o${at}` }));
      await counts.write();
      const [statements] = written;
      assert.deepEqual(
        statements!.flatMap(({ rows }) => rows?.length ?? []),
        sizes,
      );
    });

  it('what could not be written is counted again with the next', async () => {
    const { counts, state, told } = world();
    counts.note(part());
    state.answer = () => Promise.reject(new Failure('UNAVAILABLE'));
    await assert.rejects(counts.write(), { code: 'UNAVAILABLE' });
    counts.note(part({ status: 404 }));
    state.answer = async () => {};
    await counts.write();
    assert.deepEqual(told(), ['o 10 address 192.0.2.1 0 1', 'o 10 all  1 1']);
  });

  it('past 5,000 rows they are written early; past 10,000 that can’t be written, no more are kept', async () => {
    const { counts, state, rows, written } = world();
    const answer = Promise.withResolvers<void>();
    let asked = 0;
    state.answer = () => {
      asked++;
      return answer.promise;
    };
    const fail = (organization_id: string, count: number) => {
      for (let at = 0; at < count; at++)
        counts.note(part({ organization_id, status: 404, ip_address: `${organization_id} ${at}` }));
    };
    fail('a', 4_999);
    assert.equal(asked, 0, 'with that of the organization, 5,000');
    counts.note(part({ organization_id: 'a', status: 404, ip_address: 'one more' }));
    assert.equal(asked, 1);
    fail('b', 4_999);
    assert.equal(asked, 1);
    answer.reject(new Failure('UNAVAILABLE'));
    await new Promise(setImmediate);
    assert.deepEqual(written, []);
    state.answer = async () => {};
    await counts.write();
    assert.equal(rows().length, 10_000);
  });
});
