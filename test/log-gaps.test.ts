/** The checkpoints of a log, and what is gone from it: by a failover, by retention, which says so, or by an attacker. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  block,
  entry,
  found,
  hasMark,
  type MemoryLink,
  MemoryLog,
  noon,
  reportOf,
  signedOf,
  timeAt,
  world,
} from './memory-log.ts';

type Said = Readonly<Record<string, unknown>>;

const minute = 60_000;
const pruned = (...chains: readonly unknown[]) => ({ action: 'request_logs.pruned', details: { chains } });
const archived = (number: number, chains: readonly unknown[], more = {}) => ({
  action: 'audit_logs.archived',
  details: { number, file: `audit-${number}.jsonl`, sha256: 'x', chains, ...more },
});
const continued = { action: 'log.timeline_continued', organization_id: null, details: { from: 1, to: 2 } };
const placeOf = ({ writer, seq, hash, mark }: MemoryLink) => ({ writer, seq, hash, mark });

describe('checkpoints', () => {
  const notNext = (number: number) => `bad-checkpoint: checkpoint ${number} does not follow the one before`;
  const rows: readonly [what: string, said: readonly object[], expected: readonly string[]][] = [
    ['begin with the first', [{}, {}], []],
    ['begin with a full one', [{ number: 5, full: true }, { number: 6 }], []],
    ['begin with the first, which may be full', [{ full: true }], []],
    ['do not begin with another', [{ number: 5 }], [notNext(5)]],
    ['have every number', [{}, { number: 3 }], [notNext(3)]],
    ['have every number, even a full one', [{}, { number: 3, full: true }], [notNext(3)]],
    ['name the one before', [{}, { previous: 'x' }], [notNext(2)]],
  ];
  for (const [what, said, expected] of rows)
    it(what, async () => {
      const log = new MemoryLog();
      log.audit(0);
      for (const one of said) log.sign(100, one);
      assert.deepEqual(await found(log), expected);
      assert.equal((await reportOf(log)).checkpoints, said.length);
    });

  it('that are not signed with the key count for nothing', async () => {
    const { log, first } = world();
    log.signed = [{ ...first, signature: Buffer.alloc(64) }];
    const report = await reportOf(log);
    assert.deepEqual([report.checkpoints, report.unsigned], [0, 7]);
    assert.deepEqual(await found(log), ['bad-checkpoint: a checkpoint’s signature is not valid']);
  });
});

describe('a checkpoint that was kept', () => {
  it('must be signed with the key', async () => {
    const { log, first } = world();
    const kept = { ...first, signature: Buffer.alloc(64) };
    assert.deepEqual(await found(log, { kept }), ['bad-checkpoint: a checkpoint’s signature is not valid']);
    assert.equal((await reportOf(log, { kept })).kept, null);
  });

  it('must be the one of its number', async () => {
    const { log, first } = world();
    const kept = signedOf({ ...JSON.parse(first.body), deployment: 'other' });
    const other = ['bad-checkpoint: checkpoint 1 is not the one that was kept'];
    assert.deepEqual(await found(log, { kept }), other);
    log.sign(1_600);
    assert.deepEqual(await found(log, { kept }), other);
  });

  it('says what was there, if its own and later ones are gone', async () => {
    const { log, last } = world();
    const kept = log.sign(1_700);
    log.signed.pop();
    assert.deepEqual(await found(log, { kept }), ['cut-off: checkpoints end at 1, but 2 was kept']);
    log.drop(last);
    const cut = 'cut-off: audit one: links 4 to 4 are gone';
    assert.deepEqual(await found(log, { kept }), ['cut-off: checkpoints end at 1, but 2 was kept', cut]);
    log.signed = [];
    assert.deepEqual(await found(log, { kept }), ['cut-off: checkpoints end at 0, but 2 was kept', cut]);
  });

  it('takes back nothing of what later ones signed', async () => {
    const { log, first } = world();
    log.sign(1_700);
    assert.equal((await reportOf(log, { kept: first })).unsigned, 0);
  });
});

describe('what a failover lost', () => {
  const lost = (...findings: string[]) =>
    findings.map(one => one.replace(/^(cut-off|bad-checkpoint)/, 'lost-in-failover'));
  const ends = (number: number) => `cut-off: checkpoints end at ${number}, but 3 was kept`;
  const gone = 'cut-off: request one: links 1 to 1 are gone';

  /** A block that a checkpoint signed which is gone, as is the block; the failover was recorded at that time. */
  async function around(failover: number | null, isFirstThere: boolean): Promise<string[]> {
    const log = new MemoryLog();
    log.audit(0);
    if (failover !== null) log.audit(failover, continued);
    log.sign(10_000);
    log.drop(log.block(11_000));
    const kept = log.sign(12_000, { number: 3 });
    log.signed.pop();
    if (!isFirstThere) log.signed = [];
    return found(log, { kept, now: () => noon + 13_000 });
  }

  it('is told from what was cut off by an entry about it, behind the last checkpoint that is there', async () => {
    assert.deepEqual(await around(null, true), [ends(1), gone]);
    assert.deepEqual(await around(9_999, true), [ends(1), gone]);
    assert.deepEqual(await around(10_000, true), lost(ends(1), gone));
    assert.deepEqual(await around(9_999, false), lost(ends(0), gone));
  });

  it('is between two checkpoints of which the second does not follow', async () => {
    for (const [failover, isLost] of [
      [9_999, false],
      [10_500, true],
    ] as const) {
      const log = new MemoryLog();
      log.sign(10_000);
      const at = log.audit(failover, continued);
      log.sign(11_000, { previous: 'lost' });
      const expected = ['bad-checkpoint: checkpoint 2 does not follow the one before'];
      const report = await reportOf(log, { now: () => noon + 12_000 });
      assert.deepEqual(report.continued, [{ from: 1, to: 2, at: timeAt(failover) }], at.id);
      assert.deepEqual(await found(log, { now: () => noon + 12_000 }), isLost ? lost(...expected) : expected);
    }
    const log = new MemoryLog();
    log.audit(0, continued);
    log.sign(1_000, { number: 2 });
    assert.deepEqual(await found(log), lost('bad-checkpoint: checkpoint 2 does not follow the one before'));
  });

  it('is not what the last checkpoint before it had signed, even if a later one repeats it', async () => {
    const log = new MemoryLog();
    log.drop(log.block(0));
    log.sign(1_000);
    log.audit(1_500, continued);
    log.sign(1_600, { previous: 'lost', full: true });
    const expected = lost('bad-checkpoint: checkpoint 2 does not follow the one before');
    assert.deepEqual(await found(log), [...expected, gone]);
  });

  it('is known from a proven audit entry alone', async () => {
    const log = new MemoryLog();
    log.audit(0, continued);
    log.block(0, 1, continued);
    const numberOf = async (options = {}) => (await reportOf(log, options)).continued.length;
    assert.equal(await numberOf(), 0);
    assert.equal(await numberOf({ hasMark }), 1);
    log.sign(100);
    assert.equal(await numberOf(), 1);
  });
});

