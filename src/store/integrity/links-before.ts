/**
 * The hash of the link before another in its chain, without which nobody can check that one's text. It is looked for among
 * the rows that are nearest, because the chains of all writers lie in one table, and links of a quiet one far apart.
 */
import { type Kysely, sql } from 'kysely';
import type { Schema } from '../schema/schema.ts';

type Key = string | number;

/** By the keys of the rows that were asked for; those whose link before is not among the nearest are left out. */
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
