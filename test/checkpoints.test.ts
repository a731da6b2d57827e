/** What a checkpoint signs, what it follows, when one is due, and which heads an earlier one proves. */
import assert from 'node:assert/strict';
import { generateKeyPairSync, sign as signWith } from 'node:crypto';
import { describe, it, mock } from 'node:test';
import { Chores } from '../src/base/chores.ts';
import { headDigest } from '../src/logs/chain.ts';
import {
  type Checkpoint,
  Checkpointer,
  type CheckpointerParts,
  checkpointHash,
  exportLine,
  parseCheckpoint,
  signedHeads,
} from '../src/logs/checkpoints.ts';
import { UnitsRefused } from '../src/store/engine/engine.ts';
import type { CheckpointRow, LogHeadRow } from '../src/store/records/logs.ts';
import type { Store } from '../src/store/store.ts';
import { markOf, noon } from './memory-log.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const logPublicKey = publicKey.export({ type: 'spki', format: 'pem' }) as string;
const signCheckpoint = (bytes: Uint8Array) => signWith(null, bytes, privateKey);
const foreign = generateKeyPairSync('ed25519').privateKey;

function headOf(seq: number, hash = `h${seq}`, writer = 'one', mark?: string): LogHeadRow {
  const head = { stream: 'audit', writer, seq, hash };
  return { ...head, mark: mark ?? markOf(headDigest(head)) } as LogHeadRow;
}

/** A database of heads and checkpoints in memory, in place of the real one. */
class Rows {
  heads: LogHeadRow[] = [];
  stored: CheckpointRow[] = [];
  removed: number[] = [];
  failure: Error | null = null;
  readonly kept: number[] = [];
  readonly errors: string[] = [];
  time = noon;
  readonly store = {
    logs: {
      heads: async () => this.heads,
      lastCheckpoint: async () => this.stored.at(-1),
      checkpoints: async (after: number, most: number) => {
        assert.ok(Number.isInteger(after));
        return this.stored.filter(({ number }) => number > after).slice(0, most);
      },
      addCheckpoint: (row: CheckpointRow) => () => void this.stored.push(row),
      removeCheckpoints: (before: number) => () => void this.removed.push(before),
    },
    commit: async ([{ statements }]: [{ statements: (() => void)[] }]) => {
      if (this.failure !== null) throw this.failure;
      for (const statement of statements) statement();
    },
  } as unknown as Store;
  readonly parts: CheckpointerParts = {
    store: this.store,
    ledger: { settle: async () => {} } as CheckpointerParts['ledger'],
    keyring: { deployment: 'd', logPublicKey, chainMark: markOf, signCheckpoint: signCheckpoint as never },
    now: () => this.time,
    aged: () => this.time + 1,
    keep: async row => void this.kept.push((row as CheckpointRow).number),
    onError: error => void this.errors.push((error as Error).message),
  };
  readonly checkpointer = new Checkpointer(this.parts);

  /** Of those that are stored: number, whether it is full, and the heads. */
  told(): string[] {
    return this.stored.map(({ body }) => {
      const { number, full, heads } = JSON.parse(body) as Checkpoint;
      return `${number}${full ? ' full' : ''}: ${heads.map(({ writer, seq }) => `${writer} ${seq}`).join(', ')}`;
    });
  }

  add(number: number, heads: readonly LogHeadRow[] = [], by = privateKey, previous?: string): void {
    const last = this.stored.at(-1);
    const body = JSON.stringify({
      number,
      created_at: new Date(this.time).toISOString(),
      previous: previous ?? (last === undefined ? '' : checkpointHash(last.body)),
      heads: heads.map(({ mark: _, ...head }) => head),
    });
    this.stored.push({
      number,
      body,
      signature: signWith(null, Buffer.from(body), by),
    } as unknown as CheckpointRow);
  }
}

