/** Roles in individual vaults: a member's own, and those of their groups. */
import type { Step } from './step.ts';

export const rightsByVault: Step = async (db, types) => {
  await db.schema
    .alterTable('members')
    .addColumn('grants', 'text', col => col.notNull().defaultTo('[]'))
    .execute();
  await db.schema
    .createTable('member_groups')
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('organization_id', types.id, col => col.notNull().references('organizations.id'))
    .addColumn('name', 'text', col => col.notNull())
    .addColumn('name_search', 'text', col => col.notNull())
    .addColumn('grants', 'text', col => col.notNull())
    .addColumn('member_ids', 'text', col => col.notNull())
    .addColumn('single_sign_on', 'integer', col => col.notNull())
    .addColumn('signed_on_ids', 'text', col => col.notNull())
    .addColumn('created_at', types.time, col => col.notNull())
    .addColumn('updated_at', types.time, col => col.notNull())
    .addColumn('revision', 'integer', col => col.notNull())
    .addColumn('stamp', types.bytes, col => col.notNull())
    .addUniqueConstraint('member_groups_name', ['organization_id', 'name'])
    .execute();
  await db.schema
    .createIndex('member_groups_of_organization')
    .on('member_groups')
    .columns(['organization_id', 'id'])
    .execute();
};
