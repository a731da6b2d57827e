/**
 * Which names a text is part of, by an index of every three letters that follow each other. The index only says which
 * names may have it, and each of them is compared; where it would say more than a few, or there are only a few to look
 * through, they are looked through newest first. PostgreSQL keeps such an index itself, and chooses for itself.
 */
import { sql } from 'kysely';
import type { Engine } from '../engine/engine.ts';
import type { ResourceFilter } from './resource-filter.ts';

/** So many rows are compared faster than anything could be chosen about them. */
const few = 2_000;
/** The names are looked for by so many parts, from all over the text; more would only leave out what is compared anyway. */
const mostParts = 6;
/** Parts that begin with a short text: where there are more of them, it is part of very many names. */
const mostBeginnings = 200;
const lastLetter = '\u{10ffff}';

export type NameSearch = ReturnType<typeof nameSearch>;

export function nameSearch({ lists: db, name: engine }: Pick<Engine, 'lists' | 'name'>) {
  /** The ids of all whose names may match, as JSON; null where the names are better looked through one by one. */
  async function candidatesFor(filter: ResourceFilter): Promise<string | null> {
    if (filter.q === undefined || engine !== 'sqlite' || (await areFew(filter))) return null;
    const text = filter.q.toLowerCase();
    const parts = partsOf(text) ?? (await beginningWith(text));
    if (parts === null) return null;
    const { rows } = await sql<{ id: string }>`SELECT resource_id AS id FROM resource_name_keys WHERE key IN
      (SELECT rowid FROM resource_names WHERE resource_names MATCH ${parts} LIMIT ${few + 1})`.execute(db);
    return rows.length > few ? null : JSON.stringify(rows.map(({ id }) => id));
  }

  /** The index knows three letters at a time; of a shorter text it knows what begins with it. */
  async function beginningWith(text: string): Promise<string | null> {
    const { rows } = await sql<{ term: string }>`SELECT term FROM resource_name_parts
      WHERE term >= ${text} AND term < ${text + lastLetter} LIMIT ${mostBeginnings + 1}`.execute(db);
    if (rows.length > mostBeginnings) return null;
    return rows.length === 0 ? nothing : rows.map(({ term }) => quoted(term)).join(' OR ');
  }

  async function areFew({ organizationId, vaultIds, state }: ResourceFilter): Promise<boolean> {
    if (state === 'deleted') return false; // Nobody counts the trash.
    const { rows } = await sql<{ living: number }>`SELECT coalesce(sum(living), 0) AS living FROM counts
      WHERE organization_id = ${organizationId}
        AND vault_id IN (${sql.join(vaultIds ?? [organizationId])})`.execute(db);
    return rows[0]!.living <= few;
  }

  return { candidatesFor };
}

/** Three letters that no name has. */
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
