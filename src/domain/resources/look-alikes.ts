/**
 * Says whether names that were just given look like others in the same space: of what is in a vault, in that vault; of a
 * secret id, at its identity; of anything else, in the organization. Only callers who could list those names are told,
 * because it says something about them. What the warning is about is stored by then: where the names can't be read, there is none.
 */
import type { Caller } from '../../access/caller.ts';
import { type Action, allows } from '../../access/policy.ts';
import { Failure } from '../../contract/errors.ts';
import { lookAlikeWarning, skeletonOf } from '../../contract/look-alikes.ts';
import { type NamedCollection, spaceOf } from '../../store/lists/given-names.ts';
import type { Parts } from '../kernel/parts.ts';

export { isNamed } from '../../store/lists/given-names.ts';

/** So many names are compared, the newest ones: a write must not take longer the more there is. */
const mostCompared = 2_000;

/** Members are told apart by their addresses. */
export interface Named {
  readonly id: string;
  readonly name?: string;
  readonly email?: string;
  readonly vault_id?: string | null;
  readonly identity_id?: string;
}

/** The warning, or null where there is nothing to warn of. */
export type LooksAlike = (
  caller: Caller,
  collection: NamedCollection,
  given: readonly Named[],
) => Promise<string | null>;

const words = { vault_id: 'vault', organization_id: 'organization', identity_id: 'identity' } as const;

function readingOf(collection: NamedCollection): Action {
  if (collection === 'groups') return 'members:read';
  return collection === 'secret-ids' ? 'identities:read' : `${collection}:read`;
}

export function looksAlikeWith({ store }: Pick<Parts, 'store'>): LooksAlike {
  return async (caller, collection, given) => {
    const space = spaceOf(collection);
    const idOf = (item: Named) => (space === 'organization_id' ? caller.organizationId : item[space]) ?? '';
    const isSeen = (item: Named) =>
      allows(caller, readingOf(collection), space === 'vault_id' ? idOf(item) : undefined);
    const bySpace = Map.groupBy(given.filter(isSeen), idOf);
    for (const [id, items] of bySpace) {
      const names = await store.givenNames
        .in(caller.organizationId, collection, id, mostCompared)
        .catch(noneIfUnavailable);
      const known = Map.groupBy(names, ({ name }) => skeletonOf(name));
      const isAlike = (item: Named) =>
        known.get(skeletonOf(item.email ?? item.name ?? ''))?.some(other => other.id !== item.id) ?? false;
      if (items.some(isAlike)) return lookAlikeWarning(words[space]);
    }
    return null;
  };
}

/** The answer may contain what is shown once, such as a new key: it is not lost because a list is too busy. */
function noneIfUnavailable(error: unknown): [] {
  if (error instanceof Failure && error.code === 'UNAVAILABLE') return [];
  throw error;
}
