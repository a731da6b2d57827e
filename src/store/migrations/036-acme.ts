/** Accounts and orders of ACME clients. */
import type { Step } from './step.ts';

export const acme: Step = async (db, types) => {
  await db.schema
    .createTable('acme_accounts')
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('organization_id', types.id, col => col.notNull().references('organizations.id'))
    .addColumn('vault_id', types.id, col => col.notNull())
    .addColumn('profile_id', types.id, col => col.notNull())
    .addColumn('access_key_id', types.id, col => col.notNull())
    .addColumn('thumbprint', 'text', col => col.notNull())
    .addColumn('jwk', 'text', col => col.notNull())
    .addColumn('contacts', 'text', col => col.notNull())
    .addColumn('state', 'text', col => col.notNull())
    .addColumn('created_at', types.time, col => col.notNull())
    .addColumn('updated_at', types.time, col => col.notNull())
    .addColumn('revision', 'integer', col => col.notNull())
    .addColumn('stamp', types.bytes, col => col.notNull())
    .addUniqueConstraint('acme_accounts_key', ['profile_id', 'thumbprint'])
    .execute();
  await db.schema
    .createTable('acme_orders')
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('organization_id', types.id, col => col.notNull().references('organizations.id'))
    .addColumn('vault_id', types.id, col => col.notNull())
    .addColumn('profile_id', types.id, col => col.notNull())
    .addColumn('account_id', types.id, col => col.notNull())
    .addColumn('names', 'text', col => col.notNull())
    .addColumn('state', 'text', col => col.notNull())
    .addColumn('expires_at', types.time, col => col.notNull())
    .addColumn('certificate_id', types.id)
    .addColumn('replaces', types.id)
    .addColumn('created_at', types.time, col => col.notNull())
    .addColumn('updated_at', types.time, col => col.notNull())
    .addColumn('revision', 'integer', col => col.notNull())
    .addColumn('stamp', types.bytes, col => col.notNull())
    .execute();
  const index = (name: string, table: string, columns: string[]) =>
    db.schema.createIndex(name).on(table).columns(columns).execute();
  await index('acme_accounts_of_vault', 'acme_accounts', ['vault_id']);
  await index('acme_orders_of_vault', 'acme_orders', ['vault_id']);
  await index('acme_orders_expired', 'acme_orders', ['expires_at']);
  await index('acme_orders_replacing', 'acme_orders', ['replaces']);
  await index('acme_orders_certificates', 'acme_orders', ['certificate_id']);
};
