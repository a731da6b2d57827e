/** What a database tells of itself, for whoever examines it: its schema, its clock, its size and its standbys. Reads alone. */
import { sql } from 'kysely';
import type { Engine } from './engine.ts';
import { isBehind, migrationsDone, steps } from './migrations/migrations.ts';

export interface Standby {
  readonly name: string;
  readonly state: string;
  /** Of what is durable here, the bytes that are not durable there yet; null where the role may not see it. */
  readonly behind: number | null;
}

export interface Replication {
  /** Whether this server only follows another one, and takes no writes. */
  readonly isStandby: boolean;
  readonly standbys: readonly Standby[];
}

export interface Size {
  readonly bytes: number;
  /** What was freed and is not given back to the system; null where the engine looks after that itself. */
  readonly free: number | null;
}

export function diagnostics({ db, name }: Engine) {
  const isSqlite = name === 'sqlite';
  return {
    /** The steps that are left to run, none where the tables are up to date. Throws where a newer version was here. */
    async stepsLeft(): Promise<string[]> {
      if (!(await isBehind(db, name))) return [];
      const done = new Set(await migrationsDone(db).catch(() => []));
      return Object.keys(steps).filter(step => !done.has(step));
    },

    /** In milliseconds; null where the database has no clock of its own. */
    async time(): Promise<number | null> {
      if (isSqlite) return null;
      const found = sql<{
        now: number;
      }>`SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now`;
      return (await found.execute(db)).rows[0]!.now;
    },

    /** Null where the engine has none. */
    async replication(): Promise<Replication | null> {
      if (isSqlite) return null;
      const role = sql<{ standby: boolean }>`SELECT pg_is_in_recovery() AS standby`;
      const isStandby = (await role.execute(db)).rows[0]!.standby;
      if (isStandby) return { isStandby, standbys: [] };
      const found = sql<Standby>`SELECT coalesce(application_name, '') AS name, coalesce(state, 'unknown') AS state,
        pg_wal_lsn_diff(pg_current_wal_flush_lsn(), flush_lsn)::bigint AS behind FROM pg_stat_replication`;
      return { isStandby, standbys: (await found.execute(db)).rows };
    },

    async size(): Promise<Size> {
      const found = isSqlite
        ? sql<Size>`SELECT page_count * page_size AS bytes, freelist_count * page_size AS free
            FROM pragma_page_count, pragma_page_size, pragma_freelist_count`
        : sql<Size>`SELECT pg_database_size(current_database()) AS bytes, NULL AS free`;
      return (await found.execute(db)).rows[0]!;
    },
  };
}
