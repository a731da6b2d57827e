/**
 * Which revision of a row the audit log tells of. No query says so: what the database computes can be made to lie by an index,
 * a policy or a view. This process knows it from the entries, whose texts are hashed and marked.
 */
import { sql } from 'kysely';
import type { Schema } from '../schema/schema.ts';

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

/**
 * What the audit log says of rows, as text. What is kept by the text of stored rows is kept by this too: a row that was put back
 * has the text of an earlier one.
 */
export function auditedText(rows: readonly Audited[]): string {
  return rows.map(row => row.audited_revision).join(' ');
}

/** Filled in by `believing.ts`: the database is asked for its place alone. */
export const auditedRevision = () => sql<number | null>`NULL`.as('audited_revision');
