/** What retention removes, when, and what it says of it. The logs are in memory, archives are files. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { firstIdAt, idGenerator } from '../src/contract/id.ts';
import { type Kept, type Retention, retentionWith } from '../src/domain/operations/retention.ts';
import { archivedAction, prunedAction } from '../src/logs/logged-link.ts';
import type { PlacedAuditRow } from '../src/store/records/logs.ts';
import { type MemoryLink, MemoryLog, markOf, noon } from './memory-log.ts';
import { dataRoot } from './postgres.ts';

const newId = idGenerator(Date.now);
const organization = newId();
const [vault, secret] = [newId(), newId()];
const day = 86_400_000;
const days = 10;

interface Maintained {
  readonly action: string;
  readonly details: Record<string, never>;
  readonly statements: readonly string[];
  readonly carried?: readonly Record<string, unknown>[];
}

describe('retention', () => {
  let log: MemoryLog;
  let folder: string;
  let answer: 'done' | 'refused';
  let done: Maintained[];
  let revisions: Map<string, number>;
  let living: Set<string>;
  let settled: number;
  let retention: Retention;
  beforeEach(() => {
    log = new MemoryLog();
    folder = mkdtempSync(join(dataRoot(), 'strongroom-retention-steps-'));
    [answer, done, revisions, living, settled] = ['done', [], new Map(), new Set(), 0];
    const placed = (link: MemoryLink) =>
      ({
        ...link,
        entry: link.text,
        position: log.stored.indexOf(link) + 1,
        organization_id: JSON.parse(link.text).organization_id ?? null,
      }) as unknown as PlacedAuditRow;
    const audits = () => log.stored.filter(({ stream }) => stream === 'audit').map(placed);
    const blocks = () => log.stored.filter(({ stream }) => stream === 'request');
    const parts = {
      now: () => noon,
      ledger: {
        settle: async () => {
          settled++;
        },
      },
      revisions: { follow: async () => {}, newest: (id: string) => revisions.get(id) ?? 0 },
      keyring: { chainMark: markOf, deployment: 'd', signCheckpoint: () => Buffer.alloc(64) },
      guard: {
        maintain: async (action: string, maintained: Omit<Maintained, 'action'>) => {
          done.push({ action, ...maintained });
          return answer;
        },
      },
      store: {
        logs: {
          newestOwn: async (action: string) =>
            audits().findLast(row => row.organization_id === null && row.entry.includes(action)),
          auditBefore: async ({ writer, seq }: PlacedAuditRow) =>
            audits().find(row => row.writer === writer && row.seq === seq - 1),
          oldestAudits: async (limit: number) => audits().slice(0, limit),
          living: async (ids: readonly string[]) => ids.filter(id => living.has(id)),
          stillLiving: (ids: readonly string[]) => ids.map(id => `living ${id}`),
          removeAudits: (ends: readonly number[], count: number) => `remove ${ends.join('-')} (${count})`,
          count: (counts: readonly { total: number }[]) => `count ${counts.map(({ total }) => total)}`,
        },
        requestLogs: {
          oldest: async (beforeId: string, limit: number) =>
            blocks()
              .filter(({ id }) => id < beforeId)
              .slice(0, limit),
          remove: (ids: readonly string[], organizations: readonly string[]) => [
            `remove ${ids.length} of ${organizations.length}`,
          ],
        },
      },
    };
    retention = retentionWith(parts as never);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** All before noon is past its age. */
  const kept = (): Kept => ({ aged: () => noon + days * day, days });
  const archive = () => retention.archive(kept(), folder);
  const own = { organization_id: organization };
  const files = () => readdirSync(folder).sort();
  const linesOf = (file: string) =>
    readFileSync(join(folder, file), 'utf8')
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line));
  const chainOf = ({ writer, seq, hash, mark }: MemoryLink) => ({ writer, seq, hash, mark });

  describe('of the audit log', () => {
    /** More than a day past its age. */
    const old = -day - 1;

    it('moves old entries to an archive, and says where the chains stand behind it', async () => {
      const links = [log.audit(old, own), log.audit(old + 1), log.audit(old + 2, own, 'two')];
      log.audit(5);
      assert.equal(await archive(), false);
      const [file] = files();
      const [head, ...lines] = linesOf(file!);
      const { seal } = lines.pop();
      assert.deepEqual([head.number, head.before], [1, []]);
      assert.deepEqual(
        lines.map(({ id, text }) => [id, text]),
        links.map(({ id, text }) => [id, text]),
      );
      assert.deepEqual([JSON.parse(seal).previous, JSON.parse(seal).deployment], [null, 'd']);
      const [{ action, details, statements, carried }] = done as [Maintained];
      assert.equal(action, archivedAction);
      assert.deepEqual(statements, ['remove 1-3 (3)', 'count -2']);
      assert.deepEqual(carried, []);
      assert.deepEqual(
        [details.number, details.file, details.removed, details.chains, details.request_chains],
        [1, file, 3, [chainOf(links[1]!), chainOf(links[2]!)], []],
      );
    });

    it('does nothing where all is kept, or nothing is old', async () => {
      log.audit(old);
      assert.equal(await retention.archive({ ...kept(), days: 0 }, folder), false);
      log.stored = [];
      assert.equal(await archive(), false);
      log.audit(0);
      assert.equal(await archive(), false);
      assert.deepEqual([done, files()], [[], []]);
    });

    it('takes an entry once it is past its age, where the first has been for a day', async () => {
      const [, , third] = [log.audit(old, own), log.audit(-1, own), log.audit(0, own)];
      log.change(third, { id: firstIdAt(noon) });
      await archive();
      assert.equal(done[0]!.details.removed, 2);
    });

    for (const [at, isDue] of [
      [-day - 1, true],
      [-day, false],
    ] as const)
      it(`${isDue ? 'makes' : 'makes no'} archive of one entry that is ${-at} ms past its age`, async () => {
        log.audit(at);
        await archive();
        assert.equal(done.length, isDue ? 1 : 0);
        if (isDue) assert.deepEqual(done[0]!.statements, ['remove 1-1 (1)'], 'it is no organization’s');
      });

    for (const [count, at, removed] of [
      [999, -1_000, null],
      [1_000, -1_000, 1_000],
      [1_001, -1_000, 1_000],
      [1_000, 1, null],
    ] as const)
      it(`makes ${removed === null ? 'no' : 'an'} archive at once of ${count} entries at ${at}`, async () => {
        for (let number = 0; number < count; number++) log.audit(at);
        assert.equal(await archive(), removed !== null);
        assert.equal(done[0]?.details.removed ?? null, removed);
      });

    it('leaves no file where another was first', async () => {
      log.audit(old);
      answer = 'refused';
      await archive();
      assert.deepEqual([done.length, files()], [1, []]);
    });

    it('carries on what entries prove of rows that are still there', async () => {
      const told = (id: string, revision: number, more: object = {}) =>
        log.audit(old, { ...own, outcome: 'allowed', subject: { type: 'secret', id }, revision, ...more });
      told(secret, 1);
      told(secret, 2, {
        vault_id: vault,
        details: { resource_id: 'r', member: 'm', identity_id: 'i', more: 1 },
      });
      told(vault, 3, { vault_id: null, details: null });
      told(newId(), 1); // Is gone.
      log.audit(old);
      for (const [id, revision] of [
        [secret, 2],
        [vault, 3],
      ] as const) {
        revisions.set(id, revision);
        living.add(id);
      }
      const newer = newId();
      told(newer, 4);
      revisions.set(newer, 5);
      living.add(newer);
      await archive();
      const { carried, statements } = done[0]!;
      assert.deepEqual(carried, [
        {
          type: 'secret',
          id: secret,
          revision: 2,
          vaultId: vault,
          details: { resource_id: 'r', member: 'm', identity_id: 'i' },
        },
        {
          type: 'secret',
          id: vault,
          revision: 3,
          vaultId: undefined,
          details: { resource_id: undefined, member: undefined, identity_id: undefined },
        },
      ]);
      assert.deepEqual(statements.slice(0, 2), [`living ${secret}`, `living ${vault}`]);
    });

    describe('goes on from the archive before', () => {
      let removed: MemoryLink[];
      const request = { writer: 'requests', seq: 4, hash: 'h', mark: 'm' };
      const said = (chains: unknown, more: object = {}) => ({
        action: archivedAction,
        organization_id: null,
        details: { number: 3, file: 'three', sha256: 'digest', chains, request_chains: [request], ...more },
      });
      beforeEach(() => {
        removed = [log.audit(old - 9), log.audit(old - 8, {}, 'two')];
      });
      const leave = (...left: readonly MemoryLink[]) =>
        log.drop(...removed.filter(link => !left.includes(link)));

      it('which the log names, with where the chains stood that its entries go on from', async () => {
        const one = log.audit(old);
        const pruned = log.audit(old, {
          action: prunedAction,
          details: { chains: [{ ...request, seq: 9 }] },
        });
        const told = log.audit(old + 1, said(removed.map(chainOf)), 'three');
        leave();
        await archive();
        const [head, ...lines] = linesOf(files()[0]!);
        assert.deepEqual(
          [head.number, head.before],
          [4, [chainOf(removed[0]!)]],
          'of the writers whose entries are in it',
        );
        const { previous } = JSON.parse(lines.at(-1).seal);
        assert.deepEqual(previous, { file: 'three', sha256: 'digest' });
        const { details } = done[0]!;
        assert.deepEqual(details.chains, [pruned, removed[1]!, told].map(chainOf));
        assert.deepEqual([details.number, details.request_chains], [4, [{ ...request, seq: 9 }]]);
        assert.equal(one.seq, 2);
      });

      // The entry itself is young: it is not among those that are archived, which are checked too.
      const places: [what: string, tell: () => MemoryLink][] = [
        ['is the first of its writer', () => log.audit(9, said(removed.map(chainOf)), 'three')],
        ['follows one that it archived', () => log.audit(9, said(removed.map(chainOf)))],
        [
          'follows one that is there',
          () => {
            assert.equal(log.audit(8).seq, 2);
            return log.audit(9, said(removed.map(chainOf)));
          },
        ],
      ];
      for (const [what, tell] of places) {
        const begin = () => {
          const entry = tell();
          leave();
          log.stored.unshift(new MemoryLog().audit(old, {}, 'four'));
          return entry;
        };

        it(`whose entry ${what}`, async () => {
          begin();
          await archive();
          assert.deepEqual([done[0]!.details.number, done[0]!.details.removed], [4, 1]);
        });

        it(`unless that entry is not what was written: it ${what}`, async () => {
          const entry = begin();
          const rest = log.stored.filter(link => link !== entry);
          for (const changed of [
            { text: JSON.stringify(said(removed.map(chainOf), { number: 2 })) },
            { seq: entry.seq + 1 },
            { mark: markOf('other') },
            { hash: markOf('other') },
            { text: JSON.stringify({ action: archivedAction, details: {} }) },
          ]) {
            log.stored = [...rest, { ...entry, ...changed }];
            await assert.rejects(archive(), /^Error: nothing is archived: the audit entry \d+ of writer /);
          }
          assert.deepEqual([done, files()], [[], []]);
        });
      }
    });

    const damages: [what: string, change: (links: readonly MemoryLink[]) => void][] = [
      ['was edited', links => log.change(links[1]!, { text: '{}' })],
      ['has another number', links => log.change(links[2]!, { seq: 9 })],
      ['has no mark of ours', links => log.change(links[1]!, { mark: markOf('other') })],
      ['is missing', links => log.drop(links[1]!)],
      ['is missing at the beginning', links => log.drop(links[0]!)],
    ];
    for (const [what, change] of damages)
      it(`archives nothing where an entry ${what}`, async () => {
        change([log.audit(old), log.audit(old), log.audit(old)]);
        await assert.rejects(
          archive(),
          /^Error: nothing is archived: the audit entry \d+ of writer one is not what was written/,
        );
        assert.deepEqual([done, files()], [[], []]);
      });
  });

  describe('of the request log', () => {
    const prune = () => retention.prune(kept());
    const alike = { organization_id: organization, vault_id: null, access_key_id: null, status: 200 };
    const block = (at: number, writer = 'one', organization_id: string | null = organization) =>
      log.block(
        at,
        1,
        {
          alike: [{ ...alike, organization_id }],
          entries: [
            [0, 1],
            [0, 1, null, 4],
          ],
        },
        writer,
      );

    it('drops old blocks, and says how much that was', async () => {
      const links = [block(-3), block(-2), block(-2, 'two')];
      block(0);
      assert.equal(await prune(), false);
      assert.equal(settled, 1, 'what is not filed is not counted');
      assert.deepEqual(done, [
        {
          action: prunedAction,
          statements: ['remove 3 of 1', 'count -15'],
          details: { removed: 15, chains: [links[1]!, links[2]!].map(chainOf) },
        },
      ]);
    });

    it('counts nothing that is nobody’s', async () => {
      block(-1, 'one', null);
      await prune();
      assert.deepEqual(done[0]!.statements, ['remove 1 of 0']);
    });

    it('counts entries where they are as many as the requests', async () => {
      log.block(-1, 1, { alike: [alike], entries: [[0, 1]] });
      await prune();
      assert.equal(done[0]!.details.removed, 1);
    });

    it('does nothing where all is kept, or nothing is old', async () => {
      block(0);
      assert.equal(await prune(), false);
      block(-1);
      assert.equal(await retention.prune({ ...kept(), days: 0 }), false);
      assert.deepEqual(done, []);
    });

    for (const [count, isMore] of [
      [49, false],
      [50, true],
      [51, true],
    ] as const)
      it(`drops fifty blocks at a time, of ${count}`, async () => {
        for (let number = 0; number < count; number++) block(-1);
        assert.equal(await prune(), isMore);
        assert.equal(done[0]!.details.removed, Math.min(count, 50) * 5);
      });
  });
});
