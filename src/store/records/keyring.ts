/**
 * The stored keyring, and what is sealed under which of its terms. Sealed bytes name their term in the third to
 * the sixth byte: that is all that is looked at here. Whatever seals under the term in use holds the keyring for
 * its unit, so that no term is retired between a seal and its storing.
 */

import { type RawBuilder, sql } from 'kysely';
import type { Sealed } from '../../base/bytes.ts';
import { type Engine, keyringRow, type Statement, statement } from '../engine/engine.ts';
import { countOf } from '../engine/page.ts';

/** What is sealed under a term itself, and not under a vault's key. */
export const termHolders = ['vault', 'webhook', 'account'] as const;
export type TermHolder = (typeof termHolders)[number];

export interface HeldRow {
  readonly id: string;
  readonly organization_id: string;
}

const holders = {
  vault: { table: 'resources', columns: ['vault_key'] },
  webhook: { table: 'webhooks', columns: ['secret', 'previous_secret'] },
  account: { table: 'accounts', columns: ['totp', 'totp_pending'] },
} as const;

export function keyring({ db, commit }: Engine) {
  /** Living vaults and those in the trash are asked for apart, because an index serves each. */
  const needs = (term: Uint8Array) => sql<boolean>`(
    EXISTS (SELECT 1 FROM resources WHERE type = 'vault' AND deleted_at IS NULL AND ${under('vault', term)})
    OR EXISTS (SELECT 1 FROM resources WHERE type = 'vault' AND deleted_at IS NOT NULL AND ${under('vault', term)})
    OR EXISTS (SELECT 1 FROM webhooks WHERE ${under('webhook', term)})
    OR EXISTS (SELECT 1 FROM accounts WHERE ${under('account', term)}))`;

  const replacing = (before: Sealed, after: Sealed) =>
    db.updateTable('meta').set({ value: after }).where('key', '=', keyringRow).where('value', '=', before);

  /** Refused as stale where the keyring is another by now. Changes nothing, and lets nobody else change it. */
  const requireCurrent = (stored: Sealed): Statement => statement(replacing(stored, stored), { expect: 1 });

  return {
    async read(): Promise<Sealed | undefined> {
      const found = db.selectFrom('meta').select('value').where('key', '=', keyringRow);
      return (await found.executeTakeFirst())?.value as Sealed | undefined;
    },

    /** Keeps the first where two processes start at once; both then read the same. */
    async setOnce(value: Sealed): Promise<void> {
      const insert = db
        .insertInto('meta')
        .values({ key: keyringRow, value })
        .onConflict(on => on.column('key').doNothing());
      await commit([{ statements: [statement(insert)] }]);
    },

    requireCurrent,

    replace: (before: Sealed, after: Sealed): Statement => statement(replacing(before, after), { expect: 1 }),

    /** Refused as stale where anything is still sealed under one of those terms. */
    retire: (before: Sealed, after: Sealed, unneeded: readonly Uint8Array[]): Statement[] => [
      requireCurrent(before), // Before the look, so that whoever held it until now is seen.
      ...unneeded.map(mark =>
        statement(replacing(before, before).where(sql<boolean>`NOT ${needs(mark)}`), { expect: 1 }),
      ),
      statement(replacing(before, after), { expect: 1 }),
    ],

    async isNeeded(mark: Uint8Array): Promise<boolean> {
      const { rows } = await sql<{ needed: unknown }>`SELECT ${needs(mark)} AS needed`.execute(db);
      return Boolean(rows[0]!.needed);
    },

    /** So many after an id that are sealed under another term than this. */
    async behind(
      holder: TermHolder,
      mark: Uint8Array,
      after: string | undefined,
      limit: number,
    ): Promise<readonly HeldRow[]> {
      const later = after === undefined ? sql`` : sql`AND id > ${after}`;
      const { rows } = await sql<HeldRow>`SELECT id, organization_id FROM ${sql.table(holders[holder].table)}
        WHERE ${beside(holder, mark)} ${later} ORDER BY id LIMIT ${limit}`.execute(db);
      return rows;
    },

    async countBehind(holder: TermHolder, mark: Uint8Array): Promise<number> {
      const { rows } = await sql<{ total: number }>`SELECT count(*) AS total
        FROM ${sql.table(holders[holder].table)} WHERE ${beside(holder, mark)}`.execute(db);
      return rows[0]!.total;
    },

    /** Of one organization, those in the trash included. */
    async vaultsBehind(organizationId: string, mark: Uint8Array): Promise<number> {
      const count = (deleted: 'is' | 'is not') =>
        countOf(
          db
            .selectFrom('resources')
            .where('organization_id', '=', organizationId)
            .where('type', '=', 'vault')
            .where('deleted_at', deleted, null)
            .where(beside('vault', mark)),
        );
      return (await count('is')) + (await count('is not'));
    },
  };
}

/** Sealed under this term, or under another; what is empty is neither. */
const under = (holder: TermHolder, mark: Uint8Array) => anyColumn(holder, term => sql`${term} = ${mark}`);
const beside = (holder: TermHolder, mark: Uint8Array) => anyColumn(holder, term => sql`${term} <> ${mark}`);

function anyColumn(holder: TermHolder, is: (term: RawBuilder<unknown>) => RawBuilder<unknown>) {
  const tests = holders[holder].columns.map(column => is(sql`substr(${sql.ref(column)}, 3, 4)`));
  return sql<boolean>`(${sql.join(tests, sql` OR `)})`;
}
