/** Grants that people gave to OAuth clients of the tool endpoint: one row per grant, from its code until it ends. */
import type { Step } from './step.ts';

export const oauth: Step = async (db, types) => {
  await db.schema
    .createTable('oauth_grants')
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('organization_id', types.id, col => col.notNull().references('organizations.id'))
    .addColumn('member_id', types.id, col => col.notNull())
    .addColumn('epoch', 'integer', col => col.notNull())
    .addColumn('access_key_id', types.id, col => col.notNull())
    .addColumn('vault_id', types.id, col => col.notNull())
    .addColumn('scope', 'text', col => col.notNull())
    .addColumn('client', 'text', col => col.notNull())
    .addColumn('redirect_uri', 'text', col => col.notNull())
    .addColumn('resource', 'text', col => col.notNull())
    .addColumn('challenge', 'text', col => col.notNull())
    .addColumn('code', types.bytes, col => col.notNull())
    .addColumn('code_expires_at', types.time, col => col.notNull())
    .addColumn('refresh', types.bytes)
    .addColumn('rotations', 'integer', col => col.notNull())
    .addColumn('expires_at', types.time, col => col.notNull())
    .addColumn('created_at', types.time, col => col.notNull())
    .addColumn('updated_at', types.time, col => col.notNull())
    .addColumn('revision', 'integer', col => col.notNull())
    .addColumn('stamp', types.bytes, col => col.notNull())
    .execute();
  await db.schema.createIndex('oauth_grants_of_member').on('oauth_grants').column('member_id').execute();
  await db.schema.createIndex('oauth_grants_by_end').on('oauth_grants').column('expires_at').execute();
};