describe('a checkpoint', () => {
  it('signs the heads that moved, and follows the one before', async () => {
    const rows = new Rows();
    rows.heads = [headOf(1), headOf(1, 'h1', 'two')];
    await rows.checkpointer.sign();
    rows.heads = [headOf(2), headOf(1, 'h1', 'two')];
    await rows.checkpointer.sign();
    await rows.checkpointer.sign();
    assert.deepEqual(rows.told(), ['1 full: one 1, two 1', '2: one 2']);
    const [first, second] = rows.stored.map(({ body }) => JSON.parse(body) as Checkpoint);
    assert.deepEqual([first!.previous, second!.previous], ['', checkpointHash(rows.stored[0]!.body)]);
    assert.deepEqual(
      [first!.created_at, first!.aged_at],
      [new Date(noon).toISOString(), new Date(noon + 1).toISOString()],
    );
    assert.deepEqual([rows.kept, rows.errors, rows.removed], [[1, 2], [], [1 - 3_600]]);
  });

  it('names every head that was signed, every 3,600th time, and lets those before the last such one go', async () => {
    const rows = new Rows();
    rows.add(1, [headOf(1)]);
    for (let number = 2; number < 3_600; number++) rows.add(number);
    rows.heads = [headOf(1), headOf(5, 'h5', 'two')];
    await rows.checkpointer.sign();
    rows.heads = [headOf(1), headOf(6, 'h6', 'two')];
    await rows.checkpointer.sign();
    rows.heads = [headOf(1), headOf(7, 'h7', 'two')];
    await rows.checkpointer.sign();
    assert.deepEqual(rows.told().slice(-3), ['3600: two 5', '3601 full: one 1, two 6', '3602: two 7']);
    assert.deepEqual(rows.removed, [1]);
  });

  it('is due 30 seconds after the last one where nothing is written, whoever signed that', async () => {
    const rows = new Rows();
    await rows.checkpointer.sign();
    assert.deepEqual(rows.told(), ['1 full: ']);
    rows.time += 29_999;
    await rows.checkpointer.sign();
    assert.equal(rows.stored.length, 1);
    rows.time += 1;
    await rows.checkpointer.sign();
    assert.equal(rows.stored.length, 2);
    rows.time += 20_000;
    rows.add(3);
    rows.time += 29_999;
    await rows.checkpointer.sign();
    assert.equal(rows.stored.length, 3);
    rows.time += 1;
    await rows.checkpointer.sign();
    assert.equal(rows.stored.length, 4);
  });

  it('is signed every second', () => {
    const every = mock.method(Chores.prototype, 'every', () => {});
    new Rows().checkpointer.start();
    every.mock.restore();
    assert.deepEqual(
      every.mock.calls.map(({ arguments: [time] }) => time),
      [1_000],
    );
  });

  it('does not sign a head that this service did not write, or that went back, and tells of each once', async () => {
    const rows = new Rows();
    rows.heads = [headOf(3)];
    await rows.checkpointer.sign();
    const told = (writer: string, seq: number) =>
      `a chain head that this service did not write is not signed: audit ${writer}, number ${seq}`;
    for (const [head, error] of [
      [headOf(4, 'h4', 'one', 'forged'), told('one', 4)],
      [headOf(2), told('one', 2)],
      [headOf(3, 'another'), told('one', 3)],
      [headOf(0, 'h0', 'two'), told('two', 0)],
      [headOf(1, 'h1', 'three', 'forged'), told('three', 1)],
    ] as const) {
      rows.errors.length = 0;
      rows.heads = [head];
      await rows.checkpointer.sign();
      await rows.checkpointer.sign();
      assert.deepEqual([rows.errors, rows.stored.length], [[error], 1], error);
    }
    rows.heads = [headOf(4)];
    await rows.checkpointer.sign();
    assert.deepEqual(rows.told().at(-1), '2: one 4');
  });

  it('follows the last one that is known where that was removed, and tells of it', async () => {
    const rows = new Rows();
    rows.heads = [headOf(1)];
    await rows.checkpointer.sign();
    const [first] = rows.stored.splice(0);
    rows.heads = [headOf(2)];
    await rows.checkpointer.sign();
    assert.deepEqual(rows.errors, ['checkpoint 1 was removed from the database']);
    assert.equal((JSON.parse(rows.stored[0]!.body) as Checkpoint).previous, checkpointHash(first!.body));
    rows.add(3);
    rows.heads = [headOf(3)];
    await rows.checkpointer.sign();
    assert.deepEqual([rows.told().at(-1), rows.errors.length], ['4: one 3', 1]);
  });

  it('gives way to another replica that took its number, and to nothing else', async () => {
    const rows = new Rows();
    rows.heads = [headOf(1)];
    rows.failure = Object.assign(Object.create(UnitsRefused.prototype), {}) as Error;
    await rows.checkpointer.sign();
    assert.deepEqual([rows.kept, rows.stored], [[], []]);
    rows.failure = new Error('away');
    await assert.rejects(rows.checkpointer.sign(), { message: 'away' });
    rows.failure = null;
    await rows.checkpointer.sign();
    assert.deepEqual([rows.told(), rows.kept], [['1 full: one 1'], [1]]);
  });

  it('is kept at the start as the newest that this service signed', async () => {
    const kept = async (prepare: (rows: Rows) => void) => {
      const rows = new Rows();
      prepare(rows);
      await rows.checkpointer.begin();
      return rows.kept;
    };
    assert.deepEqual(await kept(rows => rows.add(7)), [7]);
    assert.deepEqual(await kept(rows => rows.add(7, [], foreign)), []);
    const rows = new Rows();
    rows.failure = Object.create(UnitsRefused.prototype) as Error;
    await rows.checkpointer.begin();
    assert.deepEqual(rows.kept, []);
  });
});

