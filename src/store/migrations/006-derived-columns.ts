/**
 * Derives security-relevant columns from authenticated bytes. From now on the database computes the columns by which an
 * audit entry is found, including its subject's revision, from the entry's text, so they can't be set separately. Tool
 * sessions and counted failures get stamps; existing ones have none and are deleted, so that a row without a stamp is
 * never accepted.
 */
import { type Kysely, sql } from 'kysely';
import type { ColumnTypes, Step } from './step.ts';

/** Rows of the log per statement, so that each finishes well within the statement timeout. */
const rowsAtOnce = 20_000;

export const derivedColumns: Step = async (db, types) => {
  await auditLogs(db, types);
  await stampedFromNowOn(db, types, 'mcp_sessions');
  await stampedFromNowOn(db, types, 'lock_outs');
};

async function auditLogs(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  const postgres = types.id === 'uuid';
  await sql`ALTER TABLE audit_logs RENAME TO audit_logs_before`.execute(db);
  if (postgres) await sql`ALTER INDEX audit_logs_pkey RENAME TO audit_logs_before_pkey`.execute(db);
  await sql`DROP INDEX audit_logs_of_organization`.execute(db);
  await sql`DROP INDEX audit_logs_of_subject`.execute(db);
  const taken = postgres ? fromJson : fromJsonText;
  const column = (path: string, type: string) => sql`${sql.raw(type)} GENERATED ALWAYS AS
    (${sql.raw(taken(path, type))}) STORED`;
  await sql`CREATE TABLE audit_logs (
    writer ${sql.raw(types.id)} NOT NULL,
    seq ${sql.raw(types.time)} NOT NULL,
    hash text NOT NULL,
    mark text NOT NULL,
    position ${sql.raw(types.serial)} PRIMARY KEY,
    id ${sql.raw(types.id)} NOT NULL,
    entry text NOT NULL,
    organization_id ${column('organization_id', types.id)},
    action ${column('action', 'text')} NOT NULL,
    subject_id ${column('subject.id', types.id)},
    subject_revision ${column('revision', 'integer')}
  )`.execute(db);
  await copyEntries(db);
  if (postgres) {
    await sql`SELECT setval(pg_get_serial_sequence('audit_logs', 'position'),
      (SELECT coalesce(max(position), 0) + 1 FROM audit_logs), false)`.execute(db);
  }
  await sql`DROP TABLE audit_logs_before`.execute(db);
  await sql`CREATE INDEX audit_logs_of_organization ON audit_logs (organization_id, id)`.execute(db);
  await sql`CREATE INDEX audit_logs_of_subject ON audit_logs (subject_id, subject_revision)
    WHERE subject_revision IS NOT NULL`.execute(db);
}

const fromJsonText = (path: string) => `json_extract(entry, '$.${path}')`;
const fromJson = (path: string, type: string) => `(entry::json #>> '{${path.replace('.', ',')}}')::${type}`;

async function copyEntries(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{
    last: number | null;
  }>`SELECT max(position) AS last FROM audit_logs_before`.execute(db);
  const last = Number(rows[0]!.last ?? 0);
  for (let after = 0; after < last; after += rowsAtOnce) {
    await sql`INSERT INTO audit_logs (writer, seq, hash, mark, position, id, entry)
      SELECT writer, seq, hash, mark, position, id, entry FROM audit_logs_before
      WHERE position > ${after} AND position <= ${after + rowsAtOnce} ORDER BY position`.execute(db);
  }
}

async function stampedFromNowOn(db: Kysely<unknown>, types: ColumnTypes, table: string): Promise<void> {
  await sql`DELETE FROM ${sql.table(table)}`.execute(db);
  const nothing = types.bytes === 'bytea' ? "''" : "x''";
  await sql`ALTER TABLE ${sql.table(table)} ADD COLUMN stamp ${sql.raw(types.bytes)} NOT NULL
    DEFAULT ${sql.raw(nothing)}`.execute(db);
}
