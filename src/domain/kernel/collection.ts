/** What every collection of records can do. The five routes are declared once, over this. */
import type { Caller } from '../../access/caller.ts';
import type { List, PageQuery } from '../../contract/common.ts';

/** Functions as members, not methods: of those the compiler compares what they take in earnest. */
export interface Collection<Item, Create, Update, Query extends PageQuery = PageQuery, Created = Item> {
  readonly list: (caller: Caller, query: Query) => Promise<List<Item>>;
  readonly get: (caller: Caller, id: string) => Promise<Item>;
  /** The answer may hold what is never shown again. */
  readonly create: (caller: Caller, body: Create) => Promise<Created>;
  readonly update: (caller: Caller, id: string, body: Update) => Promise<Item>;
  /** `purge` deletes for good where a delete could be undone; other records have no trash. */
  readonly remove: (caller: Caller, id: string, purge: boolean) => Promise<void>;
}

export function listOf<T>(data: readonly T[], total: number, { page, limit }: PageQuery): List<T> {
  return { data, pagination: { total, page, limit } };
}
