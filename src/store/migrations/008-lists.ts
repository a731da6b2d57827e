/**
 * Makes lists and first reads fast: an index of parts of names, and cached answers to vault reads. Both can be rebuilt
 * from the rows, and neither is trusted in their place: rows found through the index are verified one by one, and an
 * answer is bound to the rows it was built from.
 */
import { type Kysely, sql } from 'kysely';
import type { ColumnTypes, Step } from './step.ts';

export const lists: Step = async (db, types) => {
  if (types.id === 'uuid') await nameIndex(db);
  else await nameTable(db);
  // There are few, and every list needs them.
  await sql`CREATE INDEX resources_deleted_vaults ON resources (organization_id, deleted_at, id)
    WHERE type = 'vault' AND deleted_at IS NOT NULL`.execute(db);
  await keptAnswers(db, types);
};

/**
 * Indexes every three consecutive characters. For shorter searches, two characters that no name contains are appended.
 * The index identifies a name by a separate key column, because row ids may change when a database is vacuumed or
 * copied. Triggers update it in the same unit as the row.
 */
async function nameTable(db: Kysely<unknown>): Promise<void> {
  await sql`CREATE TABLE resource_name_keys (
    key integer PRIMARY KEY,
    resource_id text NOT NULL UNIQUE
  )`.execute(db);
  await sql`CREATE VIRTUAL TABLE resource_names USING fts5(name, content = '', contentless_delete = 1,
    detail = none, tokenize = 'trigram case_sensitive 1')`.execute(db);
  await sql`CREATE VIRTUAL TABLE resource_name_parts USING fts5vocab('resource_names', 'row')`.execute(db);
  const padded = sql.raw('|| char(31, 31)');
  await sql`INSERT INTO resource_name_keys (resource_id) SELECT id FROM resources`.execute(db);
  await sql`INSERT INTO resource_names (rowid, name) SELECT key, name_search ${padded}
    FROM resources JOIN resource_name_keys ON resource_id = id`.execute(db);
  const keyOf = (row: string) =>
    sql.raw(`(SELECT key FROM resource_name_keys WHERE resource_id = ${row}.id)`);
  await sql`CREATE TRIGGER resource_names_added AFTER INSERT ON resources BEGIN
    INSERT INTO resource_name_keys (resource_id) VALUES (new.id);
    INSERT INTO resource_names (rowid, name) VALUES (${keyOf('new')}, new.name_search ${padded});
  END`.execute(db);
  await sql`CREATE TRIGGER resource_names_changed AFTER UPDATE OF name_search ON resources
    WHEN new.name_search <> old.name_search BEGIN
    UPDATE resource_names SET name = new.name_search ${padded} WHERE rowid = ${keyOf('old')};
  END`.execute(db);
  await sql`CREATE TRIGGER resource_names_removed AFTER DELETE ON resources BEGIN
    DELETE FROM resource_names WHERE rowid = ${keyOf('old')};
    DELETE FROM resource_name_keys WHERE resource_id = old.id;
  END`.execute(db);
}

/**
 * If the extension is missing, may not be installed by this role, or takes too long for a start, names are searched
 * without an index.
 */
async function nameIndex(db: Kysely<unknown>): Promise<void> {
  await sql`DO $$ BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
    CREATE INDEX resources_name_parts ON resources USING gin (name_search gin_trgm_ops);
  EXCEPTION WHEN OTHERS OR QUERY_CANCELED THEN
    RAISE NOTICE 'names are searched without an index: %', SQLERRM;
  END $$`.execute(db);
}

async function keptAnswers(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await db.schema
    .createTable('kept_answers')
    .addColumn('vault_id', types.id, col => col.notNull().references('resources.id').onDelete('cascade'))
    .addColumn('answer', 'text', col => col.notNull())
    .addColumn('sealed', types.bytes, col => col.notNull())
    .addColumn('read_at', types.time, col => col.notNull())
    .addPrimaryKeyConstraint('kept_answers_key', ['vault_id', 'answer'])
    .execute();
  await db.schema.createIndex('kept_answers_read').on('kept_answers').column('read_at').execute();
}
