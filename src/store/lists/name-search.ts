/**
 * Finds names that contain a text, with an index of every three consecutive characters. The index only yields
 * candidates, which are compared. If there are too many candidates, or few names in total, the names are scanned
 * instead, newest first. PostgreSQL maintains such an index itself, and chooses whether to use it.
 */
import { sql } from 'kysely';
import type { Engine } from '../engine/engine.ts';
import type { ResourceFilter } from './resource-filter.ts';

/** This many rows are compared faster than a better plan could be chosen. */
const few = 2_000;
/**
 * How many parts of the text are looked up, spread over its length. More would exclude only names that the comparison
 * excludes anyway.
 */
const mostParts = 6;
/** The limit for parts that begin with a short text. If there are more, the text occurs in very many names. */
const mostBeginnings = 200;
const lastLetter = '\u{10ffff}';

export function nameSearch({ lists: db, name: engine }: Pick<Engine, 'lists' | 'name'>) {
  /** The ids of all resources whose names may match, as JSON; null if the names are better scanned. */
  async function candidatesFor(filter: ResourceFilter): Promise<string | null> {
    if (filter.q === undefined || engine !== 'sqlite' || (await areFew(filter))) return null;
    const text = filter.q.toLowerCase();
    const parts = partsOf(text) ?? (await beginningWith(text));
    if (parts === null) return null;
    const { rows } = await sql<{ id: string }>`SELECT resource_id AS id FROM resource_name_keys WHERE key IN
      (SELECT rowid FROM resource_names WHERE resource_names MATCH ${parts} LIMIT ${few + 1})`.execute(db);
    return rows.length > few ? null : JSON.stringify(rows.map(({ id }) => id));
  }

  /** The index contains three characters at a time. A shorter text is looked up as the beginning of these. */
  async function beginningWith(text: string): Promise<string | null> {
    const { rows } = await sql<{ term: string }>`SELECT term FROM resource_name_parts
      WHERE term >= ${text} AND term < ${text + lastLetter} LIMIT ${mostBeginnings + 1}`.execute(db);
    if (rows.length > mostBeginnings) return null;
    return rows.length === 0 ? nothing : rows.map(({ term }) => quoted(term)).join(' OR ');
  }

  async function areFew({ organizationId, vaultIds, state }: ResourceFilter): Promise<boolean> {
    if (state === 'deleted') return false; // The trash has no totals.
    const { rows } = await sql<{ living: number }>`SELECT coalesce(sum(living), 0) AS living FROM counts
      WHERE organization_id = ${organizationId}
        AND vault_id IN (${sql.join(vaultIds ?? [organizationId])})`.execute(db);
    return rows[0]!.living <= few;
  }

  return { candidatesFor };
}

/** Three characters that no name contains. */
const nothing = quoted('\u001f\u001f\u001f');

function partsOf(text: string): string | null {
  const letters = [...text];
  if (letters.length < 3) return null;
  const last = letters.length - 3;
  const places = Array.from({ length: mostParts }, (_, at) => Math.round((at * last) / (mostParts - 1)));
  const parts = new Set(places.map(at => letters.slice(at, at + 3).join('')));
  return [...parts].map(quoted).join(' ');
}

function quoted(part: string): string {
  return `"${part.replaceAll('"', '""')}"`;
}
