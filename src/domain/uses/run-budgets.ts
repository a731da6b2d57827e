/**
 * The budgets of runs. A call is counted in the run's own row before it is sent: the count is durable, exact over all
 * replicas, and part of the audit log, so that it can't be put back. Of the size of bodies and answers, as much is
 * reserved as the call could take; what it did not take is given back afterwards, and kept after a crash. A run that
 * has ended counts nothing more, so that no call of it is sent.
 */
import type { Origin, Reader } from '../../access/caller.ts';
import { Failure } from '../../contract/errors.ts';
import type { RunRow } from '../../store/records/runs.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import { KeyedLock } from '../kernel/keyed-lock.ts';
import type { Parts } from '../kernel/parts.ts';
import { budgetsOf, runSubject, stateOf } from './run-records.ts';

/** What a call could take of a run's budgets. */
export interface Cost {
  readonly isWrite: boolean;
  /** In bytes: the length of its body, and the most that its answer may have. */
  readonly body: number;
  readonly answer: number;
}

interface Counting {
  readonly reader: Reader;
  readonly origin: Origin;
}

export type RunBudgets = ReturnType<typeof runBudgetsWith>;

/** For operations within the service: nothing is sent. */
export const free = { isWrite: false, body: 0, answer: 0 } as const;

export function runBudgetsWith({ store, stamps, guard, now }: Parts) {
  const lock = new KeyedLock();

  async function found({ organizationId, run }: Reader): Promise<RunRow> {
    const row = await store.runs.byId(organizationId, run!.id);
    if (row === undefined) throw over();
    return stamps.run.believe<RunRow>(row);
  }

  async function active(reader: Reader): Promise<RunRow> {
    const row = await found(reader);
    if (stateOf(row, now()) !== 'active') throw over();
    return row;
  }

  async function keep({ reader, origin }: Counting, verb: 'run.used' | 'run.settled', row: RunRow) {
    await guard.used({ ...reader, origin }, verb, {
      subjects: [runSubject(row)],
      statements: [store.runs.update(row)],
      touches: [row.id],
    });
  }

  async function take(by: Counting, cost: Cost): Promise<number> {
    const before = await active(by.reader);
    const answer = grantedBy(before, cost);
    const { uses, writes, bytes } = before;
    const isLimited = budgetsOf(before).bytes !== undefined;
    const row = stamps.run.revise(
      before,
      {
        uses: uses + 1,
        writes: writes + (cost.isWrite ? 1 : 0),
        bytes: isLimited ? bytes + cost.body + answer : bytes,
      },
      now(),
    );
    await keep(by, 'run.used', row);
    return answer;
  }

  async function giveBack(by: Counting, unused: number): Promise<void> {
    const before = await found(by.reader);
    if (budgetsOf(before).bytes === undefined) return;
    const row = stamps.run.revise(before, { bytes: Math.max(0, before.bytes - unused) }, now());
    await keep(by, 'run.settled', row);
  }

  return {
    /** Refuses a call that the run may not make any more, without counting it. */
    async check(reader: Reader, cost: Cost): Promise<void> {
      if (reader.run !== null) grantedBy(await active(reader), cost);
    },

    /** Counts a call, and returns how long its answer may be. */
    take: async (by: Counting, cost: Cost): Promise<number> => {
      const { run } = by.reader;
      if (run === null) return cost.answer;
      return lock.take(run.id, () => retryingStale(() => take(by, cost)));
    },

    /** Gives back what was reserved and not taken, in bytes. */
    settle: async (by: Counting, unused: number): Promise<void> => {
      const { run } = by.reader;
      if (run === null || unused <= 0) return;
      await lock.take(run.id, () => retryingStale(() => giveBack(by, unused)));
    },
  };
}

/** How long the answer of a call may be; throws if a budget is used up. */
function grantedBy(row: RunRow, { isWrite, body, answer }: Cost): number {
  const { uses, writes, bytes } = budgetsOf(row);
  if (uses !== undefined && row.uses >= uses) throw usedUp('uses');
  if (isWrite && writes !== undefined && row.writes >= writes) throw usedUp('writes');
  if (bytes === undefined || body + answer === 0) return answer;
  const left = bytes - row.bytes - body;
  if (left < 0 || (left === 0 && answer > 0)) throw usedUp('bytes');
  return Math.min(answer, left);
}

function usedUp(budget: string): Failure {
  return new Failure('FORBIDDEN', {
    message: `Forbidden: the run has used up its budget of ${budget}`,
    because: 'over_budget',
  });
}

function over(): Failure {
  return new Failure('UNAUTHORIZED', { because: 'run_ended' });
}
