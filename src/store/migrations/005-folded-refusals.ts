/** A request entry may stand for several refusals: the index says for how many, where there are more than entries. */
import type { Step } from './step.ts';

export const foldedRefusals: Step = async db => {
  await db.schema.alterTable('request_index').addColumn('requests', 'integer').execute();
  // It carries all that a vault's list and its total need.
  await db.schema.dropIndex('request_index_of_vault').execute();
  await db.schema
    .createIndex('request_index_of_vault')
    .on('request_index')
    .columns(['vault_id', 'organization_id', 'block_id', 'status', 'entries', 'requests'])
    .execute();
};
