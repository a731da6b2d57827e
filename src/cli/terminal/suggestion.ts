/** The known word that was most likely meant; null if none is close enough. */
export function closest(given: string, known: readonly string[]): string | null {
  const ranked = known
    .map(word => ({ word, distance: distance(given.toLowerCase(), word.split(' ')[0]!) }))
    .sort((a, b) => a.distance - b.distance);
  const [best] = ranked;
  return best !== undefined && best.distance <= Math.max(1, Math.floor(given.length / 3)) ? best.word : null;
}

/** The number of letters to insert, delete, replace or swap with their neighbour. */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const steps = [rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + same];
      row.push(Math.min(...steps, swapped ? rows[i - 2]![j - 2]! + 1 : Number.POSITIVE_INFINITY));
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}
