/** The checkpoint that is kept outside the database, and what a failover lost. */
import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import {
  disagreement,
  numberOf,
  putAside,
  readCheckpointFile,
  writeCheckpointFile,
} from '../src/logs/checkpoint-file.ts';
import type { SignedCheckpoint, SignedHead } from '../src/logs/checkpoints.ts';
import { FailoverGaps } from '../src/logs/failover-gaps.ts';

const folder = mkdtempSync(join(tmpdir(), 'strongroom-checkpoint-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const file = join(folder, 'checkpoint.json');
beforeEach(() => {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
});

const ours = generateKeyPairSync('ed25519');
const theirs = generateKeyPairSync('ed25519');
const publicKey = ours.publicKey.export({ type: 'spki', format: 'pem' }) as string;

function checkpoint(number: number, heads: readonly SignedHead[] = [], by = ours): SignedCheckpoint {
  const body = JSON.stringify({ number, created_at: '2026-01-01T00:00:00.000Z', heads });
  return { body, signature: sign(null, Buffer.from(body), by.privateKey) };
}

describe('the checkpoint in a file', () => {
  const kept = async () => numberOf((await readCheckpointFile(file))!);

  it('is none where there is no file, and an error where there is another', async () => {
    assert.equal(await readCheckpointFile(file), null);
    await assert.rejects(readCheckpointFile(folder), { code: 'EISDIR' });
    for (const text of [
      '',
      '{}',
      '{"checkpoint":"{}","signature":"AA=="}',
      '{"checkpoint":7,"signature":"AA=="}',
    ]) {
      writeFileSync(file, text);
      await assert.rejects(readCheckpointFile(file));
    }
  });

  it('is replaced by one that is as new, or newer', async () => {
    for (const number of [3, 3, 4]) {
      await writeCheckpointFile(file, publicKey, checkpoint(number));
      assert.equal(await kept(), number);
    }
    const [before, again] = [
      checkpoint(4),
      checkpoint(4, [{ stream: 'audit', writer: 'w', seq: 1, hash: 'h' }]),
    ];
    await writeCheckpointFile(file, publicKey, before);
    await writeCheckpointFile(file, publicKey, again);
    assert.equal((await readCheckpointFile(file))!.body, again.body);
  });

  it('is not replaced by an older one, unless it is not ours', async () => {
    await writeCheckpointFile(file, publicKey, checkpoint(5));
    await writeCheckpointFile(file, publicKey, checkpoint(4));
    assert.equal(await kept(), 5);
    await writeCheckpointFile(file, publicKey, checkpoint(9, [], theirs));
    await writeCheckpointFile(file, publicKey, checkpoint(4));
    assert.equal(await kept(), 4);
    writeFileSync(file, 'not a checkpoint');
    await writeCheckpointFile(file, publicKey, checkpoint(1));
    assert.equal(await kept(), 1);
  });

  it('is put aside under its number, and beside what was put aside before', async () => {
    for (const name of ['checkpoint-7.json', 'checkpoint-7-2.json', 'checkpoint-7-3.json']) {
      writeFileSync(file, name);
      assert.equal(await putAside(file, 7), join(folder, name));
      assert.equal(readFileSync(join(folder, name), 'utf8'), name);
    }
    assert.equal(readdirSync(folder).length, 3);
  });
});

describe('a database and the checkpoint that was kept', () => {
  const head = (seq: number, hash = `h${seq}`, writer = 'w'): SignedHead => ({
    stream: 'audit',
    writer,
    seq,
    hash,
  });
  const given = checkpoint(3, [head(10)]);

  function logsWith(
    checkpoints: readonly (readonly [number: number, body: string])[],
    heads: readonly SignedHead[],
  ) {
    const rows = checkpoints.map(([number, body]) => ({ number, body, signature: new Uint8Array() }));
    return {
      lastCheckpoint: async () => rows.at(-1),
      checkpoints: async (after: number, limit: number) =>
        rows.filter(({ number }) => number > after).slice(0, limit),
      heads: async () => heads,
    } as unknown as NonNullable<Parameters<typeof disagreement>[1]>;
  }

  const numbered = (from: number, to: number, body = given.body) =>
    Array.from({ length: to - from + 1 }, (_, at) => [from + at, from + at === 3 ? body : 'other'] as const);
  const not = 'its checkpoint 3 is not the one that was kept';
  const unmatched = 'its audit log does not match what checkpoint 3 signed';
  const rows: [what: string, logs: ReturnType<typeof logsWith> | null, expected: string | null][] = [
    ['are the same', logsWith(numbered(1, 3), [head(10)]), null],
    ['went on', logsWith(numbered(1, 4), [head(11), head(1, 'x', 'other')]), null],
    ['have no database', null, 'it ends at checkpoint 0, but checkpoint 3 was kept'],
    ['have none', logsWith([], []), 'it ends at checkpoint 0, but checkpoint 3 was kept'],
    [
      'end before',
      logsWith(numbered(1, 2), [head(10)]),
      'it ends at checkpoint 2, but checkpoint 3 was kept',
    ],
    ['have another', logsWith(numbered(1, 3, 'another'), [head(10)]), not],
    ['lack it', logsWith([...numbered(1, 2), ...numbered(4, 5)], [head(10)]), not],
    ['have it under another number', logsWith([...numbered(1, 2), [4, given.body]], [head(10)]), not],
    ['begin with it', logsWith(numbered(3, 4), [head(10)]), null],
    ['begin with another of its number', logsWith(numbered(3, 4, 'another'), [head(10)]), not],
    ['dropped it as too old', logsWith(numbered(4, 5), [head(10)]), null],
    ['have no such chain', logsWith(numbered(1, 3), [head(10, 'h10', 'other')]), unmatched],
    ['have a shorter chain', logsWith(numbered(1, 3), [head(9)]), unmatched],
    ['have another link', logsWith(numbered(1, 3), [head(10, 'x')]), unmatched],
    ['dropped it, and have a shorter chain', logsWith(numbered(4, 5), [head(9)]), unmatched],
  ];
  for (const [what, logs, expected] of rows)
    it(`${expected === null ? 'agree' : 'disagree'} where they ${what}`, async () =>
      assert.equal(await disagreement(given, logs), expected));
});

describe('what a failover lost', () => {
  const continued = (at: number) => [{ from: 1, to: 2, at: new Date(at).toISOString() }];
  const rows: [signedAt: number, continuedAt: number | null, isLost: boolean][] = [
    [1_500, 2_000, true],
    [1_001, 2_000, true],
    [1_000, 2_000, false],
    [2_010, 2_000, true],
    [2_011, 2_000, false],
    [1_500, 1_000, true],
    [1_500, 999, false],
    [1_500, 2_010, true],
    [1_500, 2_011, false],
    [1_500, null, false],
  ];
  for (const [signedAt, at, isLost] of rows)
    it(`${isLost ? 'is' : 'is not'} what was signed at ${signedAt}, with a failover at ${at}`, () => {
      const gaps = new FailoverGaps(10);
      gaps.add(5_000, 6_000);
      gaps.add(1_000, 2_000);
      assert.equal(gaps.isLost(signedAt, at === null ? [] : continued(at)), isLost);
      assert.equal(new FailoverGaps(10).isLost(signedAt, at === null ? [] : continued(at)), false);
    });
});
