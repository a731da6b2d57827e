/** Organizations, members, resources with their versions, credentials, logs, events and limits. */
import { type CreateTableBuilder, type Kysely, sql } from 'kysely';
import type { ColumnTypes, Step } from './step.ts';

export const foundation: Step = async (db, types) => {
  await people(db, types);
  await resources(db, types);
  await credentials(db, types);
  await logs(db, types);
  await bookkeeping(db, types);
};

export function stamped<T extends string, C extends string>(
  table: CreateTableBuilder<T, C>,
  types: ColumnTypes,
): CreateTableBuilder<T, C> {
  return table
    .addColumn('created_at', types.time, col => col.notNull())
    .addColumn('updated_at', types.time, col => col.notNull())
    .addColumn('revision', 'integer', col => col.notNull())
    .addColumn('stamp', types.bytes, col => col.notNull()) as unknown as CreateTableBuilder<T, C>;
}

async function people(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await db.schema
    .createTable('meta')
    .addColumn('key', 'text', col => col.primaryKey())
    .addColumn('value', types.bytes, col => col.notNull())
    .execute();
  await stamped(db.schema.createTable('organizations'), types)
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('name', 'text', col => col.notNull().unique())
    .addColumn('plan', 'text', col => col.notNull())
    .addColumn('enterprise_limit', 'integer', col => col.notNull())
    .execute();
  await stamped(db.schema.createTable('members'), types)
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('organization_id', types.id, col => col.notNull().references('organizations.id'))
    .addColumn('email', 'text', col => col.notNull())
    .addColumn('email_key', 'text', col => col.notNull())
    .addColumn('role', 'text', col => col.notNull())
    .addColumn('state', 'text', col => col.notNull())
    .addUniqueConstraint('members_email', ['organization_id', 'email_key'])
    .execute();
}

async function resources(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await stamped(db.schema.createTable('resources'), types)
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('organization_id', types.id, col => col.notNull().references('organizations.id'))
    .addColumn('vault_id', types.id, col => col.notNull())
    .addColumn('type', 'text', col => col.notNull())
    .addColumn('name', 'text', col => col.notNull())
    .addColumn('name_search', 'text', col => col.notNull())
    .addColumn('enabled', 'integer', col => col.notNull())
    .addColumn('activation_date', types.time)
    .addColumn('expiration_date', types.time)
    .addColumn('content_type', 'text')
    .addColumn('attributes', 'text', col => col.notNull())
    .addColumn('labels', types.bytes)
    .addColumn('vault_key', types.bytes)
    .addColumn('version', 'integer', col => col.notNull())
    .addColumn('deleted_at', types.time)
    .execute();
  // A vault's name is unique in its organization; any other name is unique per type in its vault.
  await sql`CREATE UNIQUE INDEX resources_vault_name ON resources (organization_id, name)
    WHERE type = 'vault' AND deleted_at IS NULL`.execute(db);
  await sql`CREATE UNIQUE INDEX resources_name ON resources (vault_id, type, name)
    WHERE type <> 'vault' AND deleted_at IS NULL`.execute(db);
  await sql`CREATE INDEX resources_of_organization ON resources (organization_id, id) WHERE deleted_at IS NULL`.execute(
    db,
  );
  await sql`CREATE INDEX resources_of_type ON resources (organization_id, type, id) WHERE deleted_at IS NULL`.execute(
    db,
  );
  await sql`CREATE INDEX resources_of_vault ON resources (vault_id, type, id) WHERE deleted_at IS NULL`.execute(
    db,
  );
  await sql`CREATE INDEX resources_maybe_inactive ON resources (organization_id, id) WHERE deleted_at IS NULL
    AND (enabled = 0 OR activation_date IS NOT NULL OR expiration_date IS NOT NULL)`.execute(db);
  await sql`CREATE INDEX resources_expiring ON resources (expiration_date)
    WHERE deleted_at IS NULL AND expiration_date IS NOT NULL`.execute(db);
  await sql`CREATE INDEX resources_deleted ON resources (organization_id, deleted_at) WHERE deleted_at IS NOT NULL`.execute(
    db,
  );
  await db.schema
    .createTable('versions')
    .addColumn('resource_id', types.id, col => col.notNull().references('resources.id').onDelete('cascade'))
    .addColumn('version', 'integer', col => col.notNull())
    .addColumn('content_type', 'text')
    .addColumn('attributes', 'text', col => col.notNull())
    .addColumn('value', types.bytes, col => col.notNull())
    .addColumn('created_at', types.time, col => col.notNull())
    .addColumn('created_by', 'text', col => col.notNull())
    .addColumn('stamp', types.bytes, col => col.notNull())
    .addPrimaryKeyConstraint('versions_key', ['resource_id', 'version'])
    .execute();
  await db.schema
    .createTable('tags')
    .addColumn('organization_id', types.id, col => col.notNull())
    .addColumn('tag_index', 'text', col => col.notNull())
    .addColumn('resource_id', types.id, col => col.notNull().references('resources.id').onDelete('cascade'))
    .addPrimaryKeyConstraint('tags_key', ['organization_id', 'tag_index', 'resource_id'])
    .execute();
  await db.schema.createIndex('tags_of_resource').on('tags').column('resource_id').execute();
  await db.schema
    .createTable('counts')
    .addColumn('organization_id', types.id, col => col.notNull())
    .addColumn('vault_id', types.id, col => col.notNull())
    .addColumn('type', 'text', col => col.notNull())
    .addColumn('living', 'integer', col => col.notNull())
    .addPrimaryKeyConstraint('counts_key', ['organization_id', 'vault_id', 'type'])
    .execute();
}

