/** Finds the rows that are new or changed since the list was last shown, so that they can be highlighted once. */
import { useEffect, useRef } from 'react';

/** If more rows than this changed, the list is a different one: another page or filter. */
const most = 5;
const none: ReadonlySet<string> = new Set();

interface Row {
  readonly id: string;
}

export function useChanged(rows: readonly Row[]): ReadonlySet<string> {
  const before = useRef<ReadonlyMap<string, string> | null>(null);
  const shown = new Map(rows.map(row => [row.id, markOf(row)]));
  const last = before.current;
  useEffect(() => {
    before.current = shown;
  });
  if (last === null || last.size === 0) return none;
  const changed = [...shown].filter(([id, mark]) => last.get(id) !== mark).map(([id]) => id);
  return changed.length > most || changed.length === shown.size ? none : new Set(changed);
}

function markOf(row: Row): string {
  return 'updated_at' in row ? String(row.updated_at) : '';
}
