/** Brings a database forward to the newest schema, under a lock, one step after another. There is no way back. */
import { type Kysely, type Migration, Migrator, type RawBuilder, sql } from 'kysely';
import type { Engine } from '../engine.ts';
import { foundation } from './001-foundation.ts';
import { events } from './002-events.ts';
import { accounts } from './003-accounts.ts';

export type EngineName = Engine['name'];

/** The column types in which the engines differ. */
export interface ColumnTypes {
  readonly id: 'uuid' | 'text';
  readonly bytes: 'bytea' | 'blob';
  readonly time: 'bigint' | 'integer';
  /** A number that counts up by itself. */
  readonly serial: 'bigserial' | 'integer';
  /** Ends the definition of a table that is kept in the order of its key. */
  readonly clustered: RawBuilder<unknown>;
}

export type Step = (db: Kysely<unknown>, types: ColumnTypes) => Promise<void>;

const steps: Readonly<Record<string, Step>> = {
  '001-foundation': foundation,
  '002-events': events,
  '003-accounts': accounts,
};

const columnTypes: Record<EngineName, ColumnTypes> = {
  sqlite: { id: 'text', bytes: 'blob', time: 'integer', serial: 'integer', clustered: sql`WITHOUT ROWID` },
  postgres: { id: 'uuid', bytes: 'bytea', time: 'bigint', serial: 'bigserial', clustered: sql`` },
};

// biome-ignore lint/suspicious/noExplicitAny: a migration sees schemas of the past, which have no types
export async function migrate(db: Kysely<any>, engine: EngineName): Promise<void> {
  const migrations: Record<string, Migration> = {};
  for (const [name, step] of Object.entries(steps)) {
    migrations[name] = { up: old => step(old, columnTypes[engine]) };
  }
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
}
