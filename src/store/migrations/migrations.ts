/** Migrates a database to the newest schema, under a lock, one step after another. There are no down migrations. */
import { type Kysely, type Migration, Migrator, type RawBuilder, sql } from 'kysely';
import { StoreError } from '../engine/store-error.ts';
import { foundation } from './001-foundation.ts';
import { events } from './002-events.ts';
import { accounts } from './003-accounts.ts';
import { proofs } from './004-proofs.ts';
import { foldedRefusals } from './005-folded-refusals.ts';
import { derivedColumns } from './006-derived-columns.ts';
import { deviceLogins } from './007-device-logins.ts';
import { lists } from './008-lists.ts';
import { identities } from './009-identities.ts';
import { changes } from './010-changes.ts';
import { rightsByVault } from './012-rights-by-vault.ts';
import { useRules } from './013-use-rules.ts';
import { auditActors } from './014-audit-actors.ts';
import { oauth } from './015-oauth.ts';
import { positions } from './016-positions.ts';
import { narrowingKeys } from './018-narrowing-keys.ts';
import { madeCredentials } from './021-made-credentials.ts';
import { stages } from './022-stages.ts';
import { references } from './023-references.ts';
import { roleRequests } from './029-role-requests.ts';
import { proposals } from './030-proposals.ts';
import { leases } from './031-leases.ts';
import { authorities } from './033-authorities.ts';
import { runs } from './035-runs.ts';
import { acme } from './036-acme.ts';
import { webhookFormats } from './037-webhook-formats.ts';
import { mail } from './038-mail.ts';
import { rotations } from './039-rotations.ts';
import type { ColumnTypes, EngineName, Step } from './step.ts';

export type { EngineName } from './step.ts';

/** In the order of their names. Steps that a release has run are never edited. */
export const steps: Readonly<Record<string, Step>> = {
  '001-foundation': foundation,
  '002-events': events,
  '003-accounts': accounts,
  '004-proofs': proofs,
  '005-folded-refusals': foldedRefusals,
  '006-derived-columns': derivedColumns,
  '007-device-logins': deviceLogins,
  '008-lists': lists,
  '009-identities': identities,
  '010-changes': changes,
  '012-rights-by-vault': rightsByVault,
  '013-use-rules': useRules,
  '014-audit-actors': auditActors,
  '015-oauth': oauth,
  '016-positions': positions,
  '018-narrowing-keys': narrowingKeys,
  '021-made-credentials': madeCredentials,
  '022-stages': stages,
  '023-references': references,
  '029-role-requests': roleRequests,
  '030-proposals': proposals,
  '031-leases': leases,
  '033-authorities': authorities,
  '035-runs': runs,
  '036-acme': acme,
  '037-webhook-formats': webhookFormats,
  '038-mail': mail,
  '039-rotations': rotations,
};

export const columnTypes: Record<EngineName, ColumnTypes> = {
  sqlite: { id: 'text', bytes: 'blob', time: 'integer', serial: 'integer', clustered: sql`WITHOUT ROWID` },
  postgres: { id: 'uuid', bytes: 'bytea', time: 'bigint', serial: 'bigserial', clustered: sql`` },
};

// biome-ignore lint/suspicious/noExplicitAny: migrations use earlier schemas, which have no types
export type AnySchema = any;

interface MigrateOptions {
  /** The step to stop after; otherwise all are run. */
  readonly upTo?: string;
  /** The connection is already in a transaction, which all steps share. */
  readonly inTransaction?: boolean;
}

/** Runs the steps that have not been run yet. */
export async function migrate(
  db: Kysely<AnySchema>,
  engine: EngineName,
  { upTo, inTransaction = false }: MigrateOptions = {},
): Promise<void> {
  const migrations: Record<string, Migration> = {};
  for (const [name, step] of Object.entries(steps)) {
    migrations[name] = { up: old => step(old, columnTypes[engine]) };
  }
  const provider = { getMigrations: async () => migrations };
  const migrator = new Migrator({ db, provider, disableTransactions: inTransaction });
  const { error, results = [] } = await (upTo === undefined
    ? migrator.migrateToLatest()
    : migrator.migrateTo(upTo));
  if (error === undefined) return;
  const failed = results.find(({ status }) => status === 'Error')?.migrationName ?? 'the first one';
  throw new StoreError(`this database can’t be migrated; it failed at ${failed}: ${reasonOf(error)}`, error);
}

/** Whether any step is left to run. Read-only. Throws if a newer version has migrated the database. */
export async function isBehind(db: Kysely<AnySchema>, engine: EngineName): Promise<boolean> {
  const { rows: tables } = await doneTable[engine].execute(db);
  if (tables.length === 0) return true;
  const done = new Set(await migrationsDone(db));
  const unknown = [...done].find(name => !(name in steps));
  if (unknown !== undefined) {
    throw new StoreError(
      `this database was migrated by a newer version (${unknown}): start that version instead`,
    );
  }
  return Object.keys(steps).some(name => !done.has(name));
}

/** The steps that were run, in order. */
export async function migrationsDone(db: Kysely<AnySchema>): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`SELECT name FROM kysely_migration ORDER BY name`.execute(db);
  return rows.map(({ name }) => name);
}

const doneTable: Record<EngineName, RawBuilder<unknown>> = {
  sqlite: sql`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'kysely_migration'`,
  postgres: sql`SELECT 1 WHERE to_regclass('kysely_migration') IS NOT NULL`,
};

/** The error codes of SQLite and PostgreSQL. */
const full = new Set<unknown>([13, '53100']);

function reasonOf(error: unknown): string {
  const { cause } = error as Error;
  const found = (cause instanceof Error ? cause : error) as Error & { errcode?: unknown; code?: unknown };
  if (full.has(found.errcode) || full.has(found.code)) return 'the disk is full. Nothing was changed';
  return found.message.split('\n')[0]!;
}
