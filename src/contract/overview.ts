/** Schemas for the dashboard's overview and the service's description of itself. */
import { z } from 'zod';
import { planNames } from './access.ts';
import { exampleId, id, timestamp } from './text.ts';

const busy = z.object({ id, name: z.string(), reads: z.int() });

/** The count covers all vaults, so it would reveal activity in vaults that the caller may not see. */
const used = z
  .int()
  .nullable()
  .describe('Requests in this minute; null for callers that may not see all vaults.');

export const overview = z
  .object({
    reads: z
      .array(z.object({ at: timestamp, success: z.int(), failure: z.int() }))
      .describe('Vault requests in the last 24 hours, per hour.'),
    busiest_vaults: z.array(busy),
    busiest_keys: z.array(busy),
    failed_addresses: z.array(z.object({ ip_address: z.string(), failures: z.int() })),
    expiring: z
      .array(
        z.object({
          id,
          type: z.string(),
          name: z.string(),
          vault_id: id.nullable(),
          expires_at: timestamp,
        }),
      )
      .describe('Resources and credentials that expire in the next 90 days, soonest first, at most 50.'),
    unused_keys: z
      .array(
        z.object({
          id,
          type: z.string(),
          name: z.string(),
          vault_id: id.nullable(),
          last_used_at: timestamp.nullable(),
        }),
      )
      .describe('API keys and access keys unused for 90 days.'),
    webhooks: z.object({ total: z.int(), failing: z.int(), disabled: z.int() }),
    counts: z.object({ vaults: z.int(), secrets: z.int(), keys: z.int(), certificates: z.int() }),
    plan: z.object({ name: z.enum(planNames), limit: z.int().nullable(), used }),
  })
  .meta({
    id: 'Overview',
    description: 'Parts that the caller may not see are empty.',
    example: {
      reads: [{ at: '2026-11-15T09:00:00.000Z', success: 120, failure: 1 }],
      busiest_vaults: [{ id: exampleId, name: 'production', reads: 120 }],
      busiest_keys: [{ id: exampleId, name: 'web server', reads: 120 }],
      failed_addresses: [{ ip_address: '203.0.113.7', failures: 1 }],
      expiring: [],
      unused_keys: [],
      webhooks: { total: 1, failing: 0, disabled: 0 },
      counts: { vaults: 1, secrets: 12, keys: 2, certificates: 1 },
      plan: { name: 'pro', limit: 1000, used: 7 },
    },
  });
export type Overview = z.output<typeof overview>;

export const replications = ['none', 'asynchronous', 'synchronous'] as const;
export type Replication = (typeof replications)[number];

export const about = z
  .object({
    version: z.string(),
    engine: z.enum(['sqlite', 'postgres']),
    replication: z
      .enum(replications)
      .nullable()
      .describe(
        'How PostgreSQL replicates: with asynchronous replication, a failover can lose acknowledged changes and log entries. Null with SQLite.',
      ),
    root_key_provider: z.string(),
    keyring_term: z.int(),
    keyring_rotated_at: timestamp
      .nullable()
      .describe('When the current keyring version was created; null if it is the first.'),
    vault_keys_on_older_terms: z
      .int()
      .describe('How many of the organization’s vaults are still encrypted under an older keyring version.'),
    deployment: z.string(),
    log_public_key: z.string(),
    log_retention_days: z
      .int()
      .describe('How many days request log entries are kept; 0 keeps them indefinitely.'),
    audit_retention_days: z
      .int()
      .describe(
        'How many days audit log entries are kept before they are archived; 0 keeps them indefinitely.',
      ),
    backups: z
      .object({
        every_seconds: z.int().describe('The interval between backups.'),
        last_at: timestamp.nullable().describe('Timestamp of the newest backup.'),
        proven_at: timestamp.nullable().describe('When the newest backup was restored and verified.'),
        bytes: z.int().nullable(),
        failed_at: timestamp.nullable().describe('When the newest attempt failed; null if it succeeded.'),
      })
      .nullable()
      .describe('The backups that the service takes automatically; null if it takes none.'),
  })
  .meta({
    id: 'About',
    example: {
      version: '0.1.0',
      engine: 'postgres',
      replication: 'synchronous',
      root_key_provider: 'key-file',
      keyring_term: 2,
      keyring_rotated_at: '2026-11-15T09:00:00.000Z',
      vault_keys_on_older_terms: 0,
      deployment: 'f81d4fae-7dec-41d0-a765-00a0c91e6bf6',
      log_public_key: '-----BEGIN PUBLIC KEY-----\n…\n-----END PUBLIC KEY-----\n',
      log_retention_days: 90,
      audit_retention_days: 0,
      backups: {
        every_seconds: 21600,
        last_at: '2026-11-15T09:00:00.000Z',
        proven_at: '2026-11-15T09:00:04.000Z',
        bytes: 1048576,
        failed_at: null,
      },
    },
  });
export type About = z.output<typeof about>;
