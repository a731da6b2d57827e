/** What an engine offers to those who fill an empty database with the rows of another. */
import type { Engine } from './engine.ts';
import { steps } from './migrations/migrations.ts';
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

/** Positions of events are never used twice, also where the events are gone: webhooks remember where they began. */
export const lastPositions = {
  audit_logs: 'SELECT max(position) FROM audit_logs',
  events: `SELECT max(position) FROM (
    SELECT max(position) AS position FROM events
    UNION ALL SELECT max(begins_after) FROM webhook_queues
    UNION ALL SELECT max(event_position) FROM deliveries) AS known`,
} as const;
