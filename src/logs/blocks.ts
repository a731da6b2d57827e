/**
 * A block: the request entries that share one sync to disk. It is one link of its writer's chain, so that the price of
 * a hash, a mark and a row is paid once for all of them; and what entries have in common is written once, because
 * most of them come from the same few clients. An entry's id is its block's, with its place in it as the last
 * three digits: who has the id knows where to look.
 */
import { type NewId, threeDigits } from '../contract/id.ts';
import type { LogCountRow, Stream } from '../store/logs.ts';
import type { RequestIndexRow } from '../store/request-logs.ts';
import { quoted, type RequestEntry } from './entries.ts';

/** An entry as it is read again. */
export interface WrittenEntry extends RequestEntry {
  readonly id: string;
  readonly created_at: string;
  readonly request_id: string;
}

/** By what entries are looked for, and how many of a block agree in all of it. */
export type BlockPart = Omit<RequestIndexRow, 'organization_id' | 'block_id' | 'part'> & {
  readonly organization_id: string | null;
};

/** What entries may have in common. */
type Alike = Omit<RequestEntry, 'duration_ms' | 'request_id'>;

/** As JSON, the text of a block; each entry says which of the common parts is its own. */
interface Block {
  readonly created_at: string;
  readonly alike: readonly Alike[];
  readonly entries: readonly [alike: number, duration_ms: number, request_id?: string][];
}

interface Group {
  readonly alike: Alike;
  readonly number: number;
  count: number;
}

export function newBlockId(newId: NewId): string {
  return blockIdOf(newId());
}

export function blockIdOf(entryId: string): string {
  return entryIdIn(entryId, 0);
}

export function entryIdIn(blockId: string, place: number): string {
  return blockId.slice(0, -3) + threeDigits[place];
}

/** Put together by hand, because there is an entry for every read. */
export function blockOf(
  createdAt: string,
  entries: readonly RequestEntry[],
): { text: string; parts: BlockPart[] } {
  const groups = new Map<string, Group>();
  let last: Group | undefined;
  let own = '';
  for (const entry of entries) {
    if (last === undefined || !areAlike(last.alike, entry)) last = groupOf(groups, entry); // Neighbours mostly are.
    last.count++;
    own += `${own === '' ? '' : ','}[${last.number},${entry.duration_ms}${namedBy(entry)}]`;
  }
  const alike = [...groups.keys()].join(',');
  const text = `{"created_at":"${createdAt}","alike":[${alike}],"entries":[${own}]}`;
  return { text, parts: partsOf([...groups.values()]) };
}

function namedBy({ request_id }: RequestEntry): string {
  return request_id === null ? '' : `,${quoted(request_id)}`;
}

export function entriesOf(blockId: string, text: string): WrittenEntry[] {
  const { created_at, alike, entries } = JSON.parse(text) as Block;
  return entries.map(([number, duration_ms, named], place) => {
    const id = entryIdIn(blockId, place);
    return { id, created_at, ...alike[number]!, duration_ms, request_id: named ?? id };
  });
}

/** By what the entries of a block are found, as it was when they were written. */
export function partsIn(text: string): BlockPart[] {
  const { alike, entries } = JSON.parse(text) as Block;
  const groups = alike.map((common, number) => ({ alike: common, number, count: 0 }));
  for (const [number] of entries) groups[number]!.count++;
  return partsOf(groups);
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

function areAlike(a: Alike, b: Alike): boolean {
  return (
    a.access_key_id === b.access_key_id &&
    a.vault_id === b.vault_id &&
    a.organization_id === b.organization_id &&
    a.status === b.status &&
    a.requested === b.requested &&
    a.ip_address === b.ip_address &&
    a.user_agent === b.user_agent &&
    a.route === b.route &&
    a.method === b.method &&
    a.tool === b.tool
  );
}

function groupOf(groups: Map<string, Group>, { duration_ms, request_id, ...alike }: RequestEntry): Group {
  const text = JSON.stringify(alike);
  const known = groups.get(text);
  if (known !== undefined) return known;
  const group = { alike, number: groups.size, count: 0 };
  groups.set(text, group);
  return group;
}

function partsOf(groups: readonly Group[]): BlockPart[] {
  const parts = new Map<string, BlockPart>();
  for (const { alike, count } of groups) {
    const { organization_id, vault_id, access_key_id, status, ip_address } = alike;
    const key = `${organization_id} ${vault_id} ${access_key_id} ${status} ${ip_address}`;
    const entries = (parts.get(key)?.entries ?? 0) + count;
    parts.set(key, { organization_id, vault_id, access_key_id, status, ip_address, entries });
  }
  return [...parts.values()];
}
