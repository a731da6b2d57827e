/** The interface for filling an empty database with the rows of another. */
import type { Engine } from '../engine/engine.ts';
import { steps } from '../migrations/migrations.ts';
import type { TableShape } from './tables.ts';

export interface Loader {
  /** For reading the loaded rows. */
  readonly engine: Engine;
  /** Creates the tables as these migrations left them. */
  create(schema: readonly string[]): Promise<void>;
  /** Values in the order of the shape's columns. */
  insert(shape: TableShape, rows: readonly (readonly unknown[])[]): Promise<void>;
  /** Called once all rows are inserted: migrates them to this version, and checks references between them. */
  complete(): Promise<void>;
  /** Makes the database visible and durable. */
  finish(): Promise<void>;
  /** Removes everything that was loaded. */
  discard(): Promise<void>;
}

/** The last of these migrations; undefined unless they are the first ones known here. */
export function lastStep(schema: readonly string[]): string | undefined {
  const known = Object.keys(steps);
  return schema.every((step, at) => step === known[at]) ? schema.at(-1) : undefined;
}

/**
 * Continues the positions after all that are in use. Event positions are never reused, even if the events are gone,
 * because webhooks store the position they start after. The audit log's newest entry always exists.
 */
export const countOn = [
  `UPDATE last_positions SET position = coalesce((SELECT max(position) FROM audit_logs), 0)
    WHERE name = 'audit_logs'`,
  `UPDATE last_positions SET position = coalesce((SELECT max(position) FROM (
    SELECT max(position) AS position FROM events
    UNION ALL SELECT max(begins_after) FROM webhook_queues
    UNION ALL SELECT max(event_position) FROM deliveries) AS known), 0) WHERE name = 'events'`,
] as const;
