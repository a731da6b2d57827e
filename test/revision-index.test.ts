/** What a process knows of the newest revisions, from a log that it checks itself. The store is a stand-in in memory. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { beforeEach, describe, it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import { idGenerator } from '../src/contract/id.ts';
import { headDigest } from '../src/logs/chain.ts';
import { archivedAction, continuedAction, prunedAction } from '../src/logs/logged-link.ts';
import { RevisionIndex } from '../src/logs/revision-index.ts';
import type { ChangeListener } from '../src/store/engine/engine.ts';
import type { LogHeadRow, PlacedAuditRow } from '../src/store/records/logs.ts';
import type { Store } from '../src/store/store.ts';
import { type MemoryLink, MemoryLog, markOf, publicKey } from './memory-log.ts';

const newId = idGenerator(Date.now);
const [vault, secret, other] = [newId(), newId(), newId()];
const told = (revision: number, id = vault) => ({ outcome: 'allowed', subject: { id }, revision });
const removedUpTo = (link: MemoryLink, writer = link.writer) => ({
  writer,
  seq: link.seq,
  hash: link.hash,
  mark: link.mark,
});
const archive = (chains: readonly unknown[], request_chains: readonly unknown[] = []) => ({
  action: archivedAction,
  details: { number: 1, file: 'f', sha256: 's', chains, request_chains },
});
const prune = (...chains: readonly unknown[]) => ({ action: prunedAction, details: { chains } });
const continued = { action: continuedAction, organization_id: null, details: { from: 1, to: 2 } };

const stamp = (kind: string, values: readonly Uint8Array[]) =>
  createHmac('sha256', kind).update(Buffer.concat(values)).digest();
const keyring = {
  logPublicKey: publicKey as string,
  chainMark: markOf,
  stamp,
  stampHolds: (kind: string, values: readonly Uint8Array[], given: Uint8Array) =>
    stamp(kind, values).equals(given),
};

/** In place of a store: a log in memory, and what was asked of it. */
class Stored {
  log = new MemoryLog();
  heads: LogHeadRow[] = [];
  kept: Uint8Array | undefined;
  hears = true;
  losses: number | undefined;
  /** Behind which positions stretches were asked for. */
  asked: number[] = [];
  onRead: () => void = () => {};
  readonly #positions = new Map<string, number>();
  #listener: ChangeListener = () => {};

