/** The ways in which a column can be protected, and the oldest release that stamps must stay compatible with. */
import type { Selectable } from 'kysely';
import { each } from '../schema/common.ts';
import type { Schema } from '../schema/schema.ts';

/** Stamped since a later migration. A row stamped before it is accepted if the column has the value of `before`. */
export interface Later<Row> {
  /** The migration's number. */
  readonly since: number;
  readonly before: (row: Row) => unknown;
}

/**
 * Sealed, and for a while also stamped: rows that were stamped then are still accepted. New stamps don't cover it,
 * because an earlier release running beside this one does not know the column, and would treat every row with a value
 * in it as edited.
 */
export interface OnceStamped {
  /** The migration's number. */
  readonly sealedStamped: number;
}

/**
 * The schema of the oldest release that may run beside this one. A row without values in later columns is stamped as
 * that release stamps it, so that the older release continues to accept it.
 */
export const oldestBeside = 9;

export interface Exempt {
  readonly exempt: string;
}

export type Treatment<Row> =
  /** Covered by the row's stamp. */
  | 'stamped'
  | Later<Row>
  | OnceStamped
  /** The stamp itself. */
  | 'stamp'
  /** Bound to its place by its encryption: if moved or edited, it can't be decrypted. */
  | 'sealed'
  /** Covered by the log's chain and checkpoints, or compared with data that is. */
  | 'logged'
  /** Repeats a stamped row of another table, or another column of its own, and is compared with it. */
  | 'compared'
  | Exempt;

type ColumnsOf<Row> = { readonly [C in keyof Row]: Treatment<Row> };
/** Exactly the columns of every table. */
export type TableColumns<Tables = Schema> = {
  readonly [T in keyof Tables]: ColumnsOf<Selectable<Tables[T]>>;
};

export const because = (exempt: string): Exempt => ({ exempt });
export const shown = because('only displayed, next to verified data; nothing depends on it');

export const stamped = <Name extends string>(...names: readonly Name[]) => each('stamped', ...names);
