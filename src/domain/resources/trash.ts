/** Deletes, purges and restores. A deleted resource stays in the trash for 30 days, hidden and not counted. */
import type { Caller } from '../../access/caller.ts';
import type { Action } from '../../access/policy.ts';
import { Failure } from '../../contract/errors.ts';
import type { ResourceType } from '../../contract/resources.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import { type EventKind, eventOf } from '../kernel/events.ts';
import type { ChangeAction } from '../kernel/guard.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import type { MaybeAllowed, SubjectChange } from '../kernel/subjects.ts';
import type { lookupWith } from './lookup.ts';
import { isTrusted, type Review } from './review.ts';
import { type CheckExposure, type MayWrite, subjectOf } from './subject.ts';
import { type ProposedWrite, shownOf } from './writes.ts';

/** How long a deletion can be undone. */
export const trashKept = 30 * 24 * 60 * 60 * 1000;

export function trashWith(
  { store, stamps, guard, now, newId }: Parts,
  { find, labelled, placeOf, forgetVault }: ReturnType<typeof lookupWith>,
  checkExposure: CheckExposure,
  { pass, exempt }: Pick<Review, 'pass' | 'exempt'>,
) {
  async function remove<T extends ResourceType>(
    permit: NoInfer<MayWrite<T>>,
    type: T,
    id: string,
    purge: boolean,
  ): Promise<void> {
    await retryingStale(async again => {
      const before = await find(permit, type, id, deletable(purge));
      if (again) forgetVault(before.vault_id);
      if (before.type === 'vault') await refuseWithLeases(before);
      const verb = `${type}.${purge ? 'purged' : 'deleted'}` as const;
      const { revision } = before;
      const write: ProposedWrite = { do: 'remove', verb, revision, purge, shown: shownOf(verb, before) };
      const reviewed = await review(permit, before, write);
      await guard.change(permit, verb, { reviewed, ...removal(before, purge) });
    });
  }

  /** Only the vault's issuers can end them, with connections that are sealed with its key. */
  async function refuseWithLeases({ id }: ResourceRow): Promise<void> {
    if ((await store.leases.living('vault_id', id, 1)) === 0) return;
    throw new Failure('CONFLICT', {
      message: 'Credentials of the vault’s issuers are in use: delete the issuers with revoke=true first',
    });
  }

  /** The service empties the trash without review, even if the vault is gone. */
  async function review<A extends ChangeAction>(
    permit: Permit<A>,
    before: ResourceRow,
    write: ProposedWrite,
  ) {
    if (isTrusted(permit.caller)) return exempt();
    return pass(permit, [{ vault: await placeOf(before), type: before.type, proposed: () => write }]);
  }

  function removal<A extends Action>(before: MaybeAllowed<ResourceRow, A>, purge: boolean) {
    const row = stamps.resource.revise(before, { deleted_at: before.deleted_at ?? now() }, now());
    const subjects: [SubjectChange<A>] = [subjectOf<A>(row)];
    return {
      subjects,
      statements: [
        // The counts of a vault take its contents out of the totals; a purge then removes the counts.
        ...(before.type === 'vault' ? [store.leases.noneLiving('vault_id', before.id)] : []),
        ...(before.deleted_at === null ? counting(row, -1) : []),
        ...(purge ? purging(before) : [store.resources.update(row)]),
        ...(before.deleted_at === null ? [eventStatement('resource.deleted', row)] : []),
      ],
      touches: [row.vault_id],
    };
  }

  function purging(row: ResourceRow): Statement[] {
    // A vault's kept answers are removed with the vault.
    const contents =
      row.type === 'vault' ? store.resources.purgeContents(row) : [store.keptAnswers.drop(row.vault_id)];
    const others =
      row.type === 'vault'
        ? [
            store.useRules.removeIn(row.id),
            store.proposals.removeIn(row.id),
            ...store.issuers.removeIn(row.id),
            ...store.acme.removeIn(row.id),
            ...store.authorities.removeIn(row.id),
            ...store.rotations.removeIn(row.id),
          ]
        : [store.useRules.removeOf(row.id), ...store.rotations.removeOf(row.id)];
    return [...contents, ...others, store.resources.purge(row.id, row.revision)];
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
    return retryingStale(async again => {
      const before = await findRestorable(permit, type, id);
      if (again) forgetVault(before.vault_id);
      const { row, ...change } = await restoration(permit.caller, before);
      const verb = `${type}.restored` as const;
      const { revision } = before;
      const write: ProposedWrite = { do: 'restore', verb, revision, shown: shownOf(verb, before) };
      await guard.change(permit, verb, { reviewed: await review(permit, before, write), ...change });
      return labelled(row);
    });
  }

  async function restoration<A extends Action>(caller: Caller, before: MaybeAllowed<ResourceRow, A>) {
    const row = stamps.resource.revise(before, { deleted_at: null }, now());
    await checkExposure(caller, before, row, 'same');
    const subjects: [SubjectChange<A>] = [subjectOf<A>(row)];
    return {
      row,
      subjects,
      statements: [store.resources.update(row), ...counting(row, 1), eventStatement('resource.updated', row)],
      touches: [row.vault_id],
    };
  }

  function eventStatement(kind: EventKind, row: ResourceRow): Statement {
    return store.outbox.add(stamps.stampEvent(eventOf(kind, row, row.updated_at, newId)));
  }

  return { remove, removal, findRestorable, restore, restoration };
}

/** Where a deletion looks: a purge also finds resources in the trash. */
export function deletable(purge: boolean): false | null {
  return purge ? null : false;
}
