/** Request and response schemas for secrets: metadata in one schema, the value in another. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are written so
import { z } from 'zod';
import { pageLimit, pageNumber } from './common.ts';
import { proposalNotice } from './proposals.ts';
import {
  commonFields,
  datesInOrder,
  exampleCommon,
  exampleVaultId,
  nullableMoment,
  orderError,
} from './resource-fields.ts';
import { rotation, shownRotation } from './rotations.ts';
import { secretKinds } from './templates.ts';
import { arrayFrom, count, flag, id, line, name, noteText, oneOf, tags, timestamp } from './text.ts';

export const largestValue = 64 * 1024;
/** Versions are counted in four bytes. */
const latestVersion = 2_147_483_647;

export const secretValue = z
  .string({ error: 'must be a string' })
  .refine(text => text.isWellFormed(), { error: 'must not contain unpaired surrogates' })
  .refine(text => Buffer.byteLength(text) <= largestValue, { error: 'must be at most 65536 bytes' })
  .meta({
    maxLength: largestValue,
    description: 'At most 64 KiB. Send binary data as base64, with a content type that says so.',
  });

const contentType = line(1, 255).meta({ minLength: 1, maxLength: 255, example: 'text/plain' });

const kind = oneOf(secretKinds).describe(
  'The value of a `template` contains references: `${NAME}` to a secret of the same vault, `${vault:VAULT/NAME}` to one of another vault. They are resolved wherever a value is returned. A `value`, the default, is returned as it is.',
);

const secretFields = {
  name,
  value: secretValue,
  kind: kind.optional(),
  content_type: contentType.optional(),
  tags: tags.optional(),
  note: noteText.optional(),
  owner_id: id
    .nullable()
    .optional()
    .describe('The member who is responsible for it. Naming another member requires `members:read`.'),
  enabled: flag.optional(),
  activation_date: nullableMoment,
  expiration_date: nullableMoment,
  rotation: rotation
    .nullable()
    .optional()
    .describe(
      'When it gets a new value by itself. What obtains values or sends them requires `secrets:reveal` and `use-rules:write` or `issuers:write`.',
    ),
};
export const secretCreate = z
  .strictObject({ vault_id: id, ...secretFields })
  .refine(datesInOrder, orderError)
  .meta({
    id: 'SecretCreate',
    example: {
      vault_id: exampleVaultId,
      name: 'DATABASE_URL',
      value: 'postgres://app@db.internal/app',
      tags: { team: 'payments' },
    },
  });
export const secretUpdate = z
  .strictObject({ ...secretFields, name: name.optional(), value: secretValue.optional() })
  .refine(datesInOrder, orderError)
  .meta({ id: 'SecretUpdate', example: { value: 'postgres://app@db2.internal/app' } });
export type SecretCreate = z.output<typeof secretCreate>;
export type SecretUpdate = z.output<typeof secretUpdate>;

const exampleSecret = {
  ...exampleCommon,
  type: 'secret',
  name: 'DATABASE_URL',
  vault_id: exampleVaultId,
  kind: 'value',
  content_type: 'text/plain',
  note: '',
  owner_id: null,
  enabled: true,
  activation_date: null,
  expiration_date: null,
  version: 1,
  rotation: null,
  next_rotation_at: null,
};

export const secret = z
  .object({
    ...commonFields,
    type: z.literal('secret'),
    vault_id: id,
    kind,
    content_type: z.string(),
    note: z.string(),
    owner_id: id.nullable(),
    enabled: z.boolean(),
    activation_date: timestamp.nullable(),
    expiration_date: timestamp.nullable(),
    version: z.int(),
    rotation: shownRotation.nullable(),
    next_rotation_at: timestamp.nullable().describe('Null if it doesn’t rotate.'),
  })
  .meta({ id: 'Secret', description: 'A secret without its value.', example: exampleSecret });
export type Secret = z.output<typeof secret>;

export const revealedSecret = secret.extend({ value: z.string() }).meta({
  id: 'RevealedSecret',
  description: 'A secret with its value, or with the value of the requested version.',
  example: { ...exampleSecret, value: 'postgres://app@db.internal/app' },
});
export type RevealedSecret = z.output<typeof revealedSecret>;

