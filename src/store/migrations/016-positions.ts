/**
 * Assigns the positions of events and audit entries from a row that a transaction locks until it ends. A database
 * sequence assigns numbers before the commit, and on some servers each connection reserves several, so a later number
 * can become visible before an earlier one. Existing positions are kept.
 */
import { type Kysely, sql } from 'kysely';
import type { Step } from './step.ts';

export const positions: Step = async (db, types) => {
  const postgres = types.id === 'uuid';
  // In the order in which changes write them, so that concurrent writers don't deadlock with this.
  if (postgres) {
    await sql`LOCK TABLE events IN ACCESS EXCLUSIVE MODE`.execute(db);
    await sql`LOCK TABLE audit_logs IN ACCESS EXCLUSIVE MODE`.execute(db);
  }
  await db.schema
    .createTable('last_positions')
    .addColumn('name', 'text', col => col.primaryKey())
    .addColumn('position', types.time, col => col.notNull())
    .execute();
  await sql`INSERT INTO last_positions (name, position)
    SELECT 'audit_logs', coalesce(max(position), 0) FROM audit_logs`.execute(db);
  // Webhooks store the position they start after, even if the events are gone.
  await sql`INSERT INTO last_positions (name, position) SELECT 'events', coalesce(max(position), 0) FROM (
    SELECT max(position) AS position FROM events
    UNION ALL SELECT max(begins_after) FROM webhook_queues
    UNION ALL SELECT max(event_position) FROM deliveries) AS known`.execute(db);
  await (postgres ? withoutSequences(db) : withoutAutoincrement(db));
};

/** Replicas of an earlier version that still run insert no position. The default counts in the same row for them. */
async function withoutSequences(db: Kysely<unknown>): Promise<void> {
  await sql`CREATE OR REPLACE FUNCTION next_position(of_table text) RETURNS bigint LANGUAGE sql AS
    'UPDATE last_positions SET position = position + 1 WHERE name = of_table RETURNING position'`.execute(db);
  for (const table of ['events', 'audit_logs']) {
    await sql`ALTER TABLE ${sql.table(table)} ALTER COLUMN position
      SET DEFAULT next_position(${sql.lit(table)})`.execute(db);
    await sql`DO ${sql.lit(
      `BEGIN EXECUTE 'DROP SEQUENCE ' || pg_get_serial_sequence('${table}', 'position'); END`,
    )}`.execute(db);
  }
}

/** SQLite can't remove it from a column. */
async function withoutAutoincrement(db: Kysely<unknown>): Promise<void> {
  await sql`CREATE TABLE events_counted (
    position integer PRIMARY KEY,
    id text NOT NULL UNIQUE,
    organization_id text NOT NULL,
    vault_id text,
    resource_id text NOT NULL,
    type text NOT NULL,
    payload text NOT NULL,
    fanned integer NOT NULL,
    created_at integer NOT NULL,
    stamp blob NOT NULL
  )`.execute(db);
  const columns = sql.raw(
    'position, id, organization_id, vault_id, resource_id, type, payload, fanned, created_at, stamp',
  );
  await sql`INSERT INTO events_counted (${columns}) SELECT ${columns} FROM events ORDER BY position`.execute(
    db,
  );
  await sql`DROP TABLE events`.execute(db);
  await sql`ALTER TABLE events_counted RENAME TO events`.execute(db);
  await sql`CREATE INDEX events_to_fan_out ON events (position) WHERE fanned = 0`.execute(db);
  await sql`CREATE INDEX events_by_age ON events (created_at)`.execute(db);
}
