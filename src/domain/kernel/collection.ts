/** The operations of every collection of records. The five routes are declared once, for this interface. */
import type { List, PageQuery } from '../../contract/common.ts';
import type { ChangeAction } from './guard.ts';
import type { Permit } from './permits.ts';

type NounOf<A> = A extends `${infer Noun}:write` ? Noun : never;
/** The noun in the names of two permissions, for reading and for writing. */
export type Noun = NounOf<ChangeAction>;

/** Properties instead of methods, because the compiler checks the parameters of properties strictly. */
export interface Collection<
  N extends Noun,
  Item,
  Create,
  Update,
  Query extends PageQuery = PageQuery,
  Created = Item,
> {
  readonly list: (permit: Permit<`${N}:read`>, query: Query) => Promise<List<Item>>;
  readonly get: (permit: Permit<`${N}:read`>, id: string) => Promise<Item>;
  /** The result may contain a value that is never shown again. */
  readonly create: (permit: Permit<`${N}:write`>, body: Create) => Promise<Created>;
  readonly update: (permit: Permit<`${N}:write`>, id: string, body: Update) => Promise<Item>;
  /** `purge` deletes permanently where a deletion could be undone; other records have no trash. */
  readonly remove: (permit: Permit<`${N}:write`>, id: string, purge: boolean) => Promise<void>;
}

export function listOf<T>(data: readonly T[], total: number, { page, limit }: PageQuery): List<T> {
  return { data, pagination: { total, page, limit } };
}