export const secretReveal = z
  .strictObject({
    version: count(1, latestVersion).optional(),
    resolve: flag
      .optional()
      .describe(
        'If false, the value of a template is its text. A reference to a secret that you may not see is shown as `${}`.',
      ),
  })
  .meta({ id: 'SecretReveal', example: { version: 1 } });
export const rollback = z
  .strictObject({ version: count(1, latestVersion) })
  .meta({ id: 'SecretRollback', example: { version: 1 } });

export const version = z
  .object({
    version: z.int(),
    created_at: timestamp,
    created_by: z.string(),
    content_type: z.string().nullable(),
    current: z.boolean(),
  })
  .meta({
    id: 'Version',
    example: {
      version: 1,
      created_at: exampleCommon.created_at,
      created_by: exampleVaultId,
      content_type: 'text/plain',
      current: true,
    },
  });
export type Version = z.output<typeof version>;

export const versionQuery = z.strictObject({ page: pageNumber, limit: pageLimit });

/** Each item is checked separately, so the schema of the request only requires items. */
export const bulkRequest = z.strictObject({ items: arrayFrom(1, 100, z.unknown()) });
/** The schema of the items, for the documentation. */
export const bulkDocumented = z
  .strictObject({
    items: arrayFrom(
      1,
      100,
      z.union([secretCreate, secretUpdate.safeExtend({ id }).meta({ id: 'SecretUpdateWithId' })]),
    ),
  })
  .meta({
    id: 'SecretsWrite',
    description:
      'Each item is a body of `POST /v1/secrets`, or a body of `PUT /v1/secrets/{id}` plus the `id`.',
    example: { items: [{ vault_id: exampleVaultId, name: 'API_TOKEN', value: 'correct horse' }] },
  });

export const bulkAnswer = z
  .object({
    results: z.array(
      z.object({
        index: z.int(),
        status: z.int(),
        secret: secret.optional(),
        error: z
          .object({
            code: z.string(),
            message: z.string(),
            details: z.object({ field: z.string(), reason: z.string() }),
          })
          .optional(),
        proposal: proposalNotice
          .optional()
          .describe('The write waits for review; with a `secret`, only the removal of a moved one does.'),
      }),
    ),
    proposal: proposalNotice.optional().describe('The first of the proposals, if there are any.'),
  })
  .meta({ id: 'BulkAnswer', example: { results: [{ index: 0, status: 200, secret: exampleSecret }] } });
export type BulkAnswer = z.output<typeof bulkAnswer>;

const linkedSecret = z.object({
  id,
  name: z.string(),
  vault_id: id,
  vault_name: z.string().nullable().describe('Null if you may not see the vault.'),
  active: z.boolean(),
  direct: z.boolean().describe('False if there are other templates in between.'),
});
export type LinkedSecret = z.output<typeof linkedSecret>;

const exampleLinked = {
  id: exampleCommon.id,
  name: 'DATABASE_URL',
  vault_id: exampleVaultId,
  vault_name: 'production',
  active: true,
  direct: true,
};

export const secretLinks = z
  .object({
    refers_to: z.array(linkedSecret).describe('The secrets that the template refers to.'),
    used_by: z.array(linkedSecret).describe('The templates that contain the secret, nearest first.'),
    complete: z.boolean().describe('False if there are more than are shown.'),
  })
  .meta({
    id: 'SecretLinks',
    description: 'Only secrets that you may see, and what is reached through those.',
    example: { refers_to: [], used_by: [exampleLinked], complete: true },
  });
export type SecretLinks = z.output<typeof secretLinks>;

export const vaultLinks = z
  .object({
    used_by: z
      .array(linkedSecret)
      .describe('The templates that refer to a secret of the vault, newest first.'),
    complete: z.boolean().describe('False if there are more than are shown.'),
  })
  .meta({
    id: 'VaultLinks',
    description: 'Templates in other vaults, as far as you may see them.',
    example: { used_by: [exampleLinked], complete: true },
  });
export type VaultLinks = z.output<typeof vaultLinks>;
