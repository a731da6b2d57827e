/** Edits send only changed fields, so that changes others made since the form was opened are kept. */
import { put } from './client.ts';
import type { VaultGrant } from './types.ts';

/** Returns false if there was nothing to send. */
export async function update<T extends object>(path: string, before: T, after: T): Promise<boolean> {
  return send(path, changesOf(before, after));
}

/** Like `update`, for a group or a member, whose lists are changed entry by entry. */
export async function updateGranted<T extends Granted>(path: string, before: T, after: T): Promise<boolean> {
  const { grants: oldGrants, member_ids: oldIds = [], ...old } = before;
  const { grants, member_ids: ids = [], ...own } = after;
  return send(path, {
    ...changesOf(old, own),
    ...unlessEmpty('change_grants', changedGrants(oldGrants, grants)),
    ...unlessEmpty('add_member_ids', without(ids, oldIds)),
    ...unlessEmpty('remove_member_ids', without(oldIds, ids)),
  });
}

interface Granted {
  readonly grants: readonly VaultGrant[];
  readonly member_ids?: readonly string[];
}

async function send(path: string, changes: object): Promise<boolean> {
  const isAny = Object.keys(changes).length > 0;
  if (isAny) await put(path, changes);
  return isAny;
}

function changesOf<T extends object>(before: T, after: T): Partial<T> {
  const isKept = ([name, value]: [string, unknown]) =>
    JSON.stringify(value) === JSON.stringify(before[name as keyof T]);
  return Object.fromEntries(Object.entries(after).filter(entry => !isKept(entry))) as Partial<T>;
}

function changedGrants(before: readonly VaultGrant[], after: readonly VaultGrant[]) {
  const here = (grants: readonly VaultGrant[], id: string) => grants.filter(one => one.vault_id === id);
  const ids = new Set([...before, ...after].map(({ vault_id }) => vault_id));
  return [...ids]
    .filter(id => JSON.stringify(here(before, id)) !== JSON.stringify(here(after, id)))
    .flatMap((vault_id): readonly object[] => {
      const left = here(after, vault_id);
      return left.length === 0 ? [{ vault_id, role: 'none' }] : left;
    });
}

function without(these: readonly string[], others: readonly string[]): string[] {
  return these.filter(one => !others.includes(one));
}

function unlessEmpty(name: string, list: readonly unknown[]): Record<string, readonly unknown[]> {
  return list.length === 0 ? {} : { [name]: list };
}
