/**
 * A block: the request entries that share one sync to disk. It is one link of its writer's chain, so that a hash, a
 * mark and a row serve all of them. Data that entries have in common is written once, because most come from the same
 * few clients. Refusals that differ only in time become one entry with a count. An entry's id is its block's id with
 * its place as the last three digits, so the id leads to the block.
 */
import { type NewId, threeDigits } from '../contract/id.ts';
import type { LogCountRow, Stream } from '../store/records/logs.ts';
import type { RequestIndexRow } from '../store/records/request-logs.ts';
import { pastLimit, quoted, type RequestEntry } from './entries.ts';

/** An entry as it is read back. */
export interface WrittenEntry extends RequestEntry {
  readonly id: string;
  readonly count: number;
  readonly created_at: string;
  readonly request_id: string;
}

/** The properties by which entries are found, and how many entries of a block share them. */
export type BlockPart = Omit<RequestIndexRow, 'organization_id' | 'block_id' | 'part'> & {
  readonly organization_id: string | null;
};

/** The data that entries can share. */
type Alike = Omit<RequestEntry, 'duration_ms' | 'request_id' | 'count'>;

/** The first number is the index of its shared data. */
type OwnData = readonly [alike: number, duration_ms: number, request_id?: string | null, count?: number];

/** As JSON, the text of a block. */
interface Block {
  readonly created_at: string;
  readonly alike: readonly Alike[];
  readonly entries: readonly OwnData[];
}

interface Group {
  readonly alike: Alike;
  readonly number: number;
  entries: number;
  requests: number;
  /** The index of a refusal in the block that further refusals may join, if there is one. */
  refusal: number | null;
}

/** A block, its index rows, and the place of each submitted request in it. */
export interface NewBlock {
  readonly text: string;
  readonly parts: BlockPart[];
  readonly places: readonly number[];
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

/** Built by hand for speed, because every read creates an entry. Refusals come after the rest. */
export function blockOf(createdAt: string, entries: readonly RequestEntry[]): NewBlock {
  const groups = new Map<string, Group>();
  const refusals: Refusal[] = [];
  const places: number[] = [];
  let last: Group | undefined;
  let answered = 0;
  let own = '';
  for (const entry of entries) {
    if (last === undefined || !areAlike(last.alike, entry)) last = groupOf(groups, entry); // Neighbours usually are.
    if (!entry.success) {
      places.push(-1 - fold(refusals, last, entry));
      continue;
    }
    last.entries++;
    last.requests++;
    places.push(answered++);
    own += `${own === '' ? '' : ','}[${last.number},${entry.duration_ms}${namedBy(entry)}]`;
  }
  for (const refusal of refusals) own += `${own === '' ? '' : ','}${refusalText(refusal)}`;
  const alike = [...groups.keys()].join(',');
  const text = `{"created_at":"${createdAt}","alike":[${alike}],"entries":[${own}]}`;
  return {
    text,
    parts: partsOf([...groups.values()]),
    places: places.map(place => (place < 0 ? answered - 1 - place : place)),
  };
}

interface Refusal {
  readonly number: number;
  readonly entry: RequestEntry;
  count: number;
}

/** Adds to an equal refusal, or creates a new one. Returns its place among the refusals. */
function fold(refusals: Refusal[], group: Group, entry: RequestEntry): number {
  const count = entry.count ?? 1;
  group.requests += count;
  // A refusal with its own request id must be found by it.
  const mayShare = entry.request_id === null || entry.status === pastLimit;
  if (mayShare && group.refusal !== null) {
    refusals[group.refusal]!.count += count;
    return group.refusal;
  }
  const place = refusals.push({ number: group.number, entry, count }) - 1;
  if (mayShare) group.refusal = place;
  group.entries++;
  return place;
}

function refusalText({ number, entry, count }: Refusal): string {
  if (count === 1) return `[${number},${entry.duration_ms}${namedBy(entry)}]`;
  const named = entry.request_id === null ? 'null' : quoted(entry.request_id);
  return `[${number},${entry.duration_ms},${named},${count}]`;
}

function namedBy({ request_id }: RequestEntry): string {
  return request_id === null ? '' : `,${quoted(request_id)}`;
}

export function entriesOf(blockId: string, text: string): WrittenEntry[] {
  const { created_at, alike, entries } = JSON.parse(text) as Block;
  return entries.map(([number, duration_ms, named, count = 1], place) => {
    const id = entryIdIn(blockId, place);
    return { id, created_at, ...alike[number]!, duration_ms, request_id: named ?? id, count };
  });
}

/** The index properties of a block's entries, as they were written. */
export function partsIn(text: string): BlockPart[] {
  const { alike, entries } = JSON.parse(text) as Block;
  const groups = alike.map((common, number) => newGroup(common, number));
  for (const [number, , , count = 1] of entries) {
    groups[number]!.entries++;
    groups[number]!.requests += count;
  }
  return partsOf(groups);
}

/** The index rows of a block. Requests without an organization are left out. */
export function indexRowsOf(blockId: string, parts: readonly BlockPart[]): RequestIndexRow[] {
  return parts.flatMap(({ organization_id, ...told }, part) =>
    organization_id === null ? [] : { organization_id, block_id: blockId, part, ...told },
  );
}

export function countsOf(
  stream: Stream,
  counted: readonly Pick<BlockPart, 'organization_id' | 'entries' | 'requests'>[],
): LogCountRow[] {
  const totals = new Map<string, number>();
  for (const { organization_id: id, entries, requests } of counted) {
    if (id !== null) totals.set(id, (totals.get(id) ?? 0) + (requests ?? entries));
  }
  return [...totals].map(([organization_id, total]) => ({ organization_id, stream, total }));
}

function areAlike(a: Alike, b: Alike): boolean {
  return (
    a.access_key_id === b.access_key_id &&
    a.narrowing === b.narrowing &&
    a.vault_id === b.vault_id &&
    a.organization_id === b.organization_id &&
    a.status === b.status &&
    a.requested === b.requested &&
    a.ip_address === b.ip_address &&
    a.user_agent === b.user_agent &&
    a.route === b.route &&
    a.method === b.method &&
    a.tool === b.tool &&
    a.reason === b.reason
  );
}

function groupOf(
  groups: Map<string, Group>,
  { duration_ms, request_id, count, ...alike }: RequestEntry,
): Group {
  const text = JSON.stringify(alike);
  const known = groups.get(text);
  if (known !== undefined) return known;
  const group = newGroup(alike, groups.size);
  groups.set(text, group);
  return group;
}

function newGroup(alike: Alike, number: number): Group {
  return { alike, number, entries: 0, requests: 0, refusal: null };
}

function partsOf(groups: readonly Group[]): BlockPart[] {
  const parts = new Map<string, BlockPart>();
  for (const group of groups) {
    const { organization_id, vault_id, access_key_id, status, ip_address } = group.alike;
    const key = `${organization_id} ${vault_id} ${access_key_id} ${status} ${ip_address}`;
    const before = parts.get(key);
    const entries = (before?.entries ?? 0) + group.entries;
    const all = (before?.requests ?? before?.entries ?? 0) + group.requests;
    const requests = all === entries ? null : all;
    parts.set(key, { organization_id, vault_id, access_key_id, status, ip_address, entries, requests });
  }
  return [...parts.values()];
}
