/** Request and response schemas for vaults, and for all four types of resources together. */
import { z } from 'zod';
import { certificateCreate } from './certificates.ts';
import { searchQuery } from './common.ts';
import { keyCreate } from './keys.ts';
import { commonFields, exampleCommon, resourceTypes } from './resource-fields.ts';
import { secretCreate } from './secrets.ts';
import { arrayUpTo, description, exampleId, flag, id, line, name, oneOf, tags, timestamp } from './text.ts';

export * from './certificates.ts';
export * from './keys.ts';
export * from './many-secrets.ts';
export { datesOutOfOrder, type ResourceType, resourceTypes } from './resource-fields.ts';
export * from './secrets.ts';

const state = oneOf(['active', 'inactive', 'expired', 'disabled', 'deleted']).describe(
  '`inactive` is not yet active; `deleted` lists the trash.',
);

const sortKeys = [
  'name',
  '-name',
  'state',
  '-state',
  'expires',
  '-expires',
  'version',
  '-version',
  'updated',
  '-updated',
] as const;

export const resourceQuery = searchQuery.extend({
  vault_id: id.optional(),
  tag: line(1, 400)
    .refine(text => text.includes('='), { error: 'must be of the form name=value' })
    .optional()
    .meta({ description: '`name=value`', example: 'team=payments' }),
  state: state.optional(),
  sort: oneOf(sortKeys)
    .optional()
    .describe(
      'Newest first by default. A minus sign reverses the order; resources without a date come last.',
    ),
});
export type ResourceQuery = z.output<typeof resourceQuery>;
export const mixedQuery = resourceQuery.extend({ type: oneOf(resourceTypes).optional() });
export type MixedQuery = z.output<typeof mixedQuery>;

// Vaults

const mostReferring = 100;

const referableFrom = arrayUpTo(mostReferring, id)
  .refine(ids => new Set(ids).size === ids.length, { error: 'must not contain an id twice' })
  .describe('The ids of the vaults whose templates may refer to the secrets of this one.');

const vaultFields = {
  name,
  description: description.optional(),
  tags: tags.optional(),
  referable_from: referableFrom.optional(),
  review: flag
    .optional()
    .describe(
      'Whether someone else has to confirm every write of what it contains. Changing it requires the permission `vaults:review`.',
    ),
};
export const vaultCreate = z.strictObject(vaultFields).meta({
  id: 'VaultCreate',
  example: { name: 'production', description: 'What production needs', tags: { team: 'payments' } },
});
export const vaultUpdate = z
  .strictObject({ ...vaultFields, name: name.optional() })
  .meta({ id: 'VaultUpdate', example: { description: 'What production needs today' } });
export type VaultCreate = z.output<typeof vaultCreate>;
export type VaultUpdate = z.output<typeof vaultUpdate>;

export const vault = z
  .object({
    ...commonFields,
    type: z.literal('vault'),
    description: z.string(),
    review: z.boolean(),
    referable_from: z
      .array(id)
      .describe(
        'The ids of the vaults whose templates may refer to the secrets of this one, as far as you may see them.',
      ),
  })
  .meta({
    id: 'Vault',
    example: {
      ...exampleCommon,
      type: 'vault',
      name: 'production',
      description: 'What production needs',
      referable_from: [],
      review: false,
    },
  });
export type Vault = z.output<typeof vault>;

const mostCounted = 100;

export const vaultCountsQuery = z.strictObject({
  vault_ids: z
    .string({ error: 'must be given once' })
    .transform(text => text.split(','))
    .pipe(z.array(id).max(mostCounted, { error: `must contain at most ${mostCounted} ids` }))
    .optional()
    .meta({
      type: 'string',
      description: 'Ids of vaults, separated by commas, at most 100.',
      example: exampleId,
    }),
});

const figure = z.int().nullable();
export const vaultCounts = z
  .object({
    data: z.array(z.object({ vault_id: id, secrets: figure, keys: figure, certificates: figure })),
  })
  .meta({
    id: 'VaultCounts',
    description: 'The number of resources in each vault; null for types that the caller may not read.',
    example: { data: [{ vault_id: exampleId, secrets: 12, keys: 2, certificates: 1 }] },
  });
export type VaultCounts = z.output<typeof vaultCounts>;

// All four together

export const genericResource = z
  .object({
    ...commonFields,
    type: z.enum(resourceTypes),
    vault_id: id.nullable().describe('Null for a vault.'),
    deleted_at: timestamp.nullable(),
  })
  .meta({
    id: 'Resource',
    description:
      'The fields that all types have in common. The other fields are in the collection of each type.',
    example: { ...exampleCommon, type: 'vault', name: 'production', vault_id: null, deleted_at: null },
  });
export type GenericResource = z.output<typeof genericResource>;

/** The body of the given type; without `type`, a vault is created. */
export const resourceCreate = z
  .discriminatedUnion(
    'type',
    [
      vaultCreate.extend({ type: z.literal('vault').optional() }),
      secretCreate.safeExtend({ type: z.literal('secret') }),
      keyCreate.safeExtend({ type: z.literal('key') }),
      certificateCreate.safeExtend({ type: z.literal('certificate') }),
    ],
    { error: `must be one of: ${resourceTypes.join(', ')}` },
  )
  .meta({
    id: 'ResourceCreate',
    description: 'The body of the given type; without `type`, a vault is created.',
    example: { name: 'production' },
  });

/** Which fields are allowed depends on the type of the stored resource, so they are checked once it is known. */
export const resourceUpdate = z.looseObject({}).meta({
  id: 'ResourceUpdate',
  description: 'The body of the resource’s own type.',
  example: { name: 'production-eu' },
});
