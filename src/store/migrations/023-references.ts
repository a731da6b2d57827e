/** Which templates refer to which secrets. */
import type { Step } from './step.ts';

export const references: Step = async (db, types) => {
  const resource = 'resources.id';
  await db.schema
    .createTable('secret_references')
    .addColumn('referrer_id', types.id, col => col.notNull().references(resource).onDelete('cascade'))
    .addColumn('target_id', types.id, col => col.notNull().references(resource).onDelete('cascade'))
    .addPrimaryKeyConstraint('secret_references_key', ['referrer_id', 'target_id'])
    .execute();
  await db.schema
    .createIndex('secret_references_of_target')
    .on('secret_references')
    .columns(['target_id', 'referrer_id'])
    .execute();
};
