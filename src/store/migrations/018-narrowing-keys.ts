/**
 * The sealed key that an access key's restrictions are chained from. Existing access keys get theirs when they are next
 * used.
 */
import type { Step } from './step.ts';

export const narrowingKeys: Step = async (db, types) => {
  await db.schema.alterTable('credentials').addColumn('narrowing_key', types.bytes).execute();
};
