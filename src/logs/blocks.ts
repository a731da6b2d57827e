/**
 * A block: the request entries that share one sync to disk, one line of JSON each. It is one link of its writer's
 * chain, so that the price of a hash, a mark and a row is paid once for all of them. An entry's id is its
 * block's, with its place in it as the last three digits: who has the id knows where to look.
 */
import type { NewId } from '../contract/id.ts';
import type { LogCountRow, Stream } from '../store/logs.ts';
import type { RequestIndexRow } from '../store/request-logs.ts';
import { type RequestEntry, requestText } from './entries.ts';

/** In what the entries of a block may be told apart without reading them, and how many agree in all of it. */
export interface BlockPart {
  readonly organization_id: string | null;
  readonly vault_id: string | null;
  readonly access_key_id: string | null;
  readonly status: number;
  readonly ip_address: string;
  entries: number;
}

type Told = Omit<BlockPart, 'entries'>;

/** Of hexadecimal: a block holds far fewer than 4,096. */
const digits = 3;

export function newBlockId(newId: NewId): string {
  return blockIdOf(newId());
}

export function blockIdOf(entryId: string): string {
  return entryId.slice(0, -digits) + '0'.repeat(digits);
}

export function entryIdIn(blockId: string, place: number): string {
  return blockId.slice(0, -digits) + place.toString(16).padStart(digits, '0');
}

export function blockText(id: string, createdAt: string, entries: readonly RequestEntry[]): string {
  return entries.map((entry, place) => requestText(entryIdIn(id, place), createdAt, entry)).join('\n');
}

export function entriesOf(text: string): (RequestEntry & { readonly id: string })[] {
  return text.split('\n').map(line => JSON.parse(line));
}

/** What the index says of a block. Strangers' requests are nobody's. */
export function indexRowsOf(blockId: string, parts: readonly BlockPart[]): RequestIndexRow[] {
  return parts.flatMap(({ organization_id, ...told }, part) =>
    organization_id === null ? [] : { organization_id, block_id: blockId, part, ...told },
  );
}

export function countsOf(
  stream: Stream,
  counted: readonly Pick<BlockPart, 'organization_id' | 'entries'>[],
): LogCountRow[] {
  const totals = new Map<string, number>();
  for (const { organization_id: id, entries } of counted) {
    if (id !== null) totals.set(id, (totals.get(id) ?? 0) + entries);
  }
  return [...totals].map(([organization_id, total]) => ({ organization_id, stream, total }));
}

export function partsOf(entries: readonly Told[]): BlockPart[] {
  const parts = new Map<string, BlockPart>();
  let last: BlockPart | undefined;
  for (const entry of entries) {
    // Neighbours are mostly alike.
    if (last === undefined || !agree(last, entry)) last = partOf(parts, entry);
    last.entries++;
  }
  return [...parts.values()];
}

function agree(a: Told, b: Told): boolean {
  return (
    a.access_key_id === b.access_key_id &&
    a.vault_id === b.vault_id &&
    a.status === b.status &&
    a.ip_address === b.ip_address &&
    a.organization_id === b.organization_id
  );
}

function partOf(parts: Map<string, BlockPart>, entry: Told): BlockPart {
  const { organization_id, vault_id, access_key_id, status, ip_address } = entry;
  const key = `${organization_id} ${vault_id} ${access_key_id} ${status} ${ip_address}`;
  const known = parts.get(key);
  if (known !== undefined) return known;
  const part = { organization_id, vault_id, access_key_id, status, ip_address, entries: 0 };
  parts.set(key, part);
  return part;
}
