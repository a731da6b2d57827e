/** The operations of every collection of records. The five routes are declared once, for this interface. */
import type { Caller } from '../../access/caller.ts';
import type { List, PageQuery } from '../../contract/common.ts';

/** Properties instead of methods, because the compiler checks the parameters of properties strictly. */
export interface Collection<Item, Create, Update, Query extends PageQuery = PageQuery, Created = Item> {
  readonly list: (caller: Caller, query: Query) => Promise<List<Item>>;
  readonly get: (caller: Caller, id: string) => Promise<Item>;
  /** The result may contain a value that is never shown again. */
  readonly create: (caller: Caller, body: Create) => Promise<Created>;
  readonly update: (caller: Caller, id: string, body: Update) => Promise<Item>;
  /** `purge` deletes permanently where a deletion could be undone; other records have no trash. */
  readonly remove: (caller: Caller, id: string, purge: boolean) => Promise<void>;
}

export function listOf<T>(data: readonly T[], total: number, { page, limit }: PageQuery): List<T> {
  return { data, pagination: { total, page, limit } };
}
