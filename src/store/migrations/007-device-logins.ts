/** CLI sign-ins that wait for a person to approve them in a browser. */
import type { Step } from './step.ts';

export const deviceLogins: Step = async (db, types) => {
  await db.schema
    .createTable('device_logins')
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('user_code', 'text', col => col.notNull().unique())
    .addColumn('digest', types.bytes, col => col.notNull())
    .addColumn('request', 'text', col => col.notNull())
    .addColumn('state', 'text', col => col.notNull())
    .addColumn('approval', 'text')
    .addColumn('created_at', types.time, col => col.notNull())
    .addColumn('expires_at', types.time, col => col.notNull())
    .addColumn('stamp', types.bytes, col => col.notNull())
    .execute();
  await db.schema.createIndex('device_logins_by_age').on('device_logins').column('expires_at').execute();
};
