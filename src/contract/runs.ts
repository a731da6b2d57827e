/**
 * Request and response schemas for runs: what an agent does for one purpose, until an end and within budgets, with
 * access keys of its own that end with it.
 */
import { z } from 'zod';
import { pageQuery, recordTimes } from './common.ts';
import { exampleTimes, exampleVaultId } from './resource-fields.ts';
import { longestPurpose, longestRun, usualRun } from './run-bounds.ts';
import { arrayFrom, count, exampleId, id, line, moment, oneOf, timestamp } from './text.ts';

export const mostVaultsOfRun = 10;
export const mostRulesOfRun = 50;
/** In seconds. */
const shortestRun = 60;
const mostCounted = 1_000_000_000;
const mostBytes = 1_000_000_000_000;

export const runStates = ['active', 'ended', 'expired'] as const;
export type RunState = (typeof runStates)[number];

export const budgets = z
  .strictObject({
    uses: count(1, mostCounted).optional().describe('How many calls it may make with secrets and keys.'),
    writes: count(0, mostCounted)
      .optional()
      .describe('How many of these may have another method than GET or HEAD.'),
    bytes: count(1, mostBytes)
      .optional()
      .describe('The size of the bodies and answers of all its calls, together.'),
  })
  .meta({ id: 'RunBudgets', example: { uses: 200, writes: 20 } });
export type Budgets = z.output<typeof budgets>;

const purpose = line(1, longestPurpose).describe('What it is for, as people see it.');

export const runCreate = z
  .strictObject({
    purpose,
    vault_ids: arrayFrom(1, mostVaultsOfRun, id).refine(ids => new Set(ids).size === ids.length, {
      error: 'must be different',
    }),
    rules: arrayFrom(1, mostRulesOfRun, id)
      .nullable()
      .optional()
      .describe('The only use rules that it may use; all of its vaults if omitted.'),
    ends_at: moment.optional().describe('At most 30 days from now; in twelve hours by default.'),
    budgets: budgets.optional(),
  })
  .meta({
    id: 'RunCreate',
    example: { purpose: 'Label new issues', vault_ids: [exampleVaultId], budgets: { uses: 200, writes: 20 } },
  });
export type RunCreate = z.output<typeof runCreate>;

export const runQuery = pageQuery.extend({
  vault_id: id.optional().describe('Only runs with an access key for this vault.'),
  state: oneOf(['active', 'all']).optional().describe('`all` by default.'),
});
export type RunQuery = z.output<typeof runQuery>;

const counted = z.object({
  uses: z.int(),
  writes: z.int(),
  bytes: z.int().nullable().describe('Counted only if they are limited.'),
});

const exampleRun = {
  id: exampleId,
  purpose: 'Label new issues',
  vault_ids: [exampleVaultId],
  access_keys: [{ vault_id: exampleVaultId, access_key_id: exampleId }],
  rules: null,
  budgets: { uses: 200, writes: 20, bytes: null },
  used: { uses: 12, writes: 3, bytes: null },
  state: 'active',
  ends_at: '2026-11-15T21:30:00.000Z',
  ended_by: null,
  member_id: '0199a3c4-2222-7abc-8def-0123456789ab',
  client: null,
  created_by: '0199a3c4-2222-7abc-8def-0123456789ab',
  ...exampleTimes,
};

export const run = z
  .object({
    id,
    purpose: z.string(),
    vault_ids: z.array(id),
    access_keys: z.array(z.object({ vault_id: id, access_key_id: id })),
    rules: z.array(id).nullable(),
    budgets: z.object({
      uses: z.int().nullable(),
      writes: z.int().nullable(),
      bytes: z.int().nullable(),
    }),
    used: counted,
    state: z
      .enum(runStates)
      .describe('`ended` by a person or by itself; `expired` if it reached its end first.'),
    ends_at: timestamp.describe('Of one that was ended: when that was.'),
    ended_by: z.string().nullable(),
    member_id: id.nullable().describe('The person that it acts for; null if that is not known.'),
    client: z.string().nullable().describe('The id of the OAuth client that it acts through.'),
    created_by: z.string().describe('The caller or access key that created it.'),
    ...recordTimes,
  })
  .meta({
    id: 'Run',
    description: 'What an agent does for one purpose, until an end and within budgets.',
    example: exampleRun,
  });
export type Run = z.output<typeof run>;

export const createdRun = run
  .extend({
    token: z.string().describe('An access key for the first vault, returned only when it is created.'),
    tokens: z
      .array(z.object({ vault_id: id, access_key_id: id, token: z.string() }))
      .describe('One access key for each vault, the first included.'),
  })
  .meta({
    id: 'CreatedRun',
    example: {
      ...exampleRun,
      token: 'sr_vault_…',
      tokens: [{ vault_id: exampleVaultId, access_key_id: exampleId, token: 'sr_vault_…' }],
    },
  });
export type CreatedRun = z.output<typeof createdRun>;

// Requests of access keys

export const runRequest = z
  .strictObject({
    purpose,
    rules: arrayFrom(1, mostRulesOfRun, line(1, 255))
      .optional()
      .describe('The names or ids of the only use rules that it may use.'),
    ends_in: count(shortestRun, longestRun)
      .default(usualRun)
      .describe('In seconds. It ends with the access key at the latest.'),
    budgets: budgets.optional(),
  })
  .meta({ id: 'RunRequest', example: { purpose: 'npm publish', rules: ['npm'], ends_in: 3_600 } });
export type RunRequest = z.output<typeof runRequest>;

export const startedRun = z
  .object({
    run: z.object({ id, ends_at: timestamp }),
    access_key: z.object({ id, token: z.string() }),
  })
  .meta({
    id: 'StartedRun',
    example: {
      run: { id: exampleId, ends_at: '2026-11-15T10:30:00.000Z' },
      access_key: { id: exampleId, token: 'sr_vault_…' },
    },
  });
export type StartedRun = z.output<typeof startedRun>;

export const endedRun = z.object({ run: z.object({ id, state: z.enum(runStates) }) }).meta({
  id: 'EndedRun',
  example: { run: { id: exampleId, state: 'ended' } },
});
export type EndedRun = z.output<typeof endedRun>;

/** What an access key asks for. */
export type RunCall =
  | { readonly operation: 'start'; readonly call: RunRequest }
  | { readonly operation: 'end'; readonly id: string };
