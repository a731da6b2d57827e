/** Schemas for the entries of the request log and the audit log. */
import { z } from 'zod';
import { auditEffects, effectDescription } from './audit-actions.ts';
import { pageQuery } from './common.ts';
import { refusalReasons } from './refusals.ts';
import { exampleTimes, exampleVaultId } from './resource-fields.ts';
import { keyNarrowing } from './restrictions.ts';
import { exampleId, id, line, moment, queryInteger, timestamp } from './text.ts';

const period = {
  from: moment.optional().describe('At or after this time.'),
  to: moment.optional().describe('Before this time.'),
};

const count = z
  .int()
  .describe('The number of refusals, identical except for the time, that the entry stands for; otherwise 1.');

const verified = z
  .boolean()
  .describe(
    'Whether the entry was verified against its chain for this response; an edited entry is an error. False if the preceding entry of its chain is too far away to read for a list; an entry fetched by its id is always verified.',
  );

const exampleEntry = {
  id: exampleId,
  created_at: exampleTimes.created_at,
  ip_address: '203.0.113.7',
  vault_id: exampleVaultId,
  user_agent: 'curl/8.14.1',
  request_id: '0199a3c4-3333-7abc-8def-0123456789ab',
  count: 1,
  receipt: `${exampleId}.9f86d081884c7d65`,
  verified: true,
};

/** Ids separated by commas, as text, so that the documentation can show an example. */
const idsUpTo = (most: number) =>
  z.string({ error: 'must be given once' }).refine(text => isIdList(text, most), {
    error: `must be at most ${most} ids, separated by commas`,
  });

function isIdList(text: string, most: number): boolean {
  const ids = idsIn(text);
  return ids.length <= most && ids.every(one => id.safeParse(one).success);
}

export const idsIn = (text: string): string[] => text.split(',');

export const requestLogQuery = pageQuery.omit({ as_of: true }).extend({
  vault_id: id.optional(),
  access_key_id: id.optional(),
  run_id: id.optional().describe('Only requests with an access key of this run.'),
  status: queryInteger(100, 599).optional(),
  success: z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .transform(text => text === 'true')
    .optional()
    .describe('Only answered requests (status below 400), or only refused ones.'),
  ip_address: line(2, 64).optional(),
  ...period,
});
export type RequestLogQuery = z.output<typeof requestLogQuery>;

const exported = {
  format: z.enum(['jsonl', 'csv'], { error: 'must be one of: jsonl, csv' }).default('jsonl'),
};
export const requestLogExport = requestLogQuery.omit({ page: true, limit: true }).extend(exported);

const buckets = 'The period is divided into this many parts of equal length.';
export const mostSeries = 50;
export const requestHistogramQuery = requestLogQuery.omit({ page: true, limit: true }).extend({
  from: moment.optional().describe('24 hours before the end by default.'),
  to: moment.optional().describe('Now by default.'),
  buckets: queryInteger(1, 120).default(24).meta({ description: buckets, default: 24 }),
  access_key_ids: idsUpTo(mostSeries)
    .optional()
    .meta({
      description:
        'Also counts the requests of each of these access keys, at most 50 ids, separated by commas.',
      examples: [exampleId],
    }),
});
export type RequestHistogramQuery = z.output<typeof requestHistogramQuery>;

export const requestHistogram = z
  .object({
    from: timestamp,
    to: timestamp,
    parts: z
      .array(z.object({ at: timestamp, success: z.int(), failure: z.int() }))
      .describe('The number of requests from each time until the next, or until `to`.'),
    access_keys: z
      .array(z.object({ id, requests: z.array(z.int()) }))
      .describe('For each of the access keys: the number of its requests in each part.'),
  })
  .meta({
    id: 'RequestHistogram',
    description: 'The requests that the list with the same filter contains.',
    example: {
      from: exampleTimes.created_at,
      to: exampleTimes.created_at,
      parts: [{ at: exampleTimes.created_at, success: 120, failure: 1 }],
      access_keys: [],
    },
  });
export type RequestHistogram = z.output<typeof requestHistogram>;

export const requestLog = z
  .object({
    id,
    created_at: timestamp,
    success: z.boolean(),
    resource_type: z.literal('vault'),
    ip_address: z.string(),
    route: z.string(),
    method: z.string(),
    status: z.int(),
    vault_id: id.nullable(),
    access_key_id: id.nullable(),
    run_id: id.nullable().describe('The run that the access key belongs to.'),
    narrowing: keyNarrowing.nullable(),
    requested: z.string(),
    via: z
      .array(z.object({ secret_id: id, template_id: id }))
      .nullable()
      .describe(
        'For an entry about secrets of this vault to which templates refer: the secrets whose values were part of the answer, each with the template. Otherwise null.',
      ),
    tool: z.string().nullable(),
    user_agent: z.string(),
    duration_ms: z.number(),
    request_id: z.string(),
    count,
    receipt: z.string(),
    verified,
    reason: z
      .enum(refusalReasons)
      .nullable()
      .describe(
        'Why the request was refused, which the caller can’t see. Null if it was not refused, and for entries older than this field.',
      ),
  })
  .meta({
    id: 'RequestLog',
    example: {
      ...exampleEntry,
      success: true,
      resource_type: 'vault',
      route: '/api/v1/vaults/{vault_id}',
      method: 'GET',
      status: 200,
      access_key_id: '0199a3c4-4444-7abc-8def-0123456789ab',
      run_id: null,
      narrowing: null,
      requested: 'secrets',
      via: null,
      tool: null,
      duration_ms: 0.8,
      reason: null,
    },
  });