describe('what retention removed', () => {
  /** Two blocks are gone, and an entry says so. */
  function withoutBlocks(
    saidOf: (blocks: readonly MemoryLink[]) => readonly Said[],
    isSigned = true,
    at = 1_200,
  ) {
    const log = new MemoryLog();
    const blocks = [log.block(0), log.block(100), log.block(200)];
    if (!isSigned) log.sign(1_000);
    for (const said of saidOf(blocks)) log.audit(at, said);
    if (isSigned) log.sign(1_500);
    log.drop(...blocks.slice(0, 2));
    return { log, blocks };
  }
  const missing = (to: number) => [
    `missing: request links ${to} to 2 of writer one`,
    `edited: ${block(3)}`,
    `hashed-anew: ${block(3)}`,
  ];
  const second = (blocks: readonly MemoryLink[]) => pruned(placeOf(blocks[1]!));
  const rows: readonly [string, (blocks: readonly MemoryLink[]) => readonly Said[], readonly string[]][] = [
    ['is not missed', blocks => [second(blocks)], []],
    ['is missed if no entry says so', () => [], missing(1)],
    ['is missed if the entry says less', blocks => [pruned(placeOf(blocks[0]!))], missing(2)],
    ['is as far as the farthest says', blocks => [second(blocks), pruned(placeOf(blocks[0]!))], []],
    ['is what was said first', blocks => [second(blocks), pruned({ ...placeOf(blocks[1]!), hash: 'x' })], []],
    [
      'ends with the link that the next one follows',
      blocks => [pruned({ ...placeOf(blocks[1]!), hash: 'x' })],
      [`edited: ${block(3)}`, `hashed-anew: ${block(3)}`],
    ],
  ];
  for (const [what, saidOf, expected] of rows)
    it(what, async () => {
      const { log } = withoutBlocks(saidOf);
      assert.deepEqual(await found(log), expected);
      assert.equal((await reportOf(log)).open, 0);
    });

  it('may be all of a chain', async () => {
    const { log, blocks } = withoutBlocks(([, , third]) => [pruned(placeOf(third!))]);
    log.drop(blocks[2]!);
    assert.deepEqual(await found(log), []);
  });

  it('stays open while the entry is neither signed nor marked', async () => {
    const { log } = withoutBlocks(blocks => [second(blocks)], false);
    assert.deepEqual([await found(log), (await reportOf(log)).open], [[], 1]);
    assert.deepEqual([await found(log, { hasMark }), (await reportOf(log, { hasMark })).open], [[], 0]);
  });

  it('is missed if the entry could not have been left unsigned, or lies about its time', async () => {
    const late = withoutBlocks(blocks => [second(blocks)], false, 1_001 + minute);
    const lying = withoutBlocks(blocks => [{ ...second(blocks), created_at: timeAt(5 * minute) }], false);
    for (const [log, what] of [
      [late.log, 'never-signed'],
      [lying.log, 'misdated'],
    ] as const) {
      assert.deepEqual(await found(log), [`${what}: ${entry(1)}`, ...missing(1)]);
      assert.equal((await reportOf(log)).open, 0);
    }
  });

  /** So many entries are in an archive. */
  function withArchive(count: number, saidOf: (gone: readonly MemoryLink[]) => readonly Said[]) {
    const log = new MemoryLog();
    const gone = Array.from({ length: count }, (_, at) => log.audit(at));
    const start = log.audit(500);
    for (const said of saidOf(gone)) log.audit(600, said);
    log.sign(1_000);
    log.drop(...gone);
    return { log, start };
  }
  const saidOf = (gone: readonly MemoryLink[]) => [archived(1, [placeOf(gone.at(-1)!)])];

  for (const count of [1, 2])
    it(`is not missed of the audit log if ${count} went to an archive`, async () => {
      const { log, start } = withArchive(count, saidOf);
      assert.deepEqual(await found(log), []);
      assert.deepEqual((await reportOf(log)).archived, { number: 1, entries: null });
      log.change(start, { text: '{}' });
      assert.deepEqual(await found(log), [`edited: ${entry(count + 1)}`]);
      const { log: silent } = withArchive(count, () => []);
      const expected = [`missing: audit links 1 to ${count} of writer one`, `edited: ${entry(count + 1)}`];
      assert.deepEqual(await found(silent), expected);
    });

  it('is in the archive with the greatest number, as it was named first', async () => {
    const { log } = withArchive(2, gone => {
      const chains = [placeOf(gone[1]!)];
      const other = archived(2, chains, { file: 'audit-2a.jsonl' });
      return [archived(2, chains), archived(1, chains), other, pruned()];
    });
    assert.deepEqual((await reportOf(log)).archived, { number: 2, entries: null });
    const missingArchive = 'missing: archive 2 (audit-2.jsonl), so archives 1 to 1 can’t be verified';
    assert.deepEqual(await found(log, { archives: '/nowhere' }), [missingArchive]);
    assert.deepEqual((await reportOf(log, { archives: '/nowhere' })).archived, { number: 2, entries: 0 });
  });
});
