/** Webhooks, their queues and deliveries, and notices of expiries. Events get an order and stamps. */
import { type Kysely, sql } from 'kysely';
import { stamped } from './001-foundation.ts';
import type { ColumnTypes, Step } from './step.ts';

export const events: Step = async (db, types) => {
  await outbox(db, types);
  await webhooks(db, types);
  await deliveries(db, types);
  await expiryNotices(db, types);
};

/** Events stored so far could not be delivered to any webhook, so the table is recreated. */
async function outbox(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await db.schema.dropTable('events').execute();
  const embedded = types.serial === 'integer';
  await db.schema
    .createTable('events')
    // Never reused, even after all events are deleted: webhooks store the position they start after.
    .addColumn('position', types.serial, col =>
      embedded ? col.primaryKey().autoIncrement() : col.primaryKey(),
    )
    .addColumn('id', types.id, col => col.notNull().unique())
    .addColumn('organization_id', types.id, col => col.notNull())
    .addColumn('vault_id', types.id)
    .addColumn('resource_id', types.id, col => col.notNull())
    .addColumn('type', 'text', col => col.notNull())
    .addColumn('payload', 'text', col => col.notNull())
    .addColumn('fanned', 'integer', col => col.notNull())
    .addColumn('created_at', types.time, col => col.notNull())
    .addColumn('stamp', types.bytes, col => col.notNull())
    .execute();
  await sql`CREATE INDEX events_to_fan_out ON events (position) WHERE fanned = 0`.execute(db);
  await db.schema.createIndex('events_by_age').on('events').column('created_at').execute();
}

async function webhooks(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await stamped(db.schema.createTable('webhooks'), types)
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('organization_id', types.id, col => col.notNull().references('organizations.id'))
    .addColumn('name', 'text', col => col.notNull())
    .addColumn('url', 'text', col => col.notNull())
    .addColumn('events', 'text', col => col.notNull())
    .addColumn('vault_ids', 'text')
    .addColumn('enabled', 'integer', col => col.notNull())
    .addColumn('disabled_reason', 'text')
    .addColumn('secret', types.bytes, col => col.notNull())
    .addColumn('secret_version', 'integer', col => col.notNull())
    .addColumn('previous_secret', types.bytes)
    .addColumn('previous_until', types.time)
    .execute();
  await db.schema
    .createIndex('webhooks_of_organization')
    .on('webhooks')
    .columns(['organization_id', 'id'])
    .execute();
  await db.schema
    .createTable('webhook_queues')
    .addColumn('webhook_id', types.id, col => col.primaryKey().references('webhooks.id').onDelete('cascade'))
    .addColumn('begins_after', types.time, col => col.notNull())
    .addColumn('due_at', types.time)
    .addColumn('resume_at', types.time)
    .addColumn('failing_since', types.time)
    .addColumn('arrivals', types.time, col => col.notNull())
    .addColumn('leased_by', types.id)
    .addColumn('leased_until', types.time)
    .execute();
  await sql`CREATE INDEX webhook_queues_due ON webhook_queues (due_at) WHERE due_at IS NOT NULL`.execute(db);
}

async function deliveries(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await db.schema
    .createTable('deliveries')
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('organization_id', types.id, col => col.notNull())
    .addColumn('webhook_id', types.id, col => col.notNull())
    .addColumn('event_id', types.id, col => col.notNull())
    .addColumn('event_position', types.time, col => col.notNull())
    .addColumn('event', 'text', col => col.notNull())
    .addColumn('vault_id', types.id)
    .addColumn('resource_id', types.id, col => col.notNull())
    .addColumn('state', 'text', col => col.notNull())
    .addColumn('tries', 'integer', col => col.notNull())
    .addColumn('attempts', 'text', col => col.notNull())
    .addColumn('next_attempt_at', types.time)
    .addColumn('finished_at', types.time)
    .addColumn('created_at', types.time, col => col.notNull())
    // Guarantees one delivery per event and webhook, whatever goes wrong.
    .addUniqueConstraint('deliveries_once', ['event_id', 'webhook_id'])
    .execute();
  await db.schema
    .createIndex('deliveries_of_organization')
    .on('deliveries')
    .columns(['organization_id', 'id'])
    .execute();
  await sql`CREATE INDEX deliveries_due ON deliveries (webhook_id, next_attempt_at, event_position)
    WHERE state = 'pending'`.execute(db);
  await db.schema.createIndex('deliveries_by_age').on('deliveries').column('created_at').execute();
}

async function expiryNotices(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await db.schema
    .createTable('expiry_notices')
    .addColumn('resource_id', types.id, col => col.notNull().references('resources.id').onDelete('cascade'))
    .addColumn('version', 'integer', col => col.notNull())
    .addColumn('expiration_date', types.time, col => col.notNull())
    .addColumn('days', 'integer', col => col.notNull())
    .addPrimaryKeyConstraint('expiry_notices_key', ['resource_id', 'version', 'expiration_date', 'days'])
    .execute();
}
