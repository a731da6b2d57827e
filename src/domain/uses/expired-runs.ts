/**
 * Runs that reached their end. Their access keys expired at that moment; here each is ended once, with an event, and
 * what still waits for approval is cancelled.
 */
import type { Caller } from '../../access/caller.ts';
import type { RunRow } from '../../store/records/runs.ts';
import { StaleChange } from '../kernel/conflict-retries.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Allowed } from '../kernel/subjects.ts';
import { endingOf, vaultsOf } from './run-records.ts';

export function expiredRunsWith(parts: Parts) {
  const { store, stamps, guard } = parts;

  /** Ends those that were over before then; returns how many were found. */
  return async (
    callerIn: (organizationId: string) => Caller,
    before: number,
    most: number,
  ): Promise<number> => {
    const found = await store.runs.over(before, most);
    for (const one of found) {
      const permit = await guard.admit(callerIn(one.organization_id), 'runs:write');
      const row = stamps.run.believe<Allowed<RunRow, 'runs:write'>>(
        await guard.found(permit, one, vaultsOf(one)[0]),
      );
      const { row: _, ...change } = await endingOf<'runs:write'>(parts, row, 'expired', null);
      await guard.change(permit, 'run.ended', change).catch(error => {
        // Another replica ended it first.
        if (!(error instanceof StaleChange)) throw error;
      });
    }
    return found.length;
  };
}
