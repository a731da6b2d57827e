/** A line-by-line diff of two texts by longest common subsequence. */

export interface Difference {
  readonly kind: 'same' | 'gone' | 'come';
  readonly text: string;
}

/** Longer texts are shown as replaced entirely, because the table's size is quadratic. */
const mostLines = 1_000;

export function differences(before: string, after: string): Difference[] {
  const old = before.split('\n');
  const young = after.split('\n');
  if (old.length > mostLines || young.length > mostLines)
    return [...mark('gone', old), ...mark('come', young)];
  return walk(old, young, commonLengths(old, young));
}

function mark(kind: Difference['kind'], lines: readonly string[]): Difference[] {
  return lines.map(text => ({ kind, text }));
}

/** lengths[i][j] is the length of the longest common subsequence of old from line i and young from line j. */
function commonLengths(old: readonly string[], young: readonly string[]): number[][] {
  const lengths = Array.from({ length: old.length + 1 }, () => new Array<number>(young.length + 1).fill(0));
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = young.length - 1; j >= 0; j--) {
      lengths[i]![j] =
        old[i] === young[j]
          ? lengths[i + 1]![j + 1]! + 1
          : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!);
    }
  }
  return lengths;
}

function walk(old: readonly string[], young: readonly string[], lengths: readonly number[][]): Difference[] {
  const found: Difference[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length && j < young.length) {
    if (old[i] === young[j]) {
      found.push({ kind: 'same', text: old[i]! });
      i++;
      j++;
    } else if (lengths[i + 1]![j]! >= lengths[i]![j + 1]!) found.push({ kind: 'gone', text: old[i++]! });
    else found.push({ kind: 'come', text: young[j++]! });
  }
  return [...found, ...mark('gone', old.slice(i)), ...mark('come', young.slice(j))];
}
