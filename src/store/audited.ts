/**
 * Which revision of a row the audit log tells of. There is one such query: what it looks at is computed by the database
 * from the text of each entry, so nobody can say one thing in the text, which is hashed and marked, and another here.
 */
import { sql } from 'kysely';
import type { Schema } from './schema.ts';

export interface Audited {
  /** The newest revision that the audit log knows of; another than the row's own means tampering. */
  readonly audited_revision: number | null;
}

/** The tables whose rows have revisions. */
export const revisedTables = [
  'organizations',
  'members',
  'member_groups',
  'accounts',
  'passkeys',
  'sessions',
  'resources',
  'credentials',
  'identities',
  'webhooks',
  'use_rules',
  'approvals',
  'oauth_grants',
] as const satisfies readonly (keyof Schema)[];
export type RevisedTable = (typeof revisedTables)[number];

/** `page` is what a query calls the few rows that a query inside of it found. */
export const auditedRevision = (table: RevisedTable | 'page') =>
  sql<number | null>`(SELECT max(subject_revision) FROM audit_logs
    WHERE subject_id = ${sql.ref(`${table}.id`)} AND subject_revision IS NOT NULL)`.as('audited_revision');