describe('the heads that are signed', () => {
  const heads = async (rows: Rows) =>
    [...(await signedHeads(rows.store, logPublicKey)).values()].map(({ writer, seq }) => `${writer} ${seq}`);

  it('are none without a checkpoint, or where the newest is not ours', async () => {
    const rows = new Rows();
    assert.deepEqual(await heads(rows), []);
    rows.add(1, [headOf(1)]);
    rows.add(2, [headOf(2)], foreign);
    assert.deepEqual(await heads(rows), []);
  });

  it('are the newest of each chain, as far back as each contains the hash of the one before', async () => {
    const rows = new Rows();
    rows.add(1, [headOf(1), headOf(1, 'h1', 'two')]);
    assert.deepEqual(await heads(rows), ['one 1', 'two 1']);
    rows.add(2, [headOf(2)]);
    assert.deepEqual(await heads(rows), ['one 2', 'two 1']);
    rows.add(3, [headOf(3)], privateKey, 'of another');
    rows.add(4, [headOf(9, 'h9', 'three')]);
    assert.deepEqual(await heads(rows), ['three 9', 'one 3']);
  });
});

describe('a checkpoint outside the database', () => {
  const body = '{"number":1,"heads":[],"created_at":"now"}';
  it('is read as it was written', () => {
    const line = exportLine({ body, signature: Buffer.from('abc') });
    assert.deepEqual(parseCheckpoint(line), { body, signature: Buffer.from('abc') });
  });
  const lines: [what: string, checkpoint: unknown, signature: unknown][] = [
    ['no text', 7, 'AA=='],
    ['a list of one', [body], 'AA=='],
    ['no signature', body, 7],
    ['no number', '{"heads":[],"created_at":"now"}', 'AA=='],
    ['a number with a fraction', '{"number":1.5,"heads":[],"created_at":"now"}', 'AA=='],
    ['no heads', '{"number":1,"created_at":"now"}', 'AA=='],
    ['no time', '{"number":1,"heads":[]}', 'AA=='],
  ];
  for (const [what, checkpoint, signature] of lines)
    it(`is none: ${what}`, () =>
      assert.throws(() => parseCheckpoint(JSON.stringify({ checkpoint, signature })), {
        message: 'this is not a checkpoint',
      }));
});
