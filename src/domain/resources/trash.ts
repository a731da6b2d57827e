/** Deletes, purges and restores. A deleted resource stays in the trash for 30 days, hidden and not counted. */
import type { Action } from '../../access/policy.ts';
import { Failure } from '../../contract/errors.ts';
import type { ResourceType } from '../../contract/resources.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import { type EventKind, eventOf } from '../kernel/events.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import type { lookupWith } from './lookup.ts';
import { type CheckExposure, type MayWrite, subjectOf } from './subject.ts';

/** How long a deletion can be undone. */
export const trashKept = 30 * 24 * 60 * 60 * 1000;

export function trashWith(
  { store, stamps, guard, now, newId }: Parts,
  { find, labelled }: ReturnType<typeof lookupWith>,
  checkExposure: CheckExposure,
) {
  async function remove<T extends ResourceType>(
    permit: NoInfer<MayWrite<T>>,
    type: T,
    id: string,
    purge: boolean,
  ): Promise<void> {
    await retryingStale(async () => {
      const before = await find(permit, type, id, deletable(purge));
      const row = stamps.resource.revise(before, { deleted_at: before.deleted_at ?? now() }, now());
      await guard.change(permit, `${type}.${purge ? 'purged' : 'deleted'}`, {
        subjects: [subjectOf(row)],
        statements: [
          // The counts of a vault take its contents out of the totals; a purge then removes the counts.
          ...(before.deleted_at === null ? counting(row, -1) : []),
          ...(purge ? purging(before) : [store.resources.update(row)]),
          ...(before.deleted_at === null ? [eventStatement('resource.deleted', row)] : []),
        ],
        touches: [row.vault_id],
      });
    });
  }

  function purging(row: ResourceRow): Statement[] {
    // A vault's kept answers are removed with the vault.
    const contents =
      row.type === 'vault' ? store.resources.purgeContents(row) : [store.keptAnswers.drop(row.vault_id)];
    const rules = row.type === 'vault' ? store.useRules.removeIn(row.id) : store.useRules.removeOf(row.id);
    return [...contents, rules, store.resources.purge(row.id, row.revision)];
  }

  function counting(row: ResourceRow, change: 1 | -1): Statement[] {
    return row.type === 'vault'
      ? store.resources.countVault(row.organization_id, row.id, change)
      : [store.resources.count([row], change)];
  }

  async function findRestorable<A extends Action>(permit: Permit<A>, type: ResourceType | null, id: string) {
    const row = await find(permit, type, id, true);
    if (row.deleted_at! + trashKept <= now()) throw new Failure('NOT_FOUND');
    return row;
  }

  function restore<T extends ResourceType>(permit: NoInfer<MayWrite<T>>, type: T, id: string) {
    return retryingStale(async () => {
      const before = await findRestorable(permit, type, id);
      const row = stamps.resource.revise(before, { deleted_at: null }, now());
      await checkExposure(permit.caller, before, row, 'same');
      await guard.change(permit, `${type}.restored`, {
        subjects: [subjectOf(row)],
        statements: [
          store.resources.update(row),
          ...counting(row, 1),
          eventStatement('resource.updated', row),
        ],
        touches: [row.vault_id],
      });
      return labelled(row);
    });
  }

  function eventStatement(kind: EventKind, row: ResourceRow): Statement {
    return store.outbox.add(stamps.stampEvent(eventOf(kind, row, row.updated_at, newId)));
  }

  return { remove, findRestorable, restore };
}

/** Where a deletion looks: a purge also finds resources in the trash. */
export function deletable(purge: boolean): false | null {
  return purge ? null : false;
}
