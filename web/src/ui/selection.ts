/** Which records of a list are selected, across its pages. */
import { useState } from 'react';

export interface Selection<T> {
  readonly chosen: ReadonlyMap<string, T>;
  /** Adds all of them, or removes them if all are already chosen. */
  toggle(rows: readonly T[]): void;
  add(rows: readonly T[]): void;
  /** Selects only these. */
  keep(rows: readonly T[]): void;
  clear(): void;
}

export function useSelection<T extends { readonly id: string }>(): Selection<T> {
  const [chosen, setChosen] = useState<ReadonlyMap<string, T>>(new Map());
  const withRows = (rows: readonly T[]) => new Map([...chosen, ...rows.map(row => [row.id, row] as const)]);
  return {
    chosen,
    toggle: rows => {
      if (!rows.every(({ id }) => chosen.has(id))) return setChosen(withRows(rows));
      const gone = new Set(rows.map(({ id }) => id));
      setChosen(new Map([...chosen].filter(([id]) => !gone.has(id))));
    },
    add: rows => setChosen(withRows(rows)),
    keep: rows => setChosen(new Map(rows.map(row => [row.id, row] as const))),
    clear: () => setChosen(new Map()),
  };
}
