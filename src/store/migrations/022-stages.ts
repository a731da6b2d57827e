/**
 * Stages, the names that were reported as missing in them, and the organizations whose vaults still have their stages in
 * tags. Tags are sealed, so the service takes them over when it runs; organizations that are created later have none.
 */
import { sql } from 'kysely';
import type { Step } from './step.ts';

export const stages: Step = async (db, types) => {
  await db.schema
    .createTable('stages')
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('organization_id', types.id, col => col.notNull().references('organizations.id'))
    .addColumn('name', 'text', col => col.notNull())
    .addColumn('name_search', 'text', col => col.notNull())
    .addColumn('vault_ids', 'text', col => col.notNull())
    .addColumn('created_at', types.time, col => col.notNull())
    .addColumn('updated_at', types.time, col => col.notNull())
    .addColumn('revision', 'integer', col => col.notNull())
    .addColumn('stamp', types.bytes, col => col.notNull())
    .addUniqueConstraint('stages_name', ['organization_id', 'name'])
    .execute();
  await db.schema
    .createIndex('stages_of_organization')
    .on('stages')
    .columns(['organization_id', 'id'])
    .execute();
  await db.schema
    .createTable('stage_notices')
    .addColumn('stage_id', types.id, col => col.notNull().references('stages.id').onDelete('cascade'))
    .addColumn('name', 'text', col => col.notNull())
    .addPrimaryKeyConstraint('stage_notices_key', ['stage_id', 'name'])
    .execute();
  await db.schema
    .createTable('stage_tags')
    .addColumn('organization_id', types.id, col => col.primaryKey().references('organizations.id'))
    .execute();
  await sql`INSERT INTO stage_tags (organization_id) SELECT id FROM organizations`.execute(db);
};
