/** Runs of agents, and the access keys that belong to each. */
import type { Step } from './step.ts';

export const runs: Step = async (db, types) => {
  await db.schema
    .createTable('runs')
    .addColumn('id', types.id, col => col.primaryKey())
    .addColumn('organization_id', types.id, col => col.notNull().references('organizations.id'))
    .addColumn('purpose', 'text', col => col.notNull())
    .addColumn('access_keys', 'text', col => col.notNull())
    .addColumn('rules', 'text')
    .addColumn('budgets', 'text', col => col.notNull())
    .addColumn('uses', types.time, col => col.notNull())
    .addColumn('writes', types.time, col => col.notNull())
    .addColumn('bytes', types.time, col => col.notNull())
    .addColumn('state', 'text', col => col.notNull())
    .addColumn('ended_by', 'text')
    .addColumn('ends_at', types.time, col => col.notNull())
    .addColumn('member_id', types.id)
    .addColumn('client', 'text')
    .addColumn('created_by', 'text', col => col.notNull())
    .addColumn('created_at', types.time, col => col.notNull())
    .addColumn('updated_at', types.time, col => col.notNull())
    .addColumn('revision', 'integer', col => col.notNull())
    .addColumn('stamp', types.bytes, col => col.notNull())
    .execute();
  await db.schema.createIndex('runs_of_organization').on('runs').columns(['organization_id', 'id']).execute();
  await db.schema.createIndex('runs_by_end').on('runs').columns(['state', 'ends_at']).execute();
  await db.schema
    .createTable('run_access_keys')
    .addColumn('access_key_id', types.id, col => col.primaryKey())
    .addColumn('run_id', types.id, col => col.notNull().references('runs.id').onDelete('cascade'))
    .addColumn('vault_id', types.id, col => col.notNull())
    .execute();
  await db.schema.createIndex('access_keys_of_run').on('run_access_keys').columns(['run_id']).execute();
};
