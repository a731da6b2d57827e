/**
 * Compares the rows with the audit log. While the log itself is verified, every row with revisions is compared with the
 * newest revision in the texts that were just read. A different revision means that an older row was put back. A row
 * that the texts don't name, or that exists twice, was inserted; a row that they name but that is missing was removed.
 * No count of the database is relied on. If the keyring is available, stamps are checked too, and with them rows
 * without revisions.
 */
import {
  isRevised,
  keyOf,
  type StampedRow,
  type StampedTable,
  stampedTables,
} from '../store/integrity/stamped-rows.ts';
import type { Store } from '../store/store.ts';
import type { Finding } from './findings.ts';
import { SubjectTable } from './subject-table.ts';
import type { ToldSubjects } from './told-subjects.ts';

export interface StoredRow {
  readonly table: StampedTable;
  readonly row: StampedRow;
}

/** Whether a row's stamp is valid, and data that it repeats from other rows is the same there. */
export type IsSound = (row: StoredRow) => boolean;

const stretch = 100;

/** Each batch begins with the last row of the one before, so that a duplicate of it is found. */
export async function* storedRows(store: Pick<Store, 'stampedRows'>): AsyncIterable<StoredRow> {
  for (const table of stampedTables) {
    let last: StampedRow | null = null;
    do {
      const rows: StampedRow[] = await store.stampedRows.stretch(table, last, stretch);
      for (const row of last === null ? rows : rows.slice(1)) yield { table, row };
      last = rows.length < stretch ? null : rows.at(-1)!;
    } while (last !== null);
  }
}

export async function* rowFindings(
  rows: AsyncIterable<StoredRow>,
  told: ToldSubjects,
  isSound: IsSound = () => true,
): AsyncIterable<Finding> {
  const halves = new Halves();
  let before = '';
  for await (const stored of rows) {
    const where = placeOf(stored);
    const isDouble = where === before;
    before = where;
    halves.note(stored);
    if (isDouble) yield { what: 'inserted', where: `${where}, a second time` };
    else if (!isSound(stored)) yield { what: 'edited', where };
    else if (isRevised(stored.table)) yield* revisedFindings(stored, where, told);
  }
  for (const { table, id } of told.missing()) yield { what: 'missing', where: `row of ${table} ${id}` };
  yield* halves.findings();
}

function* revisedFindings({ table, row }: StoredRow, where: string, told: ToldSubjects): Iterable<Finding> {
  const id = String(row.id);
  const newest = told.revisionOf(id);
  told.see(id);
  if (newest === 0) yield { what: 'inserted', where };
  else if (row.revision !== newest) yield { what: 'rolled-back', where };
  else if (table === 'resources') {
    const isInTrash = told.isInTrash(id);
    if (isInTrash !== null && isInTrash !== (row.deleted_at !== null)) yield { what: 'edited', where };
  }
}

function placeOf({ table, row }: StoredRow): string {
  const key = keyOf(table).map(column => row[column]);
  return `row of ${table} ${key.join(', version ')}`;
}

/** Rows that depend on others: each member's account, and each resource's versions, one by one. */
class Halves {
  readonly #members = new SubjectTable();
  readonly #accounts = new SubjectTable();
  /** The number of versions according to the resource, and the number found. */
  readonly #due = new SubjectTable();
  readonly #met = new SubjectTable();

  note({ table, row }: StoredRow): void {
    if (table === 'members') this.#members.raise(String(row.id), 1);
    if (table === 'accounts') this.#accounts.raise(String(row.member_id), 1);
    if (table === 'resources' && row.type !== 'vault') this.#due.raise(String(row.id), Number(row.version));
    if (table !== 'versions') return;
    const id = String(row.resource_id);
    const isNext = Number(row.version) === this.#met.revisionOf(id) + 1;
    if (isNext) this.#met.raise(id, Number(row.version));
  }

  *findings(): Iterable<Finding> {
    for (const id of this.#members.ids())
      if (this.#accounts.revisionOf(id) === 0)
        yield { what: 'missing', where: `row of accounts of the member ${id}` };
    for (const id of this.#due.ids()) {
      const [due, met] = [this.#due.revisionOf(id), this.#met.revisionOf(id)];
      if (met < due) yield { what: 'missing', where: `row of versions ${id}, version ${met + 1}` };
      if (met > due) yield { what: 'inserted', where: `row of versions ${id}, version ${due + 1}` };
    }
    for (const id of this.#met.ids())
      if (this.#due.revisionOf(id) === 0)
        yield { what: 'inserted', where: `row of versions ${id}, version 1` };
  }
}
