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
/** How long names that were read are compared again. What another replica names meanwhile may be missed. */
const comparedAgainFor = 5_000;
const mostSpaces = 16;

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

/** The ids of what has each skeleton. */
type Skeletons = Map<string, Set<string>>;

export function looksAlikeWith({ store, now }: Pick<Parts, 'store' | 'now'>): LooksAlike {
  const recent = new Map<string, { readonly readAt: number; readonly skeletons: Skeletons }>();

  async function read(organizationId: string, collection: NamedCollection, id: string): Promise<Skeletons> {
    const skeletons: Skeletons = new Map();
    const readAt = now();
    const names = await store.givenNames
      .in(organizationId, collection, id, mostCompared)
      .catch(nullIfUnavailable);
    if (names === null) return skeletons;
    for (const one of names) add(skeletons, one);
    if (recent.size >= mostSpaces) recent.clear();
    recent.set(`${collection} ${id}`, { readAt, skeletons });
    return skeletons;
  }

  /** The names in a space that were just read, with these added to them; undefined if they must be read again. */
  function known(collection: NamedCollection, id: string, items: readonly Named[]): Skeletons | undefined {
    const found = recent.get(`${collection} ${id}`);
    if (found === undefined || now() - found.readAt >= comparedAgainFor) return;
    for (const item of items) add(found.skeletons, item);
    return found.skeletons;
  }

  return async (caller, collection, given) => {
    const space = spaceOf(collection);
    const idOf = (item: Named) => (space === 'organization_id' ? caller.organizationId : item[space]) ?? '';
    const isSeen = (id: string) =>
      allows(caller, readingOf(collection), space === 'vault_id' ? id : undefined);
    for (const [id, items] of Map.groupBy(given, idOf)) {
      const isAlike = (names: Skeletons | undefined) =>
        names === undefined || items.some(item => hasOther(names, item));
      // What looks alike may have been renamed or deleted since it was read.
      const mayBeAlike = isAlike(known(collection, id, items)) && isSeen(id);
      if (mayBeAlike && isAlike(await read(caller.organizationId, collection, id)))
        return lookAlikeWarning(words[space]);
    }
    return null;
  };
}

function skeletonIn({ email, name = '' }: Named): string {
  return skeletonOf(email ?? name);
}

function add(skeletons: Skeletons, named: Named): void {
  const skeleton = skeletonIn(named);
  skeletons.set(skeleton, (skeletons.get(skeleton) ?? new Set()).add(named.id));
}

function hasOther(skeletons: Skeletons, named: Named): boolean {
  const ids = skeletons.get(skeletonIn(named));
  return ids !== undefined && ids.size > (ids.has(named.id) ? 1 : 0);
}

/** The response may show something once, such as a new key, and must not be lost to a busy list. */
function nullIfUnavailable(error: unknown): null {
  if (error instanceof Failure && error.code === 'UNAVAILABLE') return null;
  throw error;
}
