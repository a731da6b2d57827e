/** Requests of members for a role in a vault, and what was decided about them. */
import type { Step } from './step.ts';

export const roleRequests: Step = async (db, types) => {
  await db.schema
    .createTable('role_requests')
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('organization_id', types.id, col => col.notNull().references('organizations.id'))
    .addColumn('member_id', types.id, col => col.notNull())
    .addColumn('vault_id', types.id, col => col.notNull())
    .addColumn('role', 'text', col => col.notNull())
    .addColumn('ends_at', types.time, col => col.notNull())
    .addColumn('reason', 'text', col => col.notNull())
    .addColumn('state', 'text', col => col.notNull())
    .addColumn('decided_by', 'text')
    .addColumn('expires_at', types.time, col => col.notNull())
    .addColumn('created_at', types.time, col => col.notNull())
    .addColumn('updated_at', types.time, col => col.notNull())
    .addColumn('revision', 'integer', col => col.notNull())
    .addColumn('stamp', types.bytes, col => col.notNull())
    .execute();
  await db.schema
    .createIndex('role_requests_of_organization')
    .on('role_requests')
    .columns(['organization_id', 'id'])
    .execute();
  await db.schema
    .createIndex('role_requests_of_member')
    .on('role_requests')
    .columns(['member_id', 'id'])
    .execute();
};
