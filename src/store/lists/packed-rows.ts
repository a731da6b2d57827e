/**
 * Rows packed into one text by the database. Passing a text between threads costs a tenth of passing the rows as
 * objects, and two texts are equal if and only if their rows are. It contains every column with its type; bytes are
 * hexadecimal.
 */
import { type Expression, type RawBuilder, sql } from 'kysely';
import type { Engine } from '../engine/engine.ts';
import type { Audited } from '../integrity/audited.ts';

export interface PackedColumn {
  readonly name: string;
  readonly value: Expression<unknown>;
  readonly isBytes: boolean;
}

/** All rows of a query's source, packed. */
export function packing(engine: Engine['name'], columns: readonly PackedColumn[]): RawBuilder<string> {
  const values = columns.map(({ value, isBytes }) => (isBytes ? hexOf(engine, value) : value));
  return engine === 'sqlite'
    ? sql<string>`json_group_array(json_array(${sql.join(values)}))`
    : sql<string>`coalesce(json_agg(json_build_array(${sql.join(values)})), '[]')::text`;
}

function hexOf(engine: Engine['name'], value: Expression<unknown>): RawBuilder<unknown> {
  return engine === 'sqlite' ? sql`iif(${value} IS NULL, NULL, hex(${value}))` : sql`encode(${value}, 'hex')`;
}

/** `audited_revision` is not stored with the row; it is filled in later. */
export function unpacker<Row>(columns: readonly PackedColumn[]): (text: string) => (Row & Audited)[] {
  const rowOf = (values: readonly unknown[]): Row & Audited => {
    const row: Record<string, unknown> & Audited = { audited_revision: null };
    for (let at = 0; at < columns.length; at++) {
      const { name, isBytes } = columns[at]!;
      const value = values[at];
      row[name] = isBytes && typeof value === 'string' ? Buffer.from(value, 'hex') : value;
    }
    return row as Row & Audited;
  };
  return text => (JSON.parse(text) as unknown[][]).map(rowOf);
}
