/**
 * Workload identities: machines that prove their identity and receive short-lived access keys. A credential names the
 * identity that it belongs to; an access key also has the identity's revision when it was issued.
 */
import { sql } from 'kysely';
import type { Step } from './step.ts';

export const identities: Step = async (db, types) => {
  await db.schema
    .createTable('identities')
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('organization_id', types.id, col => col.notNull().references('organizations.id'))
    .addColumn('name', 'text', col => col.notNull())
    .addColumn('name_search', 'text', col => col.notNull())
    .addColumn('method', 'text', col => col.notNull())
    .addColumn('trust', 'text', col => col.notNull())
    .addColumn('narrowing', 'text', col => col.notNull())
    .addColumn('lifetime', 'integer', col => col.notNull())
    .addColumn('max_uses', 'integer')
    .addColumn('expiration_date', types.time)
    .addColumn('created_by', 'text', col => col.notNull())
    .addColumn('last_login_at', types.time)
    .addColumn('created_at', types.time, col => col.notNull())
    .addColumn('updated_at', types.time, col => col.notNull())
    .addColumn('revision', 'integer', col => col.notNull())
    .addColumn('stamp', types.bytes, col => col.notNull())
    .addUniqueConstraint('identities_name', ['organization_id', 'name'])
    .execute();
  await db.schema
    .createIndex('identities_of_organization')
    .on('identities')
    .columns(['organization_id', 'id'])
    .execute();
  await db.schema.alterTable('credentials').addColumn('identity_id', types.id).execute();
  await db.schema.alterTable('credentials').addColumn('identity_revision', 'integer').execute();
  await sql`CREATE INDEX credentials_of_identity ON credentials (identity_id)
    WHERE identity_id IS NOT NULL`.execute(db);
  await sql`CREATE INDEX credentials_minted ON credentials (expiration_date)
    WHERE identity_revision IS NOT NULL`.execute(db);
};
