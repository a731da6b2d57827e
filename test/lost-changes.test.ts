/** What restoring a backup loses, as a newer copy of the log tells, and when such a copy is not believed. */
import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, describe, it } from 'node:test';
import { type LostChanges, lostChanges, lostEntries } from '../src/backup/lost-changes.ts';
import type { SignedHead } from '../src/logs/checkpoints.ts';
import { exportLines } from '../src/logs/source.ts';
import { hasMark, MemoryLog, publicKey, timeAt } from './memory-log.ts';

const folder = mkdtempSync(join(tmpdir(), 'strongroom-lost-changes-'));
after(() => rm(folder, { recursive: true, force: true }));

type Said = Readonly<Record<string, unknown>>;

const saying = (action: string, id: string | null, revision?: number | null, more: Said = {}): Said => ({
  action,
  outcome: 'allowed',
  organization_id: 'o',
  subject: { type: 'any', id, name: `name of ${id}` },
  ...(revision === undefined ? {} : { revision }),
  ...more,
});

async function lost(log: MemoryLog, heads: readonly SignedHead[]): Promise<LostChanges> {
  const file = join(folder, 'log.jsonl');
  writeFileSync(file, (await Readable.from(exportLines(log, {})).toArray()).join(''));
  return lostChanges({ file, publicKey, hasMark, heads });
}

/** What is lost of these entries, which came after the backup. */
async function lostOf(...said: readonly Said[]): Promise<LostChanges> {
  const log = new MemoryLog();
  log.audit(0, saying('api-key.revoked', 'before'));
  log.audit(1, saying('api-key.revoked', 'last before'));
  const heads = log.heads();
  for (const [at, one] of said.entries()) log.audit(10 + at, one);
  log.sign(1_000);
  return lost(log, heads);
}

/** What works again, as action and id. */
const withdrawnBy = async (...said: readonly Said[]) =>
  (await lostOf(...said)).withdrawn.map(({ action, id }) => `${action} ${id}`);

describe('what a backup has not', () => {
  it('is nothing if nothing came after it', async () => {
    assert.deepEqual(await lostOf(), { withdrawn: [], unknown: [], archived: 0, others: 0 });
  });

  it('is told by what it did: withdrawn, not known here, or other; a refusal did nothing', async () => {
    const changes = await lostOf(
      saying('access-key.revoked', 'k', 2),
      saying('secret.updated', 's', 2),
      saying('secret.created', 's', 1),
      saying('robot.revoked', 'r', 1),
      saying('robot.revoked', 'r', 2),
      saying('robot.started', 'r', 3),
      saying('access-key.revoked', 'refused', 2, { outcome: 'denied' }),
      saying('robot.revoked', 'refused', 2, { outcome: 'denied' }),
    );
    const key = { organizationId: 'o', id: 'k', name: 'name of k', at: timeAt(10) };
    assert.deepEqual(changes, {
      withdrawn: [{ action: 'access-key.revoked', ...key }],
      unknown: [
        { action: 'robot.revoked', count: 2 },
        { action: 'robot.started', count: 1 },
      ],
      archived: 0,
      others: 2,
    });
  });

  it('is told of even if the entry names no subject, or only a part of it', async () => {
    const rows: readonly [subject: unknown, id: string | null, name: string][] = [
      [null, null, ''],
      [{ type: 'any' }, null, ''],
      [{ type: 'any', id: null, name: 'n' }, null, 'n'],
      [{ type: 'any', id: 'i' }, 'i', ''],
    ];
    for (const [subject, id, name] of rows) {
      const { withdrawn } = await lostOf(saying('group.deleted', null, null, { subject }));
      const expected = { action: 'group.deleted', organizationId: 'o', id, name, at: timeAt(10) };
      assert.deepEqual(withdrawn, [expected]);
    }
  });

  it('is told once for each subject and action, as of the greatest revision or else the last entry', async () => {
    const rows: readonly [revisions: readonly (number | null | undefined)[], kept: number][] = [
      [[4, 5], 1],
      [[5, 4], 0],
      [[5, 5], 1],
      [[null, null], 1],
      [[undefined, undefined], 1],
      [[5, null], 0],
      [[5, undefined], 0],
      [[undefined, 1], 1],
    ];
    for (const [revisions, kept] of rows) {
      const { withdrawn } = await lostOf(...revisions.map(one => saying('access-key.updated', 'k', one)));
      assert.deepEqual(
        withdrawn.map(({ at }) => at),
        [timeAt(10 + kept)],
        `${revisions}`,
      );
    }
    const two = await withdrawnBy(
      saying('access-key.updated', 'k', 1),
      saying('access-key.revoked', 'k', 2),
      saying('access-key.revoked', 'l', 2),
    );
    assert.deepEqual(two, ['access-key.updated k', 'access-key.revoked k', 'access-key.revoked l']);
  });

  it('is not what was restored from the trash after it was put there', async () => {
    const [trashed, restored] = ['secret.deleted', 'secret.restored'];
    const rows: readonly [said: readonly Said[], withdrawn: readonly string[]][] = [
      [[saying(trashed, 's', 2)], [`${trashed} s`]],
      [[saying(trashed, 's', 2), saying(restored, 's', 3)], []],
      [[saying(restored, 's', 3), saying(trashed, 's', 2)], []],
      [[saying(restored, 's', 2), saying(trashed, 's', 3)], [`${trashed} s`]],
      [[saying(restored, 's', 3), saying(trashed, 's', 3)], [`${trashed} s`]],
      [[saying(trashed, 's', 2), saying(restored, 'other', 3)], [`${trashed} s`]],
      [[saying(trashed, 's', 2), saying('secret.updated', 's', 3)], [`${trashed} s`]],
      [[saying(trashed, null, 2), saying(restored, null, 3)], [`${trashed} null`]],
      [[saying(trashed, 's'), saying(restored, 's', 1)], []],
      [[saying(restored, 's'), saying(trashed, 's', 2), saying(restored, 's', 3)], []],
      [[saying(restored, 's', 5), saying(restored, 's', 3), saying(trashed, 's', 4)], []],
      [[saying('secret.purged', 's', 2), saying(restored, 's', 3)], ['secret.purged s']],
    ];
    for (const [said, withdrawn] of rows) assert.deepEqual(await withdrawnBy(...said), withdrawn);
  });

  it('comes in the order of time, whichever writer wrote it', async () => {
    const log = new MemoryLog();
    for (const [at, writer] of [
      [300, 'one'],
      [400, 'one'],
      [100, 'two'],
      [200, 'two'],
    ] as const)
      log.audit(at, saying('group.deleted', `${at}`), writer);
    log.sign(1_000);
    const { withdrawn, archived } = await lost(log, []);
    assert.deepEqual([withdrawn.map(({ id }) => id), archived], [['100', '200', '300', '400'], 0]);
  });

  it('may have gone to archives, and is counted', async () => {
    const log = new MemoryLog();
    log.audit(0);
    const heads = log.heads();
    const gone = [log.audit(10, {}, 'two'), log.audit(11, {}, 'two')];
    log.audit(12, saying('group.deleted', 'g'), 'two');
    const { writer, seq, hash, mark } = gone[1]!;
    const details = { number: 1, file: 'f', sha256: 's', chains: [{ writer, seq, hash, mark }] };
    log.audit(13, { action: 'audit_logs.archived', outcome: 'allowed', details }, 'two');
    log.sign(1_000);
    log.drop(...gone);
    const { archived, others, withdrawn } = await lost(log, heads);
    assert.deepEqual([archived, others, withdrawn.length], [2, 1, 1]);
  });
});

