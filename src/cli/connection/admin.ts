/** The general API for commands: the client's operations, and lookups of vaults and secrets by name. */
import { each, operationsOver } from '../../client/admin.ts';
import type { Secret, Vault } from '../../client/api.ts';
import { Refusal, UsageError } from '../../service/settings/report.ts';
import { printable } from '../terminal/terminal.ts';
import { askJson, RefusedRequest } from './remote.ts';
import { isId, unknownSecret } from './secret.ts';
import { type Settings, settingsFor } from './settings.ts';

type State = 'active' | null;
type Given = Parameters<typeof settingsFor>[0];
export type Admin = ReturnType<typeof adminOf>;

const atOnce = 6;

/** For operations that require an API key. */
export function adminFor({ url, apiKey }: Settings): Admin {
  if (apiKey === null)
    throw new UsageError('STRONGROOM_API_KEY is required: an access key can only read one vault');
  return adminOf(url, apiKey);
}

/** For commands that don't work in a vault: a vault in the project file or the environment is ignored. */
export function adminIn(values: Omit<Given, 'vault'>): Admin {
  return adminFor(settingsFor({ ...values, vault: null }, process.env));
}

/** For commands that work in the vault of --vault. */
export async function inVault(values: Given): Promise<{ readonly admin: Admin; readonly vault: Vault }> {
  const settings = settingsFor(values, process.env);
  const admin = adminFor(settings);
  return { admin, vault: await admin.vault(settings.vault) };
}

/** Every record of a list. */
export async function listed<Query extends object, T extends object>(
  ...asked: Parameters<typeof each<Query, T>>
): Promise<T[]> {
  const found: T[] = [];
  for await (const one of each(...asked)) found.push(one);
  return found;
}

/** The record with this name or id. */
export async function foundIn<Query extends object, T extends { readonly id: string; readonly name: string }>(
  list: Parameters<typeof each<Query, T>>[0],
  noun: string,
  named: string,
): Promise<T> {
  const all = await listed(list, (isId(named) ? {} : { q: named.slice(0, 255) }) as unknown as Query);
  const one = all.find(({ id, name }) => name === named.normalize('NFC') || id === named);
  if (one === undefined) throw new Refusal(`there is no ${noun} ${printable(JSON.stringify(named))}`);
  return one;
}

export function adminOf(url: string, key: string) {
  const operations = operationsOver((path, asked) => askJson(url, { ...asked, path, key }));

  async function vault(named: string | null): Promise<Vault> {
    if (named !== null && isId(named)) return operations.getVault({ id: named });
    const found = await listed(operations.listVaults, named === null ? {} : { q: named });
    if (named === null && found.length !== 1)
      throw new UsageError(`--vault is required: the API key has access to ${found.length} vaults`);
    const one = found.find(({ name }) => named === null || name === named.normalize('NFC'));
    if (one === undefined) throw new Refusal('there is no vault with this name');
    return one;
  }

  const secrets = (vault_id: string, state: State = null, q: string | null = null) =>
    listed(operations.listSecrets, {
      vault_id,
      ...(state === null ? {} : { state }),
      ...(q === null ? {} : { q }),
    });

  async function search(vaultId: string, name: string, state: State = null): Promise<Secret | null> {
    const found = await secrets(vaultId, state, name.slice(0, 255));
    return found.find(one => one.name === name.normalize('NFC')) ?? null;
  }

  return {
    ...operations,
    vault,
    secrets,
    search,
    find: async (vaultId: string, name: string, state: State = null): Promise<Secret> => {
      const found = await search(vaultId, name, state);
      if (found === null) throw unknownSecret(name);
      return found;
    },
    /** In the order of the ids. */
    reveal: (ids: readonly string[]) => inTurn(ids, id => operations.revealSecret({ id })),
    /** The same without templates that can't be resolved. */
    revealEach: async (all: readonly Secret[], onUnresolved: (secret: Secret) => void) => {
      const found = await inTurn(all, one =>
        operations.revealSecret({ id: one.id }).catch(error => {
          if (one.kind !== 'template' || !(error instanceof RefusedRequest) || error.status !== 400)
            throw error;
          onUnresolved(one);
          return [];
        }),
      );
      return found.flat();
    },
  };
}

/** Runs a few at a time; the results are in order. */
export async function inTurn<T, R>(all: readonly T[], one: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < all.length; at += atOnce)
    results.push(...(await Promise.all(all.slice(at, at + atOnce).map(one))));
  return results;
}

/** The names of vaults by their ids; empty if the API key may not list vaults. */
export async function vaultNames(admin: Admin): Promise<ReadonlyMap<string, string>> {
  try {
    return new Map((await listed(admin.listVaults)).map(({ id, name }) => [id, name]));
  } catch (error) {
    if (error instanceof RefusedRequest && error.status === 403) return new Map();
    throw error;
  }
}