  index(): RevisionIndex {
    return new RevisionIndex({ store: this.#store(), keyring });
  }

  /** One that has read all that is there. */
  async followed(): Promise<RevisionIndex> {
    const index = this.index();
    await index.follow();
    return index;
  }

  change(isOwn: boolean): void {
    this.#listener('all', isOwn);
  }

  /** A head as the service writes it, with its mark. */
  head(link: MemoryLink, seq = link.seq): void {
    const head = { writer: link.writer, stream: link.stream, seq, hash: link.hash };
    this.heads.push({ ...head, mark: markOf(headDigest(head)) });
  }

  rows(): PlacedAuditRow[] {
    return this.log.stored
      .filter(({ stream }) => stream === 'audit')
      .map(({ text, ...link }) => ({
        ...link,
        entry: text,
        position: this.#positionOf(`${link.writer} ${link.id}`),
      }))
      .sort((one, two) => one.position - two.position) as unknown as PlacedAuditRow[];
  }

  #positionOf(entry: string): number {
    if (!this.#positions.has(entry)) this.#positions.set(entry, this.#positions.size + 1);
    return this.#positions.get(entry)!;
  }

  #store() {
    const logs = {
      auditStretch: async (after: number, limit: number) => {
        this.asked.push(after);
        this.onRead();
        return this.rows()
          .filter(({ position }) => position > after)
          .slice(0, limit);
      },
      heads: async () => this.heads,
      keptRevisions: async () => this.kept,
      keepRevisions: async (bytes: Uint8Array) => {
        this.kept = bytes;
      },
      lastCheckpoint: async () => {
        const last = this.log.signed.at(-1);
        return last === undefined ? undefined : { ...last, number: this.log.signed.length };
      },
      checkpoints: async (after: number) => this.log.signed.slice(after),
    };
    const { losses } = this;
    return {
      logs: logs as unknown as Store['logs'],
      onChange: (listener: ChangeListener) => {
        this.#listener = listener;
      },
      hearsChanges: () => this.hears,
      ...(losses === undefined
        ? {}
        : { server: { losses: () => this.losses } as unknown as Store['server'] }),
    } as Pick<Store, 'logs' | 'onChange' | 'hearsChanges' | 'server'>;
  }
}

async function refused(index: RevisionIndex, told: RegExp): Promise<void> {
  await assert.rejects(index.follow(), error => {
    assert.ok(error instanceof Failure, String(error));
    assert.equal(error.code, 'INTERNAL_ERROR');
    assert.match(String(error.cause), told);
    return true;
  });
  assert.equal(index.isCurrent, false);
}

const notOurs = /the audit entry \d+ of writer \w+ was not written by this service/;
const edited = /the audit entry \d+ of writer \w+ was edited, or does not follow the one before it/;
const cutOff = /the audit log of writer \w+ ends at \d+, but \d+ was recorded/;

describe('the newest revisions', () => {
  let stored: Stored;
  let log: MemoryLog;
  beforeEach(() => {
    stored = new Stored();
    log = stored.log;
  });

  it('are unknown before the log was read', () => {
    log.audit(0, told(3));
    const index = stored.index();
    assert.equal(index.newest(vault), 0);
    assert.equal(index.isCurrent, false);
    assert.equal(index.removed('audit', 'one'), undefined);
    index.note(JSON.stringify(told(3)));
    assert.equal(index.learned, 0);
  });

  it('are those of the log, whatever came in between and in whatever order', async () => {
    log.audit(0, told(1));
    log.audit(1);
    log.audit(2, told(3));
    log.audit(3, told(2));
    log.audit(4, told(1, secret), 'two');
    const index = await stored.followed();
    assert.deepEqual([index.newest(vault), index.newest(secret), index.newest(other)], [3, 1, 0]);
    assert.equal(index.isCurrent, true);
    assert.equal(index.learned, 0, 'what was there before is no change');
  });

  it('are found in a log that is longer than what is read at once', async () => {
    for (let count = 0; count < 1_000; count++) log.audit(count);
    log.audit(1_000, told(7));
    const index = await stored.followed();
    assert.equal(index.newest(vault), 7);
  });

  it('are those that this process stored, and those that others did', async () => {
    const index = await stored.followed();
    index.note(JSON.stringify(told(1)));
    assert.deepEqual([index.newest(vault), index.learned], [1, 1]);
    index.note(JSON.stringify(told(1)));
    index.note(JSON.stringify({ ...told(2), outcome: 'denied' }));
    assert.deepEqual([index.newest(vault), index.learned], [1, 1], 'nothing new');
    log.audit(0, told(1));
    log.audit(1, told(4));
    await index.follow();
    assert.deepEqual([index.newest(vault), index.learned], [4, 2]);
    index.note(JSON.stringify(told(3)));
    assert.deepEqual([index.newest(vault), index.learned], [4, 2], 'an older one');
  });

  it('are known as they were when so much was learned', async () => {
    const index = stored.index();
    log.audit(0, told(2));
    await index.follow();
    for (const said of [told(3), told(1, secret), told(5), told(6, secret)]) index.note(JSON.stringify(said));
    assert.equal(index.learned, 4);
    const asKnown = (id: string) => [0, 1, 2, 3, 4].map(learned => index.newestAt(id, learned));
    assert.deepEqual(asKnown(vault), [2, 3, 3, 5, 5]);
    assert.deepEqual(asKnown(secret), [0, 0, 1, 1, 6]);
    assert.deepEqual(asKnown(other), [0, 0, 0, 0, 0]);
  });

  it('forget how they were where that is long ago: past 40,000 changes, all but the last 20,000', async () => {
    const index = await stored.followed();
    for (let revision = 1; revision <= 39_999; revision++)
      index.note(JSON.stringify(told(revision, revision === 20_001 ? secret : vault)));
    assert.deepEqual([index.learned, index.newestAt(vault, 0), index.newestAt(vault, 7)], [39_999, 0, 7]);
    index.note(JSON.stringify(told(40_000)));
    assert.equal(index.learned, 40_000);
    assert.equal(index.newestAt(vault, 0), 20_000, 'the oldest that is remembered');
    assert.equal(index.newestAt(secret, 20_000), 0);
    assert.equal(index.newestAt(secret, 20_001), 20_001);
    assert.equal(index.newestAt(vault, 39_999), 39_999);
    assert.equal(index.newestAt(vault, 40_000), 40_000);
  });
});

describe('a log that is not as it was written', () => {
  let stored: Stored;
  let log: MemoryLog;
  let links: MemoryLink[];
  beforeEach(() => {
    stored = new Stored();
    log = stored.log;
    links = [0, 1, 2].map(at => log.audit(at, told(at + 1)));
  });

  const damages: [what: string, damage: () => void, told: RegExp][] = [
    ['an entry was edited', () => log.change(links[1]!, { text: JSON.stringify(told(9)) }), edited],
    ['the first one was', () => log.change(links[0]!, { text: JSON.stringify(told(9)) }), edited],
    ['an entry says another number', () => log.change(links[2]!, { seq: 4 }), edited],
    ['an entry has no mark of ours', () => log.change(links[2]!, { mark: markOf('other') }), notOurs],
    ['an entry is missing', () => log.drop(links[1]!), edited],
    ['the first is missing', () => log.drop(links[0]!), edited],
    [
      'the last one that was signed is missing',
      () => {
        log.sign(5);
        log.drop(links[2]!);
      },
      cutOff,
    ],
    [
      'the last one that was recorded is',
      () => {
        stored.head(links[2]!);
        log.drop(links[2]!);
      },
      cutOff,
    ],
    [
      'all that was signed is',
      () => {
        log.sign(5);
        log.drop(...links);
      },
      cutOff,
    ],
    [
      'more was signed of a chain that was archived',
      () => {
        log.audit(9, archive([removedUpTo(links[1]!)]), 'two');
        log.sign(5);
        log.drop(...links);
      },
      cutOff,
    ],
  ];
  for (const [what, damage, told] of damages)
    it(`is not believed: ${what}`, async () => {
      damage();
      const index = stored.index();
      await refused(index, told);
      assert.equal(index.newest(vault), 0);
    });

  it('is believed up to heads that are as it is, whatever stands beside them', async () => {
    log.block(0);
    log.sign(5);
    stored.head(links[2]!);
    stored.heads.push({ ...stored.heads[0]!, seq: 9 }); // Without a mark of its own.
    const block = log.block(1);
    stored.head(block, 9); // Of the other log.
    const index = await stored.followed();
    assert.equal(index.newest(vault), 3);
  });

  it('is believed where a standby took over that had less', async () => {
    stored.head(links[2]!);
    log.drop(links[2]!);
    log.audit(9, continued, 'two');
    const index = await stored.followed();
    assert.equal(index.newest(vault), 2);
  });

  it('no longer makes known what comes: from then on nothing is believed', async () => {
    const index = await stored.followed();
    const [next] = [log.audit(9, told(4))];
    log.change(next, { text: JSON.stringify(told(9)) });
    await refused(index, edited);
    assert.equal(index.newest(vault), 3);
  });

  it('is no longer believed where a chain comes that does not begin', async () => {
    const index = await stored.followed();
    log.audit(8, {}, 'two');
    const second = log.audit(9, told(4), 'two');
    log.stored = [...links, second];
    await refused(index, edited);
  });

  it('keeps what is known where it is cut off while the service runs', async () => {
    const index = await stored.followed();
    log.drop(links[2]!);
    await index.follow();
    assert.deepEqual([index.newest(vault), index.isCurrent], [3, true]);
  });

  it('is looked at again a second later, not before', async t => {
    let now = 5_000;
    t.mock.method(performance, 'now', () => now);
    const index = stored.index();
    log.change(links[2]!, { mark: 'none' });
    await refused(index, notOurs);
    log.stored = [...links];
    now += 999;
    await refused(index, notOurs);
    now += 1;
    await index.follow();
    assert.deepEqual([index.newest(vault), index.isCurrent], [3, true]);
    await index.follow();
    log.audit(9, told(4));
    await index.follow();
    assert.equal(index.learned, 1, 'read on, not anew');
  });
});

describe('a log of which retention removed the beginning', () => {
  let stored: Stored;
  let log: MemoryLog;
  let links: MemoryLink[];
  beforeEach(() => {
    stored = new Stored();
    log = stored.log;
    links = [0, 1, 2].map(at => log.audit(at, told(at + 1)));
  });

  for (const removed of [1, 2, 3])
    it(`is believed where an entry says so: ${removed} of 3`, async () => {
      const last = log.audit(9, archive([removedUpTo(links[removed - 1]!)]), removed === 3 ? 'two' : 'one');
      log.sign(10);
      log.drop(...links.slice(0, removed));
      const index = await stored.followed();
      assert.equal(index.newest(vault), removed === 3 ? 0 : 3);
      assert.equal(index.removed('audit', 'one')?.seq, removed);
      assert.equal(index.removed('request', 'one'), undefined);
      assert.equal(index.removed('audit', 'three'), undefined);
      log.audit(11, told(4));
      await index.follow();
      assert.equal(index.newest(vault), 4, 'the chain goes on');
      assert.equal(last.stream, 'audit');
    });

  it('is not believed where the entry tells of another link', async () => {
    log.audit(9, archive([{ ...removedUpTo(links[0]!), hash: links[1]!.hash }]));
    log.drop(links[0]!);
    await refused(stored.index(), edited);
  });

  it('is believed where the entries are still there', async () => {
    log.audit(9, archive([removedUpTo(links[0]!)]));
    const index = await stored.followed();
    assert.equal(index.newest(vault), 3);
  });

  it('tells what was removed of the request log; an archive that repeats less takes nothing back', async () => {
    const blocks = [log.block(0), log.block(1), log.block(2)].map(block => removedUpTo(block));
    log.audit(5, prune(blocks[0]));
    const index = await stored.followed();
    assert.deepEqual(index.removed('request', 'one')?.seq, 1);
    assert.equal(index.removed('audit', 'one'), undefined);
    log.audit(6, prune(blocks[2]));
    log.audit(7, archive([], [blocks[1]]));
    await index.follow();
    const { writer, ...link } = blocks[2]!;
    assert.deepEqual(index.removed('request', writer), link);
  });
});

describe('reading on', () => {
  let stored: Stored;
  let log: MemoryLog;
  beforeEach(() => {
    stored = new Stored();
    log = stored.log;
    log.audit(0, told(1));
  });

  it('is due after a change by another, and not after one of our own', async t => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const index = await stored.followed();
    stored.change(true);
    assert.equal(index.isCurrent, true);
    stored.change(false);
    assert.equal(index.isCurrent, false);
    await index.follow();
    assert.equal(index.isCurrent, true);
  });

  it('is due again after a change that comes while it reads', async t => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const index = await stored.followed();
    stored.onRead = () => stored.change(false);
    await index.follow();
    assert.equal(index.isCurrent, false);
  });

