/**
 * Secrets as a file: `.env` lines that any dotenv reads, and this dashboard imports; or JSON. A `.env` file has no name that
 * changes what is run.
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
  if (unsafe !== null) throw new Error(`${unsafe} would change what is run`);
  return sorted.map(({ name, value }) => `${name}=${quoted(value)}\n`).join('');
}

/** Programs take the variables of such a file as their own. */
export function unsafeAmong(named: readonly { readonly name: string }[]): string | null {
  return named.find(({ name }) => changesWhatRuns(name))?.name ?? null;
}

const escapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function quoted(value: string): string {
  if (/^[\w.:/@+,%-]*$/.test(value)) return value;
  return `"${value.replace(/["\\$]/g, '\\$&').replace(/[\n\r\t]/g, letter => escapes[letter]!)}"`;
}
