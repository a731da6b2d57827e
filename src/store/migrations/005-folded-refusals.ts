/** A request entry may represent several refusals. The index records how many, if more than the number of entries. */
import type { Step } from './step.ts';

export const foldedRefusals: Step = async db => {
  await db.schema.alterTable('request_index').addColumn('requests', 'integer').execute();
  // Covers all columns that a vault's list and its total need.
  await db.schema.dropIndex('request_index_of_vault').execute();
  await db.schema
    .createIndex('request_index_of_vault')
    .on('request_index')
    .columns(['vault_id', 'organization_id', 'block_id', 'status', 'entries', 'requests'])
    .execute();
};
