/**
 * Whether the rows are what the audit log tells of. While the log itself is verified, so is every row that has
 * revisions: another revision than the newest that the log names means that an older row was put back, or one was
 * made up. Where the keyring is at hand the stamps are checked too, and with them what no revision tells of.
 */
import { keyOf, type StampedRow, type StampedTable, stampedTables } from '../store/stamped-rows.ts';
import type { Store } from '../store/store.ts';
import type { Finding } from './findings.ts';

export interface StoredRow {
  readonly table: StampedTable;
  readonly row: StampedRow;
}

/** Whether a row's stamp holds, and what it repeats of others is the same there. */
export type IsSound = (row: StoredRow) => boolean;

const stretch = 100;

export async function* storedRows(store: Pick<Store, 'stampedRows'>): AsyncIterable<StoredRow> {
  for (const table of stampedTables) {
    let last: StampedRow | null = null;
    do {
      const rows: StampedRow[] = await store.stampedRows.stretch(table, last, stretch);
      for (const row of rows) yield { table, row };
      last = rows.length < stretch ? null : rows.at(-1)!;
    } while (last !== null);
  }
}

export async function* rowFindings(
  rows: AsyncIterable<StoredRow>,
  isSound: IsSound = () => true,
): AsyncIterable<Finding> {
  for await (const stored of rows) {
    const { table, row } = stored;
    const where = `row of ${table} ${keyOf(table)
      .map(column => row[column])
      .join(', version ')}`;
    if (!isSound(stored)) yield { what: 'edited', where };
    else if ('audited_revision' in row && row.audited_revision !== row.revision)
      yield { what: 'rolled-back', where };
  }
}
