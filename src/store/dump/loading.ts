/** What an engine offers to those who fill an empty database with the rows of another. */
import type { Engine } from '../engine/engine.ts';
import { steps } from '../migrations/migrations.ts';
import type { TableShape } from './tables.ts';

export interface Loader {
  /** For reading what was loaded. */
  readonly engine: Engine;
  /** Creates the tables as these migrations left them. */
  create(schema: readonly string[]): Promise<void>;
  /** Values in the order of the shape's columns. */
  insert(shape: TableShape, rows: readonly (readonly unknown[])[]): Promise<void>;
  /** Once all rows are there: brings them forward to this version, and checks what must hold between them. */
  complete(): Promise<void>;
  /** From here on it exists, durably. */
  finish(): Promise<void>;
  /** As if it had never been begun. */
  discard(): Promise<void>;
}

/** The last of these migrations; undefined where they are not the first ones of those that are known here. */
export function lastStep(schema: readonly string[]): string | undefined {
  const known = Object.keys(steps);
  return schema.every((step, at) => step === known[at]) ? schema.at(-1) : undefined;
}

/**
 * Continues the positions behind all that is known of. Those of events are never used twice, also where the events are gone:
 * webhooks remember where they began. The audit log's newest entry is always there.
 */
export const countOn = [
  `UPDATE last_positions SET position = coalesce((SELECT max(position) FROM audit_logs), 0)
    WHERE name = 'audit_logs'`,
  `UPDATE last_positions SET position = coalesce((SELECT max(position) FROM (
    SELECT max(position) AS position FROM events
    UNION ALL SELECT max(begins_after) FROM webhook_queues
    UNION ALL SELECT max(event_position) FROM deliveries) AS known), 0) WHERE name = 'events'`,
] as const;
