/** Read-only information about a database, for diagnosis: its schema, clock, size and standbys. */
import { sql } from 'kysely';
import type { Engine } from './engine/engine.ts';
import { schemaFault } from './integrity/schema-check.ts';
import { isBehind, migrationsDone, steps } from './migrations/migrations.ts';

interface Standby {
  readonly name: string;
  readonly state: string;
  /** How many bytes that are durable here are not yet durable there; null if the role may not see it. */
  readonly behind: number | null;
}

/** Another role, and what it may do to our tables. */
export interface Stranger {
  readonly name: string;
  readonly creates: boolean;
  readonly writes: boolean;
}

export interface Replication {
  /** Whether this server is a standby, which takes no writes. */
  readonly isStandby: boolean;
  readonly standbys: readonly Standby[];
}

export interface Size {
  readonly bytes: number;
  /** Space that was freed but not returned to the system; null if the engine manages it itself. */
  readonly free: number | null;
}

export function diagnostics({ db, lists, name }: Engine) {
  const isSqlite = name === 'sqlite';

  async function size(): Promise<Size> {
    const found = isSqlite
      ? sql<Size>`SELECT page_count * page_size AS bytes, freelist_count * page_size AS free
          FROM pragma_page_count, pragma_page_size, pragma_freelist_count`
      : sql<Size>`SELECT pg_database_size(current_database()) AS bytes, NULL AS free`;
    return (await found.execute(db)).rows[0]!;
  }

  return {
    /** The migrations left to run; empty if the tables are up to date. Throws if a newer version has migrated them. */
    async stepsLeft(): Promise<string[]> {
      if (!(await isBehind(db, name))) return [];
      const done = new Set(await migrationsDone(db).catch(() => []));
      return Object.keys(steps).filter(step => !done.has(step));
    },

    /** The first difference between the schema and the migrations that were run; null if there is none. */
    schemaFault: (isServed = false): Promise<string | null> => schemaFault(db, name, isServed),

    /**
     * Checks that every index of an embedded database has exactly one entry per row. Returns the first fault, or null.
     * Reads the whole file, one table after another; a file larger than `largest` is not checked.
     */
    async damage(largest = Number.POSITIVE_INFINITY): Promise<string | null> {
      if (!isSqlite || (await size()).bytes > largest) return null;
      const tables = sql<{ name: string }>`SELECT name FROM sqlite_schema WHERE type = 'table'`;
      for (const { name: table } of (await tables.execute(lists)).rows) {
        const checked = sql<{
          found: string;
        }>`SELECT integrity_check AS found FROM pragma_integrity_check(${table})`;
        const [first] = (await checked.execute(lists)).rows;
        if (first !== undefined && first.found !== 'ok') return `${table}: ${first.found.split('\n')[0]}`;
      }
      return null;
    },

    /**
     * Other roles that may sign in and connect, except superusers and the tables' owner. Empty for an embedded
     * database.
     */
    async strangers(): Promise<Stranger[]> {
      if (isSqlite) return [];
      const found = sql<Stranger>`SELECT r.rolname::text AS name,
          pg_catalog.has_schema_privilege(r.oid, pg_catalog.current_schema()::text, 'CREATE') AS creates,
          EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = pg_catalog.current_schema() AND c.relkind = 'r'
            AND pg_catalog.has_table_privilege(r.oid, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER')) AS writes
        FROM pg_catalog.pg_roles r WHERE r.rolcanlogin AND NOT r.rolsuper AND r.rolname <> current_user
          AND pg_catalog.has_database_privilege(r.oid, pg_catalog.current_database()::text, 'CONNECT')
          AND r.oid NOT IN (SELECT relowner FROM pg_catalog.pg_class
            WHERE oid = pg_catalog.to_regclass('audit_logs')) ORDER BY 1`;
      return (await found.execute(db)).rows;
    },

    /** In milliseconds; null if the database has no clock of its own. */
    async time(): Promise<number | null> {
      if (isSqlite) return null;
      const found = sql<{
        now: number;
      }>`SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now`;
      return (await found.execute(db)).rows[0]!.now;
    },

    /** Null if the engine has no replication. */
    async replication(): Promise<Replication | null> {
      if (isSqlite) return null;
      const role = sql<{ standby: boolean }>`SELECT pg_is_in_recovery() AS standby`;
      const isStandby = (await role.execute(db)).rows[0]!.standby;
      if (isStandby) return { isStandby, standbys: [] };
      const found = sql<Standby>`SELECT coalesce(application_name, '') AS name, coalesce(state, 'unknown') AS state,
        pg_wal_lsn_diff(pg_current_wal_flush_lsn(), flush_lsn)::bigint AS behind FROM pg_stat_replication`;
      return { isStandby, standbys: (await found.execute(db)).rows };
    },

    size,
  };
}
