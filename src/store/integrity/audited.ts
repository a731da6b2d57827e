/**
 * The newest revision of a row according to the audit log. This is never computed by a query: indexes, policies and
 * views could falsify the result. The process derives it from the entries, whose texts are hashed and marked.
 */
import { sql } from 'kysely';
import type { Schema } from '../schema/schema.ts';

export interface Audited {
  /** The newest revision recorded in the audit log. If it differs from the row's own, the row was tampered with. */
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
  'stages',
  'credentials',
  'identities',
  'webhooks',
  'use_rules',
  'approvals',
  'proposals',
  'issuers',
  'leases',
  'authorities',
  'profiles',
  'issued_certificates',
  'runs',
  'acme_accounts',
  'acme_orders',
  'rotations',
  'oauth_grants',
  'role_requests',
] as const satisfies readonly (keyof Schema)[];
export type RevisedTable = (typeof revisedTables)[number];

/**
 * The revisions that the audit log records for rows, as text. Caches keyed by the text of stored rows must include it,
 * because a row that was put back has the text of an earlier one.
 */
export function auditedText(rows: readonly Audited[]): string {
  return rows.map(row => row.audited_revision).join(' ');
}

/** Selected as NULL, and filled in by `believing.ts`. */
export const auditedRevision = () => sql<number | null>`NULL`.as('audited_revision');
