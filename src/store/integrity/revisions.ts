/** Statements that change rows with revisions. Each change is the next revision of the row that was read. */
import { type Kysely, type Selectable, sql, type UpdateObject } from 'kysely';
import type { Statement } from '../engine/engine.ts';
import { prepared, StatementForms } from '../engine/prepared.ts';
import type { Schema } from '../schema/schema.ts';
import type { RevisedTable } from './audited.ts';

type RowOf<T extends RevisedTable> = Selectable<Schema[T]>;

interface Revision {
  readonly id: string;
  readonly revision: number;
}

const updates = new StatementForms<Revision>();
const removals = new StatementForms<Revision>();

/** Stores the next revision of a row. Refused as stale unless the stored row is the revision before it. */
export function updateRevised<T extends RevisedTable>(
  db: Kysely<Schema>,
  table: T,
  row: Partial<RowOf<T>> & Revision,
): Statement {
  const columns = Object.keys(row);
  return updates.of(db, `${table} ${columns}`, () => updating(db, table, columns))(row);
}

function updating(db: Kysely<Schema>, table: RevisedTable, columns: readonly string[]) {
  // Kysely doesn't resolve a union of tables. Callers name one table, and its row is type-checked there.
  const revised = table as 'organizations';
  const set = (row: object) =>
    Object.fromEntries(columns.map(column => [column, row[column as never]])) as UpdateObject<
      Schema,
      'organizations'
    >;
  return prepared<Revision>(
    row =>
      db
        .updateTable(revised)
        .set(set(row))
        .where('id', '=', row.id)
        .where('revision', '=', sql<number>`${row.revision} - 1`),
    { expect: 1 },
  );
}

/** Deletes a row at this revision. Refused as stale if it has another. */
export function removeRevised(db: Kysely<Schema>, table: RevisedTable, row: Revision): Statement {
  return removals.of(db, table, () => removing(db, table))(row);
}

function removing(db: Kysely<Schema>, table: RevisedTable) {
  return prepared<Revision>(
    ({ id, revision }) => db.deleteFrom(table).where('id', '=', id).where('revision', '=', revision),
    { expect: 1 },
  );
}
