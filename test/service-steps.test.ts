/** What the service does by itself: housekeeping, and taking note of a standby that took over. */
import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import { housekeepingWith } from '../src/domain/operations/housekeeping.ts';
import { timelineWith } from '../src/domain/operations/timeline.ts';
import { continuedAction } from '../src/logs/logged-link.ts';
import type { Timeline } from '../src/store/engine/engine.ts';

const day = 24 * 60 * 60 * 1000;

describe('a step of housekeeping', () => {
  async function step(minted: number, approvals: number, old: number) {
    const asked: unknown[] = [];
    const removed: unknown[] = [];
    const note =
      (what: string, answer: unknown) =>
      async (...given: unknown[]) => {
        asked.push([what, ...given]);
        return answer;
      };
    const rows = Array.from({ length: old }, (_, at) => ({
      organization_id: 'o',
      type: 'secret',
      id: `s${at}`,
    }));
    const parts = {
      now: () => 100 * day + 999,
      aged: () => 90 * day,
      newId: () => 'request',
      guard: {
        admit: async (caller: { organizationId: string }, action: string) => [caller.organizationId, action],
      },
      store: {
        limits: { forget: note('limits', undefined) },
        credentials: { forgetMinted: note('minted', minted) },
        approvals: { forget: note('approvals', approvals) },
        roleRequests: { forget: note('role requests', undefined) },
        proposals: { forget: note('proposals', 0), expired: note('undecided', []) },
        leases: { forget: note('leases', 0) },
        runs: { forget: note('runs', 0), over: note('over', []) },
        issuedCertificates: { forget: note('certificates', 0) },
        acme: { forget: note('orders', 0) },
        rotations: { forget: note('rotations', 0) },
        oauthGrants: { forget: note('grants', undefined) },
        resources: { deletedBefore: note('trash', rows) },
      },
    };
    const records = {
      remove: async (...given: unknown[]) => {
        removed.push(given);
      },
    };
    const isMore = await housekeepingWith(parts as never, records as never).step();
    return { asked, removed, isMore };
  }

  it('forgets what is past its time, by the clock that never jumps where that is for good', async () => {
    const { asked, removed } = await step(0, 0, 1);
    assert.deepEqual(asked, [
      ['limits', (100 * day) / 1000 - 3_600],
      ['minted', 90 * day, 1_000],
      ['approvals', 83 * day, 1_000],
      ['role requests', 83 * day, 1_000],
      ['proposals', 60 * day, 1_000],
      ['leases', 60 * day, 1_000],
      ['certificates', 0, 1_000],
      ['orders', 0, 1_000],
      ['rotations', 60 * day, 1_000],
      ['grants', 90 * day, 1_000],
      ['trash', 60 * day, 50],
      ['undecided', 90 * day, 50],
      ['over', 90 * day, 50],
      ['runs', 0, 1_000],
    ]);
    assert.deepEqual(removed, [[['o', 'secrets:write'], 'secret', 's0', true]]);
  });

  const steps: [minted: number, approvals: number, old: number, isMore: boolean][] = [
    [0, 0, 0, false],
    [999, 999, 49, false],
    [1_000, 0, 0, true],
    [0, 1_000, 0, true],
    [0, 0, 50, true],
  ];
  for (const [minted, approvals, old, isMore] of steps)
    it(`${isMore ? 'may leave more' : 'leaves nothing'} after ${minted}, ${approvals} and ${old}`, async () => {
      const done = await step(minted, approvals, old);
      assert.deepEqual([done.isMore, done.removed.length], [isMore, old]);
    });
});

describe('the timeline of the database', () => {
  let found: Timeline | null | undefined;
  let before: Timeline | undefined;
  let done: unknown[];
  let failure: Error | null;
  let reads: number;
  let note: () => Promise<void>;
  beforeEach(() => {
    [found, before, done, failure, reads] = [undefined, undefined, [], null, 0];
    const parts = {
      newId: () => 'request',
      keyring: { deployment: 'd' },
      guard: {
        operate: async (
          operators: readonly { organizationId: string }[],
          verb: string,
          { details, statements }: { details: object; statements: readonly unknown[] },
        ) => {
          done.push([verb, details, operators.map(({ organizationId }) => organizationId), ...statements]);
          if (failure !== null) throw failure;
        },
      },
      store: {
        get server() {
          return found === undefined ? undefined : { timeline: async () => found };
        },
        organizations: { all: async () => [{ id: 'o' }] },
        timelines: {
          read: async () => {
            reads++;
            return before;
          },
          set: async (timeline: Timeline) => {
            done.push(['set', timeline]);
          },
          replace: (from: Timeline, to: Timeline) => `from ${from.number} to ${to.number}`,
        },
      },
    };
    note = timelineWith(parts as never);
  });

  it('is none of an embedded database, or of a server that does not say', async () => {
    await note();
    found = null;
    await note();
    assert.deepEqual([done, reads], [[], 0]);
  });

  it('is noted of a server that is new, also after another one', async () => {
    found = { cluster: 'a', number: 3 };
    await note();
    assert.deepEqual(done, [['set', found]]);
    before = { cluster: 'b', number: 2 };
    found = { cluster: 'a', number: 4 };
    await note();
    assert.deepEqual(done[1], ['set', found]);
  });

  it('is nothing to tell of where it is the same, and is then not looked up again', async () => {
    before = { cluster: 'a', number: 3 };
    found = { cluster: 'a', number: 3 };
    await note();
    await note();
    assert.deepEqual([done, reads], [[], 1]);
  });

  it('is told of in every log where a standby took over', async () => {
    before = { cluster: 'a', number: 3 };
    found = { cluster: 'a', number: 4 };
    await note();
    assert.deepEqual(done, [[continuedAction, { from: 3, to: 4 }, ['', 'o'], 'from 3 to 4']]);
    await note();
    assert.equal(reads, 1);
    found = { cluster: 'a', number: 5 };
    await note();
    assert.equal(reads, 2);
  });

  it('was told of by another replica that was first; other failures are told', async () => {
    before = { cluster: 'a', number: 3 };
    found = { cluster: 'a', number: 4 };
    for (const error of [new Failure('UNAVAILABLE'), Object.assign(new Error('x'), { code: 'CONFLICT' })]) {
      failure = error;
      await assert.rejects(note(), error);
    }
    failure = new Failure('CONFLICT');
    await note();
    await note();
    assert.equal(reads, 3, 'known from then on');
  });
});
