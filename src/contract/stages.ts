/** Request and response schemas for stages: vaults in an order, such as staging before production. */
import { z } from 'zod';
import { pagination, recordTimes, searchQuery } from './common.ts';
import { comparedRows, compareOptions, vaultIds } from './many-secrets.ts';
import { proposalNotice } from './proposals.ts';
import { exampleTimes, exampleVaultId } from './resource-fields.ts';
import { exampleId, flag, id, name } from './text.ts';

const orderedVaults = vaultIds.describe(
  'In order; the last one is what the others lead to, such as production.',
);

export const stageCreate = z.strictObject({ name, vault_ids: orderedVaults }).meta({
  id: 'StageCreate',
  example: { name: 'payments', vault_ids: [exampleVaultId, exampleId] },
});
export const stageUpdate = z
  .strictObject({ name: name.optional(), vault_ids: orderedVaults.optional() })
  .meta({ id: 'StageUpdate', example: { name: 'billing' } });
export type StageCreate = z.output<typeof stageCreate>;
export type StageUpdate = z.output<typeof stageUpdate>;

export const stageQuery = searchQuery;
export type StageQuery = z.output<typeof stageQuery>;

export const stage = z
  .object({
    id,
    name: z.string(),
    vault_ids: z
      .array(id)
      .describe('In order. Vaults that are deleted, or that the caller may not see, are left out.'),
    ...recordTimes,
  })
  .meta({
    id: 'Stage',
    description: 'Vaults in an order, whose secrets are compared, copied and renamed together.',
    example: {
      id: exampleId,
      name: 'payments',
      vault_ids: [exampleVaultId, exampleId],
      ...exampleTimes,
    },
  });
export type Stage = z.output<typeof stage>;

export const stageCompare = z
  .strictObject({
    ...compareOptions,
    missing: flag
      .default(false)
      .describe('Only names that the last vault does not have, but one before it does.'),
  })
  .meta({ id: 'StageCompare', example: { different: true } });
export type StageCompare = z.output<typeof stageCompare>;

export const comparedStage = z
  .object({
    vaults: z.array(z.object({ id, name: z.string() })).describe('The columns of the matrix, in order.'),
    rows: comparedRows,
    missing: z.int().describe('How many names the last vault does not have, but one before it does.'),
    pagination,
  })
  .meta({
    id: 'ComparedStage',
    example: {
      vaults: [
        { id: exampleVaultId, name: 'staging' },
        { id: exampleId, name: 'production' },
      ],
      rows: [],
      missing: 0,
      pagination: { total: 0, page: 1, limit: 50 },
    },
  });
export type ComparedStage = z.output<typeof comparedStage>;

export const stageRename = z
  .strictObject({
    secret_id: id.describe('A secret of one of the vaults; the others are those with the same name.'),
    name,
  })
  .meta({ id: 'StageRename', example: { secret_id: exampleId, name: 'DATABASE_URL' } });
export type StageRename = z.output<typeof stageRename>;

export const renamedInStage = z
  .object({
    data: z
      .array(z.object({ id, name: z.string(), vault_id: id, proposal: proposalNotice.optional() }))
      .describe('The renamed secrets. Those with a proposal have their old name until someone confirms it.'),
    proposal: proposalNotice.optional().describe('The first of the proposals.'),
  })
  .meta({
    id: 'RenamedInStage',
    example: { data: [{ id: exampleId, name: 'DATABASE_URL', vault_id: exampleVaultId }] },
  });
export type RenamedInStage = z.output<typeof renamedInStage>;
