/** Reads all stamped rows in batches, in the order of their keys, for verification. */
import { type RawBuilder, sql } from 'kysely';
import type { Engine } from '../engine/engine.ts';
import { type RevisedTable, revisedTables } from './audited.ts';

/** The keys of tables where it is not `id`. */
const keys = { versions: ['resource_id', 'version'], lock_outs: ['subject'] } as const;

export const stampedTables = [
  ...revisedTables,
  'versions',
  'events',
  'deliveries',
  'mcp_sessions',
  'lock_outs',
  'device_logins',
] as const;
export type StampedTable = (typeof stampedTables)[number];
export type StampedRow = Readonly<Record<string, unknown>>;

export function stampedRows({ db }: Pick<Engine, 'db'>) {
  return {
    /** Up to `limit` rows, starting with the given row. */
    async stretch(table: StampedTable, from: StampedRow | null, limit: number): Promise<StampedRow[]> {
      const key = keyOf(table).map(column => sql.ref(`${table}.${column}`));
      const values = from && keyOf(table).map(column => sql`${from[column]}`);
      const beyond = values ? sql`WHERE (${sql.join(key)}) >= (${sql.join(values)})` : sql``;
      const { rows } = await sql<StampedRow>`SELECT ${sql.table(table)}.*${beside(table)}
        FROM ${sql.table(table)} ${joined(table)} ${beyond} ORDER BY ${sql.join(key)} LIMIT ${limit}`.execute(
        db,
      );
      return rows;
    },
  };
}

export function keyOf(table: StampedTable): readonly string[] {
  return table in keys ? keys[table as keyof typeof keys] : ['id'];
}

export function isRevised(table: StampedTable): table is RevisedTable {
  return (revisedTables as readonly string[]).includes(table);
}

/** A delivery repeats data from its event. */
function beside(table: StampedTable): RawBuilder<unknown> {
  if (table !== 'deliveries') return sql``;
  return sql`, events.payload, events.created_at AS event_created_at, events.stamp AS event_stamp`;
}

function joined(table: StampedTable): RawBuilder<unknown> {
  return table === 'deliveries' ? sql`LEFT JOIN events ON events.id = deliveries.event_id` : sql``;
}
