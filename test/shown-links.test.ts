/** Which entries of the logs are shown, and which of them as verified. The store is a stand-in in memory. */
import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import type { Link } from '../src/logs/chain.ts';
import { type ShownLinksParts, shownLinksWith } from '../src/logs/shown-links.ts';
import type { PlacedAuditRow, Stream } from '../src/store/records/logs.ts';
import type { RequestBlockRow } from '../src/store/records/request-logs.ts';
import { type MemoryLink, MemoryLog, markOf } from './memory-log.ts';

for (const stream of ['audit', 'request'] as const)
  describe(`a link of the ${stream} log`, () => {
    let log: MemoryLog;
    let links: MemoryLink[];
    let removed: Map<string, Link>;
    let followed: number;
    /** What retention says once the audit log was read on. */
    let onFollow: () => void;
    beforeEach(() => {
      log = new MemoryLog();
      links = [0, 1, 2].map(at => write(at));
      removed = new Map();
      followed = 0;
      onFollow = () => {};
    });

    const write = (at: number, writer = 'one') =>
      stream === 'audit' ? log.audit(at, {}, writer) : log.block(at, 1, {}, writer);

    /** As the store looks for them: among so many links before. */
    async function hashesBefore<K>(keys: readonly K[], nearest: number): Promise<Map<K, string>> {
      const found = new Map<K, string>();
      for (const key of keys) {
        const at = typeof key === 'number' ? key : log.stored.findIndex(({ id }) => id === key);
        const { writer, seq } = log.stored[at]!;
        const before = log.stored
          .slice(Math.max(0, at - nearest), at)
          .find(one => one.writer === writer && one.seq === seq - 1);
        if (before !== undefined) found.set(key, before.hash);
      }
      return found;
    }

    const shown = shownLinksWith({
      store: { logs: { hashesBefore }, requestLogs: { hashesBefore } },
      keyring: { chainMark: markOf },
      revisions: {
        follow: async () => {
          followed++;
          onFollow();
        },
        removed: (of: Stream, writer: string) => (of === stream ? removed.get(writer) : undefined),
      },
    } as unknown as ShownLinksParts);
    const rowsOf = <R>(list: readonly MemoryLink[]) =>
      list.map(link => ({ ...link, entry: link.text, position: log.stored.indexOf(link) }) as unknown as R);

    const listed = async (...list: readonly MemoryLink[]): Promise<boolean[]> => {
      const rows =
        stream === 'audit'
          ? await shown.audits(rowsOf<PlacedAuditRow>(list))
          : await shown.blocks(rowsOf<RequestBlockRow>(list));
      return rows.map(({ verified }) => verified);
    };
    const alone = async (link: MemoryLink): Promise<boolean> =>
      stream === 'audit'
        ? (await shown.audit(rowsOf<PlacedAuditRow>([link])[0]!)).verified
        : (await shown.block(rowsOf<RequestBlockRow>([link])[0]!)).verified;
    const isDamaged = (error: unknown) => {
      assert.ok(error instanceof Failure && error.code === 'INTERNAL_ERROR', String(error));
      const what = stream === 'audit' ? 'the audit entry' : 'the request block';
      assert.match(String(error.cause), new RegExp(`${what} \\d+ of writer one, or the one before it`));
      return true;
    };

    it('is verified by the one before it; the first stands by itself', async () => {
      assert.deepEqual(await listed(...links), [true, true, true]);
      for (const link of links) assert.equal(await alone(link), true);
      assert.equal(followed, 0, 'nothing that retention could have removed was missed');
    });

    it('is verified where the one before it is by 1,000 places away, in a list not farther', async () => {
      const last = () => log.stored.at(-1)!;
      for (let at = 3; at < 1_002; at++) write(at, 'two');
      write(1_100);
      assert.deepEqual(await listed(last()), [true]);
      for (let at = 2_000; at < 3_000; at++) write(at, 'two');
      write(3_100);
      assert.deepEqual(await listed(last()), [false]);
      assert.equal(await alone(last()), true);
    });

    const damages: [what: string, changed: Partial<MemoryLink>][] = [
      ['its text was edited', { text: '{}' }],
      ['its mark is not ours', { mark: markOf('other') }],
    ];
    for (const [what, changed] of damages)
      for (const seq of [1, 2])
        it(`is never shown where ${what}: number ${seq}`, async () => {
          log.change(links[seq - 1]!, changed);
          const link = log.stored[seq - 1]!;
          await assert.rejects(listed(link), isDamaged);
          await assert.rejects(alone(link), isDamaged);
        });

    it('is never shown where its mark is not ours, although the one before it is not there', async () => {
      log.change(links[2]!, { mark: markOf('other') });
      log.drop(links[1]!);
      await assert.rejects(listed(log.stored[1]!), isDamaged);
    });

    it('is listed as not verified where the one before it is gone, and not shown by itself', async () => {
      log.drop(links[0]!);
      assert.deepEqual(await listed(links[1]!, links[2]!), [false, true]);
      await assert.rejects(alone(links[1]!), isDamaged);
      assert.equal(followed, 2, 'retention may have removed it');
    });

    it('is verified by what retention says that it removed', async () => {
      log.drop(links[0]!);
      onFollow = () => removed.set('one', links[0]!);
      assert.deepEqual(await listed(links[1]!, links[2]!), [true, true]);
      assert.equal(await alone(links[1]!), true);
    });

    it('is not verified by another that retention says that it removed', async () => {
      log.drop(links[1]!);
      removed.set('one', links[0]!);
      assert.deepEqual(await listed(links[2]!), [false]);
      await assert.rejects(alone(links[2]!), isDamaged);
    });

    it('is never shown where it does not follow what retention says that it removed', async () => {
      log.drop(links[0]!);
      removed.set('one', { ...links[0]!, hash: links[2]!.hash });
      await assert.rejects(listed(links[1]!), isDamaged);
    });
  });
