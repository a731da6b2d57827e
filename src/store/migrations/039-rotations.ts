/** When secrets get new values, which replica works on one, and the rotations that were begun. */
import type { Step } from './step.ts';

export const rotations: Step = async (db, types) => {
  await db.schema
    .createTable('rotation_queues')
    .addColumn('resource_id', types.id, col => col.primaryKey())
    .addColumn('organization_id', types.id, col => col.notNull().references('organizations.id'))
    .addColumn('vault_id', types.id, col => col.notNull())
    .addColumn('next_at', types.time)
    .addColumn('due_at', types.time, col => col.notNull())
    .addColumn('failures', 'integer', col => col.notNull())
    .addColumn('failing_since', types.time)
    .addColumn('reason', 'text')
    .addColumn('claimed_by', types.id)
    .addColumn('claimed_until', types.time)
    .execute();
  await db.schema.createIndex('rotations_due').on('rotation_queues').columns(['due_at']).execute();
  await db.schema
    .createIndex('rotations_planned')
    .on('rotation_queues')
    .columns(['organization_id', 'next_at'])
    .execute();
  await db.schema
    .createTable('rotations')
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('organization_id', types.id, col => col.notNull().references('organizations.id'))
    .addColumn('vault_id', types.id, col => col.notNull())
    .addColumn('resource_id', types.id, col => col.notNull())
    .addColumn('kind', 'text', col => col.notNull())
    .addColumn('state', 'text', col => col.notNull())
    .addColumn('content', types.bytes, col => col.notNull())
    .addColumn('started_by', 'text', col => col.notNull())
    .addColumn('version', 'integer')
    .addColumn('overlap_until', types.time)
    .addColumn('created_at', types.time, col => col.notNull())
    .addColumn('updated_at', types.time, col => col.notNull())
    .addColumn('revision', 'integer', col => col.notNull())
    .addColumn('stamp', types.bytes, col => col.notNull())
    .execute();
  await db.schema.createIndex('rotations_of_secret').on('rotations').columns(['resource_id', 'id']).execute();
  await db.schema
    .createIndex('rotations_of_organization')
    .on('rotations')
    .columns(['organization_id', 'id'])
    .execute();
};