  it('is not enough while changes are not heard', async () => {
    const index = await stored.followed();
    stored.hears = false;
    assert.equal(index.isCurrent, false);
    stored.hears = true;
    assert.equal(index.isCurrent, true);
  });

  it('begins 50 ms after a change, once for all that come until then', async t => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    await stored.followed();
    stored.asked = [];
    const passed = async (time: number) => {
      t.mock.timers.tick(time);
      for (let turn = 0; turn < 20; turn++) await null;
      return stored.asked.length;
    };
    stored.change(true);
    assert.equal(await passed(30), 0);
    stored.change(false);
    assert.equal(await passed(19), 0);
    assert.equal(await passed(1), 1);
    assert.equal(await passed(100), 1);
    stored.change(false);
    assert.equal(await passed(50), 2);
  });

  it('does not begin by a change before it was asked for', async t => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    stored.index();
    stored.change(false);
    t.mock.timers.tick(50);
    for (let turn = 0; turn < 20; turn++) await null;
    assert.deepEqual(stored.asked, []);
  });

  it('makes known what was stored before it was asked for, once for all who ask meanwhile', async () => {
    const index = await stored.followed();
    stored.asked = [];
    stored.onRead = () => {
      stored.onRead = () => {};
      queueMicrotask(() => log.audit(9, told(2))); // After the first of them has read.
    };
    const first = index.follow();
    const [second, third] = [index.follow(), index.follow()];
    await first;
    await Promise.all([second, third]);
    assert.equal(index.newest(vault), 2);
    assert.equal(stored.asked.length, 2);
  });

  it('goes on for the next who asks where one of them failed', async () => {
    const index = await stored.followed();
    stored.onRead = () => {
      stored.onRead = () => {};
      throw new Failure('UNAVAILABLE');
    };
    const [first, second] = [index.follow(), index.follow()];
    await assert.rejects(first, { code: 'UNAVAILABLE' });
    await second;
    assert.equal(index.isCurrent, true);
  });
});

