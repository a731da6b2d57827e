/**
 * Which access keys were given the values of a vault's secrets, through the newest entries of the request log; it says
 * from when on. A read of all secrets gives those that existed and that the access key can see.
 */
import { matchesPattern } from '../../access/caller.ts';
import { allows } from '../../access/policy.ts';
import { idsIn, mostMatrixSecrets, type RequestLog, type VaultReaders } from '../../contract/logs.ts';
import { iso } from '../../contract/text.ts';
import { hourLength } from '../../logs/hourly-counts.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import type { Records } from '../resources/records.ts';
import type { Secrets } from '../resources/secrets.ts';
import { type LogParts, newestRequests } from './logs.ts';
import { gives } from './readers.ts';

export type VaultReading = ReturnType<typeof vaultReadersWith>;

interface Watched {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  readonly readers: Map<string, { reads: number; readonly last_at: string }>;
  readonly days: number[];
}

interface KeyFacts {
  readonly name: string;
  /** Null for every name. */
  readonly patterns: readonly string[] | null;
}

const day = 24 * hourLength;
const shownDays = 14;
/** In entries. */
const mostRead = 10_000;

export function vaultReadersWith(
  { store, stamps, guard, ledger, shown, now }: Parts & LogParts,
  records: Records,
  secrets: Pick<Secrets, 'list'>,
) {
  async function secretsIn(permit: Permit<'secrets:read'>, vaultId: string, ids: readonly string[]) {
    const found: Watched[] = [];
    for (const id of new Set(ids)) {
      const row = await store.resources.byId(permit.caller.organizationId, id);
      if (row?.type !== 'secret' || row.vault_id !== vaultId || row.deleted_at !== null) continue;
      const { name, created_at } = stamps.resource.believe(row);
      const days = Array.from({ length: shownDays }, () => 0);
      found.push({ id, name, createdAt: iso(created_at), readers: new Map(), days });
    }
    return found;
  }

  async function firstIds(permit: Permit<'secrets:read'>, vault_id: string): Promise<string[]> {
    const first = { vault_id, sort: 'name', page: 1, limit: mostMatrixSecrets } as const;
    return (await secrets.list(permit, first)).data.map(({ id }) => id);
  }

  /** A deleted access key may have seen every name. */
  async function keyFacts({ caller }: Permit, id: string): Promise<KeyFacts> {
    const row = await store.credentials.byId(id);
    if (row === undefined) return { name: '', patterns: null };
    const { name, narrowing, vault_id } = stamps.credential.believe(row);
    const { names = null } = JSON.parse(narrowing) as { names?: readonly string[] | null };
    const isSeen = allows(caller, 'access-keys:read', vault_id ?? undefined);
    return { name: isSeen ? name : '', patterns: names };
  }

  /** Counts what the newest entries gave, and says from when on they are, unless they are all. */
  async function search(permit: Permit, vaultId: string, watched: readonly Watched[]) {
    const keys = new Map<string, KeyFacts>();
    const tomorrow = Math.floor(now() / day + 1) * day;
    const filter = { organizationId: permit.caller.organizationId, vaultId, status: 200 };
    let searched = 0;
    let since: string | null = null;
    for await (const entry of newestRequests(store, shown, filter, mostRead)) {
      searched++;
      since = entry.created_at;
      const { access_key_id: id } = entry;
      if (id === null) continue;
      const key = keys.get(id) ?? (await keyFacts(permit, id));
      keys.set(id, key);
      for (const secret of watched) if (givesSecret(entry, secret, key)) count(secret, entry, tomorrow);
    }
    return { keys, since: searched < mostRead ? null : since };
  }

  return async function readersIn(
    logs: Permit<'logs:read'>,
    names: Permit<'secrets:read'>,
    vaultId: string,
    wanted: string | undefined,
  ): Promise<VaultReaders> {
    const permit = await guard.within(names, logs);
    await records.openVault(permit, vaultId);
    const ids = wanted === undefined ? await firstIds(permit, vaultId) : idsIn(wanted);
    const watched = await secretsIn(permit, vaultId, ids);
    await ledger.settle().catch(() => {});
    const { keys, since } = await search(permit, vaultId, watched);
    const used = new Set(watched.flatMap(({ readers }) => [...readers.keys()]));
    return {
      since,
      access_keys: [...keys].flatMap(([id, { name }]) => (used.has(id) ? { id, name } : [])),
      secrets: watched.map(({ id, name, readers, days }) => ({
        id,
        name,
        readers: [...readers].map(([access_key_id, found]) => ({ access_key_id, ...found })),
        days,
      })),
    };
  };
}

function givesSecret(entry: RequestLog, { id, name, createdAt }: Watched, { patterns }: KeyFacts): boolean {
  if (entry.via?.some(({ secret_id }) => secret_id === id)) return true;
  if (entry.created_at < createdAt || !gives(entry, name)) return false;
  return patterns === null || patterns.some(pattern => matchesPattern(pattern, name));
}

/** Entries come newest first. */
function count({ readers, days }: Watched, entry: RequestLog, tomorrow: number): void {
  const id = entry.access_key_id!;
  const before = readers.get(id);
  if (before === undefined) readers.set(id, { reads: entry.count, last_at: entry.created_at });
  else before.reads += entry.count;
  const daysAgo = Math.floor((tomorrow - 1 - Date.parse(entry.created_at)) / day);
  if (daysAgo >= 0 && daysAgo < days.length) days[days.length - 1 - daysAgo]! += entry.count;
}
