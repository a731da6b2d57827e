/** What the chains of an access key’s narrowed ones begin with, sealed; older access keys get theirs when they are next used. */
import type { Step } from './step.ts';

export const narrowingKeys: Step = async (db, types) => {
  await db.schema
    .alterTable('credentials')
    .addColumn('narrowing_key', types.bytes as never)
    .execute();
};
