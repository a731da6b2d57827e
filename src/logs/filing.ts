/**
 * Filing: storing whose a block's entries are and how many there are of each, by which lists and totals find them, and
 * moving the head that checkpoints sign. A read waits for its block alone. Where this process is the only one that
 * writes, blocks are filed later and together, because many of them change the same few pages; elsewhere each is filed
 * with itself, so that every replica finds it at once.
 *
 * While a writer has blocks that are not filed, the store says from which on: whoever comes after a crash files them.
 */
import { isId } from '../contract/id.ts';
import { type Statement, UnitsRefused } from '../store/engine/engine.ts';
import type { LogCountRow, Stream } from '../store/records/logs.ts';
import type { RequestBlockRow, RequestIndexRow } from '../store/records/request-logs.ts';
import type { Store } from '../store/store.ts';
import { type BlockPart, countsOf, indexRowsOf, partsIn } from './blocks.ts';
import { headDigest, isMarked, type Link, type Marker } from './chain.ts';

export interface FilingParts {
  readonly store: Store;
  readonly keyring: Marker;
}

/** What goes into a unit, what it adds to the totals, and what is known once it is durable. */
export interface FilingStep {
  readonly statements: readonly Statement[];
  readonly counts: readonly LogCountRow[];
  readonly done: () => void;
}

const nothing: FilingStep = { statements: [], counts: [], done: () => {} };
/** In rows of the index, and one for each block: what one unit stores in about two milliseconds. */
const mostLeft = 250;
/** In blocks. */
const stretch = 100;

export class Filing {
  readonly #parts: FilingParts;
  readonly #writer: string;
  #rows: RequestIndexRow[] = [];
  #last: RequestBlockRow | null = null;
  #blocks = 0;

  constructor(parts: FilingParts, writer: string) {
    this.#parts = parts;
    this.#writer = writer;
  }

  /** Whether anything is durable, but not filed yet. */
  get isBehind(): boolean {
    return this.#last !== null;
  }

  /** For a unit that stores this block, or none: files it with all before it, or leaves it for later. */
  step(block: RequestBlockRow | null, parts: readonly BlockPart[], now: boolean): FilingStep {
    const rows = block === null ? [] : indexRowsOf(block.id, parts);
    const last = block ?? this.#last;
    if (last === null) return nothing;
    const left = this.#rows.length + this.#blocks + rows.length;
    if (now || !this.#parts.store.isSole || left >= mostLeft) return this.#fileAll(rows, last);
    return block === null ? nothing : this.#leave(rows, block);
  }

  #fileAll(fresh: readonly RequestIndexRow[], last: RequestBlockRow): FilingStep {
    const { requestLogs } = this.#parts.store;
    const rows = [...this.#rows, ...fresh];
    const statements = [setHead(this.#parts, 'request', last)];
    if (rows.length > 0) statements.push(requestLogs.addToIndex(rows));
    if (this.isBehind) statements.push(requestLogs.noneLeft(this.#writer));
    return {
      statements,
      counts: countsOf('request', rows),
      done: () => {
        this.#rows = [];
        this.#last = null;
        this.#blocks = 0;
      },
    };
  }

  #leave(rows: readonly RequestIndexRow[], block: RequestBlockRow): FilingStep {
    const { requestLogs } = this.#parts.store;
    return {
      statements: this.isBehind ? [] : [requestLogs.leave({ writer: this.#writer, from_id: block.id })],
      counts: [],
      done: () => {
        for (const row of rows) this.#rows.push(row);
        this.#last = block;
        this.#blocks++;
      },
    };
  }
}

/** Moves a chain's head to its newest link, under a mark of its own. */
export function setHead(
  { store, keyring }: FilingParts,
  stream: Stream,
  { writer, seq, hash }: Link & { readonly writer: string },
): Statement {
  const head = { writer, stream, seq, hash };
  return store.logs.setHead({ ...head, mark: keyring.chainMark(headDigest(head)) });
}

/**
 * Files what writers that are gone left behind. It trusts nothing of what it finds: somebody may have put a row of
 * `unfiled` there, or changed a block, and must stop neither us nor the filing of the rest.
 */
export async function fileLeft(parts: FilingParts, writerNow: string): Promise<void> {
  const { store } = parts;
  if (!store.isSole) return; // What the serving process leaves is its own to file.
  for (const { writer, from_id } of await store.requestLogs.left()) {
    let fromId: string | null = writer === writerNow ? null : from_id;
    while (fromId !== null) fromId = await fileStretch(parts, writer, fromId);
  }
}

/** Where the next stretch begins, or null behind the last. */
async function fileStretch(parts: FilingParts, writer: string, fromId: string): Promise<string | null> {
  const { requestLogs, logs, commit } = parts.store;
  const found = await requestLogs.ofWriter(writer, fromId, stretch + 1);
  const [blocks, next] = [found.slice(0, stretch), found[stretch]?.id ?? null];
  const rows = await missingRows(parts.store, blocks);
  const last = blocks.findLast(({ hash, mark }) => isMarked(parts.keyring, hash, mark));
  const statements = [requestLogs.noneLeft(writer)];
  if (next !== null) statements.push(requestLogs.leave({ writer, from_id: next }));
  if (last !== undefined) statements.push(setHead(parts, 'request', last));
  if (rows.length > 0) statements.push(requestLogs.addToIndex(rows), logs.count(countsOf('request', rows)));
  try {
    await commit([{ statements }]);
  } catch (error) {
    if (!(error instanceof UnitsRefused)) throw error; // Somebody was first.
  }
  return next;
}

async function missingRows(store: Store, blocks: readonly RequestBlockRow[]): Promise<RequestIndexRow[]> {
  const rows = blocks.flatMap(({ id, text }) => indexRowsOf(id, readableParts(text)));
  const organizations = new Set(rows.map(row => row.organization_id));
  const ids = blocks.map(({ id }) => id);
  const known = await store.requestLogs.indexOf([...organizations], ids);
  const isThere = new Set(known.map(row => row.block_id));
  return rows.filter(row => !isThere.has(row.block_id));
}

/** None where an edit left no block at all: the verifier tells of it. */
function readableParts(text: string): BlockPart[] {
  try {
    return partsIn(text).filter(isPart);
  } catch {
    return [];
  }
}

function isPart({
  organization_id,
  vault_id,
  access_key_id,
  status,
  ip_address,
  entries,
  requests,
}: BlockPart): boolean {
  const ids = [organization_id, vault_id, access_key_id];
  return (
    ids.every(id => id === null || isId(String(id))) &&
    [status, entries, requests ?? 0].every(Number.isSafeInteger) &&
    typeof ip_address === 'string'
  );
}
