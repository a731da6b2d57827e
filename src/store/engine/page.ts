/** Pages of a list, newest first. Ids sort by time. */
import type { SelectQueryBuilder } from 'kysely';
import type { Schema } from '../schema/schema.ts';

export interface Page {
  /** From 1. */
  readonly page: number;
  readonly limit: number;
  /** Leaves out rows newer than this id, so that pages stay stable while rows are added. */
  readonly asOf?: string | undefined;
}

export interface PageOf<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
}

/** Returns a page of a query's rows, and the total. Only for queries that an index makes cheap to count. */
export async function pageOf<T extends keyof Schema, Row>(
  found: SelectQueryBuilder<Schema, T, Row>,
  page: Page,
  /** The column to sort by, in descending order. */
  order = 'id',
): Promise<PageOf<Row>> {
  // Kysely doesn't resolve a table that is a type parameter. Callers must ensure that it has the column.
  const all = found as unknown as SelectQueryBuilder<Schema, 'deliveries', Row>;
  const column = order as 'id';
  const listed = page.asOf === undefined ? all : all.where(column, '<=', page.asOf);
  const total = await countOf(listed);
  const rows = await listed.orderBy(column, 'desc').limit(page.limit).offset(offsetOf(page)).execute();
  return { rows: rows as Row[], total };
}

export async function countOf<T extends keyof Schema>(
  found: SelectQueryBuilder<Schema, T, unknown>,
): Promise<number> {
  const counted = found.clearSelect().select(({ fn }) => fn.countAll<number>().as('total'));
  return (await counted.executeTakeFirstOrThrow()).total;
}

export function offsetOf({ page, limit }: Page): number {
  return (page - 1) * limit;
}

/** A LIKE pattern that finds text anywhere, with wildcards escaped by a backslash. */
export function containing(text: string): string {
  return `%${text.toLowerCase().replace(/[\\%_]/g, found => `\\${found}`)}%`;
}
