/** The ways in which a column can be held, and from which release on a stamp may cover more. */
import type { Selectable } from 'kysely';
import type { Schema } from '../schema/schema.ts';

/** Stamped since a later migration. A row that was stamped before it is believed with this value in the column. */
export interface Later<Row> {
  /** The migration's number. */
  readonly since: number;
  readonly before: (row: Row) => unknown;
}

/**
 * Sealed, and under the stamp too for a while: rows that were stamped then are believed. No new stamp covers it, because an earlier
 * release that runs beside this one knows no such column, and would take every row that has one for edited.
 */
export interface OnceStamped {
  /** The migration's number. */
  readonly sealedStamped: number;
}

/**
 * The schema of the oldest release that may run beside this one. A row that has nothing in the columns that came later is stamped
 * as that release stamps it, so that it goes on serving what it served.
 */
export const oldestBeside = 9;

export interface Exempt {
  readonly exempt: string;
}

export type Treatment<Row> =
  /** Under the row's stamp. */
  | 'stamped'
  | Later<Row>
  | OnceStamped
  /** The stamp itself. */
  | 'stamp'
  /** Bound to its place by its encryption: elsewhere, or edited, it does not open. */
  | 'sealed'
  /** Under the log's chain and checkpoints, or compared with what is. */
  | 'logged'
  /** Says the same as a stamped row of another table, or as another column of its own, and is compared with it. */
  | 'compared'
  | Exempt;

type ColumnsOf<Row> = { readonly [C in keyof Row]: Treatment<Row> };
/** Every column of every table, and no other. */
export type TableColumns<Tables = Schema> = {
  readonly [T in keyof Tables]: ColumnsOf<Selectable<Tables[T]>>;
};

export const because = (exempt: string): Exempt => ({ exempt });
export const shown = because('shown to people beside what is believed; nothing is decided by it');
