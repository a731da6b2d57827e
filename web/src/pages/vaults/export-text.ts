/**
 * Formats secrets for export: as JSON, or as `.env` lines that any dotenv library and this dashboard's import can read.
 * Refuses names in a `.env` file that can change which program runs.
 */
import { changesWhatRuns } from '../../../../src/contract/variable-names.ts';

export type ExportFormat = 'env' | 'json';

interface Pair {
  readonly name: string;
  readonly value: string;
}

export function textOf(pairs: readonly Pair[], format: ExportFormat): string {
  const sorted = pairs.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  if (format === 'json')
    return `${JSON.stringify(Object.fromEntries(sorted.map(({ name, value }) => [name, value])), null, 2)}\n`;
  const unsafe = unsafeAmong(sorted);
  if (unsafe !== null) throw new Error(`${unsafe} can change which program runs`);
  return sorted.map(({ name, value }) => `${name}=${quoted(value)}\n`).join('');
}

/** The first name that is unsafe in a `.env` file, whose variables programs load into their environment; null if none. */
export function unsafeAmong(named: readonly { readonly name: string }[]): string | null {
  return named.find(({ name }) => changesWhatRuns(name))?.name ?? null;
}

const escapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function quoted(value: string): string {
  if (/^[\w.:/@+,%-]*$/.test(value)) return value;
  return `"${value.replace(/["\\$]/g, '\\$&').replace(/[\n\r\t]/g, letter => escapes[letter]!)}"`;
}
