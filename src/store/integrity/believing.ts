/**
 * Checks that rows are the newest, without relying on the database. Every row with revisions that the store returns is
 * compared with the audit log as this process knows it. After a change by another process, and if a row is newer than
 * known, the log is read further first. A row that was read before a change became known may be one revision behind it.
 */
import type { Audited } from './audited.ts';

/** The revisions in the audit log, as far as this process has read it. */
export interface Revisions {
  /** Whether the log was read after the last change that was announced. */
  readonly isCurrent: boolean;
  /** Increases whenever new revisions become known. */
  readonly learned: number;
  /** 0 if the log contains no such row. */
  newest(id: string): number;
  /** The newest revision that was known when `learned` had this value. */
  newestAt(id: string, learned: number): number;
  /** Reads the log to its current end. */
  follow(): Promise<void>;
}

/** A row with a revision, as returned by the store. */
interface Found extends Audited {
  readonly id: string;
  readonly revision: number;
}

type Nouns = Readonly<Record<string, Readonly<Record<string, unknown>>>>;
type Ask = (...given: readonly unknown[]) => unknown;

/** Wraps the store's operations. Without known revisions, no row counts as the newest. */
export function believing<N extends object>(nouns: N, revisions: () => Revisions | null): N {
  const noun = (methods: Nouns[string]) =>
    Object.fromEntries(
      Object.entries(methods).map(([name, ask]) => [
        name,
        typeof ask === 'function' ? asking(ask as Ask, revisions) : ask,
      ]),
    );
  const wrapped = Object.entries(nouns as Nouns).map(([name, methods]) => [name, noun(methods)]);
  return Object.fromEntries(wrapped) as N;
}

function asking(ask: Ask, revisions: () => Revisions | null): Ask {
  return (...given) => {
    const known = revisions();
    const answer = ask(...given);
    if (known === null || !(answer instanceof Promise)) return answer;
    return answer.then(found => (rowsIn(found).length === 0 ? found : judged(found)));

    async function judged(found: unknown): Promise<unknown> {
      if (!known!.isCurrent || !isNewest(found)) {
        await known!.follow();
        // It may be an older row that was put back after the change, so the query is repeated now that the change is
        // known.
        if (!isNewest(found)) return again();
      }
      judge(rowsIn(found), known!, known!.learned);
      return found;
    }

    async function again(): Promise<unknown> {
      const { learned } = known!;
      const found = await ask(...given);
      if (!isNewest(found)) await known!.follow();
      judge(rowsIn(found), known!, learned);
      return found;
    }

    function isNewest(found: unknown): boolean {
      return rowsIn(found).every(row => row.revision === known!.newest(row.id));
    }
  };
}

function judge(rows: readonly Found[], known: Revisions, learned: number): void {
  for (const row of rows) {
    const newest = known.newest(row.id);
    const isCurrent = row.revision <= newest && row.revision >= known.newestAt(row.id, learned);
    (row as { audited_revision: number | null }).audited_revision = isCurrent ? row.revision : newest;
  }
}

/** The rows in an answer: a single row, a list, or a page. */
function rowsIn(found: unknown): readonly Found[] {
  if (typeof found !== 'object' || found === null) return [];
  if (isFound(found)) return [found];
  const rows = Array.isArray(found) ? found : (found as { rows?: unknown }).rows;
  return Array.isArray(rows) && isFound(rows[0]) ? (rows as Found[]) : [];
}

function isFound(row: unknown): row is Found {
  return typeof row === 'object' && row !== null && 'audited_revision' in row;
}
