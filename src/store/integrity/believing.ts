/**
 * Which rows are the newest is not for the database to say. Every row that has revisions is compared, as it comes out of
 * the store, with what this process knows from the audit log. After a change by another process was heard of, and where a row is newer
 * than what is known, it reads on in the log first. What a query found before a change was known may be one revision behind it.
 */
import type { Audited } from './audited.ts';

/** What the audit log says, as far as this process has read it. */
export interface Revisions {
  /** Whether it was read, and since the last change that was heard of. */
  readonly isCurrent: boolean;
  /** Counts what was learned. */
  readonly learned: number;
  /** 0 where the log knows of no such row. */
  newest(id: string): number;
  /** The newest that was known when so much was learned. */
  newestAt(id: string, learned: number): number;
  /** What is in the log now is known when this resolves. */
  follow(): Promise<void>;
}

/** A row, as the store finds it. */
interface Found extends Audited {
  readonly id: string;
  readonly revision: number;
}

type Nouns = Readonly<Record<string, Readonly<Record<string, unknown>>>>;
type Ask = (...given: readonly unknown[]) => unknown;

/** The same nouns. Without anyone who knows the log, no row is said to be the newest. */
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
        // It may be an older one that was put back since the change: the database is asked once more, now that this is known.
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

/** Of a row, of rows, or of a page of them. */
function rowsIn(found: unknown): readonly Found[] {
  if (typeof found !== 'object' || found === null) return [];
  if (isFound(found)) return [found];
  const rows = Array.isArray(found) ? found : (found as { rows?: unknown }).rows;
  return Array.isArray(rows) && isFound(rows[0]) ? (rows as Found[]) : [];
}

function isFound(row: unknown): row is Found {
  return typeof row === 'object' && row !== null && 'audited_revision' in row;
}