export type RequestLog = z.output<typeof requestLog>;

export const auditLogQuery = pageQuery.omit({ as_of: true }).extend({
  action: line(1, 64).optional(),
  subject_id: id.optional(),
  actor_id: line(1, 64).optional().describe('The id of the member, API key or access key that acted.'),
  ...period,
});
export type AuditLogQuery = z.output<typeof auditLogQuery>;

export const auditLogExport = auditLogQuery.omit({ page: true, limit: true }).extend(exported);

export const auditLog = z
  .object({
    id,
    created_at: timestamp,
    actor: z.object({ kind: z.string(), id: z.string(), name: z.string() }),
    action: z.string(),
    outcome: z.enum(['allowed', 'denied']),
    subject: z.object({ type: z.string(), id: id.nullable(), name: z.string() }).nullable(),
    revision: z.int().nullable(),
    vault_id: id.nullable(),
    ip_address: z.string(),
    user_agent: z.string(),
    request_id: z.string(),
    details: z.record(z.string(), z.unknown()),
    count,
    receipt: z.string(),
    verified,
    effect: z
      .enum(auditEffects)
      .nullable()
      .describe(`What happened to the subject: ${effectDescription}. Null for actions of a newer version.`),
  })
  .meta({
    id: 'AuditLog',
    example: {
      ...exampleEntry,
      actor: { kind: 'api-key', id: exampleId, name: 'deployment' },
      action: 'secret.updated',
      outcome: 'allowed',
      subject: { type: 'secret', id: exampleId, name: 'DATABASE_URL' },
      revision: 2,
      details: { changed: ['value'], version: 2 },
      effect: 'changes',
    },
  });
export type AuditLog = z.output<typeof auditLog>;

export const logVerification = z
  .object({
    checked_at: timestamp.nullable().describe('Null until the first verification has finished.'),
    running: z.boolean(),
    ok: z.boolean().nullable(),
    entries: z
      .object({ request: z.int(), audit: z.int() })
      .describe('The number of entries of this organization.'),
    checkpoints: z.int(),
    findings: z
      .array(z.object({ what: z.string(), count: z.int() }))
      .describe('What is wrong; run `strongroom audit verify` for details.'),
  })
  .meta({
    id: 'LogVerification',
    example: {
      checked_at: exampleTimes.created_at,
      running: false,
      ok: true,
      entries: { request: 120, audit: 12 },
      checkpoints: 40,
      findings: [],
    },
  });
export type LogVerification = z.output<typeof logVerification>;

export const readersQuery = z.strictObject({
  version: queryInteger(1, 999_999_999).optional().describe('The current version by default.'),
});

export const mostMatrixSecrets = 50;
export const vaultReadersQuery = z.strictObject({
  secret_ids: idsUpTo(mostMatrixSecrets)
    .optional()
    .meta({
      description:
        'The secrets, at most 50 ids, separated by commas; those that are not in the vault are left out. The first 50 by name by default.',
      examples: [exampleId],
    }),
});

export const vaultReaders = z
  .object({
    since: timestamp
      .nullable()
      .describe('From when on the request log was searched: its newest 10,000 entries. Null for all of it.'),
    access_keys: z
      .array(z.object({ id, name: z.string() }))
      .describe('The name is empty if the access key no longer exists, or if you can’t see it.'),
    secrets: z.array(
      z.object({
        id,
        name: z.string(),
        readers: z.array(z.object({ access_key_id: id, reads: z.int(), last_at: timestamp })),
        days: z.array(z.int()).describe('Reads in each of the last 14 days, oldest first.'),
      }),
    ),
  })
  .meta({
    id: 'VaultReaders',
    description: 'Which access keys were given which values.',
    example: {
      since: null,
      access_keys: [{ id: exampleId, name: 'web' }],
      secrets: [
        {
          id: exampleVaultId,
          name: 'STRIPE_KEY',
          readers: [{ access_key_id: exampleId, reads: 12, last_at: exampleTimes.created_at }],
          days: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 8],
        },
      ],
    },
  });
export type VaultReaders = z.output<typeof vaultReaders>;

export const secretReaders = z
  .object({
    version: z.int(),
    since: timestamp.describe('When the version was created.'),
    complete: z.boolean().describe('False if only the newest entries were searched.'),
    data: z
      .array(
        z.object({
          kind: z.string(),
          id: z.string(),
          name: z.string(),
          reads: z.int(),
          last_at: timestamp,
          via: z
            .array(z.object({ id, name: z.string() }))
            .describe('The templates through which the value was read, as far as you may see them.'),
        }),
      )
      .describe('Newest first. The name is empty if the access key no longer exists.'),
  })
  .meta({
    id: 'SecretReaders',
    example: {
      version: 3,
      since: exampleTimes.created_at,
      complete: true,
      data: [
        {
          kind: 'access-key',
          id: exampleId,
          name: 'web',
          reads: 12,
          last_at: exampleTimes.created_at,
          via: [],
        },
      ],
    },
  });
export type SecretReaders = z.output<typeof secretReaders>;
