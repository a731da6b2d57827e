/** Certificate authorities, their profiles, and the certificates that they issued. */
import type { Step } from './step.ts';

export const authorities: Step = async (db, types) => {
  await db.schema
    .createTable('authorities')
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('organization_id', types.id, col => col.notNull().references('organizations.id'))
    .addColumn('vault_id', types.id, col => col.notNull())
    .addColumn('name', 'text', col => col.notNull())
    .addColumn('name_search', 'text', col => col.notNull())
    .addColumn('kind', 'text', col => col.notNull())
    .addColumn('parent_id', types.id)
    .addColumn('subject', 'text', col => col.notNull())
    .addColumn('key', types.bytes, col => col.notNull())
    .addColumn('public_pem', 'text', col => col.notNull())
    .addColumn('certificate', 'text')
    .addColumn('chain', 'text', col => col.notNull())
    .addColumn('request', 'text')
    .addColumn('expires_at', types.time)
    .addColumn('created_by', 'text', col => col.notNull())
    .addColumn('created_at', types.time, col => col.notNull())
    .addColumn('updated_at', types.time, col => col.notNull())
    .addColumn('revision', 'integer', col => col.notNull())
    .addColumn('stamp', types.bytes, col => col.notNull())
    .addUniqueConstraint('authorities_name', ['vault_id', 'name'])
    .execute();
  await db.schema
    .createTable('profiles')
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('organization_id', types.id, col => col.notNull().references('organizations.id'))
    .addColumn('vault_id', types.id, col => col.notNull())
    .addColumn('authority_id', types.id, col => col.notNull())
    .addColumn('name', 'text', col => col.notNull())
    .addColumn('name_search', 'text', col => col.notNull())
    .addColumn('allowed_names', 'text', col => col.notNull())
    .addColumn('max_days', 'integer', col => col.notNull())
    .addColumn('usages', 'text', col => col.notNull())
    .addColumn('acme', 'text', col => col.notNull())
    .addColumn('created_by', 'text', col => col.notNull())
    .addColumn('created_at', types.time, col => col.notNull())
    .addColumn('updated_at', types.time, col => col.notNull())
    .addColumn('revision', 'integer', col => col.notNull())
    .addColumn('stamp', types.bytes, col => col.notNull())
    .addUniqueConstraint('profiles_name', ['vault_id', 'name'])
    .execute();
  await db.schema
    .createTable('issued_certificates')
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('organization_id', types.id, col => col.notNull().references('organizations.id'))
    .addColumn('vault_id', types.id, col => col.notNull())
    .addColumn('authority_id', types.id, col => col.notNull())
    .addColumn('profile_id', types.id, col => col.notNull())
    .addColumn('profile_name', 'text', col => col.notNull())
    .addColumn('serial', 'text', col => col.notNull())
    .addColumn('names', 'text', col => col.notNull())
    .addColumn('certificate', 'text', col => col.notNull())
    .addColumn('not_before', types.time, col => col.notNull())
    .addColumn('expires_at', types.time, col => col.notNull())
    .addColumn('requester_kind', 'text', col => col.notNull())
    .addColumn('requester_id', 'text', col => col.notNull())
    .addColumn('revoked_at', types.time)
    .addColumn('revocation_reason', 'text')
    .addColumn('created_at', types.time, col => col.notNull())
    .addColumn('updated_at', types.time, col => col.notNull())
    .addColumn('revision', 'integer', col => col.notNull())
    .addColumn('stamp', types.bytes, col => col.notNull())
    .addUniqueConstraint('issued_certificates_serial', ['authority_id', 'serial'])
    .execute();
  const index = (name: string, table: string, columns: string[]) =>
    db.schema.createIndex(name).on(table).columns(columns).execute();
  await index('authorities_of_organization', 'authorities', ['organization_id', 'id']);
  await index('authorities_below', 'authorities', ['parent_id']);
  await index('profiles_of_organization', 'profiles', ['organization_id', 'id']);
  await index('profiles_of_authority', 'profiles', ['authority_id']);
  await index('issued_certificates_of_organization', 'issued_certificates', ['organization_id', 'id']);
  await index('issued_certificates_of_vault', 'issued_certificates', ['vault_id', 'id']);
  await index('issued_certificates_revoked', 'issued_certificates', ['authority_id', 'revoked_at']);
  await index('issued_certificates_expired', 'issued_certificates', ['expires_at']);
};
