/** Plans an import by looking up what the vault already contains under each item's name, and carries it out. */
import { ApiError, get, post, query, SentForReview } from '../api/client.ts';
import type { BulkAnswer, ComparedSecrets, List } from '../api/types.ts';
import type { Item } from './parse.ts';

export interface Planned {
  readonly item: Item;
  /** The resource that already has this name. */
  readonly existing: Existing | null;
  /** Equal for items that would be stored under the same name. */
  readonly place: string;
  /** A later item has the same name and replaces this one. */
  readonly superseded: boolean;
}

interface Existing {
  readonly id: string;
  readonly version: number;
  /** Whether its value equals the item's; null if the person may not know. */
  readonly same: boolean | null;
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

/** If several items have the same name, the last one wins, as in dotenv. */
export async function planOf(
  vaultId: string,
  items: readonly Item[],
  mayCompare: boolean,
): Promise<Planned[]> {
  const placed = items.map(item => ({
    item,
    place: `${collections[item.kind]} ${item.name.normalize('NFC')}`,
  }));
  const last = new Map(placed.map(({ place }, at) => [place, at]));
  const compared = mayCompare ? await compare(vaultId, items) : new Map<Item, Existing | null>();
  return inTurn(placed, async ({ item, place }, at) => ({
    item,
    place,
    superseded: last.get(place) !== at,
    existing: compared.has(item) ? compared.get(item)! : await find(vaultId, item),
  }));
}

/** The service compares the values; nothing is revealed. */
async function compare(vaultId: string, items: readonly Item[]): Promise<Map<Item, Existing | null>> {
  const known = new Map<Item, Existing | null>();
  const secrets = items.filter(item => item.kind === 'secret');
  for (let at = 0; at < secrets.length; at += bulkSize) {
    const part = secrets.slice(at, at + bulkSize);
    const sent = part.map(({ name, value }) => ({ name, value }));
    const body = { vault_id: vaultId, items: sent };
    const answer = await post<ComparedSecrets>('/v1/secrets/compare', body).catch(noneWhereRefused);
    for (const [index, { id, version, same }] of answer.results.entries())
      known.set(part[index]!, id === null ? null : { id, version: version!, same });
  }
  return known;
}

/** An invalid item must not prevent the preview; its error is shown when it is stored. */
function noneWhereRefused(error: unknown): ComparedSecrets {
  if (error instanceof ApiError && error.status === 400) return { results: [] };
  throw error;
}

async function find(vaultId: string, { kind, name }: Item): Promise<Existing | null> {
  const path = `/v1/${collections[kind]}${query({ vault_id: vaultId, q: name.slice(0, 255), limit: 100 })}`;
  const { data } = await get<List<{ id: string; name: string; version: number }>>(path);
  const found = data.find(one => one.name === name.normalize('NFC'));
  return found === undefined ? null : { id: found.id, version: found.version, same: null };
}

/** Carries out the plan. Each item has its own outcome: a failure does not stop the others. */
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
    for (const { index, error, proposal } of results)
      outcomes.set(part[index]!, proposal ? sent : outcomeOf(error?.details.reason || error?.message));
  }
  for (const one of plan.filter(({ item }) => item.kind !== 'secret')) {
    outcomes.set(one, await storeMaterial(vaultId, one, passphrase));
  }
  return plan.map(one => outcomes.get(one)!);
}

function bodyOf(vaultId: string, { item, existing }: Planned): object {
  if (item.kind !== 'secret') throw new Error('only secrets go in bulk');
  const { name, value } = item;
  return existing ? { id: existing.id, name, kind: 'value', value } : { vault_id: vaultId, name, value };
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
    if (error instanceof SentForReview) return sent;
    if (error instanceof ApiError) return outcomeOf(error.reason || error.message);
    throw error;
  }
}

const sent: Outcome = { ok: true, text: 'sent for review' };

function outcomeOf(reason: string | undefined): Outcome {
  return reason === undefined ? { ok: true, text: 'imported' } : { ok: false, text: reason };
}

/** A few at a time, in order. */
async function inTurn<T, R>(all: readonly T[], one: (item: T, at: number) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < all.length; at += atOnce) {
    results.push(
      ...(await Promise.all(all.slice(at, at + atOnce).map((item, index) => one(item, at + index)))),
    );
  }
  return results;
}
