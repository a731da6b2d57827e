/**
 * The stored keyring, and which rows are sealed with which keyring version. Sealed bytes name their version in bytes
 * three to six, and nothing else is read here. Every unit that seals with the current version locks the keyring, so
 * that no version is retired between sealing and storing.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Sealed } from '../../base/bytes.ts';
import { type Engine, keyringRow, type Statement, statement } from '../engine/engine.ts';
import { metaValue, replacingMeta } from '../engine/meta.ts';
import { countOf } from '../engine/page.ts';

/** Records sealed directly with a keyring version, rather than with a vault's key. */
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
  /** Vaults in use and in the trash are queried separately, because each has its own index. */
  const needs = (term: Uint8Array) => sql<boolean>`(
    EXISTS (SELECT 1 FROM resources WHERE type = 'vault' AND deleted_at IS NULL AND ${under('vault', term)})
    OR EXISTS (SELECT 1 FROM resources WHERE type = 'vault' AND deleted_at IS NOT NULL AND ${under('vault', term)})
    OR EXISTS (SELECT 1 FROM webhooks WHERE ${under('webhook', term)})
    OR EXISTS (SELECT 1 FROM accounts WHERE ${under('account', term)}))`;

  const replacing = (before: Sealed, after: Sealed) => replacingMeta(db, keyringRow, before, after);

  /** Refused as stale if the keyring has been replaced. Changes nothing, but locks the keyring for the unit. */
  const requireCurrent = (stored: Sealed): Statement => statement(replacing(stored, stored), { expect: 1 });

  return {
    read: (): Promise<Sealed | undefined> => metaValue(db, keyringRow) as Promise<Sealed | undefined>,

    /** If two processes start at the same time, the first value is kept and both then read it. */
    async setOnce(value: Sealed): Promise<void> {
      const insert = db
        .insertInto('meta')
        .values({ key: keyringRow, value })
        .onConflict(on => on.column('key').doNothing());
      await commit([{ statements: [statement(insert)] }]);
    },

    requireCurrent,

    replace: (before: Sealed, after: Sealed): Statement => statement(replacing(before, after), { expect: 1 }),

    /** Refused as stale if anything is still sealed with one of these versions. */
    retire: (before: Sealed, after: Sealed, unneeded: readonly Uint8Array[]): Statement[] => [
      requireCurrent(before), // Locks first, so that units that held the lock until now are seen.
      ...unneeded.map(mark =>
        statement(replacing(before, before).where(sql<boolean>`NOT ${needs(mark)}`), { expect: 1 }),
      ),
      statement(replacing(before, after), { expect: 1 }),
    ],

    async isNeeded(mark: Uint8Array): Promise<boolean> {
      const { rows } = await sql<{ needed: unknown }>`SELECT ${needs(mark)} AS needed`.execute(db);
      return Boolean(rows[0]!.needed);
    },

    /** Up to `limit` rows after an id that are sealed with a version other than this one. */
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

    /** In one organization, including vaults in the trash. */
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

/** Sealed with this version, or with another. An empty column counts as neither. */
const under = (holder: TermHolder, mark: Uint8Array) => anyColumn(holder, term => sql`${term} = ${mark}`);
const beside = (holder: TermHolder, mark: Uint8Array) => anyColumn(holder, term => sql`${term} <> ${mark}`);

function anyColumn(holder: TermHolder, is: (term: RawBuilder<unknown>) => RawBuilder<unknown>) {
  const tests = holders[holder].columns.map(column => is(sql`substr(${sql.ref(column)}, 3, 4)`));
  return sql<boolean>`(${sql.join(tests, sql` OR `)})`;
}
