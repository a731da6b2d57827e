/**
 * Recent changes, for replicas that poll because they can't receive notifications: the ids whose cached copies are
 * stale, and on PostgreSQL the transaction that made the change. The embedded database does not use it, because it
 * detects all commits itself.
 */
import { sql } from 'kysely';
import type { Step } from './step.ts';

export const changes: Step = async (db, types) => {
  const postgres = types.id === 'uuid';
  const xid = postgres ? 'xid8 NOT NULL DEFAULT pg_current_xact_id()' : 'integer NOT NULL DEFAULT 0';
  const now = postgres ? '(extract(epoch FROM clock_timestamp()) * 1000)::bigint' : '0';
  const id = postgres ? 'uuid PRIMARY KEY DEFAULT gen_random_uuid()' : 'text PRIMARY KEY';
  await sql`CREATE TABLE changes (
    id ${sql.raw(id)},
    xid ${sql.raw(xid)},
    at ${sql.raw(types.time)} NOT NULL DEFAULT ${sql.raw(now)},
    touched text NOT NULL
  )`.execute(db);
  await sql`CREATE INDEX changes_in_order ON changes (xid)`.execute(db);
  await sql`CREATE INDEX changes_by_age ON changes (at)`.execute(db);
};