describe('after a server was lost', () => {
  let stored: Stored;
  let log: MemoryLog;
  let links: MemoryLink[];
  beforeEach(() => {
    stored = new Stored();
    stored.losses = 1;
    log = stored.log;
    links = [0, 1].map(at => log.audit(at, told(at + 1)));
  });

  it('the log is read on where it is as it was', async () => {
    const index = await stored.followed();
    stored.losses = 2;
    log.audit(9, told(3));
    await index.follow();
    assert.deepEqual([index.newest(vault), index.learned], [3, 1]);
  });

  it('the log is read on also where there was nothing in it', async () => {
    log.stored = [];
    const index = await stored.followed();
    stored.losses = 2;
    log.stored = [...links];
    await index.follow();
    assert.deepEqual([index.newest(vault), index.learned], [2, 2]);
  });

  for (const [what, instead] of [
    ['has less', []],
    ['has another entry in its place', [told(1, other)]],
  ] as const)
    it(`the log is read anew where the next one ${what}`, async () => {
      const index = await stored.followed();
      stored.log = new MemoryLog();
      for (const [at, said] of [told(1), ...instead].entries()) stored.log.audit(at, said);
      stored.losses = 2;
      await index.follow();
      assert.deepEqual([index.newest(vault), index.isCurrent], [1, true]);
      assert.equal(index.newest(other), instead.length);
    });
});

