/** Pages of a list: newest first, by id, which sorts by time. */

import type { SelectQueryBuilder } from 'kysely';
import type { Schema } from '../schema/schema.ts';

export interface Page {
  /** From 1. */
  readonly page: number;
  readonly limit: number;
  /** Only what is not newer than this id: keeps pages stable while others add to the list. */
  readonly asOf?: string | undefined;
}

export interface PageOf<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
}

/** A page of what a query finds, and how many that is in all. Only for what an index makes short to count. */
export async function pageOf<T extends keyof Schema, Row>(
  found: SelectQueryBuilder<Schema, T, Row>,
  page: Page,
  /** What the rows are ordered by, newest first. */
  order = 'id',
): Promise<PageOf<Row>> {
  // The builder does not resolve a table that is a type parameter; that it has the column, its callers know.
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

/** Text that LIKE finds anywhere, with its own wildcards made ordinary (ESCAPE is a backslash). */
export function containing(text: string): string {
  return `%${text.toLowerCase().replace(/[\\%_]/g, found => `\\${found}`)}%`;
}
