/**
 * Makes PostgreSQL's commits durable when they are acknowledged, and detects servers that can't guarantee this. Also
 * reports the replication and the timeline.
 */
import type pg from 'pg';
import type { DatabaseServer } from '../engine/engine.ts';

const setting = "pg_catalog.current_setting('synchronous_commit')";
const weak = ['off', 'local'];
/**
 * Makes a commit wait for the disk, whatever the settings of the database, the role or a pooled connection. A stronger
 * setting is kept. This is set in each transaction, because a pooler may use a different connection for each.
 */
export const durably = `SELECT pg_catalog.set_config('synchronous_commit',
  CASE WHEN ${setting} IN ('off', 'local') THEN 'on' ELSE ${setting} END, true)`;

/** Returns why the server could lose acknowledged writes, or null: synchronous_commit can't be set, or fsync is off. */
export async function lossOf(pool: pg.Pool & { readonly begin: string }): Promise<string | null> {
  const asked = `${pool.begin}; ${durably}; SELECT ${setting} AS waits, pg_catalog.current_setting('fsync') AS syncs; ROLLBACK`;
  const answers = (await pool.query(asked)) as unknown as pg.QueryResult[];
  const { waits, syncs } = answers.at(-2)!.rows[0];
  if (weak.includes(waits)) return 'PostgreSQL does not allow synchronous_commit to be set';
  return syncs === 'on' ? null : 'PostgreSQL runs with fsync off';
}

const replicationQuery = `SELECT current_setting('synchronous_standby_names') <> '' AS waits,
  EXISTS (SELECT 1 FROM pg_stat_replication WHERE state IS DISTINCT FROM 'backup') AS standby`;
/** The timeline is the first eight digits of the name of the current WAL file. */
const timelineQuery = `SELECT (SELECT system_identifier FROM pg_control_system())::text AS cluster,
  ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::int AS number`;

/** Whether the error was not caused by our statement. */
const isAway = (error: unknown) => !/^(0A|42)/.test(String((error as { code?: unknown }).code ?? ''));

export function serverBehind(
  pool: pg.Pool,
  fail: (cause: unknown) => never,
  losses: () => number,
): DatabaseServer {
  let saysTimeline = true;
  return {
    losses,
    async replication() {
      const { waits, standby } = (await pool.query(replicationQuery).catch(fail)).rows[0];
      if (waits) return 'synchronous';
      return standby ? 'asynchronous' : 'none';
    },
    /** PostgreSQL-compatible services without WAL files may refuse this. They are not asked again. */
    async timeline() {
      if (!saysTimeline) return null;
      const found = await pool.query(timelineQuery).catch(error => {
        saysTimeline = isAway(error);
        return null;
      });
      return found?.rows[0] ?? null;
    },
  };
}
