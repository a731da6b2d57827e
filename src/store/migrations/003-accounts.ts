/** Members' means of signing in, their sessions, and the counters of the overview. */
import { type CreateTableBuilder, type Kysely, sql } from 'kysely';
import type { ColumnTypes, Step } from './step.ts';

export const accounts: Step = async (db, types) => {
  await db.schema.createIndex('members_of_email').on('members').column('email_key').execute();
  await proofs(db, types);
  await sessions(db, types);
  await bookkeeping(db, types);
};

function ofMember<T extends string>(table: CreateTableBuilder<T>, types: ColumnTypes) {
  return table
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('organization_id', types.id, col => col.notNull())
    .addColumn('member_id', types.id, col => col.notNull().references('members.id').onDelete('cascade'))
    .addColumn('created_at', types.time, col => col.notNull())
    .addColumn('updated_at', types.time, col => col.notNull())
    .addColumn('revision', 'integer', col => col.notNull())
    .addColumn('stamp', types.bytes, col => col.notNull());
}

async function proofs(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await ofMember(db.schema.createTable('accounts'), types)
    .addColumn('password', types.bytes)
    .addColumn('totp', types.bytes)
    .addColumn('totp_pending', types.bytes)
    .addColumn('totp_step', types.time, col => col.notNull())
    .addColumn('recovery', 'text', col => col.notNull())
    .addColumn('invitation', types.bytes)
    .addColumn('invitation_expires', types.time)
    .addColumn('epoch', 'integer', col => col.notNull())
    .addUniqueConstraint('accounts_of_member', ['member_id'])
    .execute();
  await ofMember(db.schema.createTable('passkeys'), types)
    .addColumn('name', 'text', col => col.notNull())
    .addColumn('credential_id', 'text', col => col.notNull().unique())
    .addColumn('public_key', types.bytes, col => col.notNull())
    .addColumn('transports', 'text', col => col.notNull())
    .addColumn('counter', types.time, col => col.notNull())
    .addColumn('used_at', types.time)
    .execute();
  await db.schema.createIndex('passkeys_of_member').on('passkeys').column('member_id').execute();
}

async function sessions(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await ofMember(db.schema.createTable('sessions'), types)
    .addColumn('digest', types.bytes, col => col.notNull())
    .addColumn('epoch', 'integer', col => col.notNull())
    .addColumn('method', 'text', col => col.notNull())
    .addColumn('ip_address', 'text', col => col.notNull())
    .addColumn('user_agent', 'text', col => col.notNull())
    .addColumn('used_at', types.time, col => col.notNull())
    .execute();
  await db.schema.createIndex('sessions_of_member').on('sessions').column('member_id').execute();
  await db.schema.createIndex('sessions_by_age').on('sessions').column('created_at').execute();
}

async function bookkeeping(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await db.schema
    .createTable('lock_outs')
    .addColumn('subject', 'text', col => col.primaryKey())
    .addColumn('failures', 'integer', col => col.notNull())
    .addColumn('last_at', types.time, col => col.notNull())
    .execute();
  await db.schema.createIndex('lock_outs_by_age').on('lock_outs').column('last_at').execute();
  await db.schema
    .createTable('used_challenges')
    .addColumn('challenge', 'text', col => col.primaryKey())
    .addColumn('expires_at', types.time, col => col.notNull())
    .execute();
  await db.schema
    .createTable('log_hours')
    .addColumn('organization_id', types.id, col => col.notNull())
    .addColumn('hour', types.time, col => col.notNull())
    .addColumn('kind', 'text', col => col.notNull())
    .addColumn('subject', 'text', col => col.notNull())
    .addColumn('successes', types.time, col => col.notNull())
    .addColumn('failures', types.time, col => col.notNull())
    .addPrimaryKeyConstraint('log_hours_key', ['organization_id', 'kind', 'hour', 'subject'])
    .execute();
  await sql`CREATE INDEX log_hours_by_age ON log_hours (hour)`.execute(db);
}
