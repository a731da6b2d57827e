/** What every collection of records can do. The five routes are declared once, over this. */
import type { Caller } from '../access/caller.ts';
import type { List, PageQuery } from '../contract/common.ts';

export interface Collection<Item, Create, Update, Query extends PageQuery = PageQuery> {
  list(caller: Caller, query: Query): Promise<List<Item>>;
  get(caller: Caller, id: string): Promise<Item>;
  create(caller: Caller, body: Create): Promise<Item>;
  update(caller: Caller, id: string, body: Update): Promise<Item>;
  /** `purge` deletes for good where a delete could be undone; other records have no trash. */
  remove(caller: Caller, id: string, purge: boolean): Promise<void>;
}

export function listOf<T>(data: readonly T[], total: number, { page, limit }: PageQuery): List<T> {
  return { data, pagination: { total, page, limit } };
}
