/** Use rules for secrets and keys, and the approvals of calls made under them. */
import type { Step } from './step.ts';

export const useRules: Step = async (db, types) => {
  await db.schema
    .createTable('use_rules')
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('organization_id', types.id, col => col.notNull().references('organizations.id'))
    .addColumn('vault_id', types.id, col => col.notNull())
    .addColumn('resource_id', types.id, col => col.notNull())
    .addColumn('resource_type', 'text', col => col.notNull())
    .addColumn('name', 'text', col => col.notNull())
    .addColumn('name_search', 'text', col => col.notNull())
    .addColumn('rule', 'text', col => col.notNull())
    .addColumn('created_by', 'text', col => col.notNull())
    .addColumn('created_at', types.time, col => col.notNull())
    .addColumn('updated_at', types.time, col => col.notNull())
    .addColumn('revision', 'integer', col => col.notNull())
    .addColumn('stamp', types.bytes, col => col.notNull())
    .addUniqueConstraint('use_rules_name', ['resource_id', 'name'])
    .execute();
  await db.schema
    .createIndex('use_rules_of_organization')
    .on('use_rules')
    .columns(['organization_id', 'id'])
    .execute();
  await db.schema
    .createTable('approvals')
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('organization_id', types.id, col => col.notNull().references('organizations.id'))
    .addColumn('vault_id', types.id, col => col.notNull())
    .addColumn('rule_id', types.id, col => col.notNull())
    .addColumn('access_key_id', types.id, col => col.notNull())
    .addColumn('fingerprint', 'text', col => col.notNull())
    .addColumn('scope_fingerprint', 'text', col => col.notNull())
    .addColumn('request', types.bytes, col => col.notNull())
    .addColumn('scope', 'text', col => col.notNull())
    .addColumn('state', 'text', col => col.notNull())
    .addColumn('decided_by', 'text')
    .addColumn('expires_at', types.time, col => col.notNull())
    .addColumn('created_at', types.time, col => col.notNull())
    .addColumn('updated_at', types.time, col => col.notNull())
    .addColumn('revision', 'integer', col => col.notNull())
    .addColumn('stamp', types.bytes, col => col.notNull())
    .execute();
  await db.schema
    .createIndex('approvals_of_organization')
    .on('approvals')
    .columns(['organization_id', 'id'])
    .execute();
  await db.schema
    .createIndex('approvals_of_access_key')
    .on('approvals')
    .columns(['access_key_id', 'expires_at'])
    .execute();
};
