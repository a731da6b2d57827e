/** Writes revealed secrets as a file: `.env` lines that any dotenv reads, and this dashboard imports; or JSON. */
import { post } from '../../api/client.ts';
import type { RevealedSecrets } from '../../api/types.ts';

export type ExportFormat = 'env' | 'json';

const atOnce = 100;

/** The service records every one of them before it returns any. */
export async function revealAll(ids: readonly string[]): Promise<RevealedSecrets['data'][number][]> {
  const all = [];
  for (let at = 0; at < ids.length; at += atOnce) {
    const secret_ids = ids.slice(at, at + atOnce);
    all.push(...(await post<RevealedSecrets>('/v1/secrets/reveal', { secret_ids })).data);
  }
  return all;
}

interface Pair {
  readonly name: string;
  readonly value: string;
}

export function textOf(pairs: readonly Pair[], format: ExportFormat): string {
  const sorted = pairs.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  if (format === 'json')
    return `${JSON.stringify(Object.fromEntries(sorted.map(({ name, value }) => [name, value])), null, 2)}\n`;
  return sorted.map(({ name, value }) => `${name}=${quoted(value)}\n`).join('');
}

const escapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function quoted(value: string): string {
  if (/^[\w.:/@+,%-]*$/.test(value)) return value;
  return `"${value.replace(/["\\$]/g, '\\$&').replace(/[\n\r\t]/g, letter => escapes[letter]!)}"`;
}

/** Saves a file without an address that anyone else could open. */
export function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/octet-stream' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
