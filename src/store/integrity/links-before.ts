/**
 * Finds the hash of the preceding link in a chain, which is needed to check a link's text. Only the nearest rows are
 * searched, because the chains of all writers share one table, and the links of an inactive writer are far apart.
 */
import { type Kysely, sql } from 'kysely';
import type { Schema } from '../schema/schema.ts';

type Key = string | number;

/** Hashes by the keys of the given rows, without those whose preceding link is not among the nearest. */
export function hashesBefore<K extends Key>(
  db: Kysely<Schema>,
  table: 'audit_logs' | 'request_blocks',
  key: 'position' | 'id',
): (keys: readonly K[], nearest: number) => Promise<Map<K, string>> {
  const [rows, at] = [sql.table(table), sql.ref(key)];
  return async (keys, nearest) => {
    if (keys.length === 0) return new Map();
    const found = await sql<{ key: K; hash: string | null }>`SELECT a.${at} AS key, (SELECT n.hash
        FROM (SELECT p.writer, p.seq, p.hash FROM ${rows} p WHERE p.${at} < a.${at}
          ORDER BY p.${at} DESC LIMIT ${nearest}) n
        WHERE n.writer = a.writer AND n.seq = a.seq - 1 LIMIT 1) AS hash
      FROM ${rows} a WHERE a.${at} IN (${sql.join(keys)})`.execute(db);
    return new Map(found.rows.flatMap(({ key, hash }) => (hash === null ? [] : [[key, hash] as const])));
  };
}
