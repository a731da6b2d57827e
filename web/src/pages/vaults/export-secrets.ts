/** Reveals secrets and saves them to a file. */
import { post } from '../../api/client.ts';
import type { RevealedSecrets } from '../../api/types.ts';
import { note } from '../../ui/toast.tsx';

const atOnce = 100;

/** The service records every reveal in a request before it returns any value. */
export async function revealAll(ids: readonly string[]): Promise<RevealedSecrets['data'][number][]> {
  const all = [];
  for (let at = 0; at < ids.length; at += atOnce) {
    const secret_ids = ids.slice(at, at + atOnce);
    const { data, unresolved = [] } = await post<RevealedSecrets>('/v1/secrets/reveal', { secret_ids });
    all.push(...data);
    for (const name of unresolved)
      note(`“${name}” is left out: a reference in it can’t be resolved`, { bad: true });
  }
  return all;
}

/** Saves a file from a blob URL, which no other page can open. */
export function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/octet-stream' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
