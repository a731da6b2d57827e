/** What the verifier finds in a log, one change of it at a time, and what it leaves alone. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { linkHash, receiptOf } from '../src/logs/chain.ts';
import { verifyLogs } from '../src/logs/verify.ts';
import {
  block,
  entry,
  found,
  hasMark,
  MemoryLog,
  noon,
  publicKey,
  reportOf,
  timeAt,
  world,
} from './memory-log.ts';

const minute = 60_000;

describe('a log that nobody changed', () => {
  const whole = {
    ok: true,
    entries: { audit: 4, request: 3 },
    checkpoints: 1,
    kept: null,
    archived: null,
    unsigned: 1,
    open: 0,
    continued: [],
    findings: [],
  };

  it('is reported as intact, with what it has and what is not signed yet', async () => {
    assert.deepEqual(await reportOf(world().log), whole);
    assert.deepEqual(await reportOf(world().log, { hasMark }), whole);
    assert.deepEqual(await reportOf(world().log, { archives: '/nowhere' }), whole);
    const { log, first } = world();
    const kept = { number: 1, created_at: timeAt(1_000) };
    assert.deepEqual(await reportOf(log, { kept: first }), { ...whole, kept });
  });

  it('may be empty, or so young that nothing of it is signed', async () => {
    assert.deepEqual(await found(new MemoryLog()), []);
    const log = new MemoryLog();
    log.audit(2_000 - minute);
    log.block(0);
    assert.deepEqual(await found(log), []);
  });

  it('is judged by the time of this machine if no other is given', async () => {
    const log = new MemoryLog();
    log.audit(Date.now() - noon);
    assert.deepEqual((await verifyLogs(log, { publicKey })).findings, []);
  });

  it('has what receipts tell of, be it one or more', async () => {
    const { log, audits, blocks } = world();
    const receipts = [audits[1], blocks[0], blocks[1]].map(({ id, hash }) => receiptOf(id, hash));
    assert.deepEqual(await found(log, { receipts }), []);
    assert.deepEqual(await found(log, { receipts: [receipts[0]!] }), []);
    const other = receiptOf(audits[1].id, audits[0].hash);
    assert.deepEqual(await found(log, { receipts: [...receipts, other] }), [`receipt-not-found: ${other}`]);
  });
});

describe('the schema and the rows', () => {
  const failing = {
    async *links() {
      yield* [];
      throw new Error('no such column');
    },
  };

  it('an altered schema is found, even if the rest can’t be read', async () => {
    const { log } = world();
    const altered = Object.assign(log, { schema: async () => 'a trigger' });
    assert.deepEqual(await found(altered), ['altered-schema: a trigger']);
    assert.equal((await found(Object.assign(altered, failing)))[0], 'altered-schema: a trigger');
  });

  it('a log that can’t be read is an error if the schema is right', async () => {
    const sound = Object.assign(world().log, { schema: async () => null });
    assert.deepEqual(await found(sound), []);
    await assert.rejects(found(Object.assign(sound, failing)), /no such column/);
  });

  it('rows are held against the log if they are at hand', async () => {
    const log = new MemoryLog();
    const id = '0199a3c4-7f00-7abc-8def-0000000000b1';
    log.audit(0, {
      action: 'vault.created',
      outcome: 'allowed',
      subject: { type: 'vault', id },
      revision: 1,
    });
    assert.deepEqual(await found(log), []);
    async function* none() {}
    assert.match((await found(Object.assign(log, { rows: none }))).join(), /^missing: row of resources/);
  });
});

describe('a link that was changed', () => {
  type Changes = (made: ReturnType<typeof world>) => void;
  const rows: readonly [what: string, change: Changes, expected: readonly string[]][] = [
    ['an entry', ({ log, audits }) => log.change(audits[1], { text: '{}' }), [`edited: ${entry(2)}`]],
    [
      'an entry that is the newest signed one',
      ({ log, audits }) => log.change(audits[2], { text: '{}' }),
      [`edited: ${entry(3)}`, `hashed-anew: ${entry(3)}`],
    ],
    ['a block', ({ log, blocks }) => log.change(blocks[0], { text: '{' }), [`edited: ${block(1)}`]],
    [
      'what finds it',
      ({ log, blocks }) => log.change(blocks[0], { filed: 'wrong' }),
      [`edited: ${block(1)}`],
    ],
    [
      'what finds an unsigned one',
      ({ log, last }) => log.change(last, { filed: 'wrong' }),
      [`edited: ${entry(4)}`],
    ],
    [
      'the way to a signed one, which is not filed',
      ({ log, blocks }) => log.change(blocks[1], { filed: 'not-yet' }),
      [`edited: ${block(2)}`],
    ],
    [
      'nothing: an unsigned one is not filed yet',
      ({ log, last }) => log.change(last, { filed: 'not-yet' }),
      [],
    ],
    ['nothing: it is filed', ({ log, audits }) => log.change(audits[0], { filed: 'right' }), []],
    [
      'an entry that is gone from the middle',
      ({ log, audits }) => log.drop(audits[1]),
      ['missing: audit links 2 to 2 of writer one', `edited: ${entry(3)}`, `hashed-anew: ${entry(3)}`],
    ],
    [
      'a block that is gone from the beginning',
      ({ log, blocks }) => log.drop(blocks[0]),
      ['missing: request links 1 to 1 of writer one', `edited: ${block(2)}`, `hashed-anew: ${block(2)}`],
    ],
    [
      'entries that are gone from the beginning, found before any block',
      ({ log, audits, blocks }) => {
        log.drop(audits[0]);
        log.change(blocks[0], { text: '{' });
      },
      ['missing: audit links 1 to 1 of writer one', `edited: ${entry(2)}`, `edited: ${block(1)}`],
    ],
    [
      'the end of a chain',
      ({ log, audits, last }) => log.drop(audits[2], last),
      ['cut-off: audit one: links 3 to 3 are gone'],
    ],
    [
      'all of a chain',
      ({ log, blocks }) => log.drop(...blocks),
      ['cut-off: request one: links 1 to 2 are gone'],
    ],
  ];
  for (const [what, change, expected] of rows)
    it(`is found: ${what}`, async () => {
      const made = world();
      change(made);
      assert.deepEqual(await found(made.log), expected);
    });

  it('is found if it is the first, and signed by itself', async () => {
    const log = new MemoryLog();
    const only = log.audit(0);
    log.sign(100);
    log.change(only, { text: '{}' });
    assert.deepEqual(await found(log), [`edited: ${entry(1)}`, `hashed-anew: ${entry(1)}`]);
  });

  it('is found by the head that was signed if the chain was hashed anew', async () => {
    const { log, blocks } = world();
    const [text, id] = ['{"created_at":"2026-11-16T12:00:00.100Z","entries":[]}', blocks[1].id];
    log.change(blocks[1], { text, hash: linkHash('request', 'one', blocks[0], id, text) });
    assert.deepEqual(await found(log), [`hashed-anew: ${block(2)}`]);
  });

  it('is found by its mark if the keyring is at hand, be it signed or not', async () => {
    const { log, audits, last } = world();
    log.change(audits[2], { mark: 'm' });
    log.change(last, { mark: 'm' });
    const findings = [`hashed-anew: ${entry(3)}`, `edited: ${entry(4)}`, `hashed-anew: ${entry(4)}`];
    assert.deepEqual(await found(log, { hasMark }), findings);
    assert.deepEqual(await found(log), [`edited: ${entry(4)}`]);
  });

  it('is reported a hundred times at most', async () => {
    for (const [count, reported] of [
      [99, 99],
      [100, 100],
      [101, 100],
    ] as const) {
      const log = new MemoryLog();
      for (let at = 0; at < count; at++) log.change(log.audit(0), { filed: 'wrong' });
      assert.equal((await found(log)).length, reported);
    }
  });
});

describe('what no checkpoint covers', () => {
  const never = [`never-signed: ${entry(2)}`];
  const misdated = [`misdated: ${entry(2)}`];
  // The checkpoint is of noon.
  const rows: readonly [at: number, now: number, marked: boolean, expected: readonly string[]][] = [
    [-minute, 0, false, []],
    [-minute - 1, 0, false, never],
    [-minute - 1, 0, true, never],
    [minute, 0, false, []],
    [minute, 5_000, false, []],
    [minute + 1, 5_000, false, never],
    [minute + 1, 5_000, true, []],
    [minute + 5_000, 5_000, true, []],
    [minute + 5_001, 5_000, true, misdated],
    [minute + 5_001, 5_000, false, misdated],
    [minute, -5_000, false, []],
    [minute + 1, -5_000, true, misdated],
  ];
  for (const [at, now, marked, expected] of rows)
    it(`${at} ms from the newest checkpoint, ${now} ms behind it: ${expected.join() || 'is to be signed'}, ${marked}`, async () => {
      const log = new MemoryLog();
      log.audit(-2 * minute);
      log.sign(0);
      log.audit(at);
      const options = { now: () => noon + now, ...(marked ? { hasMark } : {}) };
      assert.deepEqual(await found(log, options), expected);
    });

  it('says the same time by its id and its text, but for a minute', async () => {
    for (const [apart, expected] of [
      [minute, []],
      [minute + 1, [`misdated: ${entry(2)}`]],
    ] as const) {
      const log = new MemoryLog();
      log.audit(0);
      log.sign(1_000);
      log.audit(1_500, { created_at: timeAt(1_500 + apart) });
      assert.deepEqual(await found(log), expected);
    }
  });

  it('is not old if there is no checkpoint at all', async () => {
    const nothing = 'no-checkpoint: there are entries, but no checkpoint that covers any of them';
    for (const [at, expected] of [
      [-minute, []],
      [-minute - 1, [`never-signed: ${entry(1)}`, nothing]],
    ] as const) {
      const log = new MemoryLog();
      log.audit(at);
      log.audit(0);
      assert.deepEqual(await found(log, { now: () => noon }), expected);
    }
  });

  it('is at most a minute newer than the newest of its own and the one that was kept', async () => {
    const log = new MemoryLog();
    log.audit(0);
    const kept = log.sign(0);
    log.sign(2 * minute);
    log.audit(3 * minute);
    assert.deepEqual(await found(log, { kept, now: () => noon + 3 * minute }), []);
  });
});
