/**
 * Which rows are the newest is not for the database to say. Every row that has revisions is compared, as it comes out of
 * the store, with what this process knows from the audit log; those that were changed by another process make it
 * read on in the log first. What a query found before a change was known may be one revision behind it.
 */
import type { Audited } from './audited.ts';

/** What the audit log says, as far as this process has read it. */
export interface Revisions {
  /** Whether it was read at all yet. */
  readonly isReady: boolean;
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
    const since = known?.learned ?? 0;
    const answer = ask(...given);
    if (known === null || !(answer instanceof Promise)) return answer;
    return answer.then(found => (rowsIn(found).length === 0 ? found : judged(found, since)));

    async function judged(found: unknown, learned: number): Promise<unknown> {
      if (!known!.isReady) {
        await known!.follow();
        return judged(await ask(...given), known!.learned);
      }
      const isNewer = (row: Found) => row.revision > known!.newest(row.id);
      if (rowsIn(found).some(isNewer)) await known!.follow();
      judge(rowsIn(found), known!, learned);
      return found;
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
