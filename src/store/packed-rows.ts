/** Packs rows into one text and takes them out again, on the two sides of the writer thread. */
import type { PackedRows } from './engine.ts';

const betweenValues = '\u001f';
const betweenRows = '\u001e';

type Value = string | number | null;

export function packRows(
  names: readonly string[],
  types: readonly string[],
  rows: readonly Readonly<Record<string, unknown>>[],
): PackedRows {
  const text = rows.map(row => names.map(name => row[name] ?? '').join(betweenValues)).join(betweenRows);
  return { text, numbers: types.map(type => type === 'integer' || type === 'bigint') };
}

export function unpackRows({ text, numbers }: PackedRows): Value[][] {
  return text.split(betweenRows).map(row => {
    const values = row.split(betweenValues);
    if (values.length !== numbers.length) throw new Error('a packed value holds a separator');
    return values.map((value, column) => {
      if (value === '') return null;
      return numbers[column] ? Number(value) : value;
    });
  });
}
