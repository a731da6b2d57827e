/** Writes that wait for someone else to confirm them, in vaults with review. */
import type { Step } from './step.ts';

export const proposals: Step = async (db, types) => {
  await db.schema
    .createTable('proposals')
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('organization_id', types.id, col => col.notNull().references('organizations.id'))
    .addColumn('vault_id', types.id, col => col.notNull())
    .addColumn('author_kind', 'text', col => col.notNull())
    .addColumn('author_id', 'text', col => col.notNull())
    .addColumn('content', types.bytes, col => col.notNull())
    .addColumn('state', 'text', col => col.notNull())
    .addColumn('decided_by', 'text')
    .addColumn('expires_at', types.time, col => col.notNull())
    .addColumn('created_at', types.time, col => col.notNull())
    .addColumn('updated_at', types.time, col => col.notNull())
    .addColumn('revision', 'integer', col => col.notNull())
    .addColumn('stamp', types.bytes, col => col.notNull())
    .execute();
  await db.schema
    .createIndex('proposals_of_organization')
    .on('proposals')
    .columns(['organization_id', 'id'])
    .execute();
  await db.schema.createIndex('proposals_of_vault').on('proposals').columns(['vault_id', 'id']).execute();
  await db.schema.createIndex('proposals_over').on('proposals').columns(['expires_at']).execute();
};
