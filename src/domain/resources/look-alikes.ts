/**
 * Checks whether new names look like existing ones in the same space: the vault for its contents, the identity for
 * secret ids, the organization for everything else. Only callers who may list those names get the warning, because it
 * says something about them. The resource is already stored at that point, so if the names can't be read there is no
 * warning.
 */
import type { Caller } from '../../access/caller.ts';
import { type Action, allows } from '../../access/policy.ts';
import { Failure } from '../../contract/errors.ts';
import { lookAlikeWarning, skeletonOf } from '../../contract/look-alikes.ts';
import { type NamedCollection, spaceOf } from '../../store/lists/given-names.ts';
import type { Parts } from '../kernel/parts.ts';

export { isNamed } from '../../store/lists/given-names.ts';

/** Only this many names are compared, the newest ones, so that a write doesn't get slower as names accumulate. */
const mostCompared = 2_000;

/** Members are distinguished by their email addresses. */
export interface Named {
  readonly id: string;
  readonly name?: string;
  readonly email?: string;
  readonly vault_id?: string | null;
  readonly identity_id?: string;
}

/** The warning, or null if there is none. */
export type LooksAlike = (
  caller: Caller,
  collection: NamedCollection,
  given: readonly Named[],
) => Promise<string | null>;

const words = { vault_id: 'vault', organization_id: 'organization', identity_id: 'identity' } as const;

function readingOf(collection: NamedCollection): Action {
  if (collection === 'groups') return 'members:read';
  if (collection === 'stages') return 'vaults:read';
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

/** The response may show something once, such as a new key, and must not be lost to a busy list. */
function noneIfUnavailable(error: unknown): [] {
  if (error instanceof Failure && error.code === 'UNAVAILABLE') return [];
  throw error;
}
