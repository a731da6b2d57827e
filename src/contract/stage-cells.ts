/** What a cell of a comparison says, in the same words in the dashboard and on the command line. */

export interface ComparedCell {
  readonly value: number | null;
  readonly state: 'active' | 'inactive' | 'expired' | 'disabled';
}

export type CellState = 'missing' | 'expired' | 'disabled' | 'inactive' | 'same' | 'different' | 'present';

type Cells = readonly (ComparedCell | null)[];

/**
 * Compares with the nearest vault to the left that has an active secret of this name or, without one, to the right. It is
 * only present if there is none, or if the caller may not compare the values.
 */
export function cellState(cells: Cells, at: number): CellState {
  const cell = cells[at];
  if (!cell) return 'missing';
  if (cell.state !== 'active') return cell.state;
  const other = nearestActive(cells, at);
  if (other === null || cell.value === null) return 'present';
  return cells[other]!.value === cell.value ? 'same' : 'different';
}

/** Where a cell can be copied from, the nearest to the left first: vaults with another value that is active. */
export function sourcesOf(cells: Cells, at: number): number[] {
  const target = cells[at] ?? null;
  if (target !== null && target.state !== 'active') return [];
  const left = [...cells.keys()].slice(0, at).toReversed();
  const right = [...cells.keys()].slice(at + 1);
  return [...left, ...right].filter(from => {
    const source = cells[from] ?? null;
    return source?.state === 'active' && (target === null || source.value !== target.value);
  });
}

function nearestActive(cells: Cells, at: number): number | null {
  for (let left = at - 1; left >= 0; left--) if (cells[left]?.state === 'active') return left;
  const right = cells.findIndex((cell, index) => index > at && cell?.state === 'active');
  return right < 0 ? null : right;
}
