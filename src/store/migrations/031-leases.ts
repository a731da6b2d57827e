/** Issuers of short-lived credentials, the leases that they gave, and which replica ends them. */
import type { Step } from './step.ts';

export const leases: Step = async (db, types) => {
  await db.schema
    .createTable('issuers')
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('organization_id', types.id, col => col.notNull().references('organizations.id'))
    .addColumn('vault_id', types.id, col => col.notNull())
    .addColumn('name', 'text', col => col.notNull())
    .addColumn('name_search', 'text', col => col.notNull())
    .addColumn('provider', 'text', col => col.notNull())
    .addColumn('content', types.bytes, col => col.notNull())
    .addColumn('default_ttl', 'integer', col => col.notNull())
    .addColumn('max_ttl', 'integer', col => col.notNull())
    .addColumn('state', 'text', col => col.notNull())
    .addColumn('created_by', 'text', col => col.notNull())
    .addColumn('created_at', types.time, col => col.notNull())
    .addColumn('updated_at', types.time, col => col.notNull())
    .addColumn('revision', 'integer', col => col.notNull())
    .addColumn('stamp', types.bytes, col => col.notNull())
    .addUniqueConstraint('issuers_name', ['vault_id', 'name'])
    .execute();
  await db.schema
    .createIndex('issuers_of_organization')
    .on('issuers')
    .columns(['organization_id', 'id'])
    .execute();
  await db.schema
    .createTable('issuer_queues')
    .addColumn('issuer_id', types.id, col => col.primaryKey().references('issuers.id').onDelete('cascade'))
    .addColumn('resume_at', types.time, col => col.notNull())
    .addColumn('failing_since', types.time)
    .addColumn('failures', 'integer', col => col.notNull())
    .addColumn('claimed_by', types.id)
    .addColumn('claimed_until', types.time)
    .execute();
  await db.schema
    .createTable('leases')
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('organization_id', types.id, col => col.notNull().references('organizations.id'))
    .addColumn('vault_id', types.id, col => col.notNull())
    .addColumn('issuer_id', types.id, col => col.notNull())
    .addColumn('issuer_name', 'text', col => col.notNull())
    .addColumn('access_key_id', types.id, col => col.notNull())
    .addColumn('narrowing', 'text')
    .addColumn('account', 'text', col => col.notNull())
    .addColumn('state', 'text', col => col.notNull())
    .addColumn('ended', 'text')
    .addColumn('expires_at', types.time, col => col.notNull())
    .addColumn('ends_at', types.time, col => col.notNull())
    .addColumn('due_at', types.time)
    .addColumn('attempts', 'integer', col => col.notNull())
    .addColumn('failing_since', types.time)
    .addColumn('created_at', types.time, col => col.notNull())
    .addColumn('updated_at', types.time, col => col.notNull())
    .addColumn('revision', 'integer', col => col.notNull())
    .addColumn('stamp', types.bytes, col => col.notNull())
    .execute();
  const index = (name: string, columns: string[]) =>
    db.schema.createIndex(name).on('leases').columns(columns).execute();
  await index('leases_of_organization', ['organization_id', 'id']);
  await index('leases_of_vault', ['vault_id', 'id']);
  await index('leases_due', ['issuer_id', 'due_at']);
  await index('leases_held', ['access_key_id', 'issuer_id']);
};
