/** Says whether a name that was just given looks like another one in the same vault. */
import { skeletonOf } from '../../contract/look-alikes.ts';
import type { Parts } from '../kernel/parts.ts';

/** So many names are compared, the newest ones: a write must not take longer the more there is. */
const mostCompared = 2_000;

interface Named {
  readonly id: string;
  readonly type: string;
  readonly name: string;
  readonly vault_id: string;
}

export type LooksAlike = (given: Named) => Promise<boolean>;

export function looksAlikeWith({ store }: Pick<Parts, 'store'>): LooksAlike {
  return async ({ id, type, name, vault_id }) => {
    const skeleton = skeletonOf(name);
    const others = await store.resources.namesIn(vault_id, type, mostCompared);
    return others.some(other => other.id !== id && skeletonOf(other.name) === skeleton);
  };
}