describe('what is kept of it', () => {
  let stored: Stored;
  let log: MemoryLog;
  let links: MemoryLink[];
  beforeEach(async () => {
    stored = new Stored();
    stored.losses = 0;
    log = stored.log;
    links = [0, 1, 2].map(at => log.audit(at, told(at + 1)));
    links.push(log.audit(3, archive([removedUpTo(links[0]!)], [removedUpTo(log.block(0))])));
    log.drop(links[0]!);
    const index = await stored.followed();
    await index.keep(3);
    stored.asked = [];
  });

  it('is gone on from: only what came behind it is read', async () => {
    log.audit(9, told(1, secret));
    const index = await stored.followed();
    assert.deepEqual([index.newest(vault), index.newest(secret)], [3, 1]);
    assert.deepEqual([index.removed('audit', 'one')?.seq, index.removed('request', 'one')?.seq], [1, 1]);
    assert.ok(!stored.asked.includes(0));
    await index.keep(1);
    stored.asked = [];
    await stored.index().follow();
    assert.ok(!stored.asked.includes(0));
  });

  it('holds that a standby took over', async () => {
    log.audit(9, continued, 'two');
    const before = stored.index();
    await before.follow();
    await before.keep(1);
    stored.head(links[3]!, 7);
    const index = await stored.followed();
    assert.equal(index.newest(vault), 3);
  });

  const forgeries: [what: string, forge: (kept: Uint8Array) => Uint8Array | undefined][] = [
    ['was removed', () => undefined],
    ['was changed', kept => kept.map((byte, at) => (at === kept.length - 1 ? byte ^ 1 : byte))],
    ['is of an earlier version', kept => withHead(kept, ({ pruned: _, ...head }) => head)],
    ['is not readable', kept => withHead(kept, () => undefined)],
    ['is of a log that went on differently', kept => withHead(kept, head => ({ ...head, hash: 'other' }))],
    ['is of a longer log', kept => withHead(kept, head => ({ ...head, position: 99 }))],
  ];
  for (const [what, forge] of forgeries)
    it(`counts for nothing where it ${what}: all is read`, async () => {
      stored.kept = forge(stored.kept!);
      const index = await stored.followed();
      assert.deepEqual([index.newest(vault), stored.asked.at(-1)], [3, 0]);
    });

  it('is kept once 2,000 entries came, not before', async () => {
    const index = stored.index();
    stored.kept = undefined;
    await index.follow(); // Has read 3.
    for (let count = 0; count < 1_996; count++) log.audit(count);
    await index.follow();
    await index.keep();
    assert.equal(stored.kept, undefined);
    log.audit(2_000);
    await index.follow();
    await index.keep();
    assert.notEqual(stored.kept, undefined);
    stored.kept = undefined;
    await index.keep();
    assert.equal(stored.kept, undefined, 'nothing came since');
    await index.keep(0);
    assert.notEqual(stored.kept, undefined);
  });

  it('is not kept before anything was read', async () => {
    stored.kept = undefined;
    await stored.index().keep(0);
    assert.deepEqual([stored.kept, stored.asked], [undefined, []]);
  });

  it('is not kept where the server was lost while it read', async () => {
    stored.kept = undefined;
    const index = await stored.followed();
    stored.onRead = () => stored.losses!++;
    await index.keep(0);
    assert.equal(stored.kept, undefined);
    stored.onRead = () => {};
    await index.keep(0);
    assert.notEqual(stored.kept, undefined);
  });
});

/** With another head, under a right stamp; without one, no head that could be read. */
function withHead(
  kept: Uint8Array,
  change: (head: Record<string, unknown>) => Record<string, unknown> | undefined,
): Uint8Array {
  const content = Buffer.from(kept.subarray(32));
  const end = content.indexOf('\n');
  const changed = change(JSON.parse(content.toString('utf8', 0, end)));
  const head = Buffer.from(changed === undefined ? '{' : JSON.stringify(changed));
  const bytes = Buffer.concat([head, content.subarray(end)]);
  return Buffer.concat([stamp('audited-revisions', [bytes]), bytes]);
}
