/** The general API, as far as commands need it: vaults and secrets by name, their versions and values. */
import { Refusal, UsageError } from '../../service/settings/report.ts';
import { askJson } from './remote.ts';
import { isId, type ReadSecret, unknownSecret } from './secret.ts';
import type { Settings } from './settings.ts';

export interface Listed {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly content_type: string;
  readonly updated_at: string;
}

interface Page<T> {
  readonly data: readonly T[];
  readonly pagination: { readonly total: number };
}

type State = 'active' | null;
export type Admin = ReturnType<typeof adminOf>;

const pageSize = 100;
const atOnce = 6;

/** What only an API key may do. */
export function adminFor({ url, apiKey }: Settings): Admin {
  if (apiKey === null)
    throw new UsageError(
      'STRONGROOM_API_KEY is required: an access key reads one vault, and changes nothing',
    );
  return adminOf(url, apiKey);
}

export function adminOf(url: string, key: string) {
  const call = <T>(method: string, path: string, body?: unknown) =>
    askJson<T>(url, { method, path, key, ...(body === undefined ? {} : { body }) });

  async function pages<T>(path: string, query: Record<string, string | null>): Promise<T[]> {
    const all: T[] = [];
    for (let page = 1; ; page += 1) {
      const { data, pagination } = await call<Page<T>>(
        'GET',
        path + queryOf({ ...query, page: String(page) }),
      );
      all.push(...data);
      if (all.length >= pagination.total || data.length === 0) return all;
    }
  }

  async function vault(named: string | null): Promise<{ id: string; name: string }> {
    if (named !== null && isId(named)) return call('GET', `/v1/vaults/${named}`);
    const found = await pages<{ id: string; name: string }>('/v1/vaults', { q: named });
    if (named === null && found.length !== 1)
      throw new UsageError(`--vault is required: the API key reaches ${found.length} vaults`);
    const one = found.find(({ name }) => named === null || name === named.normalize('NFC'));
    if (one === undefined) throw new Refusal('there is no vault of that name');
    return one;
  }

  const secrets = (vaultId: string, state: State = null, q: string | null = null) =>
    pages<Listed>('/v1/secrets', { vault_id: vaultId, state, q });

  async function search(vaultId: string, name: string, state: State = null): Promise<Listed | null> {
    const found = await secrets(vaultId, state, name.slice(0, 255));
    return found.find(one => one.name === name.normalize('NFC')) ?? null;
  }

  return {
    call,
    pages,
    vault,
    secrets,
    search,
    find: async (vaultId: string, name: string, state: State = null): Promise<Listed> => {
      const found = await search(vaultId, name, state);
      if (found === null) throw unknownSecret(name);
      return found;
    },
    /** In the order of the ids. */
    reveal: (ids: readonly string[]) =>
      inTurn(ids, id => call<ReadSecret>('POST', `/v1/secrets/${id}/reveal`)),
  };
}

function queryOf(query: Readonly<Record<string, string | null>>): string {
  const given = Object.entries({ ...query, limit: String(pageSize) }).filter(([, value]) => value !== null);
  return `?${new URLSearchParams(given as [string, string][])}`;
}

/** A few at a time, in order. */
export async function inTurn<T, R>(all: readonly T[], one: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < all.length; at += atOnce)
    results.push(...(await Promise.all(all.slice(at, at + atOnce).map(one))));
  return results;
}
