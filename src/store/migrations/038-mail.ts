/** Mails that wait to be sent, and what each member wants to be told by mail. */
import type { Step } from './step.ts';

export const mail: Step = async (db, types) => {
  await db.schema
    .createTable('mails')
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('organization_id', types.id, col => col.notNull())
    .addColumn('member_id', types.id, col => col.notNull().references('members.id').onDelete('cascade'))
    .addColumn('content', types.bytes, col => col.notNull())
    .addColumn('due_at', types.time, col => col.notNull())
    .addColumn('tries', 'integer', col => col.notNull())
    .addColumn('claimed_until', types.time, col => col.notNull())
    .addColumn('created_at', types.time, col => col.notNull())
    .execute();
  await db.schema.createIndex('mails_due').on('mails').columns(['due_at', 'id']).execute();
  await db.schema.createIndex('mails_of_member').on('mails').columns(['member_id', 'id']).execute();
  await db.schema
    .createTable('mail_settings')
    .addColumn('member_id', types.id, col => col.primaryKey().references('members.id').onDelete('cascade'))
    .addColumn('choices', 'text', col => col.notNull())
    .addColumn('places', 'text', col => col.notNull())
    .execute();
};