describe('a newer log is believed only', () => {
  function world() {
    const log = new MemoryLog();
    const links = [log.audit(0), log.audit(1)];
    log.block(1);
    const heads = log.heads();
    log.audit(2);
    log.sign(1_000);
    return { log, links, heads };
  }
  const later = { name: 'BackupError', message: 'the newer log does not continue this backup’s log' };

  it('if it can be read', async () => {
    const message = 'the newer log can’t be read';
    const asked = (file: string) => lostChanges({ file, publicKey, hasMark, heads: [] });
    await assert.rejects(asked(join(folder, 'none')), { name: 'BackupError', message });
    const file = join(folder, 'broken');
    writeFileSync(file, '{');
    await assert.rejects(asked(file), { name: 'BackupError', message });
  });

  it('if it is intact, by its hashes, its signatures and its marks', async () => {
    const { log, heads, links } = world();
    log.change(links[0]!, { text: '{}' });
    await assert.rejects(lost(log, heads), { message: /^the newer log is not intact: edited: audit entry / });
    const marked = world();
    marked.log.change(marked.log.stored.at(-1)!, { mark: 'm' });
    await assert.rejects(lost(marked.log, marked.heads), {
      message: /not intact: hashed-anew: audit entry /,
    });
  });

  it('if it has the newest audit entry of each writer of the backup, at its place', async () => {
    const { log, links, heads } = world();
    const head = { stream: 'audit', writer: 'one', seq: 2, hash: links[1]!.hash } as const;
    const { others } = await lost(log, heads);
    assert.equal(others, 0);
    await lost(log, [head]);
    await lost(log, []);
    await lost(log, [head, { ...head, stream: 'request', writer: 'other' }]);
    for (const changed of [{ hash: links[0]!.hash }, { seq: 1 }, { seq: 9 }, { writer: 'other' }])
      await assert.rejects(lost(log, [{ ...head, ...changed }]), later);
    await assert.rejects(lost(log, [head, { ...head, writer: 'other' }]), later);
  });
});

describe('a kept checkpoint', () => {
  const head = (stream: 'audit' | 'request', writer: string, seq: number) => ({
    stream,
    writer,
    seq,
    hash: 'h',
  });
  const kept = new MemoryLog().sign(0, {
    heads: [head('audit', 'one', 10), head('audit', 'two', 5), head('request', 'one', 100)],
  });

  it('proves how many audit entries the backup has not', () => {
    const rows: readonly [heads: readonly SignedHead[], lost: number][] = [
      [[], 15],
      [[head('audit', 'one', 10), head('audit', 'two', 5)], 0],
      [[head('audit', 'one', 9), head('audit', 'two', 5)], 1],
      [[head('audit', 'one', 12), head('audit', 'two', 3)], 2],
      [[head('request', 'one', 10), head('audit', 'two', 5)], 10],
    ];
    for (const [heads, expected] of rows) assert.equal(lostEntries(kept, publicKey, heads), expected);
  });

  it('proves nothing if another key signed it', () => {
    const forged = { ...kept, signature: Buffer.alloc(64) };
    assert.throws(() => lostEntries(forged, publicKey, []), {
      name: 'BackupError',
      message: 'the checkpoint was not signed with this backup’s keyring',
    });
  });
});
