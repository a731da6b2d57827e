/** Request and response schemas for revealing, copying and comparing many secrets at once. */
import { z } from 'zod';
import { pagination } from './common.ts';
import { exampleTimes, exampleVaultId } from './resource-fields.ts';
import { revealedSecret, secretValue } from './secrets.ts';
import { arrayFrom, count, exampleId, flag, id, knownName, timestamp } from './text.ts';

const mostAtOnce = 100;
export const mostVaults = 8;

const distinct = { error: 'must not contain an id twice' };
const isDistinct = (ids: readonly string[]) => new Set(ids).size === ids.length;
const secretIds = arrayFrom(1, mostAtOnce, id).refine(isDistinct, distinct);

export const secretsReveal = z
  .strictObject({ secret_ids: secretIds })
  .meta({ id: 'SecretsReveal', example: { secret_ids: [exampleId] } });

export const revealedSecrets = z
  .object({
    data: z.array(revealedSecret),
    unresolved: z
      .array(z.string())
      .optional()
      .describe('The names of templates that were left out because a reference can’t be resolved.'),
  })
  .meta({
    id: 'RevealedSecrets',
    description: 'The secrets with their values, in the order of the request.',
  });
export type RevealedSecrets = z.output<typeof revealedSecrets>;

export const secretsCopy = z
  .strictObject({
    secret_ids: secretIds,
    vault_id: id.describe('The vault to copy them to.'),
    move: flag.optional().describe('Also moves the originals to the trash of their vaults.'),
  })
  .meta({ id: 'SecretsCopy', example: { secret_ids: [exampleId], vault_id: exampleVaultId } });
export type SecretsCopy = z.output<typeof secretsCopy>;

export const secretsCompare = z
  .strictObject({
    vault_id: id,
    items: arrayFrom(1, mostAtOnce, z.strictObject({ name: knownName, value: secretValue })),
  })
  .meta({
    id: 'SecretsCompare',
    example: { vault_id: exampleVaultId, items: [{ name: 'API_TOKEN', value: 'correct horse' }] },
  });
export type SecretsCompare = z.output<typeof secretsCompare>;

export const comparedSecrets = z
  .object({
    results: z.array(
      z.object({
        name: z.string(),
        id: id.nullable().describe('The id of the secret with this name; null if there is none.'),
        version: z.int().nullable(),
        same: z.boolean().describe('Whether its current value equals the value that was sent.'),
      }),
    ),
  })
  .meta({
    id: 'ComparedSecrets',
    example: { results: [{ name: 'API_TOKEN', id: exampleId, version: 3, same: false }] },
  });
export type ComparedSecrets = z.output<typeof comparedSecrets>;

/** The vaults that can be compared in one request. */
export const vaultIds = arrayFrom(1, mostVaults, id).refine(isDistinct, distinct);

export const compareOptions = {
  page: count(1, 999_999).default(1),
  limit: count(1, mostAtOnce).default(50),
  different: flag
    .default(false)
    .describe('Only names whose secrets are missing, not active or different in one of the vaults.'),
};

export const vaultsCompare = z
  .strictObject({ vault_ids: vaultIds, ...compareOptions })
  .meta({ id: 'VaultsCompare', example: { vault_ids: [exampleVaultId, exampleId] } });
export type VaultsCompare = z.output<typeof vaultsCompare>;

const cell = z.object({
  id,
  version: z.int(),
  value: z
    .int()
    .nullable()
    .describe('Equal numbers in a row mean equal values. Null without the permission to reveal.'),
  state: z
    .enum(['active', 'inactive', 'expired', 'disabled'])
    .describe('Only active secrets are given to readers.'),
  updated_at: timestamp,
});

export const comparedRows = z
  .array(z.object({ name: z.string(), cells: z.array(cell.nullable()) }))
  .describe('A row for each name, with a cell for each vault; null if the vault has no such secret.');

export const comparedVaults = z.object({ rows: comparedRows, pagination }).meta({
  id: 'ComparedVaults',
  example: {
    rows: [
      {
        name: 'DATABASE_URL',
        cells: [
          {
            id: exampleId,
            version: 3,
            value: 1,
            state: 'active',
            updated_at: exampleTimes.updated_at,
          },
          null,
        ],
      },
    ],
    pagination: { total: 1, page: 1, limit: 50 },
  },
});
export type ComparedVaults = z.output<typeof comparedVaults>;
