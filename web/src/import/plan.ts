/** What an import would do: each item, and what the vault already holds under its name. */
import { ApiError, get, post, query } from '../api/client.ts';
import type { BulkAnswer, List } from '../api/types.ts';
import type { Item } from './parse.ts';

export interface Planned {
  readonly item: Item;
  /** What already exists under this name. */
  readonly existing: { readonly id: string; readonly version: number } | null;
  readonly repeated: boolean;
}

export interface Outcome {
  readonly ok: boolean;
  readonly text: string;
}

const collections = {
  secret: 'secrets',
  key: 'keys',
  certificate: 'certificates',
  pkcs12: 'certificates',
} as const;
const atOnce = 6;
const bulkSize = 100;

export async function planOf(vaultId: string, items: readonly Item[]): Promise<Planned[]> {
  const seen = new Set<string>();
  const marked = items.map(item => {
    const key = `${collections[item.kind]} ${item.name}`;
    const repeated = seen.has(key);
    seen.add(key);
    return { item, repeated };
  });
  return inTurn(marked, async ({ item, repeated }) => ({
    item,
    repeated,
    existing: await find(vaultId, item),
  }));
}

async function find(vaultId: string, { kind, name }: Item): Promise<Planned['existing']> {
  const path = `/v1/${collections[kind]}${query({ vault_id: vaultId, q: name.slice(0, 255), limit: 100 })}`;
  const { data } = await get<List<{ id: string; name: string; version: number }>>(path);
  return data.find(one => one.name === name.normalize('NFC')) ?? null;
}

/** Carries out the plan. Each item has its own outcome: one that fails does not stop the others. */
export async function carryOut(
  vaultId: string,
  plan: readonly Planned[],
  passphrase: string,
): Promise<Outcome[]> {
  const outcomes = new Map<Planned, Outcome>();
  const secrets = plan.filter(({ item }) => item.kind === 'secret');
  for (let at = 0; at < secrets.length; at += bulkSize) {
    const part = secrets.slice(at, at + bulkSize);
    const { results } = await post<BulkAnswer>('/v1/secrets/bulk', {
      items: part.map(one => bodyOf(vaultId, one)),
    });
    for (const { index, error } of results)
      outcomes.set(part[index]!, outcomeOf(error?.details.reason || error?.message));
  }
  for (const one of plan.filter(({ item }) => item.kind !== 'secret')) {
    outcomes.set(one, await storeMaterial(vaultId, one, passphrase));
  }
  return plan.map(one => outcomes.get(one)!);
}

function bodyOf(vaultId: string, { item, existing }: Planned): object {
  if (item.kind !== 'secret') throw new Error('only secrets go in bulk');
  const { name, value } = item;
  return existing ? { id: existing.id, name, value } : { vault_id: vaultId, name, value };
}

async function storeMaterial(
  vaultId: string,
  { item, existing }: Planned,
  passphrase: string,
): Promise<Outcome> {
  if (existing) return { ok: false, text: 'name already in use: delete or rename the existing one first' };
  const locked = passphrase === '' ? {} : { passphrase };
  const common = { vault_id: vaultId, name: item.name };
  try {
    if (item.kind === 'key') await post('/v1/keys', { ...common, pem: item.pem, ...locked });
    if (item.kind === 'certificate') await post('/v1/certificates', { ...common, pem: item.pem });
    if (item.kind === 'pkcs12') await post('/v1/certificates', { ...common, pkcs12: item.base64, ...locked });
    return outcomeOf(undefined);
  } catch (error) {
    if (error instanceof ApiError) return outcomeOf(error.reason || error.message);
    throw error;
  }
}

function outcomeOf(reason: string | undefined): Outcome {
  return reason === undefined ? { ok: true, text: 'imported' } : { ok: false, text: reason };
}

/** A few at a time, in order. */
async function inTurn<T, R>(all: readonly T[], one: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < all.length; at += atOnce) {
    results.push(...(await Promise.all(all.slice(at, at + atOnce).map(one))));
  }
  return results;
}
