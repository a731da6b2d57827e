/**
 * Writes many secrets at once: those that can be stored are stored in one transaction. If one of them conflicts with
 * another one or with what is stored, each is stored by itself. Either way, each has its own outcome, which may be a
 * proposal.
 */
import { Failure } from '../../contract/errors.ts';
import type { Secret, SecretCreate, SecretUpdate } from '../../contract/resources.ts';
import { TimedTurns } from '../kernel/fair-turns.ts';
import { KeyedLock } from '../kernel/keyed-lock.ts';
import type { Labelled } from './lookup.ts';
import type { Records } from './records.ts';
import type { Resolution } from './references.ts';
import { isReviewed } from './sealing.ts';
import type { MayWrite } from './subject.ts';
import type { Write } from './writes.ts';

export type SecretWrite = SecretCreate | { readonly id: string; readonly changes: SecretUpdate };

type Outcome = PromiseSettledResult<Secret>;
type Permit = MayWrite<'secret'>;

interface Prepared {
  readonly at: number;
  readonly item: SecretWrite;
  readonly write: Write<'secrets:write'>;
}

/** How one of them is written. */
interface Writing {
  /** References are looked up in the resolution, if there is one. */
  writeOf(permit: Permit, item: SecretWrite, resolution?: Resolution): Promise<Write<'secrets:write'>>;
  storeAlone(permit: Permit, item: SecretWrite): Promise<Secret>;
  present(write: Labelled): Secret;
}

export function bulkWritesWith(records: Records, { writeOf, storeAlone, present }: Writing) {
  const fairTurns = new TimedTurns();

  /** Stores them in one transaction, whose refusal all share; null if a conflict may be due to just one. */
  async function storeTogether(permit: Permit, writes: readonly Prepared[]) {
    const [first, ...others] = writes.map(({ write }) => write);
    const [unit] = await Promise.allSettled([
      records.storeAll(permit, 'secret.updated', [first!, ...others]),
    ]);
    if (unit.status === 'rejected' && isConflict(unit.reason)) return null;
    return writes.map(
      ({ write }): Outcome =>
        unit.status === 'rejected' ? unit : { status: 'fulfilled', value: present(write) },
    );
  }

  /**
   * Those that can be stored together are. The values of a vault with review make one proposal; each template has one,
   * because it depends on what is stored.
   */
  async function storeAll(
    permit: Permit,
    items: readonly SecretWrite[],
    written: readonly PromiseSettledResult<Write<'secrets:write'>>[],
    oneByOne: (items: readonly SecretWrite[]) => Promise<Outcome[]>,
  ): Promise<Outcome[]> {
    const outcomes: Outcome[] = written.map(write => write as PromiseRejectedResult);
    const prepared = written.flatMap((write, at) =>
      write.status === 'fulfilled' ? { at, item: items[at]!, write: write.value } : [],
    );
    for (const group of Map.groupBy(prepared, proposedWith).values()) {
      const stored = (await storeTogether(permit, group)) ?? (await oneByOne(group.map(({ item }) => item)));
      for (const [index, { at }] of group.entries()) outcomes[at] = stored[index]!;
    }
    return outcomes;
  }

  async function storeValues(permit: Permit, items: readonly SecretWrite[]): Promise<Outcome[]> {
    const written = await Promise.allSettled(items.map(item => writeOf(permit, item)));
    return storeAll(permit, items, written, some => storeOneByOne(permit, some));
  }

  /**
   * Their references are looked up together. What each depends on is a condition of the transaction, which is tried
   * after the changes: if one of them depends on another one that changes, each is read and stored by itself, in turn.
   */
  async function storeTemplates(permit: Permit, items: readonly SecretWrite[]): Promise<Outcome[]> {
    const { id: key, organizationId: organization } = permit.caller;
    const written = await fairTurns.do({ organization, key }, async turns => {
      const resolution = records.references.shared(organization, { turns });
      return inTurn(items, async item => {
        await turns.pause();
        return writeOf(permit, item, resolution);
      });
    });
    return storeAll(permit, items, written, some => inTurn(some, item => storeAlone(permit, item)));
  }

  /** Writes to the same secret are stored in order, so that the first one with a name gets it. */
  function storeOneByOne(permit: Permit, items: readonly SecretWrite[]): Promise<Outcome[]> {
    const inOrder = new KeyedLock();
    const stored = items.map(item => {
      const about = 'id' in item ? item.id : `${item.vault_id} ${item.name}`;
      return inOrder.take(about, () => storeAlone(permit, item));
    });
    return Promise.allSettled(stored);
  }

  return async function writeAll(permit: Permit, items: readonly SecretWrite[]): Promise<Outcome[]> {
    const outcomes = new Map<SecretWrite, Outcome>();
    const note = (written: readonly SecretWrite[], of: readonly Outcome[]) =>
      written.forEach((item, at) => void outcomes.set(item, of[at]!));
    const values = items.filter(item => !isTemplate(item));
    note(values, await storeValues(permit, values));
    // A template may refer to any of the others, so those that fail are tried again after the others.
    let left = items.filter(isTemplate);
    for (let before = -1; left.length > 0 && left.length !== before; ) {
      before = left.length;
      note(left, await storeTemplates(permit, left));
      left = left.filter(item => isInvalid(outcomes.get(item)!));
    }
    return items.map(item => outcomes.get(item)!);
  };
}

async function inTurn<T, R>(
  items: readonly T[],
  run: (item: T) => Promise<R>,
): Promise<PromiseSettledResult<R>[]> {
  const settled: PromiseSettledResult<R>[] = [];
  for (const item of items) settled.push(...(await Promise.allSettled([run(item)])));
  return settled;
}

function isTemplate(item: SecretWrite): boolean {
  return ('id' in item ? item.changes : item).kind === 'template';
}

function isInvalid(outcome: Outcome): boolean {
  const { status } = outcome;
  return (
    status === 'rejected' && outcome.reason instanceof Failure && outcome.reason.code === 'INVALID_REQUEST'
  );
}

/** What is proposed together has the same: the vault, if it demands review, or the template. */
function proposedWith({ write: { vault, row, targetIds } }: Prepared): string | null {
  if (!isReviewed(vault.row)) return null;
  return targetIds === null || targetIds.length === 0 ? vault.row.id : row.id;
}

function isConflict(error: unknown): boolean {
  return error instanceof Failure && error.code === 'CONFLICT';
}
