/** Deleting, purging and restoring: a deleted resource waits in the trash for 30 days, out of sight and out of the counts. */
import type { Caller } from '../access/caller.ts';
import { Failure } from '../contract/errors.ts';
import type { ResourceType } from '../contract/resources.ts';
import type { Statement } from '../store/engine.ts';
import type { ResourceRow } from '../store/resources.ts';
import type { catalogueWith, Labelled } from './catalogue.ts';
import { type EventKind, eventOf, resourceSubject } from './events.ts';
import { retryingStale } from './guard.ts';
import type { Parts } from './parts.ts';
import { actionOn, subjectOf } from './subject.ts';

/** For how long a delete can be undone. */
export const trashKept = 30 * 24 * 60 * 60 * 1000;

export function trashWith(
  { store, stamps, guard, now, newId }: Parts,
  { find, findAnyState, labelled }: ReturnType<typeof catalogueWith>,
) {
  async function remove(
    caller: Caller,
    type: ResourceType | null,
    id: string,
    purge: boolean,
  ): Promise<void> {
    const found = await findAnyState(caller, type, id, purge);
    const action = actionOn(found.type as ResourceType, 'write');
    await guard.admit(caller, action);
    await retryingStale(async () => {
      const before = await findAnyState(caller, type, id, purge);
      const row = stamps.resource.revise(before, { deleted_at: before.deleted_at ?? now() }, now());
      await guard.change(caller, action, `${row.type}.${purge ? 'purged' : 'deleted'}`, {
        subjects: [subjectOf(row)],
        statements: [
          // What a vault holds is taken out of the totals by its counts, which a purge then removes.
          ...(before.deleted_at === null ? counting(row, -1) : []),
          ...(purge ? purging(before) : [store.resources.update(row)]),
          ...(before.deleted_at === null ? [eventStatement('resource.deleted', row)] : []),
        ],
        touches: [row.vault_id],
      });
    });
  }

  function purging(row: ResourceRow): Statement[] {
    const contents = row.type === 'vault' ? store.resources.purgeContents(row) : [];
    return [...contents, store.resources.purge(row.id, row.revision)];
  }

  function counting(row: ResourceRow, change: 1 | -1): Statement[] {
    return row.type === 'vault'
      ? store.resources.countVault(row.organization_id, row.id, change)
      : store.resources.count(row.organization_id, row.type, row.vault_id, change);
  }

  function restore(caller: Caller, id: string): Promise<Labelled> {
    return retryingStale(async () => {
      const before = await find(caller, null, id, true);
      if (before.deleted_at! + trashKept <= now()) throw new Failure('NOT_FOUND');
      const action = actionOn(before.type as ResourceType, 'write');
      await guard.admit(caller, action);
      const row = stamps.resource.revise(before, { deleted_at: null }, now());
      await guard.change(caller, action, `${row.type}.restored`, {
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
    return store.outbox.add(stamps.stampEvent(eventOf(kind, resourceSubject(row), row.updated_at, newId)));
  }

  return { remove, restore };
}
