/**
 * Whether the stored roles of a member or a group include one in a vault that has not ended. Lists and their totals
 * use this condition and no other, so that nobody is counted by a role that gives them nothing.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Engine } from '../engine/engine.ts';

/** Roles in one vault, at a time. */
export interface InVault {
  readonly vaultId: string;
  readonly now: number;
}

/** Between a role and its end, as the domain stores them. */
export const ending = ' until ';
const lengthOfEnd = new Date(0).toISOString().length;

export function hasRole(
  { name }: Pick<Engine, 'name'>,
  grants: 'members.grants' | 'g.grants' | 'member_groups.grants',
  { vaultId, now }: InVault,
): RawBuilder<boolean> {
  const column = sql.ref(grants);
  const isPostgres = name === 'postgres';
  const each = isPostgres ? sql`jsonb_array_elements(${column}::jsonb)` : sql`json_each(${column})`;
  const role = sql`granted.value ->> 'role'`;
  const end = sql`substr(${role}, length(${role}) - ${sql.lit(lengthOfEnd - 1)})`;
  const bytes = sql.raw(isPostgres ? 'COLLATE "C"' : '');
  // The cheaper comparison comes first; most rows name no vault, or others.
  return sql<boolean>`CASE WHEN ${column} NOT LIKE ${`%${vaultId}%`} THEN FALSE ELSE EXISTS (
    SELECT 1 FROM ${each} AS granted${sql.raw(isPostgres ? '(value)' : '')}
    WHERE granted.value ->> 'vault_id' = ${vaultId}
      AND (${role} NOT LIKE ${sql.lit(`%${ending}%`)} OR ${end} > ${new Date(now).toISOString()} ${bytes})) END`;
}