async function credentials(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await stamped(db.schema.createTable('credentials'), types)
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('organization_id', types.id, col => col.notNull().references('organizations.id'))
    .addColumn('kind', 'text', col => col.notNull())
    .addColumn('name', 'text', col => col.notNull())
    .addColumn('name_search', 'text', col => col.notNull())
    .addColumn('digest', types.bytes, col => col.notNull())
    .addColumn('vault_id', types.id)
    .addColumn('key_id', types.id)
    .addColumn('role', 'text')
    .addColumn('narrowing', 'text', col => col.notNull())
    .addColumn('expiration_date', types.time)
    .addColumn('max_uses', 'integer')
    .addColumn('created_by', 'text', col => col.notNull())
    .addColumn('revoked_at', types.time)
    .addColumn('uses', 'integer', col => col.notNull())
    .addColumn('last_used_at', types.time)
    .execute();
  await sql`CREATE INDEX credentials_of_kind ON credentials (organization_id, kind, id)
    WHERE revoked_at IS NULL`.execute(db);
  await sql`CREATE INDEX credentials_of_vault ON credentials (vault_id) WHERE revoked_at IS NULL`.execute(db);
}

async function logs(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  const chained = <T extends string, C extends string>(table: CreateTableBuilder<T, C>) =>
    table
      .addColumn('writer', types.id, col => col.notNull())
      .addColumn('seq', types.time, col => col.notNull())
      .addColumn('hash', 'text', col => col.notNull())
      .addColumn('mark', 'text', col => col.notNull());
  await chained(db.schema.createTable('request_blocks'))
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('text', 'text', col => col.notNull())
    .execute();
  await db.schema
    .createTable('request_index')
    .addColumn('organization_id', types.id, col => col.notNull())
    .addColumn('block_id', types.id, col => col.notNull())
    .addColumn('part', 'integer', col => col.notNull())
    .addColumn('vault_id', types.id)
    .addColumn('access_key_id', types.id)
    .addColumn('status', 'integer', col => col.notNull())
    .addColumn('ip_address', 'text', col => col.notNull())
    .addColumn('entries', 'integer', col => col.notNull())
    .addPrimaryKeyConstraint('request_index_key', ['organization_id', 'block_id', 'part'])
    .modifyEnd(types.clustered)
    .execute();
  // Covers all columns that a vault's list and its total need, so that these don't read each row.
  await db.schema
    .createIndex('request_index_of_vault')
    .on('request_index')
    .columns(['vault_id', 'organization_id', 'block_id', 'status', 'entries'])
    .execute();
  await db.schema
    .createTable('unfiled')
    .addColumn('writer', types.id, col => col.primaryKey())
    .addColumn('from_id', types.id, col => col.notNull())
    .execute();
  await chained(db.schema.createTable('audit_logs'))
    .addColumn('position', types.serial, col => col.primaryKey())
    .addColumn('id', types.id, col => col.notNull())
    .addColumn('organization_id', types.id)
    .addColumn('entry', 'text', col => col.notNull())
    .addColumn('action', 'text', col => col.notNull())
    .addColumn('subject_id', types.id)
    .addColumn('subject_revision', 'integer')
    .execute();
  await db.schema
    .createIndex('audit_logs_of_organization')
    .on('audit_logs')
    .columns(['organization_id', 'id'])
    .execute();
  await sql`CREATE INDEX audit_logs_of_subject ON audit_logs (subject_id, subject_revision)
    WHERE subject_revision IS NOT NULL`.execute(db);
  await db.schema
    .createTable('log_heads')
    .addColumn('writer', types.id, col => col.notNull())
    .addColumn('stream', 'text', col => col.notNull())
    .addColumn('seq', types.time, col => col.notNull())
    .addColumn('hash', 'text', col => col.notNull())
    .addColumn('mark', 'text', col => col.notNull())
    .addPrimaryKeyConstraint('log_heads_key', ['writer', 'stream'])
    .execute();
  await db.schema
    .createTable('log_counts')
    .addColumn('organization_id', types.id, col => col.notNull())
    .addColumn('stream', 'text', col => col.notNull())
    .addColumn('total', types.time, col => col.notNull())
    .addPrimaryKeyConstraint('log_counts_key', ['organization_id', 'stream'])
    .execute();
  await db.schema
    .createTable('checkpoints')
    .addColumn('number', types.time, col => col.primaryKey())
    .addColumn('body', 'text', col => col.notNull())
    .addColumn('signature', types.bytes, col => col.notNull())
    .execute();
}

async function bookkeeping(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await db.schema
    .createTable('events')
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('organization_id', types.id, col => col.notNull())
    .addColumn('vault_id', types.id)
    .addColumn('resource_id', types.id, col => col.notNull())
    .addColumn('type', 'text', col => col.notNull())
    .addColumn('payload', 'text', col => col.notNull())
    .addColumn('created_at', types.time, col => col.notNull())
    .execute();
  await db.schema
    .createTable('rate_windows')
    .addColumn('subject_id', types.id, col => col.notNull())
    .addColumn('window_start', types.time, col => col.notNull())
    .addColumn('count', 'integer', col => col.notNull())
    .addPrimaryKeyConstraint('rate_windows_key', ['subject_id', 'window_start'])
    .execute();
  await db.schema
    .createTable('mcp_sessions')
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('digest', types.bytes, col => col.notNull())
    .addColumn('state', 'text', col => col.notNull())
    .addColumn('credential_id', types.id)
    .addColumn('created_at', types.time, col => col.notNull())
    .addColumn('used_at', types.time, col => col.notNull())
    .execute();
}
