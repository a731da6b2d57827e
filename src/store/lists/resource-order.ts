/**
 * The order of a list of resources: newest first, or by a requested column. Any order but the first sorts everything
 * that the list finds, which is acceptable for the contents of one vault. Rows without a date come last.
 */
import { type RawBuilder, type Selectable, sql } from 'kysely';
import type { Engine } from '../engine/engine.ts';
import { isDisabled, isEnabled } from '../schema/enabled.ts';
import type { ResourceTable } from '../schema/schema.ts';

export const orders = ['name', 'state', 'expires', 'version', 'updated'] as const;
type OrderBy = (typeof orders)[number];

/** `name`, or `-name` for descending order. */
export type Order = OrderBy | `-${OrderBy}`;

type Ordered = Selectable<ResourceTable>;

function columnOf(order: Order): { by: OrderBy; descending: boolean } {
  const descending = order.startsWith('-');
  return { by: (descending ? order.slice(1) : order) as OrderBy, descending };
}

/** The same as `compare`, in SQL. */
export function orderedBy(order: Order | undefined, engine: Engine['name'], now: number) {
  if (order === undefined) return sql`resources.id DESC`;
  const { by, descending } = columnOf(order);
  const way = sql.raw(descending ? 'DESC' : 'ASC');
  const bytes = sql.raw(engine === 'postgres' ? 'COLLATE "C"' : '');
  const columns: Record<OrderBy, RawBuilder<unknown>> = {
    name: sql`resources.name_search ${bytes} ${way}`,
    state: sql`CASE WHEN ${isDisabled} THEN 3 WHEN resources.expiration_date <= ${now} THEN 2
      WHEN resources.activation_date > ${now} THEN 1 ELSE 0 END ${way}`,
    expires: sql`resources.expiration_date IS NULL, resources.expiration_date ${way}`,
    version: sql`resources.version ${way}`,
    updated: sql`resources.updated_at ${way}`,
  };
  return sql`${columns[by]}, resources.id DESC`;
}

export function compare(order: Order | undefined, now: number): (a: Ordered, b: Ordered) => number {
  const newestFirst = (a: Ordered, b: Ordered) => (a.id < b.id ? 1 : -1);
  if (order === undefined) return newestFirst;
  const { by, descending } = columnOf(order);
  const way = descending ? -1 : 1;
  return (a, b) => {
    const [x, y] = [keyOf(a, by, now), keyOf(b, by, now)];
    if (x === y) return newestFirst(a, b);
    if (x === null || y === null) return x === null ? 1 : -1;
    return (x < y ? -1 : 1) * way;
  };
}

function keyOf(row: Ordered, by: OrderBy, now: number): string | number | null {
  if (by === 'name') return row.name_search;
  if (by === 'expires') return row.expiration_date;
  if (by === 'version') return row.version;
  if (by === 'updated') return row.updated_at;
  if (!isEnabled(row)) return 3;
  if (row.expiration_date !== null && row.expiration_date <= now) return 2;
  return row.activation_date !== null && row.activation_date > now ? 1 : 0;
}
